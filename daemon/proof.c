/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proof.h"

#include "buf.h"

/* ---- what is to be proved ---- */

/* The limit that we ourselves ask for, as far as it is not left to others. */
static uint64_t own_limit(const struct plan *plan, const struct plan_row *row)
{
	if (row->left & 1U << MACHINE_BIT_QOS)
		return plan->sets_global ? plan->global_ns : LATENCY_NONE;
	return row->policy_limit_ns;
}

static bool over_limit(uint64_t limit_ns, const struct plan_row *row,
		       const struct idle_state *state)
{
	if (limit_ns == LATENCY_NONE)
		return false;
	/* Below 1 us the kernel's files know only zero. */
	return limit_ns == 0 || (limit_ns < NSEC_PER_USEC && row->kernel_zero) ||
	       state->exit_latency_ns > limit_ns;
}

/* States that our plan keeps a CPU out of, as bits. State 0 is none: the kernel falls back to it. */
static uint16_t states_off(const struct plan *plan, const struct machine *m, uint32_t cpu)
{
	const struct plan_row *row = plan_row_of(plan, cpu);
	const struct idle_table *table;
	uint16_t off = 0;
	uint64_t limit;

	if (!row || !row->online || row->table >= m->n_tables)
		return 0;
	table = &m->tables[row->table];
	limit = own_limit(plan, row);
	for (uint32_t i = 1; i < table->n; i++) {
		uint32_t bit = 1U << i;
		bool ours = (row->disable_care & row->disable_mask & bit) ||
			    (row->module.states_off & bit) ||
			    over_limit(limit, row, &table->states[i]);

		if (ours && !row->states[i].enabled)
			off |= (uint16_t)bit;
	}
	if (m->own_row && row->module.row == C0_WAIT_NONE)
		off |= (uint16_t)(1U << PROOF_OWN_BIT);
	return off;
}

static bool is_own(uint32_t state)
{
	return state == PROOF_OWN_BIT;
}

static struct counter counter_of(uint32_t cpu, uint32_t state, enum counter_file file)
{
	return (struct counter){
		.slot = COUNTER_ONCE,
		.cpu = (uint16_t)cpu,
		.state = is_own(state) ? COUNTER_OWN_ROW : (uint8_t)state,
		.file = (uint8_t)file,
	};
}

/* Everything a CPU can be in. */
static uint16_t states_there(const struct machine *m, uint32_t cpu)
{
	const struct idle_table *table = machine_table(m, cpu);
	uint32_t bits = table ? (1U << table->n) - 1 : 0;

	return (uint16_t)(bits | (m->own_row ? 1U << PROOF_OWN_BIT : 0));
}

struct reader {
	counter_read read;
	void *data;
};

static int get(const struct reader *rd, uint32_t cpu, uint32_t state, enum counter_file file,
	       uint64_t *ret)
{
	struct counter c = counter_of(cpu, state, file);

	return rd->read(rd->data, &c, ret);
}

/* ---- the first look ---- */

/*
 * The kernel adds to time before it adds to usage: read in this order, an entry that ends in between is in
 * the usage, and no question later.
 */
static int see_first(struct proof *p, const struct reader *rd, uint32_t cpu, uint16_t there)
{
	struct proof_cpu *c = &p->cpus[cpu];
	struct proof_count *count = p->counts + c->first;
	uint64_t usage;
	int r = 0;

	for (uint32_t state = 0; r == 0 && state <= PROOF_OWN_BIT; state++) {
		if (!(there & 1U << state))
			continue;
		if (c->off & 1U << state) {
			r = get(rd, cpu, state, COUNTER_TIME, &count->time_us);
			if (r == 0)
				r = get(rd, cpu, state, COUNTER_USAGE, &count->usage);
			count++;
		} else {
			r = get(rd, cpu, state, COUNTER_USAGE, &usage);
			c->others += r == 0 ? usage : 0;
		}
	}
	return r;
}

