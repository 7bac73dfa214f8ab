/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate.h"

#include <math.h>

#include "adapt.h"
#include "governor.h"
#include "guard.h"

/* What the kernel would count of one state of one CPU. */
struct counts {
	uint64_t usage, time_ns, above;
};

/* What a state costs by the model: to enter and leave, and each microsecond. */
struct cost {
	double entry, power;
};

/* Wake-ups from states above Adapt=, since the last look and in the second before. */
struct late {
	uint64_t now, before;
};

/* Classes of periods: powers of two of ns, and quarters of those. */
#define OCTAVES	 ((size_t)44)
#define QUARTERS (4 * OCTAVES)
#define HEAPS	 (MACHINE_STATES_MAX * OCTAVES * QUARTERS) /* of a table */

/* Periods of a class: how many, how long together. */
struct heap {
	uint64_t n, idle_ns;
};

struct sim {
	const struct policy *policy;
	struct machine *machine;
	struct plan *plan;
	struct guard guard;
	struct adapt adapt;
	struct governor *governors[SIMULATE_POLICY + 1]; /* per CPU */
	struct counts *counts; /* CPU by MACHINE_STATES_MAX */
	struct late *late; /* per CPU */
	struct cost *costs; /* table by MACHINE_STATES_MAX */
	struct heap *heaps; /* table by deepest state within the limit by length before by timer */
	uint8_t *before; /* per CPU: octave of its last period */
	uint64_t *latencies[SIMULATE_N]; /* by table and state: wakes */
	uint64_t next_look_ns;
	struct simulation out;
};

const char *simulate_name(enum simulate_who who)
{
	switch (who) {
	case SIMULATE_MENU:
		return "menu";
	case SIMULATE_TEO:
		return "teo";
	case SIMULATE_POLICY:
		return "policy";
	case SIMULATE_ORACLE:
		return "oracle";
	case SIMULATE_CEILING:
	case SIMULATE_N:
		break;
	}
	return "ceiling";
}

/* Energy --------------------------------------------------------------------------------------------- */

static double power_of(const struct idle_table *table, uint32_t state)
{
	static const double classes[STATE_CLASS_N] = {
		[STATE_CLASS_POLL] = 1,		  [STATE_CLASS_C0X] = 0.6,
		[STATE_CLASS_HALT] = 0.4,	  [STATE_CLASS_CORE_OFF] = 0.1,
		[STATE_CLASS_PACKAGE_OFF] = 0.05,
	};
	double power = classes[table->states[state].class];

	for (uint32_t i = 0; i < state; i++)
		if (table->states[i].class == table->states[state].class)
			power *= 0.8;
	return power;
}

static struct cost cost_of(const struct idle_table *table, uint32_t state)
{
	struct cost c = {.power = power_of(table, state)};

	for (uint32_t i = 1; i <= state; i++) {
		double saves = power_of(table, i - 1) - power_of(table, i);

		c.entry += saves * (double)table->states[i].target_residency_ns / 1000;
	}
	c.entry = MAX_OF(c.entry, 0.0);
	return c;
}

static double energy_of(const struct cost *c, uint64_t idle_ns)
{
	return c->entry + c->power * (double)idle_ns / 1000;
}

double simulate_energy(const struct idle_table *table, uint32_t state, uint64_t idle_ns)
{
	struct cost c = cost_of(table, state);

	return energy_of(&c, idle_ns);
}

static const struct cost *costs_of(const struct sim *s, const struct plan_row *row)
{
	return &s->costs[(size_t)row->table * MACHINE_STATES_MAX];
}

/* States --------------------------------------------------------------------------------------------- */

/* What a plan leaves to the CPU. */
static uint16_t allowed_by_plan(const struct plan_row *row, const struct idle_table *table)
{
	uint16_t set = 0;

	for (uint32_t i = 0; i < table->n; i++)
		if (row->states[i].enabled)
			set |= (uint16_t)(1U << i);
	return set;
}

