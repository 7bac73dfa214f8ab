/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adapt.h"

#include "buf.h"

/* Two looks that close to each other say nothing about a rate. */
#define SPAN_MIN_NS (100 * NSEC_PER_MSEC)

struct look {
	struct adapt *adapt;
	const struct adapt_source *source;
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

/* Counts the CPUs that there is something to adapt of, and fills them in where cells is given. */
static uint32_t walk(const struct policy *policy, const struct plan *plan,
		     const struct machine *machine, struct adapt_cell *cells)
{
	uint32_t n = 0;

	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		const struct plan_row *row = plan_row_of(plan, cpu);
		struct adapt_cell c = {.cpu = (uint16_t)cpu};

		if (!row || !fill_cell(policy, plan, machine, row, &c))
			continue;
		if (cells)
			cells[n] = c;
		n++;
	}
	return n;
}

static char *name_of(const struct policy *policy, uint32_t group)
{
	struct plan_party party;
	struct buf name = {.n = 0};

	if (!plan_party_of(policy, &(struct plan_demand){.group = group}, &party))
		return NULL;
	buf_printf(&name, "%s %s", party.kind, party.name);
	return buf_finish(&name);
}

/* The unit of a cell, made when it is the first one of it; of_group has index + 1. */
static int join(struct adapt *a, const struct policy *policy, const struct plan_row *row,
		uint32_t *of_group, uint32_t *ret)
{
	uint32_t group = row->adapt_group;
	struct adapt_unit *u;

	if (group != PLAN_ADAPT_ALONE && of_group[group] > 0) {
		*ret = of_group[group] - 1;
		a->units[*ret].n++;
		return 0;
	}
	*ret = a->n_units++;
	u = &a->units[*ret];
	*u = (struct adapt_unit){.group = group, .n = 1, .limit_ns = row->adapt_ns};
	if (group == PLAN_ADAPT_ALONE)
		return 0;
	of_group[group] = *ret + 1;
	u->name = name_of(policy, group);
	return u->name ? 0 : -ENOMEM;
}

static int join_all(struct adapt *a, const struct policy *policy, const struct plan *plan)
{
	uint32_t of_group[PLAN_GROUPS] = {0};
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < a->n; i++)
		r = join(a, policy, plan_row_of(plan, a->cells[i].cpu), of_group,
			 &a->cells[i].unit);
	return r;
}

/* What was this unit before? A group's number is good for one policy, so names decide. */
static struct adapt_unit *was(struct adapt *old, const struct adapt_unit *u, uint32_t cpu)
{
	const struct adapt_cell *c = find(old, cpu);

	if (!u->name)
		return c && !old->units[c->unit].name ? &old->units[c->unit] : NULL;
	for (uint32_t i = 0; i < old->n_units; i++)
		if (old->units[i].name && streq(old->units[i].name, u->name))
			return &old->units[i];
	return NULL;
}

/* What is known of those that stay; busy becomes the new one's. */
static void remember(struct adapt *a, struct adapt *old)
{
	uint32_t next = 0;

	/* Units are in the order of their first CPUs. */
	for (uint32_t i = 0; i < a->n; i++) {
		struct adapt_unit *u = &a->units[a->cells[i].unit], *before;

		if (a->cells[i].unit != next)
			continue;
		next++;
		before = was(old, u, a->cells[i].cpu);
		if (!before)
			continue;
		u->warm = before->warm;
		u->event = before->event;
		if (!before->busy)
			continue;
		u->tight = before->tight;
		u->busy = before->busy;
		before->busy = NULL;
	}
	for (uint32_t i = 0; i < a->n; i++) {
		struct adapt_cell *c = &a->cells[i];
		const struct adapt_cell *known = find(old, c->cpu);

		c->tight = a->units[c->unit].tight;
		/* Counters of other states are not to be compared with. */
		if (!known || known->above != c->above || known->within != c->within ||
		    known->tight != c->tight)
			continue;
		c->known = known->known;
		c->at = known->at;
		c->entries = known->entries;
	}
}

static bool is_behind(const struct adapt *a, const struct plan *plan)
{
	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		const struct plan_row *row = plan_row_of(plan, cpu);

		if (row && row->adapt_ns != LATENCY_NONE && row->tight != adapt_tight(a, cpu))
			return true;
	}
	return false;
}

int adapt_follow(struct adapt *a, const struct policy *policy, const struct plan *plan,
		 const struct machine *machine)
{
	struct adapt new = {
		.now = a->now, .n_events = a->n_events, .spells = a->spells, .within = a->within};
	int r;

	new.n = walk(policy, plan, machine, NULL);
	new.cells = calloc(new.n + 1, sizeof(*new.cells));
	new.units = calloc(new.n + 1, sizeof(*new.units));
	if (!new.cells || !new.units) {
		adapt_done(&new);
		return -ENOMEM;
	}
	(void)walk(policy, plan, machine, new.cells);
	r = join_all(&new, policy, plan);
	if (r < 0) {
		adapt_done(&new);
		return r;
	}
	remember(&new, a);
	adapt_done(a);
	*a = new;
	return is_behind(a, plan);
}

void adapt_done(struct adapt *a)
{
	for (uint32_t i = 0; i < a->n_units; i++) {
		free(a->units[i].busy);
		free(a->units[i].name);
	}
	free(a->units);
	free(a->cells);
	*a = (struct adapt){.n = 0};
}

/* A look ------------------------------------------------------------------------------------------ */