static int make_room(struct proof *p, const struct plan *plan, const struct machine *machine)
{
	uint32_t n = 0;

	p->cpus = calloc(p->n_cpus + 1U, sizeof(*p->cpus));
	if (!p->cpus)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < p->n_cpus; cpu++) {
		struct proof_cpu *c = &p->cpus[cpu];

		c->off = c->still = states_off(plan, machine, cpu);
		c->first = n;
		n += (uint32_t)__builtin_popcount(c->off);
	}
	p->counts = calloc(n + 1U, sizeof(*p->counts));
	return p->counts ? 0 : -ENOMEM;
}

int proof_begin(struct proof *p, const struct plan *plan, const struct machine *machine,
		const struct proof_clock *now, uint64_t planned_ns, counter_read read, void *data)
{
	const struct reader rd = {.read = read, .data = data};

	*p = (struct proof){
		.n_cpus = MIN_OF(plan->n_cpus, machine->n_cpus),
		.own_row = machine->own_row,
		.begun = *now,
		.planned_ns = planned_ns,
	};
	memcpy(p->driver, machine->driver, sizeof(p->driver));
	if (make_room(p, plan, machine) < 0) {
		proof_done(p);
		return -ENOMEM;
	}
	for (uint32_t cpu = 0; cpu < p->n_cpus; cpu++) {
		struct proof_cpu *c = &p->cpus[cpu];

		if (!c->off)
			continue;
		c->error = see_first(p, &rd, cpu, states_there(machine, cpu));
		c->seen = c->error == 0;
	}
	return 0;
}

void proof_follow(struct proof *p, const struct plan *plan, const struct machine *machine)
{
	uint32_t n = MIN_OF(plan->n_cpus, machine->n_cpus);

	for (uint32_t cpu = 0; cpu < p->n_cpus; cpu++)
		p->cpus[cpu].still &= cpu < n ? states_off(plan, machine, cpu) : 0;
}

void proof_done(struct proof *p)
{
	free(p->cpus);
	free(p->counts);
	*p = (struct proof){.n_cpus = 0};
}

/* ---- the second look ---- */

enum verdict {
	KEPT, /* no state that is off was entered, and others were */
	ENTERED, /* one was */
	ASLEEP, /* no sleep ended: nothing is proved, as with all that follow */
	OFFLINE,
	UNREADABLE,
	RESTARTED, /* counters smaller than before */
	REPLANNED, /* nothing was off all the time */
	OTHER_TABLE,
	SUSPENDED,
};

/* What a CPU showed. */
struct seen {
	enum verdict verdict;
	int error; /* UNREADABLE */
	uint64_t others; /* entries of what is on */
	uint64_t gained[PROOF_OWN_BIT + 1]; /* of what is off */
	bool older; /* one of these, which may be older than the plan */
};

static int see_others(const struct reader *rd, uint32_t cpu, uint16_t states, uint64_t *ret)
{
	uint64_t usage, sum = 0;
	int r = 0;

	for (uint32_t state = 0; r == 0 && state <= PROOF_OWN_BIT; state++) {
		if (!(states & 1U << state))
			continue;
		r = get(rd, cpu, state, COUNTER_USAGE, &usage);
		sum += r == 0 ? usage : 0;
	}
	*ret = sum;
	return r;
}

/* May the one entry have begun before the plan's last change? span: between that change and the first look. */
static int may_be_older(const struct proof *p, const struct reader *rd, uint32_t cpu,
			uint32_t state, const struct proof_count *before, bool *ret)
{
	uint64_t time_us, span = p->begun.awake_ns - p->planned_ns;
	int r = get(rd, cpu, state, COUNTER_TIME, &time_us);

	if (r == 0 && time_us < before->time_us)
		return -ESTALE;
	if (r == 0)
		*ret = (time_us - before->time_us) * NSEC_PER_USEC + PROOF_SLACK_NS >= span;
	return r;
}

/* -ESTALE: the counters have begun anew. */
static int see_second(const struct proof *p, const struct reader *rd, uint32_t cpu, uint16_t there,
		      struct seen *s)
{
	const struct proof_cpu *c = &p->cpus[cpu];
	const struct proof_count *count = p->counts + c->first, *only = NULL;
	uint64_t usage, total = 0;
	uint32_t which = 0;
	int r = 0;

