/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report-adapt.h"

#define CPUS_TEXT_MAX 200U

/* All CPUs with one decision, as one line: alone and alike, or of a group. */
struct bundle {
	const struct adapt_unit *first;
	uint32_t units, n; /* n: CPUs */
	uint64_t wakes, rate, ns; /* sums over the units */
	char cpus[CPUS_TEXT_MAX];
};

static bool same(const struct adapt_unit *a, const struct adapt_unit *b)
{
	if (a == b)
		return true;
	return !a->name && !b->name && a->event == b->event && a->limit_ns == b->limit_ns &&
	       a->busy->spell.level == b->busy->spell.level;
}

static void gather(const struct adapt *a, uint32_t i, struct cpuset *told, struct cpuset *cpus,
		   struct bundle *b)
{
	*b = (struct bundle){.first = &a->units[i]};
	cpuset_clear(cpus);
	for (; i < a->n_units; i++) {
		const struct adapt_unit *u = &a->units[i];

		if (u->event == ADAPT_NOTHING || !same(u, b->first))
			continue;
		cpuset_add(told, i);
		b->units++;
		b->wakes += u->busy->wakes;
		b->rate += adapt_rate(u->busy);
		b->ns += u->busy->ns;
	}
	for (i = 0; i < a->n; i++) {
		const struct adapt_unit *u = &a->units[a->cells[i].unit];

		if (u->event != ADAPT_NOTHING && same(u, b->first))
			cpuset_add(cpus, a->cells[i].cpu);
	}
	b->n = cpuset_count(cpus);
	cpuset_format(cpus, b->cpus, sizeof(b->cpus));
}

static void busy_text(const struct bundle *b, const char *limit, char *buf, size_t size)
{
	const struct adapt_busy *busy = b->first->busy;
	char most[64] = "", pressure[80] = "", spell[LATENCY_TEXT_MAX];

	if (b->first->name)
		snprintf(most, sizeof(most), ", %" PRIu64 " of them on one CPU", busy->most);
	if (busy->pressure != ADAPT_PRESSURE_UNKNOWN)
		snprintf(pressure, sizeof(pressure),
			 ", tasks waited for a CPU %" PRIu32 " %% of the time", busy->pressure);
	snprintf(buf, size,
		 "%" PRIu64
		 " wake-ups a second from states above %s%s%s; limit %s for %s or longer",
		 b->wakes / b->units, limit, most, pressure, limit,
		 units_format_latency(spell_ns(&busy->spell), spell, sizeof(spell)));
}

static void calm_text(const struct bundle *b, const char *limit, char *buf, size_t size)
{
	snprintf(buf, size,
		 "limit %s no more after %" PRIu64 " s, %s: %" PRIu64
		 " wake-ups a second meanwhile, %" PRIu64 " from states above it before",
		 limit, b->ns / b->units / NSEC_PER_SEC,
		 b->first->event == ADAPT_CALMED ? "the work has calmed down" : "for a try",
		 b->rate / b->units, b->wakes / b->units);
}

static void say(const struct report *to, const struct bundle *b)
{
	const struct adapt_unit *u = b->first;
	bool tight = u->event == ADAPT_TIGHTENED;
	char detail[400], text[720], limit[LATENCY_TEXT_MAX];

	units_format_latency(u->limit_ns, limit, sizeof(limit));
	if (tight)
		busy_text(b, limit, detail, sizeof(detail));
	else
		calm_text(b, limit, detail, sizeof(detail));
	snprintf(text, sizeof(text), "%s%sCPU%s %s: %s", u->name ? u->name : "",
		 u->name ? ", " : "", b->n > 1 ? "s" : "", b->cpus, detail);
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

	if (cpuset_init(&told, a->n_units) < 0 || cpuset_init(&cpus, CPU_MAX) < 0)
		return;
	for (uint32_t i = 0; i < a->n_units && lines < REPORT_LINES_MAX; i++) {
		struct bundle b;

		if (a->units[i].event == ADAPT_NOTHING || cpuset_has(&told, i))
			continue;
		gather(a, i, &told, &cpus, &b);
		say(to, &b);
		lines++;
	}
}

const char *report_adapt_status(const struct adapt *a, char *buf, size_t size)
{
	if (a->n == 0)
		snprintf(buf, size, "off");
	else
		snprintf(buf, size,
			 "adapts %u CPU%s; %u busy; %" PRIu64 " time%s so far, %" PRIu64
			 " wake-ups within Adapt= meanwhile",
			 a->n, a->n == 1 ? "" : "s", adapt_count_tight(a), a->spells,
			 a->spells == 1 ? "" : "s", a->within);
	return buf;
}
