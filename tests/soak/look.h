/* SPDX-License-Identifier: GPL-2.0-or-later */
/* look - what the kernel itself says: sysfs, /dev/cpu_dma_latency, its memory, and the module's QOS_GET */
#ifndef LOOK_H
#define LOOK_H

#include "model.h"

/*
 * Reads all that the model speaks of but whether states are off; of m it is taken which CPUs are there and whether the
 * module is, and the CPUs of its control groups are filled in.
 */
bool look_take(struct model *m, struct kernel *ret);

/* Which states are off, from the kernel's memory, where the module's veto is seen as well. Takes its time. */
bool look_states(struct kernel *k);

/* One CPU's limit by the module's word, without cpu_dma_latency: the quickest look. */
int look_limit(unsigned cpu);

/* Is anything of the module's left while nobody governs? Words, or NULL. */
const char *look_leftovers(void);

/* Latency requests that the kernel keeps for the daemon. */
int look_requests(void);

/* The module came or went. */
void look_reopen(bool module);

/*
 * Every value that somebody might have changed, as text: the states' disable files, the CPUs' PM QoS files and online,
 * cpu_dma_latency, umwait_control, haltpoll, the driver's table and each state's disable word. Malloced.
 */
char *look_all(void);

/* The first line of a file without its end; false, and "", when there is none. */
bool look_line(const char *path, char *text, size_t size);

#endif