	for (uint32_t state = 0; r == 0 && state <= PROOF_OWN_BIT; state++) {
		if (!(c->off & 1U << state))
			continue;
		r = get(rd, cpu, state, COUNTER_USAGE, &usage);
		if (r == 0 && usage < count->usage)
			r = -ESTALE;
		if (r == 0 && c->still & 1U << state && usage > count->usage) {
			s->gained[state] = usage - count->usage;
			total += s->gained[state];
			only = count;
			which = state;
		}
		count++;
	}
	if (r == 0)
		r = see_others(rd, cpu, there & (uint16_t)~c->off, &usage);
	if (r == 0 && usage < c->others)
		r = -ESTALE;
	if (r == 0 && total == 1)
		r = may_be_older(p, rd, cpu, which, only, &s->older);
	if (r < 0)
		return r;
	s->others = usage - c->others;
	if (total > 0 && !s->older)
		s->verdict = ENTERED;
	else
		s->verdict = s->others > 0 ? KEPT : ASLEEP;
	return 0;
}

static bool same_table(const struct proof *p, const struct machine *m)
{
	return p->own_row == m->own_row && streq(p->driver, m->driver);
}

/* What is known without another look. */
static bool no_look(const struct proof *p, const struct machine *m, uint32_t cpu, struct seen *s)
{
	const struct proof_cpu *c = &p->cpus[cpu];

	if (cpu >= m->n_cpus || !m->cpus[cpu].online)
		s->verdict = OFFLINE;
	else if (!same_table(p, m))
		s->verdict = OTHER_TABLE;
	else if (!c->seen)
		s->verdict = UNREADABLE;
	else if (!c->still)
		s->verdict = REPLANNED;
	else
		return false;
	s->error = c->error;
	return true;
}

static void see(const struct proof *p, const struct machine *m, const struct reader *rd,
		uint32_t cpu, struct seen *s)
{
	int r;

	*s = (struct seen){.verdict = KEPT};
	if (no_look(p, m, cpu, s))
		return;
	r = see_second(p, rd, cpu, states_there(m, cpu), s);
	if (r == -ESTALE) {
		s->verdict = RESTARTED;
	} else if (r < 0) {
		s->verdict = UNREADABLE;
		s->error = r;
	}
}

/* ---- CPUs that showed the same ---- */

struct showing {
	enum verdict verdict;
	uint32_t state; /* ENTERED */
	uint16_t table, still; /* which say what names the states have */
	uint8_t reason; /* ENTERED: enum state_reason */
	bool older;
	int error;
	uint64_t limit_ns;
	uint64_t least, most; /* entries: of what is on, of what is off */
	struct cpuset cpus;
};

struct showings {
	struct showing v[FINDINGS_MAX];
	uint32_t n, n_differs, n_left_out;
	int error;
};

static bool alike(const struct showing *a, const struct showing *b)
{
	return a->verdict == b->verdict && a->state == b->state && a->table == b->table &&
	       a->still == b->still && a->reason == b->reason && a->older == b->older &&
	       a->error == b->error && a->limit_ns == b->limit_ns;
}

static void put(struct showings *gs, uint32_t cpu, uint32_t n_cpus, const struct showing *new)
{
	struct showing *g = gs->v;

	gs->n_differs += new->verdict == ENTERED;
	while (g < gs->v + gs->n && !alike(g, new))
		g++;
	if (g == gs->v + FINDINGS_MAX) {
		gs->n_left_out++;
		return;
	}
	if (g == gs->v + gs->n) {
		*g = *new;
		g->cpus = (struct cpuset){.size = 0};
		if (cpuset_init(&g->cpus, n_cpus) < 0) {
			gs->error = -ENOMEM;
			return;
		}
		gs->n++;
	}
	g->least = MIN_OF(g->least, new->least);
	g->most = MAX_OF(g->most, new->most);
	cpuset_add(&g->cpus, cpu);
}

