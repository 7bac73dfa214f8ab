/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_POLKIT_H
#define CPUIDLED_POLKIT_H

#include <systemd/sd-bus.h>

#include "link.h"

/*
 * May the sender of a message do this? Root always. Others on the system bus when polkit says so; it is
 * asked without waiting for it. Others on the private socket never: polkit knows callers by their name
 * on a bus.
 */
/* Questions that wait for polkit at a time, and those of one user: a person may take minutes. */
#define POLKIT_ASKED_MAX   32U
#define POLKIT_PER_UID_MAX 4U

struct polkit; /* the questions under way */

int polkit_new(struct polkit **ret); /* -ENOMEM */
void polkit_free(struct polkit *p); /* forgets them; their callers get no answer */

/* Does what was asked and answers m. <0: the error is the answer. */
typedef int (*polkit_verb)(sd_bus_message *m, void *userdata, sd_bus_error *error);

struct polkit_check {
	const char *action; /* a constant */
	polkit_verb run;
	void *userdata;
	bool own; /* uid may do it to what is his own, without being asked */
	uid_t uid;
};

/*
 * For the handler of a method: runs check->run now or later, or answers that it may not. The result is
 * what the handler returns.
 */
int polkit_run(struct polkit *p, const struct link *l, sd_bus_message *m,
	       const struct polkit_check *check, sd_bus_error *error);

#endif
