/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hostpoll - a KVM host polls itself before it takes a halted CPU away; two who poll are one too
 * many
 */
#ifndef HOSTPOLL_H
#define HOSTPOLL_H

#include <linux/types.h>

/* Does this host take such a request, and has nobody else made it? */
bool hostpoll_possible(void);

/* Tell the host that @cpu polls itself, or does no more. The CPU is online. May sleep. */
void hostpoll_set(unsigned int cpu, bool guest_polls);

#endif /* HOSTPOLL_H */
