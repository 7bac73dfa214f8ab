/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report-adapt.h"

#define CPUS_TEXT_MAX 200U

/* All cells with one decision, as one line. */
struct bundle {
	const struct adapt_cell *first;
	uint32_t n;
	uint64_t wakes, rate, ns; /* sums */
	char cpus[CPUS_TEXT_MAX];
};

static bool same(const struct adapt_cell *a, const struct adapt_cell *b)
{
	return a->event == b->event && a->limit_ns == b->limit_ns &&
	       a->busy->spell.level == b->busy->spell.level;
}

static void gather(const struct adapt *a, uint32_t i, struct cpuset *told, struct cpuset *cpus,
		   struct bundle *b)
{
	*b = (struct bundle){.first = &a->cells[i]};
	cpuset_clear(cpus);
	for (; i < a->n; i++) {
		const struct adapt_cell *c = &a->cells[i];

		if (!same(c, b->first))
			continue;
		cpuset_add(told, i);
		cpuset_add(cpus, c->cpu);
		b->n++;
		b->wakes += c->busy->wakes;
		b->rate += adapt_rate(c->busy);
		b->ns += c->busy->ns;
	}
	cpuset_format(cpus, b->cpus, sizeof(b->cpus));
}

static void say(const struct report *to, const struct adapt *a, const struct bundle *b)
{
	const struct adapt_cell *c = b->first;
	bool tight = c->event == ADAPT_TIGHTENED;
	char detail[400], text[640], limit[LATENCY_TEXT_MAX], spell[LATENCY_TEXT_MAX],
		pressure[64] = "";

	units_format_latency(c->limit_ns, limit, sizeof(limit));
	units_format_latency(spell_ns(&c->busy->spell), spell, sizeof(spell));
	if (a->pressure != ADAPT_PRESSURE_UNKNOWN)
		snprintf(pressure, sizeof(pressure), ", tasks waited for a CPU %u %% of the time",
			 a->pressure);
	if (tight)
		snprintf(detail, sizeof(detail),
			 "%" PRIu64
			 " wake-ups a second from states above %s%s; limit %s for %s or longer",
			 b->wakes / b->n, limit, pressure, limit, spell);
	else
		snprintf(detail, sizeof(detail),
			 "limit %s no more after %" PRIu64 " s, %s: %" PRIu64
			 " wake-ups a second meanwhile, %" PRIu64 " from states above it before",
			 limit, b->ns / b->n / NSEC_PER_SEC,
			 c->event == ADAPT_CALMED ? "the work has calmed down" : "for a try",
			 b->rate / b->n, b->wakes / b->n);
	snprintf(text, sizeof(text), "CPU%s %s: %s", b->n > 1 ? "s" : "", b->cpus, detail);
	log_entry(&(struct log_entry){.id = LOG_ID_ADAPT,
				      .priority = LOG_INFO,
				      .cpus = b->cpus,
				      .new = tight ? limit : NULL,
				      .old = tight ? NULL : limit},
		  "Adapt: %s", text);
	if (to->told)
		to->told(to->data, "adapt", text);
}

void report_adapt(const struct report *to, const struct adapt *a)
{
	_cleanup_(cpuset_done) struct cpuset told = {.size = 0}, cpus = {.size = 0};
	uint32_t lines = 0;

	if (cpuset_init(&told, a->n) < 0 || cpuset_init(&cpus, CPU_MAX) < 0)
		return;
	for (uint32_t i = 0; i < a->n && lines < REPORT_LINES_MAX; i++) {
		struct bundle b;

		if (a->cells[i].event == ADAPT_NOTHING || cpuset_has(&told, i))
			continue;
		gather(a, i, &told, &cpus, &b);
		say(to, a, &b);
		lines++;
	}
}

const char *report_adapt_status(const struct adapt *a, char *buf, size_t size)
{
	if (a->n == 0)
		snprintf(buf, size, "off");
	else
		snprintf(buf, size, "adapts %u CPU%s; %u busy; %" PRIu64 " time%s so far", a->n,
			 a->n == 1 ? "" : "s", adapt_count_tight(a), a->spells,
			 a->spells == 1 ? "" : "s");
	return buf;
}
