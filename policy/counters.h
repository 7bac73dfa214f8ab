/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_COUNTERS_H
#define CPUIDLED_COUNTERS_H

#include "base.h"

/*
 * What the kernel counts of each idle state of each CPU, below cpuN/cpuidle/stateS/
 * (drivers/cpuidle/cpuidle.c, sysfs.c). The CPU itself counts, when it leaves the state; whoever reads gets what
 * stands in memory: no interrupt is sent, no register of another CPU is read, and a sleeping CPU sleeps on.
 */
enum counter_file {
	COUNTER_USAGE, /* entries */
	COUNTER_TIME, /* us spent in it */
	COUNTER_ABOVE, /* entries that were over before target_residency, with a shallower state on */
	COUNTER_REJECTED, /* entries the hardware or the driver refused */
};

struct counter {
	uint32_t
		slot; /* of a file worth keeping open, for this file alone; COUNTER_ONCE: it is not */
	uint16_t cpu;
	uint8_t state;
	uint8_t file; /* enum counter_file */
};

#define COUNTER_ONCE	UINT32_MAX
#define COUNTER_OWN_ROW UINT8_MAX /* as state: the one that stands at machine.own_row */

/* Reads one counter. -ENOENT or -ENODEV: there is none; other -errno. */
typedef int (*counter_read)(void *data, const struct counter *c, uint64_t *ret);

#endif
