/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_TOPOLOGY_H
#define CPUIDLED_TOPOLOGY_H

#include "selector.h"

/*
 * Package, die, core, node and last-level cache of each present CPU, as far as needs (or-ed enum
 * selector_needs) asks for them. Part of sysfs_read_machine(), whose directories these are. What the kernel
 * does not tell stays MACHINE_NO_ID. 0 or -ENOMEM.
 */
int topology_read(int root_fd, int cpu_dir, unsigned needs, struct machine *m);

#endif
