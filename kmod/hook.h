/* SPDX-License-Identifier: GPL-2.0-only */
/* hook - put our functions into a driver's table and take them out again, exactly */
#ifndef HOOK_H
#define HOOK_H

#include <linux/cpuidle.h>
#include "enter.h"

/* All of it under modes_mutex. */

int hook_init(void);
void hook_exit(void);

/* Why no driver of this machine can be hooked or registered; NULL when one can. */
const char *hook_refusal(void);

/* What @drv's table allows; all zero without a driver. */
void hook_caps(const struct cpuidle_driver *drv, struct table_caps *caps);

/* The driver's own ->enter of row @index. */
enter_fn hook_lower(const struct cpuidle_driver *drv, int index);

/* Does our function stand in row @index of @drv? */
bool hook_stands(const struct cpuidle_driver *drv, int index);

/* 0, or a negative errno with the reason in @why. Attached already: 0. */
int hook_attach(const char **why);

/* Nobody is in our code when it returns. The caller has seen to the veto bits. */
void hook_detach(void);

/* The driver we are attached to, or NULL. */
struct cpuidle_driver *hook_driver(void);

/* Has the driver written its table anew? Then attach again; true if anything was done. */
bool hook_reconcile(void);

#endif /* HOOK_H */
