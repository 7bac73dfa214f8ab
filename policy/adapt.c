/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adapt.h"

/* Two looks that close to each other say nothing about a rate. */
#define SPAN_MIN_NS (100 * NSEC_PER_MSEC)

struct look {
	struct adapt *adapt;
	counter_read read;
	void *data;
	uint32_t slot;
};

/* What is watched -------------------------------------------------------------------------------- */

static const struct adapt_cell *find(const struct adapt *a, uint32_t cpu)
{
	uint32_t low = 0, high = a->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (a->cells[middle].cpu == cpu)
			return &a->cells[middle];
		if (a->cells[middle].cpu < cpu)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

uint64_t adapt_ceiling(const struct policy *policy, const struct plan *plan,
		       const struct plan_row *row)
{
	uint64_t ns = MIN_OF(MIN_OF(policy->global_limit_ns, row->hold_limit_ns),
			     MIN_OF(row->cpu_others_ns, row->global_others_ns));

	for (uint32_t i = 0; i < row->n_demands; i++) {
		const struct plan_demand *d = &plan->demands[row->demands + i];

		ns = MIN_OF(ns, policy->profiles[d->profile].resolved.latency_limit_ns);
	}
	return ns;
}

/* Is the state there, limits aside? */
static bool is_there(const struct plan_state *s)
{
	return s->enabled || s->reason == STATE_OFF_OVER_LIMIT ||
	       s->reason == STATE_OFF_ZERO_LIMIT || s->reason == STATE_OFF_BY_GUARD;
}

/* False when no state lies between both limits: there is nothing to adapt. */
static bool fill_cell(const struct policy *policy, const struct plan *plan,
		      const struct machine *machine, const struct plan_row *row,
		      struct adapt_cell *c)
{
	const struct idle_table *table;
	uint64_t longer;

	if (row->adapt_ns == LATENCY_NONE || !row->online || row->table >= machine->n_tables)
		return false;
	table = &machine->tables[row->table];
	longer = adapt_ceiling(policy, plan, row);
	c->limit_ns = row->adapt_ns;
	c->above = c->within = 0;
	for (uint32_t i = 0; i < table->n; i++) {
		uint64_t ns = table->states[i].exit_latency_ns;
		uint16_t bit = (uint16_t)(1U << i);

		if (!is_there(&row->states[i]))
			continue;
		if (i == 0 || ns <= row->adapt_ns)
			c->within |= bit;
		else if (ns <= longer)
			c->above |= bit;
	}
	return c->above != 0;
}

static uint32_t walk(const struct adapt *old, const struct policy *policy, const struct plan *plan,
		     const struct machine *machine, struct adapt_cell *cells)
{
	uint32_t n = 0;

	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		const struct plan_row *row = plan_row_of(plan, cpu);
		const struct adapt_cell *known = find(old, cpu);
		struct adapt_cell c = known ? *known : (struct adapt_cell){.known = false};

		if (!row || !fill_cell(policy, plan, machine, row, &c))
			continue;
		c.cpu = (uint16_t)cpu;
		/* Counters of other states are not to be compared with. */
		if (known && (c.above != known->above || c.within != known->within))
			c.known = false;
		if (cells)
			cells[n] = c;
		n++;
	}
	return n;
}

static void forget(const struct adapt *old, const struct adapt *kept)
{
	for (uint32_t i = 0; i < old->n; i++)
		if (!find(kept, old->cells[i].cpu))
			free(old->cells[i].busy);
}

static bool is_behind(const struct adapt *a, const struct plan *plan)
{
	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		const struct plan_row *row = plan_row_of(plan, cpu);

		if (row && row->tight && row->adapt_ns != LATENCY_NONE && !adapt_tight(a, cpu))
			return true;
	}
	return false;
}

int adapt_follow(struct adapt *a, const struct policy *policy, const struct plan *plan,
		 const struct machine *machine)
{
	uint32_t n = walk(a, policy, plan, machine, NULL);
	struct adapt_cell *cells = NULL;

	if (n > 0) {
		cells = calloc(n, sizeof(*cells));
		if (!cells)
			return -ENOMEM;
		(void)walk(a, policy, plan, machine, cells);
	}
	forget(a, &(struct adapt){.cells = cells, .n = n});
	free(a->cells);
	a->cells = cells;
	a->n = n;
	return is_behind(a, plan);
}

void adapt_done(struct adapt *a)
{
	forget(a, &(struct adapt){.n = 0});
	free(a->cells);
	*a = (struct adapt){.n = 0};
}

