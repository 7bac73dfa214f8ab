/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reload.h"

#include "sysfs.h"

void reload_done(struct reload_result *r)
{
	policy_free(r->policy);
	machine_free(r->machine);
	plan_free(r->plan);
	changes_done(&r->changes);
	*r = (struct reload_result){.needs = 0};
}

/* What of it is ours and what is left to others goes over from the machine as it was known. */
static int carry_over(const struct machine *old, struct machine *m, uint32_t *n_foreign)
{
	_cleanup_(restore_done) struct restore_record ours = {.n = 0};
	int r = restore_current(old, &ours);

	if (r < 0)
		return r;
	restore_overlay(&ours, m, n_foreign);
	for (uint32_t i = 0; i < MIN_OF(old->n_cpus, m->n_cpus); i++) {
		m->cpus[i].left = old->cpus[i].left;
		m->cpus[i].vetoed = old->cpus[i].vetoed;
		m->cpus[i].tight = old->cpus[i].tight;
		m->cpus[i].crowded = old->cpus[i].crowded;
	}
	for (uint32_t i = 0; i < HOST_KNOBS; i++)
		m->knobs[i].left = old->knobs[i].left;
	return 0;
}

static int need_machine(const struct reload_input *in, unsigned needs, bool *ret)
{
	bool same;
	int r;

	*ret = true;
	if (!in->machine || in->stale || needs & ~in->needs)
		return 0;
	r = sysfs_same_host(in->root_fd, in->machine, &same);
	if (r == 0)
		*ret = !same;
	return r;
}

static int read_machine(const struct reload_input *in, struct diag_list *diags,
			struct reload_result *ret)
{
	int r = sysfs_read_machine(in->root_fd, ret->needs, diags, &ret->machine);

	if (r == 0 && in->left)
		restore_overlay(in->left, ret->machine, &ret->n_foreign);
	if (r == 0 && in->machine)
		r = carry_over(in->machine, ret->machine, &ret->n_foreign);
	return r;
}

/*
 * A new policy may ask for other control groups, and a machine with other CPUs for other lists. Those of the policy in
 * force are read as well: it stays when the new one turns out not to stand.
 */
static int read_cgroups(const struct reload_input *in, const struct policy *policy,
			struct machine *machine)
{
	const struct cgroup_query q = {
		.policies = {policy, policy == in->policy ? NULL : in->policy},
		.machine = machine,
	};
	bool changed;

	machine->cgroups = &in->cgroups->found;
	if (!in->source && machine == in->machine && !in->cgroups->stale)
		return 0;
	return cgroup_watch_read(in->cgroups, &q, &changed);
}

static int run(const struct reload_input *in, struct diag_list *diags, struct reload_result *ret)
{
	const struct policy *policy = in->policy;
	struct machine *machine = in->machine;
	bool read;
	int r;

	if (in->source) {
		r = source_load(in->source, diags, &ret->policy);
		if (r < 0)
			return r;
		policy = ret->policy;
	}
	ret->needs = policy_needs(policy) | in->needs;
	r = need_machine(in, ret->needs, &read);
	if (r < 0)
		return r;
	if (read) {
		r = read_machine(in, diags, ret);
		if (r < 0)
			return r;
		machine = ret->machine;
	}
	machine->module = in->module ? *in->module : (struct machine_module){.loaded = false};
	host_read_global(in->host, machine);
	r = read_cgroups(in, policy, machine);
	if (r < 0)
		return r;
	r = plan_resolve(policy, machine, in->holds, diags, &ret->plan);
	if (r < 0)
		return r;
	return diff_make(ret->plan, machine, in->host->global_ns, &ret->changes);
}

int reload_run(const struct reload_input *in, struct diag_list *diags, struct reload_result *ret)
{
	struct reload_result result = {.needs = 0};
	int r = run(in, diags, &result);

	if (r < 0)
		reload_done(&result);
	else
		*ret = result;
	return r;
}