/* What is within the limit, the guard aside; and for ceiling_ns, Adapt= aside as well. */
static uint16_t allowed_by_limit(const struct plan_row *row, const struct idle_table *table,
				 uint64_t ceiling_ns)
{
	uint16_t set = 0;

	for (uint32_t i = 0; i < table->n; i++) {
		enum state_reason reason = row->states[i].reason;
		bool over = reason == STATE_OFF_OVER_LIMIT || reason == STATE_OFF_ZERO_LIMIT;

		if (row->states[i].enabled || reason == STATE_OFF_BY_GUARD ||
		    (over && table->states[i].exit_latency_ns <= ceiling_ns))
			set |= (uint16_t)(1U << i);
	}
	return set;
}

/* What the host has without us. */
static uint16_t allowed_by_host(const struct machine *m, uint32_t cpu,
				const struct idle_table *table)
{
	uint16_t set = 0;

	for (uint32_t i = 0; i < table->n; i++)
		if (!(m->cpus[cpu].disabled_prior >> i & 1) && !table->states[i].default_off)
			set |= (uint16_t)(1U << i);
	return set;
}

static uint32_t cheapest(const struct cost *costs, uint16_t allowed, uint64_t idle_ns)
{
	uint32_t found = 0;
	double least = INFINITY;

	for (uint32_t i = 0; allowed >> i; i++) {
		double energy = energy_of(&costs[i], idle_ns);

		if (!(allowed >> i & 1) || energy >= least)
			continue;
		found = i;
		least = energy;
	}
	return found;
}

/* Is there an allowed state on this side of state whose target residency fits? */
static bool fits_other(const struct idle_table *table, uint16_t allowed, uint32_t from, uint32_t to,
		       uint64_t idle_ns)
{
	for (uint32_t i = from; i < to; i++)
		if (allowed >> i & 1 && table->states[i].target_residency_ns <= idle_ns)
			return true;
	return false;
}

static void judge(struct sim *s, enum simulate_who who, const struct plan_row *row,
		  const struct idle_table *table, uint32_t state, uint64_t idle_ns)
{
	struct simulate_result *r = &s->out.who[who];
	const struct idle_state *st = &table->states[state];
	uint16_t allowed = allowed_by_plan(row, table);
	uint64_t limit = row->limit_ns;

	r->wakes++;
	r->over_limit += limit != LATENCY_NONE && state > 0 && st->exit_latency_ns > limit;
	r->longest_ns = MAX_OF(r->longest_ns, st->exit_latency_ns);
	if (idle_ns < st->target_residency_ns)
		r->too_deep += (allowed & ((1U << state) - 1)) != 0;
	else
		r->too_shallow += fits_other(table, allowed, state + 1, table->n, idle_ns);
	s->latencies[who][row->table * MACHINE_STATES_MAX + state]++;
}

/* The kernel's bookkeeping, for those who look at it. */
static void count(struct sim *s, uint32_t cpu, const struct plan_row *row,
		  const struct idle_table *table, uint32_t state, uint64_t idle_ns)
{
	struct counts *c = &s->counts[cpu * MACHINE_STATES_MAX + state];

	c->usage++;
	c->time_ns += idle_ns;
	c->above += idle_ns < table->states[state].target_residency_ns &&
		    (allowed_by_plan(row, table) & ((1U << state) - 1)) != 0;
}

static int read_counter(void *data, const struct counter *c, uint64_t *ret)
{
	const struct sim *s = data;
	const struct counts *n = &s->counts[c->cpu * MACHINE_STATES_MAX + c->state];

	switch ((enum counter_file)c->file) {
	case COUNTER_USAGE:
		*ret = n->usage;
		break;
	case COUNTER_TIME:
		*ret = n->time_ns / NSEC_PER_USEC;
		break;
	case COUNTER_ABOVE:
		*ret = n->above;
		break;
	case COUNTER_REJECTED:
		*ret = 0;
		break;
	}
	return 0;
}

/* Time ----------------------------------------------------------------------------------------------- */

static void mark(struct sim *s)
{
	for (uint32_t cpu = 0; cpu < s->machine->n_cpus; cpu++) {
		s->machine->cpus[cpu].vetoed = guard_vetoed(&s->guard, cpu);
		s->machine->cpus[cpu].tight = adapt_tight(&s->adapt, cpu);
	}
}

