/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_LOCK_H
#define CPUIDLED_LOCK_H

#include "base.h"

/* One daemon per host: ROOT/run/cpuidled/lock, held by flock(2) and so never stale; names its pid. */
#define LOCK_FILE "run/cpuidled/lock"

/*
 * Takes it; ret_fd holds it until closed. -EWOULDBLOCK: another one has it, its pid (0: unknown) is in
 * ret_pid. -errno: the run directory cannot be written.
 */
int lock_take(int root_fd, int *ret_fd, uint32_t *ret_pid);

#endif
