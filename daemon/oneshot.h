/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_ONESHOT_H
#define CPUIDLED_ONESHOT_H

#include "base.h"

/* What the daemon's program does without becoming a daemon. Both return the exit status (manager.h). */

/* --restore: puts back what a dead predecessor left and is still ours, and nothing else. */
int oneshot_restore(const char *root);

/* --check: reads the policy, resolves it on this host, prints what was found. Changes nothing. */
int oneshot_check(const char *root, const char *policy_file);

#endif
