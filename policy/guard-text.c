/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard-text.h"

/* One state on all CPUs of the row. */
struct sum {
	const struct guard_cell *last; /* the one that was caught last; NULL: none was */
	uint32_t n, known, off;
	uint64_t vetoes, left_ns; /* vetoes so far; longest that one still lasts */
};

static struct sum sum_up(const struct guard *g, const struct plan *plan,
			 const struct plan_row *from, uint32_t state)
{
	struct sum s = {.last = NULL};

	for (uint32_t i = 0; i < g->n; i++) {
		const struct guard_cell *c = &g->cells[i];

		if (c->state != state || plan_row_of(plan, c->cpu) != from)
			continue;
		s.n++;
		s.known += c->known;
		s.off += c->off;
		s.vetoes += c->veto ? c->veto->spell.n : 0;
		if (c->off && c->veto && c->veto->spell.until > g->now)
			s.left_ns = MAX_OF(s.left_ns, c->veto->spell.until - g->now);
		if (c->veto && (!s.last || c->veto->spell.since > s.last->veto->spell.since))
			s.last = c;
	}
	return s;
}

static void say_state(const struct guard *g, const struct idle_table *table, uint32_t state,
		      const struct sum *s, struct buf *b)
{
	const struct guard_cell *c = s->last;

	buf_printf(b, "%s%s", b->n > 0 ? "; " : "", table->states[state].name);
	if (!c) {
		buf_puts(b, s->known > 0 ? " is looked at once a second, no veto so far"
					 : " has no counters to look at");
		return;
	}
	if (s->off > 0)
		buf_printf(b,
			   " is off on %" PRIu32 " of %" PRIu32 " CPUs, for %" PRIu64
			   " s more at most",
			   s->off, s->n, (s->left_ns + NSEC_PER_SEC - 1) / NSEC_PER_SEC);
	else
		buf_printf(b, " is on again since %" PRIu64 " s",
			   (g->now - c->veto->spell.since) / NSEC_PER_SEC);
	buf_printf(b,
		   ", vetoes so far: %" PRIu64 "; CPU %u had %" PRIu64 " early entries in %" PRIu64
		   " s, %" PRIu32 " %% of all; with the veto %" PRIu64 " of %s a second",
		   s->vetoes, c->cpu, c->veto->seen.early,
		   MAX_OF(c->veto->seen.span_ns / NSEC_PER_SEC, UINT64_C(1)),
		   c->veto->seen.early_percent, guard_instead_rate(c->veto),
		   table->states[c->instead].name);
}

void guard_text(const struct machine *machine, const struct plan *plan, const struct plan_row *from,
		const struct idle_table *table, struct buf *b)
{
	const struct guard *g = machine->guard;
	bool any = false;
	uint8_t instead;

	for (uint32_t i = 1; i < table->n; i++) {
		struct sum s;

		if (!guard_watches(from, table, i, &instead))
			continue;
		if (g) {
			s = sum_up(g, plan, from, i);
			say_state(g, table, i, &s, b);
		} else {
			buf_printf(b, "%s%s", any ? ", " : "the daemon looks at ",
				   table->states[i].name);
		}
		any = true;
	}
	if (!any)
		buf_puts(b,
			 "nothing to look at: no deep state with another one that halts below it");
}