static int plan_anew(struct sim *s)
{
	struct plan *plan;
	int r, a;

	mark(s);
	r = plan_resolve(s->policy, s->machine, NULL, NULL, &plan);
	if (r < 0)
		return r;
	plan_free(s->plan);
	s->plan = plan;
	r = guard_follow(&s->guard, plan, s->machine);
	a = adapt_follow(&s->adapt, s->policy, plan, s->machine);
	return MIN_OF(MIN_OF(r, a), 0);
}

/* What was too late for those that were found busy now, and a new second for all. */
static void count_late(struct sim *s)
{
	for (uint32_t i = 0; i < s->adapt.n; i++) {
		struct late *l = &s->late[s->adapt.cells[i].cpu];

		if (s->adapt.units[s->adapt.cells[i].unit].event == ADAPT_TIGHTENED)
			s->out.late += l->now + l->before;
		*l = (struct late){.before = l->now};
	}
}

/* All looks up to a moment. Between two periods nothing is counted, but spells end. */
static int look_until(struct sim *s, uint64_t now_ns)
{
	int r = 0;

	while (r >= 0 && s->next_look_ns <= now_ns && s->guard.n + s->adapt.n > 0) {
		uint64_t now = s->next_look_ns + NSEC_PER_SEC; /* zero is not a time to them */

		guard_look(&s->guard, now, read_counter, s);
		adapt_look(&s->adapt, now,
			   &(struct adapt_source){.read = read_counter, .read_data = s});
		s->next_look_ns += GUARD_LOOK_NS;
		count_late(s);
		if (s->guard.n_events + s->adapt.n_events == 0)
			continue;
		s->out.changes++;
		r = plan_anew(s);
	}
	return r;
}

/* What the oracles may enter. */
static uint16_t allowed_to_oracle(const struct sim *s, enum simulate_who who,
				  const struct plan_row *row, const struct idle_table *table)
{
	/* Zero is no state's exit latency but POLL's, whose place is the first. */
	uint64_t ceiling = who == SIMULATE_CEILING ? adapt_ceiling(s->policy, s->plan, row) : 0;

	return allowed_by_limit(row, table, ceiling);
}

static void enter(struct sim *s, enum simulate_who who, const struct plan_row *row, uint32_t cpu,
		  uint32_t state, uint64_t idle_ns)
{
	const struct idle_table *table = &s->machine->tables[row->table];

	s->out.who[who].energy_us += energy_of(&costs_of(s, row)[state], idle_ns);
	if (who == SIMULATE_POLICY)
		count(s, cpu, row, table, state, idle_ns);
}

/* The state from which a period is left, after those from which the kernel woke up to choose anew. */
static uint32_t govern(struct sim *s, enum simulate_who who, const struct plan_row *row,
		       const struct idle_table *table, struct idle_period *p)
{
	bool teo = who == SIMULATE_TEO || (who == SIMULATE_POLICY && s->out.teo);
	enum governor_kind kind = teo ? GOVERNOR_TEO : GOVERNOR_MENU;
	uint16_t allowed = who < SIMULATE_POLICY ? allowed_by_host(s->machine, p->cpu, table)
						 : allowed_by_plan(row, table);
	struct governor *g = &s->governors[who][p->cpu];
	uint64_t ns;
	uint32_t state;
	bool brief;

	for (;;) {
		state = governor_select(g, kind, table, allowed, p->timer_ns, &brief);
		ns = UINT64_MAX;
		if (table->states[state].class == STATE_CLASS_POLL && allowed != 1)
			ns = governor_poll_ns(table, allowed);
		if (brief && p->timer_ns > GOVERNOR_TICK_NS)
			ns = MIN_OF(ns, GOVERNOR_TICK_NS - p->at_ns % GOVERNOR_TICK_NS);
		if (ns >= p->idle_ns)
			break;
		enter(s, who, row, p->cpu, state, ns);
		governor_reflect(g, kind, table, p->timer_ns, p->timer_ns);
		p->at_ns += ns;
		p->idle_ns -= ns;
		if (p->timer_ns != IDLETRACE_NO_TIMER)
			p->timer_ns -= MIN_OF(p->timer_ns, ns);
	}
	governor_reflect(g, kind, table, p->timer_ns, p->idle_ns);
	return state;
}

