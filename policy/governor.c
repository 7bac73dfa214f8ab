/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "governor.h"

#define FACTOR_ONE   1024U
#define FACTOR_DECAY 8U /* how slowly the factor follows */

/* teo: an event counts this much, and loses an eighth of it with each one that follows. */
#define PULSE	    1024U
#define DECAY_SHIFT 3U

/* Polling ends after one of these (CPUIDLE_POLL_MIN, a sixteenth of a tick). */
#define POLL_MIN_NS (10 * NSEC_PER_USEC)
#define POLL_MAX_NS (250 * NSEC_PER_USEC)

uint64_t governor_poll_ns(const struct idle_table *table, uint16_t allowed)
{
	for (uint32_t i = 1; i < table->n; i++)
		if (allowed >> i & 1 && table->states[i].target_residency_ns >= POLL_MIN_NS)
			return MIN_OF(table->states[i].target_residency_ns, POLL_MAX_NS);
	return POLL_MAX_NS;
}

/* menu ------------------------------------------------------------------------------------------------- */

/* By how far away the timer is, a factor of ten each: idle periods are cut short differently. */
static uint32_t bucket_of(uint64_t timer_ns)
{
	uint64_t limit = 10 * NSEC_PER_USEC;
	uint32_t i = 0;

	while (i < GOVERNOR_BUCKETS - 1 && timer_ns >= limit) {
		limit *= 10;
		i++;
	}
	return i;
}

struct spread {
	uint64_t mean, deviation2, max; /* deviation2: squared */
	uint32_t n;
};

/* Mean and variance of the periods up to a bound. */
static struct spread spread_of(const struct governor *g, uint64_t bound)
{
	struct spread s = {.n = 0};
	uint64_t sum = 0;

	for (uint32_t i = 0; i < g->n_periods; i++) {
		if (g->periods[i] > bound)
			continue;
		sum += g->periods[i];
		s.max = MAX_OF(s.max, g->periods[i]);
		s.n++;
	}
	if (s.n == 0)
		return s;
	s.mean = sum / s.n;
	for (uint32_t i = 0; i < g->n_periods; i++) {
		uint64_t d;

		if (g->periods[i] > bound)
			continue;
		d = g->periods[i] > s.mean ? g->periods[i] - s.mean : s.mean - g->periods[i];
		/* Periods are bounded to what this can hold; see governor_reflect(). */
		s.deviation2 += d * d / s.n;
	}
	return s;
}

/* The mean of periods that agree, without the longest ones if need be; UINT64_MAX when they do not. */
static uint64_t typical(const struct governor *g)
{
	uint64_t bound = UINT64_MAX;

	if (g->n_periods < GOVERNOR_PERIODS)
		return UINT64_MAX;
	for (;;) {
		struct spread s = spread_of(g, bound);

		/* At least three quarters of them have to be left. */
		if (s.n * 4 < GOVERNOR_PERIODS * 3)
			return UINT64_MAX;
		/* A deviation of a sixth of the mean, or of 20 us. */
		if (s.deviation2 * 36 <= s.mean * s.mean ||
		    s.deviation2 <= UINT64_C(20) * NSEC_PER_USEC * 20 * NSEC_PER_USEC)
			return s.mean;
		bound = s.max - 1;
	}
}

static uint64_t menu_expects(const struct governor *g, uint64_t timer_ns)
{
	uint32_t factor = g->factor[bucket_of(timer_ns)];
	uint64_t by_timer = timer_ns;

	if (timer_ns != UINT64_MAX && factor > 0)
		by_timer = timer_ns / FACTOR_ONE * factor;
	return MIN_OF(by_timer, typical(g));
}

static uint32_t menu_selects(const struct governor *g, const struct idle_table *table,
			     uint16_t allowed, uint64_t timer_ns, bool *ret_brief)
{
	uint64_t expected = menu_expects(g, timer_ns);
	uint32_t found = 0;
	bool any = false;

	*ret_brief = expected < GOVERNOR_TICK_NS;
	for (uint32_t i = 0; i < table->n; i++) {
		const struct idle_state *s = &table->states[i];

		if (!(allowed >> i & 1))
			continue;
		if (any && s->target_residency_ns > expected) {
			if (table->states[found].class == STATE_CLASS_POLL &&
			    s->target_residency_ns <= timer_ns)
				found = i;
			break;
		}
		found = i;
		any = true;
	}
	return found;
}

