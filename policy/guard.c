/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard.h"

#define PERCENT UINT64_C(100)

/* Two looks that close to each other say nothing about a rate. */
#define SPAN_MIN_NS (100 * NSEC_PER_MSEC)

/* One look in the making. */
struct look {
	struct guard *guard;
	counter_read read;
	void *data;
	bool busy; /* somebody was over GUARD_QUIET_RATE */
};

/* What is watched -------------------------------------------------------------------------------- */

static bool is_deep(const struct idle_state *s)
{
	return s->class >= STATE_CLASS_CORE_OFF && s->exit_latency_ns > 0 &&
	       s->exit_latency_ns <= UINT32_MAX && s->target_residency_ns <= UINT32_MAX;
}

/* The state that is entered while another one is off: 0 when only POLL is left. */
static uint8_t find_instead(const struct plan_row *row, const struct idle_table *table,
			    uint32_t state)
{
	while (--state > 0)
		if (row->states[state].enabled && table->states[state].class >= STATE_CLASS_HALT)
			return (uint8_t)state;
	return 0;
}

bool guard_watches(const struct plan_row *row, const struct idle_table *table, uint32_t state,
		   uint8_t *ret_instead)
{
	bool ours = row->states[state].reason == STATE_OFF_BY_GUARD;

	if (!is_deep(&table->states[state]) || (!row->states[state].enabled && !ours))
		return false;
	*ret_instead = find_instead(row, table, state);
	return *ret_instead > 0;
}

static const struct guard_cell *find(const struct guard *g, uint32_t cpu, uint32_t state)
{
	uint32_t low = 0, high = g->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct guard_cell *c = &g->cells[middle];

		if (c->cpu == cpu && c->state == state)
			return c;
		if (c->cpu < cpu || (c->cpu == cpu && c->state < state))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static struct guard_cell make_cell(const struct guard *old, uint32_t cpu, uint32_t state,
				   uint8_t instead, const struct idle_state *s)
{
	const struct guard_cell *known = find(old, cpu, state);
	struct guard_cell c = known ? *known : (struct guard_cell){.known = false};

	/* Counters of another state are not to be compared with. */
	if (c.off && c.instead != instead)
		c.known = false;
	c.cpu = (uint16_t)cpu;
	c.state = (uint8_t)state;
	c.instead = instead;
	c.exit_ns = (uint32_t)s->exit_latency_ns;
	c.target_ns = (uint32_t)s->target_residency_ns;
	return c;
}

/* Counts the cells of all guarded CPUs, and fills them in where cells is given. */
static uint32_t walk(const struct guard *old, const struct plan *plan,
		     const struct machine *machine, struct guard_cell *cells)
{
	uint32_t n = 0;
	uint8_t instead;

	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		const struct plan_row *row = plan_row_of(plan, cpu);
		const struct idle_table *table;

		if (!row || !row->guarded || row->table >= machine->n_tables)
			continue;
		table = &machine->tables[row->table];
		for (uint32_t i = 1; i < table->n; i++) {
			if (!guard_watches(row, table, i, &instead))
				continue;
			if (cells)
				cells[n] = make_cell(old, cpu, i, instead, &table->states[i]);
			n++;
		}
	}
	return n;
}

/* Has the plan a veto that is not known, or not any more? */
static bool is_behind(const struct guard *g, const struct plan *plan)
{
	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		const struct plan_row *row = plan_row_of(plan, cpu);

		for (uint32_t i = 1; row && row->guarded && row->vetoed && i < MACHINE_STATES_MAX;
		     i++)
			if (row->states[i].reason == STATE_OFF_BY_GUARD && !find(g, cpu, i))
				return true;
	}
	return false;
}

/* Frees what the cells of old own that kept has no more. */
static void forget(const struct guard *old, const struct guard *kept)
{
	for (uint32_t i = 0; i < old->n; i++)
		if (!find(kept, old->cells[i].cpu, old->cells[i].state))
			free(old->cells[i].veto);
}

int guard_follow(struct guard *g, const struct plan *plan, const struct machine *machine)
{
	uint32_t n = walk(g, plan, machine, NULL);
	struct guard_cell *cells = NULL;

	if (n > 0) {
		cells = calloc(n, sizeof(*cells));
		if (!cells)
			return -ENOMEM;
		(void)walk(g, plan, machine, cells);
	}
	forget(g, &(struct guard){.cells = cells, .n = n});
	free(g->cells);
	g->cells = cells;
	g->n = n;
	g->n_uncounted = 0;
	for (uint32_t i = 0; i < n; i++)
		g->n_uncounted += cells[i].uncounted;
	return is_behind(g, plan);
}

void guard_done(struct guard *g)
{
	forget(g, &(struct guard){.n = 0});
	free(g->cells);
	*g = (struct guard){.n = 0};
}

/* Counters --------------------------------------------------------------------------------------- */

static uint32_t slot_of(const struct look *l, const struct guard_cell *c, unsigned which)
{
	return (uint32_t)(c - l->guard->cells) * 2 + which;
}

