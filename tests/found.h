/* SPDX-License-Identifier: GPL-2.0-or-later */
/* found - what verify has found, for its two suites */
#ifndef CPUIDLED_TESTS_FOUND_H
#define CPUIDLED_TESTS_FOUND_H

#include "testlib.h"
#include "verify.h"

static struct findings found;

/* Fails the case, and shows all that was found, unless that row is among it. */
static void assert_found(const char *cpus, const char *result, const char *knob, const char *detail)
{
	for (uint32_t i = 0; i < found.n; i++)
		if (streq(found.v[i].cpus, cpus) && streq(found.v[i].knob, knob) &&
		    streq(found.v[i].result, result) && streq(found.v[i].detail, detail))
			return;
	for (uint32_t i = 0; i < found.n; i++)
		fprintf(stderr, "%s %s: %s: %s\n", found.v[i].result, found.v[i].cpus,
			found.v[i].knob, found.v[i].detail);
	ck_abort_msg("not found: %s %s: %s: %s", result, cpus, knob, detail);
}

#endif
