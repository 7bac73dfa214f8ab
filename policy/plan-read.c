/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan.h"

/* What others ask of a finished plan. */

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	free(plan->row_of);
	free(plan->rows);
	free(plan->demands);
	free(plan);
}

const struct plan_row *plan_row_of(const struct plan *plan, uint32_t cpu)
{
	if (cpu >= plan->n_cpus || plan->row_of[cpu] == PLAN_NO_ROW)
		return NULL;
	return &plan->rows[plan->row_of[cpu]];
}

int plan_row_cpus(const struct plan *plan, uint32_t row, struct cpuset *ret)
{
	int r = cpuset_init(ret, plan->n_cpus);

	if (r < 0)
		return r;
	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++)
		if (plan->row_of[cpu] == row)
			cpuset_add(ret, cpu);
	return 0;
}

const char *plan_mode_name(enum plan_mode mode)
{
	switch (mode) {
	case MODE_C0:
		return "c0";
	case MODE_C1_INTERRUPTS:
		return "c1_interrupts";
	case MODE_HALTPOLL:
		return "haltpoll";
	case MODE_BROADCAST:
		return "broadcast";
	case MODE_IOPORT:
		return "ioport";
	case MODE_N:
		break;
	}
	return "unknown";
}

const char *plan_mode_value_name(enum mode_value value)
{
	switch (value) {
	case MODE_OFF:
		return "off";
	case MODE_NATIVE:
		return "native";
	case MODE_C0_POLL_1:
		return "c0.1-poll";
	case MODE_C0_POLL_2:
		return "c0.2-poll";
	case MODE_C0_STATE_1:
		return "c0.1-state";
	case MODE_C0_STATE_2:
		return "c0.2-state";
	case MODE_C0_C1_1:
		return "c0.1-c1";
	case MODE_C0_C1_2:
		return "c0.2-c1";
	case MODE_WINDOW:
		return "window";
	case MODE_STI_MWAIT:
		return "sti-mwait";
	case MODE_HALTPOLL_ON:
		return "on";
	case MODE_AUTO:
		return "auto";
	case MODE_AVOID:
		return "avoid";
	case MODE_DIRECT:
		return "direct";
	}
	return "unknown";
}

bool plan_party_of(const struct policy *policy, const struct plan_demand *d, struct plan_party *ret)
{
	const struct workload *w = plan_workload_of(policy, d);
	const struct group *g = d->group < policy->n_groups ? &policy->groups[d->group] : NULL;

	if (w)
		*ret = (struct plan_party){"workload", w->name, w->priority, &w->at};
	else if (g)
		*ret = (struct plan_party){"group", g->name, g->priority, &g->at};
	return w || g;
}