static int read_one(const struct look *l, const struct guard_cell *c, uint8_t state,
		    enum counter_file file, uint32_t slot, uint64_t *ret)
{
	const struct counter counter = {
		.slot = slot,
		.cpu = c->cpu,
		.state = state,
		.file = (uint8_t)file,
	};

	return l->read(l->data, &counter, ret);
}

/* Growth since; counters begin anew when a CPU comes back, which is none. */
static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static uint64_t per_second(uint64_t n, uint64_t span_ns)
{
	return n * NSEC_PER_SEC / span_ns;
}

/* The counter of early entries, or of all where nobody counts those. */
static int read_early(const struct look *l, struct guard_cell *c, uint64_t *ret)
{
	int r;

	if (!c->uncounted) {
		r = read_one(l, c, c->state, COUNTER_ABOVE, slot_of(l, c, 0), ret);
		if (r != -ENOENT)
			return r;
	}
	r = read_one(l, c, c->state, COUNTER_USAGE, slot_of(l, c, 0), ret);
	if (r == 0 && !c->uncounted) {
		c->uncounted = true;
		l->guard->n_uncounted++;
	}
	return r;
}

struct counts {
	uint64_t usage, time_us, rejected;
};

/* The time is looked at only where nobody counts early entries. */
static int read_others(const struct look *l, const struct guard_cell *c, struct counts *ret)
{
	struct counts n = {.rejected = 0};
	int r = read_one(l, c, c->state, COUNTER_USAGE, COUNTER_ONCE, &n.usage);

	if (r == 0 && c->uncounted)
		r = read_one(l, c, c->state, COUNTER_TIME, COUNTER_ONCE, &n.time_us);
	/* Kernels before 5.10 do not count these. */
	if (r == 0)
		(void)read_one(l, c, c->state, COUNTER_REJECTED, COUNTER_ONCE, &n.rejected);
	if (r == 0)
		*ret = n;
	return r;
}

static void keep_others(struct guard_cell *c, const struct counts *n)
{
	c->usage = n->usage;
	c->time_us = n->time_us;
	c->rejected = (uint32_t)n->rejected;
}

/* Everything to compare the next look with. */
static void begin(const struct look *l, struct guard_cell *c)
{
	struct counts others = {.rejected = 0};

	c->known = false;
	if (read_early(l, c, &c->early) < 0 || read_others(l, c, &others) < 0)
		return;
	keep_others(c, &others);
	/* Not all of them are read again in the same look. */
	c->reads = (uint8_t)(c->cpu / GUARD_SHARE % GUARD_REFRESH);
	c->at = l->guard->now;
	c->known = true;
}

static void begin_off(const struct look *l, struct guard_cell *c)
{
	c->known = read_one(l, c, c->instead, COUNTER_USAGE, slot_of(l, c, 0), &c->usage) == 0 &&
		   read_one(l, c, c->instead, COUNTER_TIME, slot_of(l, c, 1), &c->time_us) == 0;
	c->at = l->guard->now;
}

/* A state that is on --------------------------------------------------------------------------- */

/* Without memory for it the state stays, and is caught in the next look. */
static void take_away(struct look *l, struct guard_cell *c, const struct guard_sight *seen)
{
	struct guard_veto *v = c->veto;

	if (!v)
		v = c->veto = calloc(1, sizeof(*v));
	if (!v)
		return;
	spell_begin(&v->spell, l->guard->now);
	v->seen = *seen;
	v->instead_entries = v->off_ns = 0;
	c->off = true;
	c->event = GUARD_CAUGHT;
	l->guard->vetoes++;
	begin_off(l, c);
}

/*
 * Is a hot state to go? The others were read a look ago, as the early entries, or before: older entries can only
 * make the share look smaller than it is.
 */
static bool is_vicious(const struct guard_cell *c, const struct counts *n, struct guard_sight *seen)
{
	uint64_t refused = grown((uint32_t)n->rejected, c->rejected);
	uint64_t entries = grown(n->usage, c->usage);

	if (entries == 0 && refused == 0)
		return false;
	if (c->uncounted) {
		seen->early_percent = GUARD_EARLY_PERCENT;
		return grown(n->time_us, c->time_us) * NSEC_PER_USEC * 4 < entries * c->target_ns;
	}
	seen->early_percent =
		(uint32_t)MIN_OF((seen->early + refused) * PERCENT / (entries + refused), PERCENT);
	return seen->early_percent >= GUARD_EARLY_PERCENT;
}

static bool is_hot(const struct guard_cell *c, struct guard_sight *seen)
{
	uint64_t waste = seen->early_rate * c->exit_ns / (NSEC_PER_SEC / PERCENT);

	seen->waste_percent = (uint32_t)MIN_OF(waste, UINT32_MAX);
	return seen->early_rate >= GUARD_EARLY_RATE && waste >= GUARD_WASTE_PERCENT;
}

