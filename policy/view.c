/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view.h"

#include "hold-text.h"
#include "layers.h"
#include "modes.h"

struct maker {
	const struct policy *policy;
	const struct machine *machine;
	const struct plan *plan;
	const struct holds *holds;
	struct hold **sorted; /* all holds, only for layers */
	unsigned flags;

	/* CPUs of each row as a chain: first[row], next[cpu], NO_CPU at its end. */
	uint16_t *first, *last, *next;
	uint16_t *as; /* per row: the one that is shown for it */
	uint16_t *order; /* rows with a CPU in the view, by their first one */
	uint32_t n_order;
	bool failed; /* memory ran out in a text */
};

#define NO_CPU UINT16_MAX

static void state_done(struct view_state *s)
{
	free(s->name);
	free(s->class);
	free(s->reason);
}

static void mode_done(struct view_mode *m)
{
	free(m->name);
	free(m->requested);
	free(m->effective);
	free(m->reason);
}

static void row_done(struct view_row *row)
{
	for (uint32_t i = 0; i < row->n_states; i++)
		state_done(&row->states[i]);
	for (uint32_t i = 0; i < row->n_modes; i++)
		mode_done(&row->modes[i]);
	for (uint32_t i = 0; i < row->n_layers; i++) {
		free(row->layers[i].name);
		free(row->layers[i].text);
	}
	free(row->states);
	free(row->modes);
	free(row->layers);
	free(row->cpus);
	free(row->profile);
	free(row->limit_source);
}

void view_done(struct view *v)
{
	for (uint32_t i = 0; i < v->n; i++)
		row_done(&v->rows[i]);
	free(v->rows);
	*v = (struct view){};
}

/* Texts: NULL only when memory ran out, which is looked at once, at the end ------------------------ */

static char *text(struct maker *k, const char *fmt, ...) _printf_(2, 3);

static char *text(struct maker *k, const char *fmt, ...)
{
	char *ret = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&ret, fmt, args) < 0) {
		ret = NULL;
		k->failed = true;
	}
	va_end(args);
	return ret;
}

static char *hold_source_text(struct maker *k, const struct plan_row *row,
			      const struct cpuset *cpus, const char *ns)
{
	const struct hold *hold = hold_deciding(k->holds, cpus, row->limit_ns);

	if (!hold)
		return text(k, "a profile that is held (%s)", ns);
	return text(k, "hold %u of %s (%s)", hold->id, hold_app(hold), ns);
}

/* The workload whose profile limits the row; NULL: a group, the default, or no profile at all. */
static const struct workload *limiting_workload(const struct policy *policy,
						const struct plan *plan, const struct plan_row *row)
{
	const struct plan_demand *d = &plan->demands[row->demands];

	for (uint32_t i = 0; row->limit_source == LIMIT_POLICY && i < row->n_demands; i++)
		if (d[i].wins_limit)
			return plan_workload_of(policy, &d[i]);
	return NULL;
}

static char *profile_source_text(struct maker *k, const struct plan_row *row, const char *ns)
{
	const struct workload *w = limiting_workload(k->policy, k->plan, row);
	bool tight = row->tight && row->limit_ns == row->adapt_ns;

	return text(k, "%sprofile %s%s%s (%s)", tight ? "Adapt= of " : "",
		    k->policy->profiles[row->limit_profile].name, w ? " of workload " : "",
		    w ? w->name : "", ns);
}

static char *limit_source_text(struct maker *k, const struct plan_row *row,
			       const struct cpuset *cpus)
{
	char ns[LATENCY_TEXT_MAX];

	units_format_latency(row->limit_ns, ns, sizeof(ns));
	switch ((enum limit_source)row->limit_source) {
	case LIMIT_NONE:
		break;
	case LIMIT_POLICY:
		return profile_source_text(k, row, ns);
	case LIMIT_HOLD:
		return hold_source_text(k, row, cpus, ns);
	case LIMIT_GLOBAL_POLICY:
		return text(k, "GlobalLatencyLimit=%s", ns);
	case LIMIT_CPU_QOS:
		return text(k, "others, in pm_qos_resume_latency_us (%s)", ns);
	case LIMIT_GLOBAL_OTHERS:
		return text(k, "others, on /dev/cpu_dma_latency (%s)", ns);
	}
	return text(k, "no limit");
}

