/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report-guard.h"

#define CPUS_TEXT_MAX 200U

/* All cells with one decision, as one line. */
struct bundle {
	const struct guard_cell *first;
	uint32_t n;
	uint64_t early, span_ns, early_rate, instead_rate; /* sums; span: the longest */
	uint32_t percent; /* the least */
	char cpus[CPUS_TEXT_MAX];
	const struct idle_table *table;
};

static bool same(const struct guard_cell *a, const struct guard_cell *b)
{
	return a->event == b->event && a->state == b->state && a->instead == b->instead &&
	       a->veto->spell.level == b->veto->spell.level && a->uncounted == b->uncounted &&
	       a->exit_ns == b->exit_ns && a->target_ns == b->target_ns;
}

/* Gathers from cell i on what is decided alike, and marks it as told. */
static void gather(const struct guard *g, uint32_t i, struct cpuset *told, struct cpuset *cpus,
		   struct bundle *b)
{
	*b = (struct bundle){.first = &g->cells[i], .percent = 100};
	cpuset_clear(cpus);
	for (; i < g->n; i++) {
		const struct guard_cell *c = &g->cells[i];

		if (!same(c, b->first))
			continue;
		if (i < told->size)
			cpuset_add(told, i);
		cpuset_add(cpus, c->cpu);
		b->n++;
		b->early += c->veto->seen.early;
		b->span_ns = MAX_OF(b->span_ns, c->veto->seen.span_ns);
		b->early_rate += c->veto->seen.early_rate;
		b->instead_rate += guard_instead_rate(c->veto);
		b->percent = MIN_OF(b->percent, c->veto->seen.early_percent);
	}
	cpuset_format(cpus, b->cpus, sizeof(b->cpus));
}

/* Times as people say them: "1s", "12s". */
static const char *seconds(uint64_t ns, char *buf)
{
	snprintf(buf, LATENCY_TEXT_MAX, "%" PRIu64 ".%us", ns / NSEC_PER_SEC,
		 (unsigned)(ns / (NSEC_PER_SEC / 10) % 10));
	return buf;
}

static void caught_text(const struct bundle *b, const char *name, const char *instead, char *buf,
			size_t size)
{
	const struct guard_cell *c = b->first;
	char worth[LATENCY_TEXT_MAX], span[LATENCY_TEXT_MAX], veto[LATENCY_TEXT_MAX], cost[32] = "";
	uint64_t waste = b->early_rate / b->n * c->exit_ns / (NSEC_PER_SEC / 100);

	if (waste <= 100)
		snprintf(cost, sizeof(cost), ", %" PRIu64 " %% of its time", waste);
	snprintf(buf, size,
		 "%s was left before it was worth it (%s) %" PRIu64
		 " times in %s%s, %s%u %% of all "
		 "entries%s; off for %s, %s instead",
		 name, units_format_latency(c->target_ns, worth, sizeof(worth)), b->early / b->n,
		 seconds(b->span_ns, span), b->n > 1 ? " on the average" : "",
		 c->uncounted ? "by the mean more than " : "", b->percent, cost,
		 units_format_latency(spell_ns(&c->veto->spell), veto, sizeof(veto)), instead);
}

static void released_text(const struct bundle *b, const char *name, const char *instead, char *buf,
			  size_t size)
{
	const struct guard_cell *c = b->first;
	char off[LATENCY_TEXT_MAX];

	snprintf(buf, size,
		 "%s is on again after %s, %s: %" PRIu64
		 " entries of %s a second meanwhile, %" PRIu64 " early ones of %s before",
		 name, seconds(c->veto->off_ns, off),
		 c->event == GUARD_CALMED ? "since the work has calmed down" : "for a try",
		 b->instead_rate / b->n, instead, b->early_rate / b->n, name);
}

static void say(const struct report *to, const struct bundle *b)
{
	const struct guard_cell *c = b->first;
	const char *name = b->table->states[c->state].name;
	const char *instead = b->table->states[c->instead].name;
	char detail[512], text[768], knob[24];
	bool caught = c->event == GUARD_CAUGHT;

	if (caught)
		caught_text(b, name, instead, detail, sizeof(detail));
	else
		released_text(b, name, instead, detail, sizeof(detail));
	snprintf(knob, sizeof(knob), "state%u", c->state);
	snprintf(text, sizeof(text), "CPU%s %s: %s", b->n > 1 ? "s" : "", b->cpus, detail);
	log_entry(&(struct log_entry){.id = LOG_ID_GUARD,
				      .priority = caught ? LOG_NOTICE : LOG_INFO,
				      .cpus = b->cpus,
				      .knob = knob,
				      .old = caught ? "on" : "off",
				      .new = caught ? "off" : "on"},
		  "residency guard: %s", text);
	if (to->told)
		to->told(to->data, "guard", text);
}

void report_guard(const struct report *to, const struct guard *g, const struct machine *machine,
		  const struct plan *plan)
{
	_cleanup_(cpuset_done) struct cpuset told = {.size = 0}, cpus = {.size = 0};
	uint32_t lines = 0;

	/* A cell beyond what a set can hold is told with an earlier one that is alike, or not at all. */
	if (cpuset_init(&told, MIN_OF(g->n, CPU_MAX)) < 0 || cpuset_init(&cpus, CPU_MAX) < 0)
		return;
	for (uint32_t i = 0; i < told.size && lines < REPORT_LINES_MAX; i++) {
		const struct guard_cell *c = &g->cells[i];
		const struct plan_row *row = plan_row_of(plan, c->cpu);
		struct bundle b;

		if (c->event == GUARD_NOTHING || cpuset_has(&told, i) || !row ||
		    row->table >= machine->n_tables)
			continue;
		gather(g, i, &told, &cpus, &b);
		b.table = &machine->tables[row->table];
		say(to, &b);
		lines++;
	}
}

/* CPUs are neighbours in the list of cells. */
static uint32_t count_cpus(const struct guard *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n; i++)
		n += i == 0 || g->cells[i].cpu != g->cells[i - 1].cpu;
	return n;
}

const char *report_guard_status(const struct guard *g, char *buf, size_t size)
{
	uint32_t cpus = count_cpus(g), off = guard_count_off(g);
	size_t n;

	if (cpus == 0) {
		snprintf(buf, size, "off");
		return buf;
	}
	snprintf(buf, size,
		 "looks at %u CPU%s; %u state%s off; %" PRIu64 " veto%s, about %" PRIu64
		 " early wake-ups avoided",
		 cpus, cpus == 1 ? "" : "s", off, off == 1 ? "" : "s", g->vetoes,
		 g->vetoes == 1 ? "" : "es", guard_avoided(g));
	n = strlen(buf);
	if (g->n_uncounted > 0 && n < size)
		snprintf(buf + n, size - n, "; no counter \"above\" on %u of them", g->n_uncounted);
	return buf;
}