static void play_one(struct sim *s, enum simulate_who who, const struct plan_row *row,
		     const struct idle_table *table, struct idle_period p)
{
	uint32_t state;

	if (who == SIMULATE_ORACLE || who == SIMULATE_CEILING)
		state = cheapest(costs_of(s, row), allowed_to_oracle(s, who, row, table),
				 p.idle_ns);
	else
		state = govern(s, who, row, table, &p);
	enter(s, who, row, p.cpu, state, p.idle_ns);
	s->late[p.cpu].now += who == SIMULATE_POLICY && !row->tight && state > 0 &&
			      table->states[state].exit_latency_ns > row->adapt_ns;
	judge(s, who, row, table, state, p.idle_ns);
}

static uint32_t octave_of(uint64_t ns)
{
	uint32_t bits = 0;

	while (ns >> bits > 1 && bits < OCTAVES - 1)
		bits++;
	return bits;
}

static uint32_t quarter_of(uint64_t ns)
{
	uint32_t octave = octave_of(ns);

	return octave * 4 + (octave < 2 ? 0 : (uint32_t)(ns >> (octave - 2) & 3));
}

static void put_on_heap(struct sim *s, const struct plan_row *row, const struct idle_table *table,
			const struct idle_period *p)
{
	uint16_t allowed = allowed_by_limit(row, table, 0);
	uint32_t deepest = 0;
	size_t i;

	while (allowed >> deepest > 1)
		deepest++;
	i = (size_t)row->table * MACHINE_STATES_MAX + deepest;
	i = (i * OCTAVES + s->before[p->cpu]) * QUARTERS + quarter_of(p->timer_ns);
	s->heaps[i].n++;
	s->heaps[i].idle_ns += p->idle_ns;
	s->before[p->cpu] = (uint8_t)octave_of(p->idle_ns);
}

/* What all periods of a class need in the state that is best for them together. */
static double cheapest_heap(const struct cost *costs, uint32_t deepest, const struct heap *h)
{
	double least = INFINITY;

	for (uint32_t i = 0; i <= deepest; i++)
		least = MIN_OF(least, costs[i].entry * (double)h->n +
					      costs[i].power * (double)h->idle_ns / 1000);
	return least;
}

static double sum_heaps(const struct sim *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->machine->n_tables * HEAPS; i++) {
		const struct cost *costs = &s->costs[i / HEAPS * MACHINE_STATES_MAX];
		uint32_t deepest = (uint32_t)(i % HEAPS / (OCTAVES * QUARTERS));

		if (s->heaps[i].n > 0)
			sum += cheapest_heap(costs, deepest, &s->heaps[i]);
	}
	return sum;
}

static int play(struct sim *s, const struct idle_period *p, uint64_t begun_ns, uint32_t *ret_cpu)
{
	const struct plan_row *row;
	const struct idle_table *table;
	int r = look_until(s, begun_ns + p->at_ns);

	if (r < 0)
		return r;
	row = plan_row_of(s->plan, p->cpu);
	if (!row || row->table >= s->machine->n_tables) {
		*ret_cpu = p->cpu;
		return -ENODEV;
	}
	table = &s->machine->tables[row->table];
	s->out.idle_ns += p->idle_ns;
	put_on_heap(s, row, table, p);
	for (int who = 0; who < SIMULATE_N; who++)
		play_one(s, (enum simulate_who)who, row, table, *p);
	return 0;
}

/* The exit latency that 99 of 100 wakes do not exceed. */
static uint64_t percentile(const struct sim *s, enum simulate_who who)
{
	uint64_t left = s->out.who[who].wakes / 100, latency = s->out.who[who].longest_ns, next;

	for (;;) {
		uint64_t n = 0;

		next = 0;
		for (uint32_t i = 0; i < s->machine->n_tables * MACHINE_STATES_MAX; i++) {
			const struct idle_table *t = &s->machine->tables[i / MACHINE_STATES_MAX];
			uint64_t ns = t->states[i % MACHINE_STATES_MAX].exit_latency_ns;

			if (i % MACHINE_STATES_MAX >= t->n || !s->latencies[who][i])
				continue;
			if (ns == latency)
				n += s->latencies[who][i];
			else if (ns < latency)
				next = MAX_OF(next, ns);
		}
		if (n > left || next == 0)
			return n > left ? latency : next;
		left -= n;
		latency = next;
	}
}

