/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bootargs.h"

struct known {
	const char *key;
	const char *value; /* NULL: any */
	const char *effect;
	bool no_cpuidle;
};

static const struct known known[] = {
	{"idle", "poll", "CPUs spin and never enter an idle state", true},
	{"idle", "halt", "CPUs use HLT; intel_idle and states entered by MWAIT are not there",
	 false},
	{"idle", "nomwait", "states are not entered by MWAIT; intel_idle is not there", false},
	{"cpuidle.off", "1", "the kernel has no idle-state management", true},
	{"nohlt", NULL, "CPUs spin and never enter an idle state", true},
	{"processor.max_cstate", NULL, "acpi_idle has no state deeper than this C number", false},
	{"intel_idle.max_cstate", "0", "intel_idle is off; acpi_idle takes its place", false},
	{"intel_idle.max_cstate", NULL, "intel_idle has no state with a higher number", false},
	{"intel_idle.states_off", NULL, "states in this bit mask are off by default", false},
	{"intel_idle.table", NULL, "latencies and residencies are not those of the model", false},
	{"cpuidle.governor", NULL, "the governor chosen at boot", false},
};

bool bootargs_next(const struct machine *m, unsigned *at, struct bootarg *ret)
{
	for (; *at < ARRAY_SIZE(known); (*at)++) {
		const struct known *k = &known[*at];
		int r = machine_cmdline_get(m, k->key, ret->value, sizeof(ret->value));

		if (r == -ENOENT || (k->value && !streq(ret->value, k->value)))
			continue;
		/* The general entry of a key does not speak where a special one has. */
		if (!k->value && *at > 0 && streq(known[*at - 1].key, k->key) &&
		    streq(ret->value, known[*at - 1].value))
			continue;
		ret->key = k->key;
		ret->effect = k->effect;
		ret->no_cpuidle = k->no_cpuidle;
		(*at)++;
		return true;
	}
	return false;
}
