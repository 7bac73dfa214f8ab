/* SPDX-License-Identifier: GPL-2.0-only */
/* unveto - no disable bit of ours outlives the row that asked for it */
#ifndef UNVETO_H
#define UNVETO_H

#include <linux/types.h>

/* On a CPU's own hotplug thread, on the way down. True: no bit is left. */
bool unveto_here(void);

/*
 * Every CPU, all rows being 0. True: no bit is left anywhere. @final: the module goes, so the bits
 * go whatever it takes.
 */
bool unveto_all(bool final);

/* Have every online CPU pass through our code once, so that its idle device is known. */
void unveto_meet(void);

#endif /* UNVETO_H */
