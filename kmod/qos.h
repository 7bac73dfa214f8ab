/* SPDX-License-Identifier: GPL-2.0-only */
/* qos - latency requests kept for the owner, and news of what others ask */
#ifndef QOS_H
#define QOS_H

#include "table.h"

/* One decoded QOS of a request. */
struct qos_ask {
	u32 id;
	const u32 *mask;
	u32 words;
	bool limited; /* latency_ns was given */
	u64 latency_ns;
};

/*
 * In rows for dumps, a limit stands as latency_ns + 1, so that 0 can say "none". Then rows group
 * like those of a configuration.
 */

int qos_init(void);
void qos_exit(void);

/* The rest under modes_mutex. */

/* Watch what others ask, while somebody has the lease. */
int qos_watch(void);
void qos_unwatch(void);

/*
 * First qos_prepare() for every ask of a message, which can fail; then qos_set() for every one,
 * which cannot; qos_sweep() after either, to drop what is not used.
 */
int qos_prepare(const struct qos_ask *ask, struct table_refusal *refusal);
void qos_set(const struct qos_ask *ask);
void qos_sweep(void);

/* Drop every request. Allocates nothing, cannot fail. */
void qos_clear(void);

/* Rows of the first id after @id; returns that id, 0 when there is none. */
u32 qos_rows(u32 id, union table_row *rows);

/* Rows of what is in force from everybody. */
void qos_limits(union table_row *rows);

#endif /* QOS_H */
