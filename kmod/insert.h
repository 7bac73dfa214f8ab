/* SPDX-License-Identifier: GPL-2.0-only */
/* insert - a state of our own, C0.2, between POLL and C1 in the driver's table */
#ifndef INSERT_H
#define INSERT_H

#include "table.h"

/* All of it under modes_mutex, and without any lock of the kernel's. */

struct cpuidle_driver;

/* Index of our state in the driver's table; -1 when there is none. */
int insert_at(void);

/* Why @drv's table takes no state of ours; NULL when it does. */
const char *insert_refusal(const struct cpuidle_driver *drv);

/*
 * Put it in, kept from every CPU, and move everything that is numbered by state along: the
 * driver's rows, counters, veto bits, and what the idle path reads of @rows, which are plain.
 * Attached before. 0, or a negative errno with the reason in @why.
 */
int insert_add(const struct table_caps *caps, const union table_row *rows, bool deep,
	       const char **why);

/*
 * Take it out again; no CPU uses it any more. It fails with -EAGAIN only, and may be called again.
 */
int insert_remove(const struct table_caps *caps, const union table_row *rows);

/* Its name, by the deepest wait that anybody asks for. */
void insert_name(bool deep);

/* Idle devices that could not be enabled when the table was edited: try again. */
void insert_retry(void);

#endif /* INSERT_H */