static int make_costs(struct sim *s)
{
	const struct machine *m = s->machine;

	s->costs = calloc((size_t)m->n_tables * MACHINE_STATES_MAX + 1, sizeof(*s->costs));
	if (!s->costs)
		return -ENOMEM;
	for (uint32_t t = 0; t < m->n_tables; t++)
		for (uint32_t i = 0; i < m->tables[t].n; i++)
			s->costs[t * MACHINE_STATES_MAX + i] = cost_of(&m->tables[t], i);
	return 0;
}

static int sim_init(struct sim *s)
{
	uint32_t n = s->machine->n_cpus;

	s->counts = calloc((size_t)n * MACHINE_STATES_MAX, sizeof(*s->counts));
	if (!s->counts)
		return -ENOMEM;
	for (int who = 0; who < SIMULATE_N; who++) {
		s->latencies[who] = calloc((size_t)s->machine->n_tables * MACHINE_STATES_MAX + 1,
					   sizeof(uint64_t));
		if (!s->latencies[who])
			return -ENOMEM;
	}
	for (int who = 0; who <= SIMULATE_POLICY; who++) {
		s->governors[who] = calloc(n, sizeof(*s->governors[who]));
		if (!s->governors[who])
			return -ENOMEM;
	}
	s->heaps = calloc((size_t)s->machine->n_tables * HEAPS + 1, sizeof(*s->heaps));
	s->before = calloc(n, sizeof(*s->before));
	s->late = calloc(n, sizeof(*s->late));
	if (!s->heaps || !s->before || !s->late || make_costs(s) < 0)
		return -ENOMEM;
	s->out.teo = streq(s->machine->governor, "teo");
	return plan_anew(s);
}

static void sim_done(struct sim *s)
{
	guard_done(&s->guard);
	adapt_done(&s->adapt);
	if (s->machine)
		mark(s);
	plan_free(s->plan);
	free(s->counts);
	free(s->costs);
	free(s->heaps);
	free(s->before);
	free(s->late);
	for (int who = 0; who < SIMULATE_N; who++)
		free(s->latencies[who]);
	for (int who = 0; who <= SIMULATE_POLICY; who++)
		free(s->governors[who]);
}

static uint32_t count_cpus(const struct sim *s, const struct idletrace *t)
{
	_cleanup_(cpuset_done) struct cpuset cpus = {.size = 0};

	if (cpuset_init(&cpus, MIN_OF(t->n_cpus, s->machine->n_cpus)) < 0)
		return 0;
	for (uint32_t i = 0; i < t->n; i++)
		cpuset_add(&cpus, t->v[i].cpu);
	return cpuset_count(&cpus);
}

int simulate_run(const struct policy *policy, struct machine *machine,
		 const struct idletrace *trace, struct simulation *ret, uint32_t *ret_cpu)
{
	_cleanup_(sim_done) struct sim s = {.policy = policy, .machine = machine};
	uint32_t times = MAX_OF(trace->repeat, 1U);
	int r = sim_init(&s);

	for (uint32_t n = 0; r >= 0 && n < times; n++)
		for (uint32_t i = 0; r >= 0 && i < trace->n; i++)
			r = play(&s, &trace->v[i], n * trace->end_ns, ret_cpu);
	if (r < 0)
		return r;
	for (int who = 0; who < SIMULATE_N; who++)
		s.out.who[who].p99_ns = percentile(&s, (enum simulate_who)who);
	s.out.span_ns = (uint64_t)times * trace->end_ns;
	s.out.causal_us = sum_heaps(&s);
	s.out.n_cpus = count_cpus(&s, trace);
	s.out.vetoes = s.guard.vetoes;
	s.out.spells = s.adapt.spells;
	*ret = s.out;
	return 0;
}
