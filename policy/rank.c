/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rank.h"

#include "workload.h"

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int r;

	if (x->party.priority != y->party.priority)
		return x->party.priority > y->party.priority ? -1 : 1;
	if (x->n_cpus != y->n_cpus)
		return x->n_cpus < y->n_cpus ? -1 : 1;
	r = strcmp(x->party.name, y->party.name);
	return r ? r : strcmp(x->party.kind, y->party.kind);
}

/* Returns where its CPUs go, which are then counted. */
static struct cpuset *add(struct ranking *ranking, const struct policy *policy, uint32_t group,
			  uint32_t profile)
{
	struct ranked *k = &ranking->v[ranking->n++];
	const struct plan_demand d = {.group = group};

	k->group = group;
	k->profile = profile;
	(void)plan_party_of(policy, &d, &k->party);
	return &k->cpus;
}

int rank_make(const struct policy *policy, const struct machine *machine, struct ranking *ret)
{
	int r = 0;

	*ret = (struct ranking){
		.v = calloc(policy->n_groups + policy->n_workloads + 1, sizeof(*ret->v))};
	if (!ret->v)
		return -ENOMEM;
	for (uint32_t i = 0; r >= 0 && i < policy->n_groups; i++)
		r = selector_eval(policy->groups[i].cpus, machine,
				  add(ret, policy, i, policy->groups[i].profile));
	for (uint32_t i = 0; r >= 0 && i < policy->n_workloads; i++)
		r = workload_cpus(&policy->workloads[i], machine,
				  add(ret, policy, PLAN_GROUP_WORKLOAD + i,
				      policy->workloads[i].profile));
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < ret->n; i++)
		ret->v[i].n_cpus = cpuset_count(&ret->v[i].cpus);
	qsort(ret->v, ret->n, sizeof(*ret->v), compare_ranked);
	return 0;
}

void rank_done(struct ranking *ranking)
{
	for (uint32_t i = 0; i < ranking->n; i++)
		cpuset_done(&ranking->v[i].cpus);
	free(ranking->v);
	*ranking = (struct ranking){.n = 0};
}