/* The profile whose DisableStates= took a state away. */
static const char *disabling_profile(const struct maker *k, const struct plan_row *row,
				     const struct idle_state *state)
{
	for (uint32_t i = 0; i < row->n_demands; i++) {
		const struct plan_demand *d = &k->plan->demands[row->demands + i];
		const struct profile *p = &k->policy->profiles[d->profile];

		for (uint32_t w = 0; w < p->resolved.disable_states.n; w++)
			if (machine_state_matches(state, p->resolved.disable_states.v[w]))
				return p->name;
	}
	return "";
}

static char *latency_reason(struct maker *k, const struct plan_row *row,
			    const struct idle_state *state, const char *relation)
{
	char e[LATENCY_TEXT_MAX], l[LATENCY_TEXT_MAX];

	if (state->exit_latency_ns == LATENCY_NONE)
		return text(k, "exit latency unknown, which is over every limit");
	return text(k, "exit latency %s %s limit %s",
		    units_format_latency(state->exit_latency_ns, e, sizeof(e)), relation,
		    units_format_latency(row->limit_ns, l, sizeof(l)));
}

static char *zero_reason(struct maker *k, const struct plan_row *row)
{
	char l[LATENCY_TEXT_MAX];

	if (row->limit_ns == 0)
		return text(k, "limit 0 leaves the first state alone");
	return text(k, "limit %s is 0 to the kernel, which counts in us",
		    units_format_latency(row->limit_ns, l, sizeof(l)));
}

static char *state_reason_text(struct maker *k, const struct plan_row *row, uint32_t index,
			       const struct idle_state *state)
{
	switch ((enum state_reason)row->states[index].reason) {
	case STATE_ON_NO_LIMIT:
		return text(k, "no limit");
	case STATE_ON_WITHIN_LIMIT:
		return latency_reason(k, row, state, "<=");
	case STATE_ON_NAMED:
		return text(k, "off by default, named by EnableStates= of profile %s",
			    k->policy->profiles[row->profile].name);
	case STATE_ON_FIRST:
		return text(k, "first state, always on");
	case STATE_OFF_OVER_LIMIT:
		return latency_reason(k, row, state, ">");
	case STATE_OFF_ZERO_LIMIT:
		return zero_reason(k, row);
	case STATE_OFF_BY_POLICY:
		return text(k, "DisableStates= of profile %s", disabling_profile(k, row, state));
	case STATE_OFF_BY_DEFAULT:
		return text(k, "off by default, not named by EnableStates=");
	case STATE_OFF_BY_GUARD:
		return text(k, "residency guard: entered too early too often");
	case STATE_OFF_BY_OTHERS:
		break;
	}
	return text(k, "disabled by others");
}

static void put_state(struct maker *k, struct view_row *row, uint32_t index,
		      const struct idle_state *s, bool enabled, char *reason)
{
	row->states[row->n_states++] = (struct view_state){
		.index = index,
		.name = text(k, "%s", s->name),
		.exit_latency_ns = s->exit_latency_ns,
		.target_residency_ns = s->target_residency_ns,
		.class = text(k, "%s", machine_class_name(s->class)),
		.enabled = enabled,
		.reason = reason,
	};
}

/* The state of cpuidle_policy.ko: in the driver's one table, for every CPU, once any of them asks for it. */
static void put_own_state(struct maker *k, const struct plan_row *from, struct view_row *row,
			  uint32_t index)
{
	struct idle_state own;
	bool on = from->module.row && !from->own_off;

	modes_own_state(k->machine, k->plan->row, &own);
	put_state(k, row, index, &own, on,
		  text(k, "%s",
		       on ? "put in by cpuidle_policy for C0="
		       : from->module.row
			       ? "disabled by others"
			       : "not asked for on this CPU, kept off by cpuidle_policy"));
}

static void make_states(struct maker *k, const struct plan_row *from, struct view_row *row)
{
	uint8_t own = k->machine->own_row ? k->machine->own_row : k->plan->row ? 1 : 0;
	const struct idle_table *table;

	if (from->table >= k->machine->n_tables)
		return;
	table = &k->machine->tables[from->table];
	row->states = calloc(table->n + 1U, sizeof(*row->states));
	if (!row->states) {
		k->failed = true;
		return;
	}
	for (uint32_t i = 0; i < table->n; i++) {
		if (own && i == own)
			put_own_state(k, from, row, own);
		put_state(k, row, machine_file_of(own, i), &table->states[i],
			  from->states[i].enabled,
			  state_reason_text(k, from, i, &table->states[i]));
	}
}