static void menu_learns(struct governor *g, uint64_t timer_ns, uint64_t idle_ns)
{
	uint32_t *factor = &g->factor[bucket_of(timer_ns)], now;

	g->periods[g->next] = MIN_OF(idle_ns, NSEC_PER_SEC / 2);
	g->next = (g->next + 1) % GOVERNOR_PERIODS;
	g->n_periods = MIN_OF(g->n_periods + 1, GOVERNOR_PERIODS);
	if (timer_ns == UINT64_MAX || timer_ns == 0)
		return;
	now = (uint32_t)(MIN_OF(idle_ns, timer_ns) * FACTOR_ONE / timer_ns);
	if (*factor == 0)
		*factor = FACTOR_ONE;
	*factor = MAX_OF((*factor * (FACTOR_DECAY - 1) + now) / FACTOR_DECAY, 1U);
}

/* teo -------------------------------------------------------------------------------------------------- */

/* The state whose bin a time falls into. */
static uint32_t bin_of(const struct idle_table *table, uint64_t ns)
{
	uint32_t bin = 0;

	for (uint32_t i = 1; i < table->n; i++)
		if (table->states[i].target_residency_ns <= ns)
			bin = i;
	return bin;
}

/* The deepest allowed state that fits the next timer; else the first one that is allowed. */
static uint32_t teo_candidate(const struct idle_table *table, uint16_t allowed, uint64_t timer_ns)
{
	uint32_t found = 0;
	bool any = false;

	for (uint32_t i = 0; i < table->n; i++) {
		if (!(allowed >> i & 1))
			continue;
		if (any && table->states[i].target_residency_ns > timer_ns)
			break;
		found = i;
		any = true;
	}
	return found;
}

/* A state, or the next one from there on that is allowed. */
static uint32_t allowed_from(uint16_t allowed, uint32_t state, uint32_t candidate)
{
	while (state < candidate && !(allowed >> state & 1))
		state++;
	return state;
}

static uint32_t teo_selects(const struct governor *g, const struct idle_table *table,
			    uint16_t allowed, uint64_t timer_ns, bool *ret_brief)
{
	uint32_t candidate = teo_candidate(table, allowed, timer_ns);
	uint32_t early = 0, late = 0, sum = 0;

	for (uint32_t i = 0; i < table->n; i++) {
		if (i < candidate)
			early += g->intercepts[i];
		else
			late += g->hits[i] + g->intercepts[i];
	}
	*ret_brief = early > late || timer_ns < GOVERNOR_TICK_NS;
	if (early <= late)
		return candidate;
	for (uint32_t i = candidate; i > 0; i--) {
		sum += g->intercepts[i - 1];
		if (sum * 2 > early)
			return allowed_from(allowed, i - 1, candidate);
	}
	return candidate;
}

static void teo_learns(struct governor *g, const struct idle_table *table, uint64_t timer_ns,
		       uint64_t idle_ns)
{
	uint32_t measured = bin_of(table, idle_ns), expected = bin_of(table, timer_ns);

	for (uint32_t i = 0; i < table->n; i++) {
		g->hits[i] -= g->hits[i] >> DECAY_SHIFT;
		g->intercepts[i] -= g->intercepts[i] >> DECAY_SHIFT;
	}
	if (measured == expected)
		g->hits[measured] += PULSE;
	else
		g->intercepts[measured] += PULSE;
}

/* Both ------------------------------------------------------------------------------------------------- */

uint32_t governor_select(const struct governor *g, enum governor_kind kind,
			 const struct idle_table *table, uint16_t allowed, uint64_t timer_ns,
			 bool *ret_brief)
{
	if (kind == GOVERNOR_TEO)
		return teo_selects(g, table, allowed, timer_ns, ret_brief);
	return menu_selects(g, table, allowed, timer_ns, ret_brief);
}

void governor_reflect(struct governor *g, enum governor_kind kind, const struct idle_table *table,
		      uint64_t timer_ns, uint64_t idle_ns)
{
	if (kind == GOVERNOR_TEO)
		teo_learns(g, table, timer_ns, idle_ns);
	else
		menu_learns(g, timer_ns, idle_ns);
}
