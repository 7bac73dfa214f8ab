/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "model.h"

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* CPUs of a control group: those it may use now, and those it was given that are away. */
static unsigned cgroup_cpus(const struct model *m, const struct cgroup *g)
{
	unsigned given = g->cpus ? g->cpus : CPUS_MASK;

	return g->effective | (given & ~m->online & CPUS_MASK);
}

static unsigned workload_cpus(const struct model *m, const struct workload *w)
{
	unsigned cpus = 0;

	for (unsigned i = 0; i < N_CGROUPS; i++) {
		const struct cgroup *g = &m->cgroups[i];

		if (w->matches >> i & 1 && g->exists && g->populated)
			cpus |= w->all ? CPUS_MASK : cgroup_cpus(m, g);
	}
	return cpus;
}

/* Of several demands the shortest limit holds, and all states that any of them disables. */
static bool add(struct demand *sum, unsigned cpus, unsigned cpu, const struct demand *d)
{
	if (!(cpus >> cpu & 1))
		return false;
	sum->us = least(sum->us, d->us);
	sum->off |= d->off;
	return true;
}

/* What the daemon wants for a CPU. */
static struct demand wanted(const struct model *m, unsigned cpu)
{
	struct demand sum = {.us = NO_LIMIT};
	bool any = false;

	if (!m->alive)
		return sum;
	for (unsigned i = 0; i < N_GROUPS; i++)
		any |= add(&sum, m->policy.groups[i].cpus, cpu, &m->policy.groups[i].demand);
	for (unsigned i = 0; i < N_SETTINGS; i++)
		any |= add(&sum, m->settings[i].cpus, cpu, &m->settings[i].demand);
	for (unsigned i = 0; i < N_WORKLOADS; i++)
		any |= add(&sum, workload_cpus(m, &m->policy.workloads[i]), cpu,
			   &m->policy.workloads[i].demand);
	if (!any)
		add(&sum, CPUS_MASK, cpu, &m->policy.fallback);
	for (unsigned i = 0; i < N_HOLDS; i++)
		if (m->holds[i].cpus >> cpu & 1)
			sum.us = least(sum.us, m->holds[i].us);
	return sum;
}

void model_expect(const struct model *m, struct kernel *ret)
{
	*ret = (struct kernel){.online = m->online, .global_us = NO_LIMIT};
	if (m->alive)
		ret->global_us = m->policy.global_us;
	for (unsigned i = 0; i < N_REQUESTS; i++)
		ret->global_us = least(ret->global_us, m->request_us[i]);
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		struct demand d = wanted(m, cpu);

		ret->file_us[cpu] = m->alive ? m->foreign_us[cpu] : m->left_us[cpu];
		ret->file_off[cpu] = m->alive ? m->foreign_off[cpu] : m->left_off[cpu];
		ret->limit_us[cpu] = least(least(ret->file_us[cpu], d.us), ret->global_us);
		ret->off[cpu] = ret->file_off[cpu] || d.off;
		/*
		 * With the module the daemon keeps out of the files, else they carry what it wants; but for what
		 * its own request on cpu_dma_latency does for all CPUs
		 */
		if (m->module)
			continue;
		ret->file_off[cpu] = ret->off[cpu];
		if (d.us < m->policy.global_us)
			ret->file_us[cpu] = least(ret->file_us[cpu], d.us);
	}
}

bool model_agrees(const struct model *m, const struct kernel *k, char *why, size_t size)
{
	struct kernel want;

	model_expect(m, &want);
	if (k->online != want.online) {
		snprintf(why, size, "online: %#x, should be %#x", k->online, want.online);
		return false;
	}
	if (k->global_us != want.global_us) {
		snprintf(why, size, "cpu_dma_latency: %d us, should be %d", k->global_us,
			 want.global_us);
		return false;
	}
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		bool here = m->online >> cpu & 1;

		*why = '\0';
		if (k->limit_us[cpu] != want.limit_us[cpu])
			snprintf(why, size, "CPU %u has %d us, should have %d", cpu,
				 k->limit_us[cpu], want.limit_us[cpu]);
		else if (k->file_us[cpu] != want.file_us[cpu])
			snprintf(why, size, "CPU %u's file has %d us, should have %d", cpu,
				 k->file_us[cpu], want.file_us[cpu]);
		else if (here && k->knows_off && k->off[cpu] != want.off[cpu])
			snprintf(why, size, "CPU %u's deepest state is %s, should be %s", cpu,
				 k->off[cpu] ? "off" : "on", want.off[cpu] ? "off" : "on");
		else if (here && k->file_off[cpu] != want.file_off[cpu])
			snprintf(why, size, "CPU %u's disable file has %d, should have %d", cpu,
				 k->file_off[cpu], want.file_off[cpu]);
		if (*why)
			return false;
	}
	return true;
}

void model_forget_holds(struct model *m)
{
	memset(m->holds, 0, sizeof(m->holds));
}

void model_given_back(struct model *m)
{
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		m->left_us[cpu] = m->foreign_us[cpu];
		/* an offline CPU has no such file: what it holds is there again when the CPU comes back */
		if (m->online >> cpu & 1)
			m->left_off[cpu] = m->foreign_off[cpu];
	}
}

void model_init(struct model *m)
{
	memset(m, 0, sizeof(*m));
	m->online = CPUS_MASK;
	m->policy.fallback.us = m->policy.global_us = NO_LIMIT;
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		m->foreign_us[cpu] = m->left_us[cpu] = NO_LIMIT;
	for (unsigned i = 0; i < N_REQUESTS; i++)
		m->request_us[i] = NO_LIMIT;
}
