/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two halves of steps share: steps.c has holds and others, steps-daemon.c the daemon's life. */
#ifndef STEPS_PRIVATE_H
#define STEPS_PRIVATE_H

#include "steps.h"

void must(bool good, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int any_limit(void); /* of ours */
int any_foreign_limit(void);
unsigned any_cpus(void); /* one or more */

/* May others write this CPU's files? Without the module the daemon stands it ten times a minute. */
bool may_insist(const struct model *m, unsigned cpu);

bool step_reload(struct model *m, char *text);
bool step_reload_client(struct model *m, char *text);
bool step_bad_reload(struct model *m, char *text);
bool step_bad_reload_client(struct model *m, char *text);
bool step_set(struct model *m, char *text);
bool step_bad_set(struct model *m, char *text);
bool step_set_client(struct model *m, char *text);
bool step_reset(struct model *m, char *text);
bool step_policy(struct model *m, char *text);
bool step_bad_start(struct model *m, char *text);
bool step_restore(struct model *m, char *text);
bool step_second(struct model *m, char *text);
bool step_stop(struct model *m, char *text);
bool step_kill(struct model *m, char *text);
bool step_kill_amid(struct model *m, char *text);
bool step_module(struct model *m, char *text);

#endif