/* Haltpoll's value says how long. */
static char *mode_value_text(struct maker *k, const struct plan_row *row, enum mode_value value)
{
	char ns[LATENCY_TEXT_MAX];

	if (value == MODE_HALTPOLL_ON)
		return text(k, "%s", units_format_latency(row->haltpoll_ns, ns, sizeof(ns)));
	return text(k, "%s", plan_mode_value_name(value));
}

static char *mode_reason_words(struct maker *k, const struct plan_mode_cell *c, enum plan_mode mode)
{
	const char *why = modes_reason_text(c->reason),
		   *module = modes_module_words(k->machine, mode, c->reason);

	if (*module)
		return text(k, "%s: %s", why, module);
	if (c->requested == MODE_AUTO && c->wanted != c->effective &&
	    c->reason != MODE_C02_FORBIDDEN)
		return text(k, "%s would do, but it %s", plan_mode_value_name(c->wanted), why);
	return text(k, "%s", why);
}

static void make_modes(struct maker *k, const struct plan_row *from, struct view_row *row)
{
	row->modes = calloc(MODE_N, sizeof(*row->modes));
	if (!row->modes) {
		k->failed = true;
		return;
	}
	row->n_modes = MODE_N;
	for (unsigned i = 0; i < MODE_N; i++) {
		const struct plan_mode_cell *c = &from->modes[i];

		row->modes[i] = (struct view_mode){
			.name = text(k, "%s", plan_mode_name(i)),
			.requested = mode_value_text(k, from, c->requested),
			.effective = mode_value_text(k, from, c->effective),
			.reason = mode_reason_words(k, c, i),
		};
	}
}

/* Rows ------------------------------------------------------------------------------------------- */

static char *row_cpus(struct maker *k, struct cpuset *scratch, uint32_t row)
{
	char *list;

	cpuset_clear(scratch);
	for (uint16_t cpu = k->first[row]; cpu != NO_CPU; cpu = k->next[cpu])
		cpuset_add(scratch, cpu);
	list = cpuset_to_string(scratch);
	if (!list)
		k->failed = true;
	return list;
}

static int make_row(struct maker *k, struct cpuset *scratch, uint32_t index, struct view_row *row)
{
	const struct plan_row *from = &k->plan->rows[index];

	*row = (struct view_row){
		.online = from->online,
		.cpus = row_cpus(k, scratch, index),
		.profile = text(k, "%s", k->policy->profiles[from->profile].name),
		.limit_source = limit_source_text(k, from, scratch),
		.limit_ns = from->limit_ns,
		.policy_limit_ns = from->policy_limit_ns,
		.others_limit_ns = MIN_OF(from->cpu_others_ns, from->global_others_ns),
	};
	make_states(k, from, row);
	make_modes(k, from, row);
	if (k->flags & VIEW_LAYERS &&
	    layers_make(k->policy, k->machine, k->plan, from,
			&(struct layers_holds){k->holds, k->sorted, scratch}, row) < 0)
		k->failed = true;
	return k->failed ? -ENOMEM : 0;
}

static bool same_demands(const struct plan *plan, const struct plan_row *a,
			 const struct plan_row *b)
{
	for (uint32_t i = 0; i < a->n_demands && i < b->n_demands; i++) {
		const struct plan_demand *x = &plan->demands[a->demands + i];
		const struct plan_demand *y = &plan->demands[b->demands + i];

		if (x->group != y->group)
			return false;
	}
	return a->n_demands == b->n_demands;
}

