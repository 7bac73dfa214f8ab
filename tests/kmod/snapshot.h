/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * snapshot - what the kernel itself has in its memory, read through /proc/kcore
 *
 * Not what the module says about itself: the driver's table byte for byte, and the disable word of
 * each state of each CPU, our private bit included, which sysfs does not show.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNAPSHOT_STATES 10
#define SNAPSHOT_CPUS	64

struct snapshot {
	uint64_t driver; /* address, 0: none; CPU 0's, where each has its own, and the table, too */
	uint64_t driver_of[SNAPSHOT_CPUS];
	char name[32];
	unsigned char table[24 + 104 * SNAPSHOT_STATES + 32]; /* struct cpuidle_driver */
	int states;
	uint64_t enter[SNAPSHOT_STATES];
	uint64_t disable[SNAPSHOT_CPUS][SNAPSHOT_STATES];
	bool device[SNAPSHOT_CPUS];
};

/* False, with a note, when this kernel does not let itself be read. */
bool snapshot_take(struct snapshot *s);
void snapshot_print(const struct snapshot *s);

/* How many ->enter lie in module memory. */
int snapshot_foreign(const struct snapshot *s);
/* Is any CPU's state disabled by bit 16? */
bool snapshot_vetoed(const struct snapshot *s, int cpu, int state);
bool snapshot_any_veto(const struct snapshot *s);
/* @len bytes of the code of a function, as it is in memory now. */
bool snapshot_code(const char *function, unsigned char *buf, size_t len);
bool snapshot_equal(const struct snapshot *a, const struct snapshot *b);

#endif /* SNAPSHOT_H */
