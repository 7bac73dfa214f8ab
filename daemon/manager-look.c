/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "manager-private.h"

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/* What one look at the marked files found. */
struct look {
	struct change *v;
	uint8_t *verdicts;
	uint32_t n, cap;
	bool host_changed; /* limits of others on the global device, or CPUs */
};

static bool look_grow(struct look *l)
{
	uint32_t cap = l->cap ? l->cap * 2 : 16;
	struct change *v;
	uint8_t *verdicts;

	if (l->n < l->cap)
		return true;
	v = realloc(l->v, cap * sizeof(*v));
	if (v)
		l->v = v;
	verdicts = realloc(l->verdicts, cap);
	if (verdicts)
		l->verdicts = verdicts;
	if (!v || !verdicts)
		return false;
	l->cap = cap;
	return true;
}

static void look_at_global(struct manager *m, struct machine *machine, struct look *l)
{
	/* Not what is known: reading the host anew may have taken it up without a word. */
	uint64_t before = m->global_told_ns;
	char old[LATENCY_TEXT_MAX], new[LATENCY_TEXT_MAX];

	host_read_global(&m->host, machine);
	if (machine->global_others_ns == before)
		return;
	l->host_changed = true;
	m->global_told_ns = machine->global_others_ns;
	manager_because(m, "others now hold %s on cpu_dma_latency, before %s",
			units_format_latency(machine->global_others_ns, new, sizeof(new)),
			units_format_latency(before, old, sizeof(old)));
	log_info(LOG_ID_FOREIGN, "%s", m->why);
	manager_tell(m, "others", m->why);
}

static void look_at(struct manager *m, const struct policy *policy, struct machine *machine,
		    struct change *c, struct look *l)
{
	const struct actuator *a = &m->transition.actuator;
	const struct plan_row *row;
	enum foreign_verdict verdict;
	uint64_t found;
	int r;

	if (c->kind == KNOB_GLOBAL) {
		look_at_global(m, machine, l);
		return;
	}
	row = plan_row_of(m->plan, c->cpu);
	if (c->kind == KNOB_HOST)
		row = m->plan->rows; /* any: it is of no CPU */
	r = a->ops->get(a->data, c, &found);
	if (r == -ENOENT || r == -ENODEV || !row)
		m->stale = l->host_changed = true;
	/* Anything else unreadable is a file of a tree between truncation and write: there will be an event. */
	if (r < 0 || !row || c->cpu >= machine->n_cpus || !look_grow(l))
		return;
	verdict = foreign_judge(&m->foreign, policy->on_foreign_write, machine, c, found,
				row->policy_limit_ns, now_ns());
	if (verdict == VERDICT_SAME)
		return;
	l->v[l->n] = *c;
	l->verdicts[l->n++] = (uint8_t)verdict;
}

/* Reads every marked file once; l is for look_done(). False: there is none. */
static bool look_all(struct manager *m, const struct policy *policy, struct machine *machine,
		     struct look *l)
{
	struct report report = manager_reporter(m);
	struct changes seen;
	struct change c;

	if (!watch_collect(&m->watch))
		return false;
	manager_because(m, "written by others");
	while (watch_take(&m->watch, &c))
		look_at(m, policy, machine, &c, l);
	seen = (struct changes){.v = l->v, .n = l->n};
	m->foreign_writes += l->n;
	report_foreign(&report, &seen, l->verdicts);
	return true;
}

static void look_done(struct look *l)
{
	free(l->v);
	free(l->verdicts);
}

bool manager_look_first(struct manager *m, const struct policy *policy, struct machine *machine)
{
	struct look l = {.n = 0};
	char why[sizeof(m->why)];
	bool changed;

	if (!m->plan)
		return false;
	memcpy(why, m->why, sizeof(why)); /* of what is going on */
	changed = look_all(m, policy, machine, &l) && (l.n > 0 || l.host_changed);
	memcpy(m->why, why, sizeof(why));
	look_done(&l);
	return changed;
}

void manager_look(struct manager *m)
{
	struct look l = {.n = 0};
	int r = 0;

	if (!look_all(m, m->policy, m->machine, &l))
		return;
	if (l.n > 0 || l.host_changed) {
		r = manager_run(m, NULL, NULL, NULL);
		if (r == 0 && l.n > 0)
			r = transition_record(&m->transition, m->machine);
		if (r < 0)
			log_errno(LOG_ID_HOST, r, "cannot answer a foreign write");
		manager_settle_state(m);
		manager_publish(m, "");
	}
	look_done(&l);
}

void manager_look_last(struct manager *m)
{
	struct look l = {.n = 0};
	struct change c;

	if (!watch_collect(&m->watch))
		return;
	while (watch_take(&m->watch, &c))
		look_at(m, m->policy, m->machine, &c, &l);
	look_done(&l);
}
