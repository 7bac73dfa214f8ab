/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_FRAGMENT_H
#define CPUIDLED_FRAGMENT_H

#include "policy.h"

/*
 * Arguments of 'set' into the policy text that says the same. Values are judged by the daemon, exactly
 * like those of a file; only what could not be text of one key is refused here.
 *
 * Without cpus: keys of [Daemon]. With a CPU selector: a [Group] of these CPUs, named after the selector,
 * so that the same selector means the same settings later; keys of [Profile] go into a profile of the
 * same name, with Profile= as its Base=. Without either, base (may be NULL) is written as its Base=.
 */

/* What such a group gets when no Priority= is given: its modes win over those of the files' groups. */
#define FRAGMENT_PRIORITY "1000"

/*
 * The text is owned by the caller. -EINVAL: what is wrong and what would be right is in error (always
 * terminated). -ENOMEM.
 */
int fragment_make(const char *cpus, const char *const *assignments, int n, const char *base,
		  char **ret, char *error, size_t error_size);

/* The profile such arguments make without saying what it is based on; false when there is none. */
bool fragment_wants_base(const char *cpus, const char *const *assignments, int n,
			 char name[static POLICY_NAME_MAX + 1]);

#endif
