/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adapt-text.h"

struct sum {
	const struct adapt_cell *last; /* the one that was found busy last; NULL: none was */
	uint32_t n, tight;
	uint64_t spells;
};

static struct sum sum_up(const struct adapt *a, const struct plan *plan,
			 const struct plan_row *from)
{
	struct sum s = {.last = NULL};

	for (uint32_t i = 0; i < a->n; i++) {
		const struct adapt_cell *c = &a->cells[i];

		if (plan_row_of(plan, c->cpu) != from)
			continue;
		s.n++;
		s.tight += c->tight;
		s.spells += c->busy ? c->busy->spell.n : 0;
		if (c->busy && (!s.last || c->busy->spell.since > s.last->busy->spell.since))
			s.last = c;
	}
	return s;
}

static void say_last(const struct adapt *a, const struct sum *s, struct buf *b)
{
	const struct adapt_busy *busy = s->last->busy;
	uint64_t seconds = (a->now - busy->spell.since) / NSEC_PER_SEC;

	if (s->tight > 0)
		buf_printf(b, ", which holds on %" PRIu32 " of %" PRIu32 " CPUs", s->tight, s->n);
	else
		buf_puts(b, ", which does not hold now");
	buf_printf(b,
		   "; times so far: %" PRIu64 "; CPU %u %s %" PRIu64 " s, at %" PRIu64
		   " wake-ups a second from states above it; then %" PRIu64 " in all",
		   s->spells, s->last->cpu, s->last->tight ? "busy for" : "calm for", seconds,
		   busy->wakes, adapt_rate(busy));
}

void adapt_text(const struct machine *machine, const struct plan *plan, const struct plan_row *from,
		struct buf *b)
{
	const struct adapt *a = machine->adapt;
	char ns[LATENCY_TEXT_MAX];
	struct sum s = {.last = NULL};

	units_format_latency(from->adapt_ns, ns, sizeof(ns));
	buf_printf(b, "%s while the CPU wakes up often", ns);
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