/* Do both rows read the same, layers aside? States are told with the profile that disables them. */
static bool reads_same(const struct policy *policy, const struct plan *plan,
		       const struct plan_row *a, const struct plan_row *b)
{
	if (a->table != b->table || a->online != b->online || a->profile != b->profile ||
	    a->limit_ns != b->limit_ns || a->limit_source != b->limit_source ||
	    a->limit_profile != b->limit_profile || a->policy_limit_ns != b->policy_limit_ns ||
	    a->own_off != b->own_off ||
	    limiting_workload(policy, plan, a) != limiting_workload(policy, plan, b) ||
	    MIN_OF(a->cpu_others_ns, a->global_others_ns) !=
		    MIN_OF(b->cpu_others_ns, b->global_others_ns))
		return false;
	for (unsigned i = 0; i < MACHINE_STATES_MAX; i++) {
		if (a->states[i].reason != b->states[i].reason)
			return false;
		if (a->states[i].reason == STATE_OFF_BY_POLICY && !same_demands(plan, a, b))
			return false;
	}
	/* Their holds may have different owners. */
	if (a->limit_source == LIMIT_HOLD)
		return false;
	return memcmp(a->modes, b->modes, sizeof(a->modes)) == 0;
}

/* Beyond this many rows on one host, finding equal ones is not worth its time. */
#define MERGE_MAX 512U

/* The row that stands for this one: itself, or an earlier one that reads the same. */
static uint16_t stands_for(const struct maker *k, uint16_t row)
{
	const struct plan *plan = k->plan;

	if (k->flags & VIEW_LAYERS || plan->n_rows > MERGE_MAX)
		return row;
	for (uint16_t i = 0; i < row; i++)
		if (reads_same(k->policy, plan, &plan->rows[i], &plan->rows[row]))
			return i;
	return row;
}

static int merge_rows(struct maker *k)
{
	k->as = calloc(k->plan->n_rows + 1, sizeof(*k->as));
	if (!k->as)
		return -ENOMEM;
	for (uint16_t row = 0; row < k->plan->n_rows; row++)
		k->as[row] = stands_for(k, row);
	return 0;
}

static int chain_cpus(struct maker *k, const struct cpuset *cpus)
{
	const struct plan *plan = k->plan;

	k->first = calloc(plan->n_rows + 1, sizeof(*k->first));
	k->last = calloc(plan->n_rows + 1, sizeof(*k->last));
	k->order = calloc(plan->n_rows + 1, sizeof(*k->order));
	k->next = calloc(plan->n_cpus + 1, sizeof(*k->next));
	if (!k->first || !k->last || !k->order || !k->next)
		return -ENOMEM;
	for (uint32_t row = 0; row < plan->n_rows; row++)
		k->first[row] = NO_CPU;
	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		uint16_t row = plan->row_of[cpu];

		if (row == PLAN_NO_ROW || (cpus && !cpuset_has(cpus, cpu)))
			continue;
		row = k->as[row];
		k->next[cpu] = NO_CPU;
		if (k->first[row] == NO_CPU) {
			k->first[row] = (uint16_t)cpu;
			k->order[k->n_order++] = row;
		} else {
			k->next[k->last[row]] = (uint16_t)cpu;
		}
		k->last[row] = (uint16_t)cpu;
	}
	return 0;
}

static int make_rows(struct maker *k, struct view *v)
{
	_cleanup_(cpuset_done) struct cpuset scratch = {};
	int r = cpuset_init(&scratch, k->plan->n_cpus);

	if (r < 0)
		return r;
	v->rows = calloc(k->n_order + 1, sizeof(*v->rows));
	if (!v->rows)
		return -ENOMEM;
	for (uint32_t i = 0; r >= 0 && i < k->n_order; i++)
		r = make_row(k, &scratch, k->order[i], &v->rows[v->n++]);
	return r;
}

int view_make(const struct policy *policy, const struct machine *machine, const struct plan *plan,
	      const struct holds *holds, const struct cpuset *cpus, unsigned flags,
	      struct view *ret)
{
	struct maker k = {
		.policy = policy, .machine = machine, .plan = plan, .holds = holds, .flags = flags};
	struct view v = {};
	int r = merge_rows(&k);

	if (r >= 0 && flags & VIEW_LAYERS && holds && holds->n) {
		k.sorted = holds_sorted(holds);
		r = k.sorted ? 0 : -ENOMEM;
	}
	if (r >= 0)
		r = chain_cpus(&k, cpus);
	if (r >= 0)
		r = make_rows(&k, &v);
	free(k.as);
	free(k.first);
	free(k.last);
	free(k.next);
	free(k.order);
	free(k.sorted);
	if (r < 0) {
		view_done(&v);
		return r;
	}
	*ret = v;
	return 0;
}
