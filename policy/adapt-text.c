/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adapt-text.h"

struct sum {
	const struct adapt_unit *last; /* the one that was found busy last; NULL: none was */
	uint16_t cpu; /* its first one of the row */
	uint32_t n, tight; /* CPUs */
	uint64_t spells;
};

/* All CPUs of a row have the same group, or none. */
static void add(const struct adapt_unit *u, uint16_t cpu, struct sum *s)
{
	bool first = s->n == 0 || !u->name;

	s->n++;
	s->tight += u->tight;
	if (!first || !u->busy)
		return;
	s->spells += u->busy->spell.n;
	if (s->last && u->busy->spell.since <= s->last->busy->spell.since)
		return;
	s->last = u;
	s->cpu = cpu;
}

static struct sum sum_up(const struct adapt *a, const struct plan *plan,
			 const struct plan_row *from)
{
	struct sum s = {.last = NULL};

	for (uint32_t i = 0; i < a->n; i++)
		if (plan_row_of(plan, a->cells[i].cpu) == from)
			add(&a->units[a->cells[i].unit], a->cells[i].cpu, &s);
	return s;
}

static void say_last(const struct adapt *a, const struct sum *s, struct buf *b)
{
	const struct adapt_unit *u = s->last;
	const struct adapt_busy *busy = u->busy;
	uint64_t seconds = (a->now - busy->spell.since) / NSEC_PER_SEC;

	if (s->tight > 0)
		buf_printf(b, ", which holds on %" PRIu32 " of %" PRIu32 " CPUs", s->tight, s->n);
	else
		buf_puts(b, ", which does not hold now");
	buf_printf(b, "; times so far: %" PRIu64 "; ", s->spells);
	if (u->name)
		buf_puts(b, u->name);
	else
		buf_printf(b, "CPU %u", s->cpu);
	buf_printf(b, " %s %" PRIu64 " s, at %" PRIu64 " wake-ups a second from states above it",
		   u->tight ? "busy for" : "calm for", seconds, busy->wakes);
	if (u->name)
		buf_printf(b, ", %" PRIu64 " of them on one CPU", busy->most);
	if (busy->pressure != ADAPT_PRESSURE_UNKNOWN)
		buf_printf(b, ", while tasks waited for a CPU %" PRIu32 " %% of the time",
			   busy->pressure);
	buf_printf(b, "; then %" PRIu64 " in all", adapt_rate(busy));
}

void adapt_text(const struct machine *machine, const struct plan *plan, const struct plan_row *from,
		struct buf *b)
{
	const struct adapt *a = machine->adapt;
	bool alone = from->adapt_group == PLAN_ADAPT_ALONE;
	char ns[LATENCY_TEXT_MAX];
	struct sum s = {.last = NULL};

	units_format_latency(from->adapt_ns, ns, sizeof(ns));
	buf_printf(b, "%s while %s", ns,
		   alone ? "the CPU wakes up often" : "its group's CPUs wake up often");
	if (a)
		s = sum_up(a, plan, from);
	if (!a)
		buf_puts(b, "; looked at while the daemon runs");
	else if (s.n == 0)
		buf_puts(b, "; no state lies between that and the limit");
	else if (!s.last)
		buf_puts(b, ", which was not so far");
	else
		say_last(a, &s, b);
}
