/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spell.h"

uint64_t spell_ns(const struct spell *s)
{
	return MIN_OF(SPELL_NS << s->level, SPELL_MAX_NS);
}

static void choose_length(struct spell *s, uint64_t now)
{
	uint64_t forgotten = (now - s->since) / SPELL_FORGET_NS;

	if (s->n == 0)
		return;
	if (forgotten > 0)
		s->level -= (uint8_t)MIN_OF(s->level, forgotten);
	else if (spell_ns(s) < SPELL_MAX_NS)
		s->level++;
}

void spell_begin(struct spell *s, uint64_t now)
{
	choose_length(s, now);
	s->n++;
	s->since = now;
	s->until = now + spell_ns(s);
	s->calm = 0;
}

enum spell_end spell_look(struct spell *s, bool on, uint64_t before, uint64_t now)
{
	enum spell_end end = SPELL_LASTS;

	if (on)
		s->calm = 0;
	else if (s->calm == 0)
		s->calm = before;
	if (s->calm > 0 && now - s->calm >= spell_ns(s) / 2)
		end = SPELL_CALMED;
	else if (now >= s->until && (!on || now - s->since >= SPELL_MAX_NS))
		end = SPELL_TRIED;
	else if (now >= s->until)
		s->until = MIN_OF(now + spell_ns(s), s->since + SPELL_MAX_NS);
	if (end != SPELL_LASTS)
		s->since = now;
	return end;
}