static void look_at_on(struct look *l, struct guard_cell *c)
{
	uint64_t now = l->guard->now, early;
	struct guard_sight seen = {.early = 0};
	struct counts others = {.rejected = 0};
	bool hot;

	if (!c->known) {
		begin(l, c);
		return;
	}
	if (now - c->at < SPAN_MIN_NS)
		return;
	if (read_early(l, c, &early) < 0) {
		c->known = false;
		return;
	}
	seen.early = grown(early, c->early);
	seen.span_ns = now - c->at;
	seen.early_rate = per_second(seen.early, seen.span_ns);
	l->busy |= seen.early_rate >= GUARD_QUIET_RATE;
	hot = is_hot(c, &seen);
	c->early = early;
	c->at = now;
	if (!hot && ++c->reads < GUARD_REFRESH)
		return;
	c->reads = 0;
	if (read_others(l, c, &others) < 0) {
		c->known = false;
		return;
	}
	if (hot && is_vicious(c, &others, &seen))
		take_away(l, c, &seen);
	else
		keep_others(c, &others);
}

/* A state that is off -------------------------------------------------------------------------- */

static uint64_t avoided(const struct guard_veto *v)
{
	return v->seen.early_rate * (v->off_ns / NSEC_PER_MSEC) / 1000;
}

static void release(struct look *l, struct guard_cell *c, enum guard_event event)
{
	l->guard->avoided += avoided(c->veto);
	c->off = false;
	c->event = (uint8_t)event;
	begin(l, c);
}

/* Goes the work on as when it was caught, by what the other state counts? */
static bool goes_on(const struct look *l, struct guard_cell *c, bool *ret)
{
	uint64_t span = l->guard->now - c->at, usage, us, entries;

	if (read_one(l, c, c->instead, COUNTER_USAGE, slot_of(l, c, 0), &usage) < 0 ||
	    read_one(l, c, c->instead, COUNTER_TIME, slot_of(l, c, 1), &us) < 0) {
		c->known = false;
		return false;
	}
	entries = grown(usage, c->usage);
	c->veto->instead_entries += entries;
	*ret = per_second(entries, span) >= GUARD_STILL_RATE &&
	       grown(us, c->time_us) * NSEC_PER_USEC < entries * c->target_ns;
	c->usage = usage;
	c->time_us = us;
	c->at = l->guard->now;
	return true;
}

static void look_at_off(struct look *l, struct guard_cell *c)
{
	uint64_t now = l->guard->now, before = c->at;
	struct guard_veto *v = c->veto;
	bool on = false;

	v->off_ns = now - v->spell.since;
	if (!c->known)
		begin_off(l, c);
	else if (now - before < SPAN_MIN_NS || !goes_on(l, c, &on))
		return;
	switch (spell_look(&v->spell, on, before, now)) {
	case SPELL_LASTS:
		break;
	case SPELL_CALMED:
		release(l, c, GUARD_CALMED);
		break;
	case SPELL_TRIED:
		release(l, c, GUARD_TRIED);
		break;
	}
}

/* A look ------------------------------------------------------------------------------------------ */

static void look_at(struct look *l, struct guard_cell *c)
{
	if (c->off) {
		l->busy = true;
		look_at_off(l, c);
	} else {
		look_at_on(l, c);
	}
	l->guard->n_events += c->event != GUARD_NOTHING;
}

/* Is this one of the few that a look at a quiet machine reads? All states of a CPU at a time. */
static bool has_turn(const struct guard *g, const struct guard_cell *c)
{
	return (c->cpu + g->looks) % GUARD_SHARE == 0;
}

void guard_look(struct guard *g, uint64_t now, counter_read read, void *data)
{
	struct look l = {.guard = g, .read = read, .data = data};
	bool few = g->quiet >= GUARD_QUIET_LOOKS;

	g->now = now;
	g->n_events = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		g->cells[i].event = GUARD_NOTHING;
		if (!few || has_turn(g, &g->cells[i]))
			look_at(&l, &g->cells[i]);
	}
	for (uint32_t i = 0; few && l.busy && i < g->n; i++)
		if (!has_turn(g, &g->cells[i]))
			look_at(&l, &g->cells[i]);
	g->quiet = l.busy ? 0 : MIN_OF(g->quiet + 1, GUARD_QUIET_LOOKS);
	g->looks++;
}

uint16_t guard_vetoed(const struct guard *g, uint32_t cpu)
{
	uint16_t bits = 0;

	for (uint8_t state = 0; g->n > 0 && state < MACHINE_STATES_MAX; state++) {
		const struct guard_cell *c = find(g, cpu, state);

		if (c && c->off)
			bits |= (uint16_t)(1U << state);
	}
	return bits;
}

uint64_t guard_instead_rate(const struct guard_veto *v)
{
	return v->off_ns > 0 ? per_second(v->instead_entries, v->off_ns) : 0;
}

uint64_t guard_avoided(const struct guard *g)
{
	uint64_t n = g->avoided;

	for (uint32_t i = 0; i < g->n; i++)
		if (g->cells[i].off)
			n += avoided(g->cells[i].veto);
	return n;
}

uint32_t guard_count_off(const struct guard *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n; i++)
		n += g->cells[i].off;
	return n;
}