/* A look ------------------------------------------------------------------------------------------ */

/* Entries of all states of a set. */
static int read_set(const struct look *l, const struct adapt_cell *c, uint16_t set, uint64_t *ret)
{
	uint32_t slot = l->slot + (uint32_t)(c - l->adapt->cells) * ADAPT_SLOTS, used = 0;
	uint64_t sum = 0, n;

	for (uint8_t state = 0; set >> state; state++) {
		struct counter counter = {.cpu = c->cpu, .state = state, .file = COUNTER_USAGE};
		int r;

		if (!(set >> state & 1))
			continue;
		counter.slot = used < ADAPT_SLOTS ? slot + used : COUNTER_ONCE;
		used++;
		r = l->read(l->data, &counter, &n);
		if (r < 0)
			return r;
		sum += n;
	}
	*ret = sum;
	return 0;
}

static void begin(const struct look *l, struct adapt_cell *c)
{
	c->known = read_set(l, c, c->tight ? c->within : c->above, &c->entries) == 0;
	c->at = l->adapt->now;
	c->warm = false;
}

/* Without memory for it the CPU stays as it is, and is found busy in the next look. */
static void tighten(const struct look *l, struct adapt_cell *c, uint64_t wakes)
{
	if (!c->busy)
		c->busy = calloc(1, sizeof(*c->busy));
	if (!c->busy)
		return;
	spell_begin(&c->busy->spell, l->adapt->now);
	c->busy->wakes = wakes;
	c->busy->pressure = l->adapt->pressure;
	c->busy->entries = c->busy->ns = 0;
	c->tight = true;
	c->event = ADAPT_TIGHTENED;
	l->adapt->spells++;
	begin(l, c);
}

static void look_at_loose(const struct look *l, struct adapt_cell *c, uint64_t wakes)
{
	uint32_t pressure = l->adapt->pressure, mark = ADAPT_WAKES;
	bool was_warm = c->warm;

	if (pressure != ADAPT_PRESSURE_UNKNOWN && pressure >= ADAPT_PRESSURE_PERCENT)
		mark /= 2;
	c->warm = wakes >= mark;
	if (wakes >= UINT64_C(4) * mark || (c->warm && was_warm))
		tighten(l, c, wakes);
}

static void look_at_tight(const struct look *l, struct adapt_cell *c, uint64_t wakes,
			  uint64_t before)
{
	enum spell_end end;

	end = spell_look(&c->busy->spell, wakes >= ADAPT_WAKES / 2, before, l->adapt->now);
	if (end == SPELL_LASTS)
		return;
	c->tight = false;
	c->event = end == SPELL_CALMED ? ADAPT_CALMED : ADAPT_TRIED;
	begin(l, c);
}

static void look_at(const struct look *l, struct adapt_cell *c)
{
	uint64_t span = l->adapt->now - c->at, before = c->at, entries, more;

	if (!c->known) {
		begin(l, c);
		return;
	}
	if (span < SPAN_MIN_NS)
		return;
	if (read_set(l, c, c->tight ? c->within : c->above, &entries) < 0) {
		c->known = false;
		return;
	}
	/* Counters begin anew when a CPU comes back, which is no entry. */
	more = entries > c->entries ? entries - c->entries : 0;
	c->entries = entries;
	c->at = l->adapt->now;
	if (c->tight) {
		c->busy->entries += more;
		c->busy->ns = l->adapt->now - c->busy->spell.since;
		look_at_tight(l, c, more * NSEC_PER_SEC / span, before);
	} else {
		look_at_loose(l, c, more * NSEC_PER_SEC / span);
	}
}

void adapt_look(struct adapt *a, uint64_t now, uint32_t pressure, uint32_t slot, counter_read read,
		void *data)
{
	struct look l = {.adapt = a, .read = read, .data = data, .slot = slot};

	a->now = now;
	a->pressure = pressure;
	a->n_events = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		a->cells[i].event = ADAPT_NOTHING;
		look_at(&l, &a->cells[i]);
		a->n_events += a->cells[i].event != ADAPT_NOTHING;
	}
}

bool adapt_tight(const struct adapt *a, uint32_t cpu)
{
	const struct adapt_cell *c = find(a, cpu);

	return c && c->tight;
}

uint32_t adapt_count_tight(const struct adapt *a)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n; i++)
		n += a->cells[i].tight;
	return n;
}

uint64_t adapt_rate(const struct adapt_busy *b)
{
	return b->ns > 0 ? b->entries * NSEC_PER_SEC / b->ns : 0;
}
