/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "simulate.h"

#include "adapt.h"
#include "governor.h"
#include "guard.h"

/* What the kernel would count of one state of one CPU. */
struct counts {
	uint64_t usage, time_ns, above;
};

struct sim {
	const struct policy *policy;
	struct machine *machine;
	struct plan *plan;
	struct guard guard;
	struct adapt adapt;
	struct governor *governors[SIMULATE_POLICY + 1]; /* per CPU */
	struct counts *counts; /* CPU by MACHINE_STATES_MAX */
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
		break;
	case SIMULATE_N:
		return "?";
	}
	return "oracle";
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

double simulate_energy(const struct idle_table *table, uint32_t state, uint64_t idle_ns)
{
	double entry = 0;

	for (uint32_t i = 1; i <= state; i++) {
		double saves = power_of(table, i - 1) - power_of(table, i);

		entry += saves * (double)table->states[i].target_residency_ns / 1000;
	}
	return MAX_OF(entry, 0.0) + power_of(table, state) * (double)idle_ns / 1000;
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

static uint32_t cheapest(const struct idle_table *table, uint16_t allowed, uint64_t idle_ns)
{
	uint32_t found = 0;
	bool any = false;

	for (uint32_t i = 0; i < table->n; i++)
		if (allowed >> i & 1 && (!any || simulate_energy(table, i, idle_ns) <
							 simulate_energy(table, found, idle_ns))) {
			found = i;
			any = true;
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
	r->energy_us += simulate_energy(table, state, idle_ns);
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

/* All looks up to a moment. Between two periods nothing is counted, but spells end. */
static int look_until(struct sim *s, uint64_t now_ns)
{
	int r = 0;

	while (r >= 0 && s->next_look_ns <= now_ns && s->guard.n + s->adapt.n > 0) {
		uint64_t now = s->next_look_ns + NSEC_PER_SEC; /* zero is not a time to them */

		guard_look(&s->guard, now, read_counter, s);
		adapt_look(&s->adapt, now, ADAPT_PRESSURE_UNKNOWN, 0, read_counter, s);
		s->next_look_ns += GUARD_LOOK_NS;
		if (s->guard.n_events + s->adapt.n_events == 0)
			continue;
		s->out.changes++;
		r = plan_anew(s);
	}
	return r;
}

static uint32_t choose(struct sim *s, enum simulate_who who, const struct plan_row *row,
		       const struct idle_table *table, const struct idle_period *p)
{
	bool teo = who == SIMULATE_TEO || (who == SIMULATE_POLICY && s->out.teo);
	enum governor_kind kind = teo ? GOVERNOR_TEO : GOVERNOR_MENU;
	uint16_t allowed = who < SIMULATE_POLICY ? allowed_by_host(s->machine, p->cpu, table)
						 : allowed_by_plan(row, table);
	struct governor *g;
	uint32_t state;

	if (who == SIMULATE_ORACLE)
		return cheapest(table, allowed, p->idle_ns);
	g = &s->governors[who][p->cpu];
	state = governor_select(g, kind, table, allowed, p->timer_ns);
	governor_reflect(g, kind, table, p->timer_ns, p->idle_ns);
	return state;
}

static int play(struct sim *s, const struct idle_period *p, uint32_t *ret_cpu)
{
	const struct plan_row *row;
	const struct idle_table *table;
	int r = look_until(s, p->at_ns);

	if (r < 0)
		return r;
	row = plan_row_of(s->plan, p->cpu);
	if (!row || row->table >= s->machine->n_tables) {
		*ret_cpu = p->cpu;
		return -ENODEV;
	}
	table = &s->machine->tables[row->table];
	s->out.idle_ns += p->idle_ns;
	for (int who = 0; who < SIMULATE_N; who++) {
		uint32_t state = choose(s, (enum simulate_who)who, row, table, p);

		judge(s, (enum simulate_who)who, row, table, state, p->idle_ns);
		if (who == SIMULATE_POLICY)
			count(s, p->cpu, row, table, state, p->idle_ns);
	}
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
	int r = sim_init(&s);

	for (uint32_t i = 0; r >= 0 && i < trace->n; i++)
		r = play(&s, &trace->v[i], ret_cpu);
	if (r < 0)
		return r;
	for (int who = 0; who < SIMULATE_N; who++)
		s.out.who[who].p99_ns = percentile(&s, (enum simulate_who)who);
	s.out.span_ns = trace->end_ns;
	s.out.n_cpus = count_cpus(&s, trace);
	s.out.vetoes = s.guard.vetoes;
	s.out.spells = s.adapt.spells;
	*ret = s.out;
	return 0;
}
