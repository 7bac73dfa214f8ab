/* SPDX-License-Identifier: GPL-2.0-only */
/* modes - the configuration in force: staging, committing, and taking it back */
#ifndef MODES_H
#define MODES_H

#include <linux/mutex.h>
#include "table.h"

/*
 * Serialises all control. Taken before any lock of the kernel's; never in a CPU hotplug callback,
 * because attaching takes the hotplug lock inside.
 */
extern struct mutex modes_mutex;

/* A transaction. rows is the caller's copy to work on. */
struct modes_stage {
	union table_row *rows;
	struct table_caps caps;
	bool own; /* the module's own driver is to run */
};

int modes_init(void);
void modes_exit(void);

/* The rest under modes_mutex. */

const union table_row *modes_rows(void);
const u32 *modes_possible(void); /* CPUs that can exist */
u32 modes_generation(void);

/* Copy what is in force; modes_stage_free() in any case. */
int modes_stage_init(struct modes_stage *stage, struct table_refusal *refusal);
/* Decide about the own driver first: rules are judged against the table there will be. */
int modes_stage_own(struct modes_stage *stage, bool own, struct table_refusal *refusal);
/* C0.x is meant in a guest, too. */
void modes_stage_guest(struct modes_stage *stage);
/* Get ready all that can fail, then change everything at once. */
int modes_commit(struct modes_stage *stage, struct table_refusal *refusal);
void modes_stage_free(struct modes_stage *stage);

/* Have a look at what only measuring tells; some microseconds. */
void modes_measure(void);

/* Every CPU back to the host's own settings, at once. */
void modes_clear(void);

/* Take unused hook and driver away, @ms from now. */
void modes_settle(unsigned int ms);

#endif /* MODES_H */