/* Entries of all states of a set. */
static int read_set(const struct look *l, const struct adapt_cell *c, uint16_t set, uint64_t *ret)
{
	uint32_t slot = l->source->slot + (uint32_t)(c - l->adapt->cells) * ADAPT_SLOTS, used = 0;
	uint64_t sum = 0, n;

	for (uint8_t state = 0; set >> state; state++) {
		struct counter counter = {.cpu = c->cpu, .state = state, .file = COUNTER_USAGE};
		int r;

		if (!(set >> state & 1))
			continue;
		counter.slot = used < ADAPT_SLOTS ? slot + used : COUNTER_ONCE;
		used++;
		r = l->source->read(l->source->read_data, &counter, &n);
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
}

/* A unit that has become busy or calm counts other states from now on. */
static void begin_changed(const struct look *l)
{
	struct adapt *a = l->adapt;

	for (uint32_t i = 0; i < a->n; i++) {
		struct adapt_cell *c = &a->cells[i];

		if (c->tight == a->units[c->unit].tight)
			continue;
		c->tight = a->units[c->unit].tight;
		begin(l, c);
	}
}

/* Adds what a CPU did since the look before to its unit's. */
static void count(const struct look *l, struct adapt_cell *c)
{
	struct adapt_unit *u = &l->adapt->units[c->unit];
	uint64_t span = l->adapt->now - c->at, entries, more, rate;

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
	rate = more * NSEC_PER_SEC / span;
	u->before = u->counted > 0 ? MIN_OF(u->before, c->at) : c->at;
	u->counted++;
	u->sum += rate;
	u->most = MAX_OF(u->most, rate);
	u->more += more;
	c->entries = entries;
	c->at = l->adapt->now;
}

/* Is one of its CPUs over a mark, or are they over half of it on the average? */
static bool over(const struct adapt_unit *u, uint64_t mark)
{
	return u->most >= mark || (u->counted > 1 && u->sum * 2 >= mark * u->counted);
}

/* Without memory for it the unit stays as it is, and is found busy in the next look. */
static void tighten(const struct look *l, struct adapt_unit *u, uint32_t pressure)
{
	if (!u->busy)
		u->busy = calloc(1, sizeof(*u->busy));
	if (!u->busy)
		return;
	spell_begin(&u->busy->spell, l->adapt->now);
	u->busy->wakes = u->sum;
	u->busy->most = u->most;
	u->busy->pressure = pressure;
	u->busy->entries = u->busy->ns = 0;
	u->tight = true;
	u->warm = false;
	u->event = ADAPT_TIGHTENED;
	l->adapt->spells++;
}

static void judge_loose(const struct look *l, struct adapt_unit *u)
{
	const struct adapt_source *from = l->source;
	uint32_t pressure = ADAPT_PRESSURE_UNKNOWN, mark = ADAPT_WAKES;
	bool was_warm = u->warm;

	/* Also while nothing is counted yet: the next look then has something to compare with. */
	if (from->pressure)
		pressure = from->pressure(from->pressure_data, u->group);
	if (u->counted == 0)
		return;
	if (pressure != ADAPT_PRESSURE_UNKNOWN && pressure >= ADAPT_PRESSURE_PERCENT)
		mark /= 2;
	u->warm = over(u, mark);
	if (over(u, UINT64_C(4) * mark) || (u->warm && was_warm))
		tighten(l, u, pressure);
}

static void judge_tight(const struct look *l, struct adapt_unit *u)
{
	enum spell_end end;

	l->adapt->within += u->more;
	u->busy->entries += u->more;
	u->busy->ns = l->adapt->now - u->busy->spell.since;
	end = spell_look(&u->busy->spell, over(u, ADAPT_WAKES / 2), u->before, l->adapt->now);
	if (end == SPELL_LASTS)
		return;
	u->tight = false;
	u->event = end == SPELL_CALMED ? ADAPT_CALMED : ADAPT_TRIED;
}

void adapt_look(struct adapt *a, uint64_t now, const struct adapt_source *source)
{
	struct look l = {.adapt = a, .source = source};

	a->now = now;
	a->n_events = 0;
	for (uint32_t i = 0; i < a->n_units; i++) {
		struct adapt_unit *u = &a->units[i];

		u->event = ADAPT_NOTHING;
		u->counted = 0;
		u->sum = u->most = u->more = u->before = 0;
	}
	for (uint32_t i = 0; i < a->n; i++)
		count(&l, &a->cells[i]);
	for (uint32_t i = 0; i < a->n_units; i++) {
		struct adapt_unit *u = &a->units[i];

		if (!u->tight)
			judge_loose(&l, u);
		else if (u->counted > 0)
			judge_tight(&l, u);
		a->n_events += u->event != ADAPT_NOTHING;
	}
	if (a->n_events > 0)
		begin_changed(&l);
}

const struct adapt_unit *adapt_unit_of(const struct adapt *a, uint32_t cpu)
{
	const struct adapt_cell *c = find(a, cpu);

	return c ? &a->units[c->unit] : NULL;
}

bool adapt_tight(const struct adapt *a, uint32_t cpu)
{
	const struct adapt_unit *u = adapt_unit_of(a, cpu);

	return u && u->tight;
}

uint32_t adapt_count_tight(const struct adapt *a)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n_units; i++)
		n += a->units[i].tight ? a->units[i].n : 0;
	return n;
}

uint64_t adapt_rate(const struct adapt_busy *b)
{
	return b->ns > 0 ? b->entries * NSEC_PER_SEC / b->ns : 0;
}
