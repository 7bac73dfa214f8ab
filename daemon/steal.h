/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_STEAL_H
#define CPUIDLED_STEAL_H

#include "base.h"

/*
 * Time that the host has taken from each CPU of this guest: the eighth number of its line in /proc/stat, in
 * hundredths of a second (Documentation/filesystems/proc.rst). One read for all CPUs, of memory alone.
 */
struct steal {
	uint64_t *ns; /* by CPU, UINT64_MAX: no line; owned */
	uint32_t n;
};

/* Reads it anew for CPUs below n. -ENOMEM, -errno: nothing is known. */
int steal_read(int root_fd, uint32_t n, struct steal *s);
void steal_done(struct steal *s);

/* A crowd_read: data is a struct steal. -ENODATA: no line, as for a CPU that is offline. */
int steal_get(void *data, uint32_t cpu, uint64_t *ret_ns);

#endif
