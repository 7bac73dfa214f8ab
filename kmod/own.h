/* SPDX-License-Identifier: GPL-2.0-only */
/* own - a cpuidle driver for machines whose kernel has none: POLL and HALT */
#ifndef OWN_H
#define OWN_H

#include <linux/cpuidle.h>

/* All of it under modes_mutex. */

void own_init(void);

/* The driver's table, registered or not. */
struct cpuidle_driver *own_driver(void);
bool own_running(void);
struct cpuidle_device *own_device(unsigned int cpu); /* while running */

int own_start(const char **why);
void own_stop(void); /* detached before; nobody is in our code when it returns */

#endif /* OWN_H */