static void sort_in(struct showings *gs, const struct proof *p, const struct plan *plan,
		    uint32_t cpu, const struct seen *s)
{
	const struct plan_row *row = plan_row_of(plan, cpu);
	struct showing g = {.verdict = s->verdict, .error = s->error, .least = s->others};

	if (s->verdict != KEPT && s->verdict != ENTERED) {
		put(gs, cpu, p->n_cpus, &g);
		return;
	}
	/* What is off all the time has a row. */
	g.table = row->table;
	if (s->verdict == KEPT) {
		g.still = p->cpus[cpu].still;
		g.older = s->older;
		put(gs, cpu, p->n_cpus, &g);
		return;
	}
	g.limit_ns = row->limit_ns;
	for (uint32_t state = 0; state <= PROOF_OWN_BIT; state++) {
		if (!s->gained[state])
			continue;
		g.state = state;
		g.most = s->gained[state];
		g.reason = is_own(state) ? 0 : row->states[state].reason;
		put(gs, cpu, p->n_cpus, &g);
	}
}

/* ---- words ---- */

static const char *state_name(const struct machine *m, const struct showing *g, uint32_t state)
{
	return is_own(state) ? m->own_state.name : m->tables[g->table].states[state].name;
}

static void put_names(struct buf *b, const struct machine *m, const struct showing *g)
{
	const char *comma = "";

	for (uint32_t state = 0; state <= PROOF_OWN_BIT; state++) {
		if (!(g->still & 1U << state))
			continue;
		buf_printf(b, "%s%s", comma, state_name(m, g, state));
		comma = ", ";
	}
}

static const char *span_text(uint64_t ns, char *buf)
{
	uint64_t ms = ns / NSEC_PER_MSEC;

	if (ms < 1000)
		snprintf(buf, LATENCY_TEXT_MAX, "%" PRIu64 "ms", ms);
	else
		snprintf(buf, LATENCY_TEXT_MAX, "%" PRIu64 ".%us", ms / 1000,
			 (unsigned)(ms / 100 % 10));
	return buf;
}

static void put_why_off(struct buf *b, const struct machine *m, const struct showing *g)
{
	char e[LATENCY_TEXT_MAX], l[LATENCY_TEXT_MAX];

	if (is_own(g->state)) {
		buf_puts(b, "not asked for on this CPU");
		return;
	}
	switch ((enum state_reason)g->reason) {
	case STATE_OFF_OVER_LIMIT:
		buf_printf(
			b, "exit latency %s > limit %s",
			units_format_latency(m->tables[g->table].states[g->state].exit_latency_ns,
					     e, sizeof(e)),
			units_format_latency(g->limit_ns, l, sizeof(l)));
		return;
	case STATE_OFF_ZERO_LIMIT:
		buf_puts(b, "the limit leaves the first state alone");
		return;
	case STATE_OFF_BY_POLICY:
		buf_puts(b, "DisableStates=");
		return;
	case STATE_OFF_BY_DEFAULT:
		buf_puts(b, "off by default, not named by EnableStates=");
		return;
	case STATE_OFF_BY_GUARD:
		buf_puts(b, "residency guard");
		return;
	case STATE_OFF_BY_OTHERS:
	case STATE_ON_NO_LIMIT:
	case STATE_ON_WITHIN_LIMIT:
	case STATE_ON_NAMED:
	case STATE_ON_FIRST:
		break;
	}
	buf_puts(b, "the plan has it off");
}

static void put_plural(struct buf *b, uint64_t n, const char *one)
{
	buf_printf(b, "%" PRIu64 " %s%s", n, one, n == 1 ? "" : "s");
}

