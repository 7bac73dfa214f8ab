/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "sysfs.h"

#include <unistd.h>

/* One state of a line; returns the rest of the line, NULL at its end. */
static const char *parse_state(const char *p, struct idle_state *ret)
{
	unsigned latency, residency;
	int n = 0;
	size_t len;

	ck_assert(sscanf(p, " %31s %u/%u %n", ret->name, &latency, &residency, &n) == 3);
	p += n;
	len = strlen(ret->name);
	ret->default_off = ret->name[len - 1] == '!';
	if (ret->default_off)
		ret->name[len - 1] = '\0';
	ret->exit_latency_ns = latency * NSEC_PER_USEC;
	ret->target_residency_ns = residency * NSEC_PER_USEC;
	n = (int)strcspn(p, ",");
	snprintf(ret->desc, sizeof(ret->desc), "%.*s", n, p);
	return p[n] ? p + n + 1 : NULL;
}

void scene_table(struct machine *m, uint32_t first, uint32_t last, const char *states)
{
	struct idle_table t = {0};
	uint16_t off = 0, index;

	for (const char *p = states; p && *p; t.n++) {
		p = parse_state(p, &t.states[t.n]);
		off |= (uint16_t)(t.states[t.n].default_off << t.n);
	}
	ck_assert_int_eq(machine_intern_table(m, &t, &index), 0);
	for (uint32_t cpu = first; cpu <= last; cpu++) {
		m->cpus[cpu].table = index;
		m->cpus[cpu].disabled = off;
		m->cpus[cpu].disabled_prior = off;
	}
}

struct machine *scene_host(uint32_t n_cpus, const char *states)
{
	struct machine *m = NULL;

	ck_assert_int_eq(machine_new(n_cpus, &m), 0);
	for (uint32_t cpu = 0; cpu < n_cpus; cpu++) {
		m->cpus[cpu].present = true;
		m->cpus[cpu].online = true;
		m->cpus[cpu].has_qos = true;
	}
	snprintf(m->driver, sizeof(m->driver), "%s", *states ? "intel_idle" : "none");
	snprintf(m->governor, sizeof(m->governor), "menu");
	snprintf(m->vendor, sizeof(m->vendor), "GenuineIntel");
	m->family = 6;
	m->arat = true;
	if (*states)
		scene_table(m, 0, n_cpus - 1, states);
	return m;
}

struct machine *scene_read(const char *root, unsigned needs, struct diag_list *diags)
{
	struct machine *m = NULL;
	int fd, r;

	r = sysfs_open_root(root, &fd);
	ck_assert_msg(r == 0, "%s: %s", root, strerror(-r));
	r = sysfs_read_machine(fd, needs, diags, &m);
	ck_assert_msg(r == 0, "%s: %s", root, strerror(-r));
	close(fd);
	return m;
}

struct policy *scene_policy(const char *text)
{
	struct diag_list diags = {0};
	struct policy *p = NULL;
	char line[512] = "";

	ck_assert_int_eq(policy_new(&p), 0);
	ck_assert_int_eq(policy_add_text(p, "test.conf", text, strlen(text), &diags), 0);
	ck_assert_int_eq(policy_finish(p, &diags), 0);
	if (diags.n_errors)
		diag_format(&diags.items[0], line, sizeof(line));
	ck_assert_msg(diags.n_errors == 0, "%s", line);
	diag_done(&diags);
	return p;
}

void scene_set(struct scene *s, struct machine *machine, const char *policy)
{
	s->policy = scene_policy(policy);
	s->machine = machine;
	ck_assert_int_eq(plan_resolve(s->policy, machine, NULL, &s->diags, &s->plan), 0);
}

void scene_done(struct scene *s)
{
	plan_free(s->plan);
	machine_free(s->machine);
	policy_free(s->policy);
	diag_done(&s->diags);
	*s = (struct scene){0};
}

const struct plan_row *scene_row(const struct scene *s, uint32_t cpu)
{
	const struct plan_row *row = plan_row_of(s->plan, cpu);

	ck_assert_ptr_nonnull(row);
	return row;
}

const char *scene_states(const struct scene *s, uint32_t cpu)
{
	static char buf[512];
	const struct idle_table *t = machine_table(s->machine, cpu);
	const struct plan_row *row = scene_row(s, cpu);
	size_t n = 0;

	*buf = '\0';
	for (uint32_t i = 0; t && i < t->n; i++)
		if (row->states[i].enabled)
			n += (size_t)snprintf(buf + n, sizeof(buf) - n, "%s%s", n ? " " : "",
					      t->states[i].name);
	return buf;
}

const char *scene_deepest(const struct scene *s, uint32_t cpu)
{
	const char *all = scene_states(s, cpu), *last = strrchr(all, ' ');

	return last ? last + 1 : all;
}

enum state_reason scene_reason(const struct scene *s, uint32_t cpu, const char *state)
{
	const struct idle_table *t = machine_table(s->machine, cpu);

	for (uint32_t i = 0; t && i < t->n; i++)
		if (streq(t->states[i].name, state))
			return scene_row(s, cpu)->states[i].reason;
	ck_abort_msg("CPU %u has no %s", cpu, state);
}

bool scene_says(const struct scene *s, enum diag_severity severity, const char *part)
{
	for (size_t i = 0; i < s->diags.n; i++)
		if (s->diags.items[i].severity == severity && strstr(s->diags.items[i].text, part))
			return true;
	return false;
}

void scene_apply(struct machine *m, const struct changes *c, uint64_t *global_ns)
{
	for (uint32_t i = 0; i < c->n; i++) {
		const struct change *w = &c->v[i];
		struct machine_cpu *cpu = &m->cpus[w->cpu];
		uint16_t bit = (uint16_t)(1U << w->state);

		switch ((enum knob_kind)w->kind) {
		case KNOB_QOS:
			ck_assert(cpu->qos_ns == w->from);
			cpu->qos_ns = w->to;
			cpu->cut &= (uint16_t) ~(1U << MACHINE_BIT_QOS);
			break;
		case KNOB_DISABLE:
			ck_assert((cpu->disabled >> w->state & 1) == w->from);
			cpu->disabled =
				(uint16_t)(w->to ? cpu->disabled | bit : cpu->disabled & ~bit);
			cpu->cut &= (uint16_t)~bit;
			break;
		case KNOB_HOST:
			ck_assert(m->knobs[w->state].now == w->from);
			m->knobs[w->state].now = w->to;
			m->knobs[w->state].cut = false;
			break;
		case KNOB_GLOBAL:
			ck_assert(*global_ns == w->from);
			*global_ns = w->to;
			break;
		}
	}
}