static void put_detail(struct buf *b, const struct machine *m, const struct showing *g,
		       const char *span)
{
	switch (g->verdict) {
	case KEPT:
		put_names(b, m, g);
		buf_printf(b, " not entered in %s%s; ", span,
			   g->older ? " but for one sleep that may be older than the plan" : "");
		put_plural(b, g->least, "other idle period");
		buf_puts(b, cpuset_count(&g->cpus) > 1 ? " or more each" : "");
		return;
	case ENTERED:
		buf_printf(b, "%s entered %s", state_name(m, g, g->state),
			   cpuset_count(&g->cpus) > 1 ? "up to " : "");
		put_plural(b, g->most, "time");
		buf_printf(b, " in %s, should be off: ", span);
		put_why_off(b, m, g);
		return;
	case ASLEEP:
		buf_printf(b, "no idle period ended within %s: no proof", span);
		return;
	case OFFLINE:
		buf_puts(b, "offline: no proof");
		return;
	case UNREADABLE:
		buf_printf(b, "the counters cannot be read: %s", strerror(-g->error));
		return;
	case RESTARTED:
		buf_puts(b, "the counters began anew meanwhile: no proof");
		return;
	case REPLANNED:
		buf_puts(b, "the plan changed, nothing was off all the time: no proof");
		return;
	case OTHER_TABLE:
		buf_puts(b, "the driver's table of states changed meanwhile: no proof");
		return;
	case SUSPENDED:
		buf_puts(b, "the system was suspended meanwhile: no proof");
		return;
	}
}

static const char *result_of(enum verdict verdict)
{
	if (verdict == KEPT)
		return "ok";
	return verdict == ENTERED ? "differs" : "unsupported";
}

static int add_finding(struct findings *f, const struct machine *m, const struct showing *g,
		       const char *span)
{
	_cleanup_free_ char *cpus = cpuset_to_string(&g->cpus), *detail = NULL;
	uint32_t n = g->verdict == ENTERED ? cpuset_count(&g->cpus) : 0;
	struct buf b = {.n = 0};
	char knob[24] = "usage";

	if (g->verdict == ENTERED)
		snprintf(knob, sizeof(knob), "state%u/usage",
			 is_own(g->state) ? m->own_row : machine_file_of(m->own_row, g->state));
	put_detail(&b, m, g, span);
	detail = buf_finish(&b);
	return cpus && detail ? findings_add(f, cpus, result_of(g->verdict), knob, detail, n)
			      : -ENOMEM;
}

static int add_findings(const struct showings *gs, const struct machine *m, uint64_t ns,
			struct findings *f)
{
	char span[LATENCY_TEXT_MAX];
	int r = 0;

	span_text(ns, span);
	for (uint32_t i = 0; r == 0 && i < gs->n; i++)
		r = add_finding(f, m, &gs->v[i], span);
	f->dropped += gs->n_left_out;
	return r;
}

/* Offline, with a limit of ours for the time when it comes. */
static bool waits(const struct plan *plan, uint32_t cpu)
{
	const struct plan_row *row = plan_row_of(plan, cpu);

	return row && !row->online && row->policy_limit_ns != LATENCY_NONE;
}

int proof_end(const struct proof *p, const struct plan *plan, const struct machine *machine,
	      const struct proof_clock *now, counter_read read, void *data, struct findings *f)
{
	const struct reader rd = {.read = read, .data = data};
	bool suspended = now->asleep_ns > p->begun.asleep_ns + PROOF_SUSPENDED_NS;
	_cleanup_free_ struct showings *gs = calloc(1, sizeof(*gs));
	struct seen s;
	int r;

	if (!gs)
		return -ENOMEM;
	for (uint32_t cpu = 0; cpu < p->n_cpus; cpu++) {
		if (!p->cpus[cpu].off && !waits(plan, cpu))
			continue;
		if (suspended)
			s = (struct seen){.verdict = SUSPENDED};
		else
			see(p, machine, &rd, cpu, &s);
		sort_in(gs, p, plan, cpu, &s);
	}
	r = gs->error;
	if (r == 0)
		r = add_findings(gs, machine, now->awake_ns - p->begun.awake_ns, f);
	for (uint32_t i = 0; i < gs->n; i++)
		cpuset_done(&gs->v[i].cpus);
	return r;
}
