/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan.h"

#include "advice.h"
#include "held.h"
#include "modes.h"
#include "rank.h"
#include "workload.h"

#define RANK_WORDS ((POLICY_GROUPS_MAX + POLICY_WORKLOADS_MAX + 63) / 64)

/* Everything that makes the row of a CPU: equal keys, equal rows. No padding: compared as bytes. */
struct row_key {
	uint64_t qos_prior_ns;
	uint64_t hold_ns;
	uint16_t disabled_prior;
	uint16_t left;
	uint16_t table;
	uint16_t held; /* set of profiles and modes */
	uint16_t vetoed;
	uint8_t flags; /* enum key_flag */
	uint8_t zero[5];
	uint64_t ranks[RANK_WORDS]; /* bit i: member of what is ranked i; used ones first */
};

enum key_flag {
	KEY_ONLINE = 1 << 0,
	KEY_HAS_QOS = 1 << 1,
	KEY_WAITPKG = 1 << 2,
	KEY_C0 = 1 << 3,
	KEY_OWN_OFF = 1 << 4,
	KEY_TIGHT = 1 << 5,
	KEY_CROWDED = 1 << 6,
};

struct resolver {
	const struct policy *policy;
	const struct machine *machine;
	const struct holds *holds;
	struct held held;
	struct plan *plan;

	struct ranking ranking;

	struct row_key *keys; /* of each row of the plan */
	uint32_t cap_rows;
	uint32_t cap_demands;
	uint16_t *slots; /* hash of keys: row + 1, 0 is free */
	uint32_t mask; /* slots - 1, a power of two minus one */
};

/* Limits ------------------------------------------------------------------------------------------- */

/* The kernel's files count microseconds. Downwards, so that nothing is looser than asked. */
static uint64_t whole_us(uint64_t ns)
{
	return ns == LATENCY_NONE ? LATENCY_NONE : ns / NSEC_PER_USEC * NSEC_PER_USEC;
}

static const struct profile *demand_profile(const struct resolver *rs, const struct plan_demand *d)
{
	return &rs->policy->profiles[d->profile];
}

/* While the CPU is busy Adapt= says more. */
static uint64_t demand_ns(const struct resolver *rs, struct plan_row *row,
			  const struct plan_demand *d)
{
	const struct settings *s = &demand_profile(rs, d)->resolved;

	if (s->adapt_ns < row->adapt_ns) {
		row->adapt_ns = s->adapt_ns;
		row->adapt_group = s->adapt_scope == ADAPT_GROUP && d->group < PLAN_GROUPS
					   ? d->group
					   : PLAN_ADAPT_ALONE;
	}
	return row->tight ? MIN_OF(s->latency_limit_ns, s->adapt_ns) : s->latency_limit_ns;
}

static void decide_demand_limit(const struct resolver *rs, struct plan_row *row)
{
	struct plan_demand *d = &rs->plan->demands[row->demands], *winner = NULL;

	row->demand_limit_ns = row->adapt_ns = LATENCY_NONE;
	row->adapt_group = PLAN_ADAPT_ALONE;
	for (uint32_t i = 0; i < row->n_demands; i++) {
		uint64_t ns = demand_ns(rs, row, &d[i]);

		if (d[i].group == PLAN_GROUP_HOLD) {
			row->hold_limit_ns = MIN_OF(row->hold_limit_ns, ns);
		} else if (ns < row->demand_limit_ns) {
			row->demand_limit_ns = ns;
			winner = &d[i];
		}
	}
	if (winner) {
		winner->wins_limit = true;
		row->limit_profile = winner->profile;
	}
}

static void take_limit(struct plan_row *row, enum limit_source source, uint64_t ns)
{
	if (ns < row->limit_ns) {
		row->limit_ns = ns;
		row->limit_source = (uint8_t)source;
	}
}

/* What profiles and holds ask of a CPU. */
static uint64_t asked_limit(const struct plan_row *row)
{
	return MIN_OF(row->demand_limit_ns, row->hold_limit_ns);
}

/* Among equals the policy is named first: that is what its writer can change. */
static void decide_limit(const struct resolver *rs, struct plan_row *row)
{
	bool qos_left = row->left & 1U << MACHINE_BIT_QOS;

	row->policy_limit_ns = MIN_OF(asked_limit(row), rs->policy->global_limit_ns);
	row->limit_ns = LATENCY_NONE;
	row->limit_source = LIMIT_NONE;
	if (!qos_left) {
		take_limit(row, LIMIT_POLICY, row->demand_limit_ns);
		take_limit(row, LIMIT_HOLD, row->hold_limit_ns);
	}
	if (!qos_left || rs->plan->sets_global)
		take_limit(row, LIMIT_GLOBAL_POLICY, rs->policy->global_limit_ns);
	take_limit(row, LIMIT_CPU_QOS, row->cpu_others_ns);
	take_limit(row, LIMIT_GLOBAL_OTHERS, row->global_others_ns);
}

/* What of the policy's limits the CPU itself has to be told: what /dev/cpu_dma_latency does not do. */
static uint64_t own_limit(const struct resolver *rs, const struct plan_row *row)
{
	if (!rs->plan->sets_global)
		return row->policy_limit_ns;
	return whole_us(asked_limit(row)) < rs->plan->global_ns ? asked_limit(row) : LATENCY_NONE;
}

static void decide_qos(const struct resolver *rs, struct plan_row *row)
{
	uint64_t ours = whole_us(own_limit(rs, row));

	row->qos_ns = row->cpu_others_ns;
	row->module.limit_ns = LATENCY_NONE;
	/* The kernel takes the strictest of all requests: beside others', whatever theirs is. */
	if (rs->machine->module.limits && !(row->left & 1U << MACHINE_BIT_QOS)) {
		row->module.limit_ns = ours;
		return;
	}
	if (!row->has_qos || row->left & 1U << MACHINE_BIT_QOS || ours >= row->cpu_others_ns)
		return;
	row->sets_qos = true;
	row->qos_ns = ours;
}

/* States ------------------------------------------------------------------------------------------- */

static bool words_match(const struct words *words, const struct idle_state *state)
{
	for (uint32_t i = 0; i < words->n; i++)
		if (machine_state_matches(state, words->v[i]))
			return true;
	return false;
}

static bool disabled_by_policy(const struct resolver *rs, const struct plan_row *row,
			       const struct idle_state *state)
{
	const struct plan_demand *d = &rs->plan->demands[row->demands];

	for (uint32_t i = 0; i < row->n_demands; i++)
		if (words_match(&demand_profile(rs, &d[i])->resolved.disable_states, state))
			return true;
	return false;
}

static bool over_limit(uint64_t limit_ns, uint32_t index, const struct idle_state *state)
{
	if (limit_ns == 0)
		return index > 0;
	return limit_ns != LATENCY_NONE && state->exit_latency_ns > limit_ns;
}

/* Does the kernel itself keep a limit for this CPU, so that its states' files need not? */
static bool takes_limit(const struct resolver *rs, const struct plan_row *row)
{
	return row->has_qos || rs->machine->module.limits;
}

/* The limit as it reaches the governor: below 1 us the kernel's files know only zero. */
static uint64_t limit_in_force(const struct resolver *rs, const struct plan_row *row)
{
	bool in_us = takes_limit(rs, row) ||
		     (row->limit_source == LIMIT_GLOBAL_POLICY && rs->plan->sets_global);

	return in_us && row->limit_ns < NSEC_PER_USEC ? 0 : row->limit_ns;
}

/* Why a state is off that the policy could not, or would not, switch on; STATE_ON_WITHIN_LIMIT if nothing. */
static enum state_reason off_reason(const struct resolver *rs, const struct plan_row *row,
				    uint32_t index, const struct idle_state *state)
{
	bool set_by_others = row->disabled_prior & 1U << index;
	bool named = words_match(&rs->policy->profiles[row->profile].resolved.enable_states, state);

	if (row->left & 1U << index)
		return set_by_others ? STATE_OFF_BY_OTHERS : STATE_ON_WITHIN_LIMIT;
	if (disabled_by_policy(rs, row, state))
		return STATE_OFF_BY_POLICY;
	if (state->default_off)
		return named ? STATE_ON_NAMED : STATE_OFF_BY_DEFAULT;
	return set_by_others ? STATE_OFF_BY_OTHERS : STATE_ON_WITHIN_LIMIT;
}

static void decide_state(const struct resolver *rs, struct plan_row *row, uint32_t index,
			 const struct idle_state *state)
{
	enum state_reason reason = off_reason(rs, row, index, state);
	uint64_t in_force = limit_in_force(rs, row), own = own_limit(rs, row);
	bool could_be_on = reason == STATE_ON_NAMED || reason == STATE_ON_WITHIN_LIMIT;
	uint16_t bit = (uint16_t)(1U << index);
	bool vetoed = could_be_on && row->guarded && row->vetoed & ~row->left & bit;

	if (!(row->left & bit) && (reason == STATE_OFF_BY_POLICY || state->default_off || vetoed ||
				   (!takes_limit(rs, row) && over_limit(own, index, state))))
		row->disable_care |= bit;
	if (row->disable_care & bit &&
	    (!could_be_on || vetoed || over_limit(row->policy_limit_ns, index, state)))
		row->disable_mask |= bit;
	if (could_be_on && over_limit(in_force, index, state))
		reason = in_force == 0 ? STATE_OFF_ZERO_LIMIT : STATE_OFF_OVER_LIMIT;
	else if (vetoed)
		reason = STATE_OFF_BY_GUARD;
	else if (reason == STATE_ON_WITHIN_LIMIT && in_force == LATENCY_NONE)
		reason = STATE_ON_NO_LIMIT;
	row->states[index] = (struct plan_state){
		.enabled = reason <= STATE_ON_FIRST,
		.reason = (uint8_t)reason,
	};
}

/* State 0 is what is left when nothing else is. Others may have disabled it: menu, teo take the next then. */
static void decide_first(const struct resolver *rs, struct plan_row *row,
			 const struct idle_table *table)
{
	bool others = false;

	for (uint32_t i = 1; i < table->n; i++)
		others |= row->states[i].enabled;
	if (others && row->disabled_prior & 1 && limit_in_force(rs, row) != 0)
		row->states[0] = (struct plan_state){false, STATE_OFF_BY_OTHERS};
	else
		row->states[0] = (struct plan_state){true, STATE_ON_FIRST};
}

static void decide_states(const struct resolver *rs, struct plan_row *row)
{
	const struct idle_table *table;

	if (row->table >= rs->machine->n_tables)
		return;
	table = &rs->machine->tables[row->table];
	for (uint32_t i = 1; i < table->n; i++)
		decide_state(rs, row, i, &table->states[i]);
	decide_first(rs, row, table);
	row->only_poll = row->online;
	row->kernel_zero = limit_in_force(rs, row) == 0;
	for (uint32_t i = 0; i < table->n; i++)
		if (row->states[i].enabled && table->states[i].class != STATE_CLASS_POLL)
			row->only_poll = false;
}

/* Rows --------------------------------------------------------------------------------------------- */

static int demand_add(struct resolver *rs, const struct plan_demand *d)
{
	struct plan *plan = rs->plan;

	if (plan->n_demands == rs->cap_demands) {
		uint32_t cap = rs->cap_demands * 2 + 8;
		struct plan_demand *v = reallocarray(plan->demands, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		plan->demands = v;
		rs->cap_demands = cap;
	}
	plan->demands[plan->n_demands++] = *d;
	return 0;
}

static bool has_demand(const struct plan *plan, const struct plan_row *row, uint32_t profile)
{
	for (uint32_t i = row->demands; i < plan->n_demands; i++)
		if (plan->demands[i].profile == profile)
			return true;
	return false;
}

/* Profiles that are held: each once. */
static int add_held(struct resolver *rs, uint16_t set, const struct plan_row *row)
{
	int r = 0;

	for (uint32_t i = 0; set && r >= 0 && i < rs->held.sets[set].n; i++) {
		const struct profile *p = held_profile(&rs->held, rs->policy, set, i);
		uint32_t profile = p ? (uint32_t)(p - rs->policy->profiles) : 0;

		if (p && !has_demand(rs->plan, row, profile))
			r = demand_add(rs, &(struct plan_demand){
						   .group = PLAN_GROUP_HOLD,
						   .profile = profile,
						   .n_cpus = rs->held.sets[set].v[i].n_cpus,
					   });
	}
	return r;
}

/* Demands in the order in which they count; the first one decides about modes. */
static int add_demands(struct resolver *rs, const struct row_key *key, struct plan_row *row)
{
	uint32_t n_held;
	int r;

	row->demands = rs->plan->n_demands;
	r = add_held(rs, key->held, row);
	n_held = rs->plan->n_demands - row->demands;
	for (uint32_t i = 0; r >= 0 && i < rs->ranking.n; i++)
		if (key->ranks[i / 64] & UINT64_C(1) << i % 64)
			r = demand_add(rs, &(struct plan_demand){
						   .group = rs->ranking.v[i].group,
						   .profile = rs->ranking.v[i].profile,
						   .n_cpus = rs->ranking.v[i].n_cpus,
					   });
	if (r >= 0 && rs->plan->n_demands == row->demands + n_held)
		r = demand_add(rs, &(struct plan_demand){
					   .group = PLAN_GROUP_DEFAULT,
					   .profile = rs->policy->default_profile,
					   .n_cpus = rs->machine->n_cpus,
				   });
	if (r < 0)
		return r;
	row->n_demands = rs->plan->n_demands - row->demands;
	rs->plan->demands[row->demands].wins_modes = true;
	row->profile = rs->plan->demands[row->demands].profile;
	return 0;
}

static int fill_row(struct resolver *rs, const struct row_key *key, struct plan_row *row)
{
	struct settings settings;
	int r;

	*row = (struct plan_row){
		.table = key->table,
		.online = key->flags & KEY_ONLINE,
		.has_qos = key->flags & KEY_HAS_QOS,
		.waitpkg = key->flags & KEY_WAITPKG,
		.tight = key->flags & KEY_TIGHT,
		.crowded = key->flags & KEY_CROWDED,
		.c0_able = key->flags & KEY_C0,
		.own_off = key->flags & KEY_OWN_OFF,
		.disabled_prior = key->disabled_prior,
		.left = key->left,
		.hold_limit_ns = key->hold_ns,
		.vetoed = key->vetoed,
		.cpu_others_ns = key->qos_prior_ns,
		.global_others_ns = rs->machine->global_others_ns,
	};
	r = add_demands(rs, key, row);
	if (r < 0)
		return r;
	row->guarded = row->table != MACHINE_NO_TABLE &&
		       rs->policy->profiles[row->profile].resolved.residency_guard == GUARD_AUTO;
	decide_demand_limit(rs, row);
	decide_limit(rs, row);
	decide_qos(rs, row);
	decide_states(rs, row);
	/* Of the groups' winner, with what is held on top. */
	settings = rs->policy->profiles[row->profile].resolved;
	held_overlay(&rs->held, rs->policy, key->held, &settings);
	modes_decide(rs->machine, rs->policy, rs->plan, &settings, row);
	modes_module(rs->machine, row, rs->plan);
	return 0;
}

static int grow_rows(struct resolver *rs)
{
	uint32_t cap = rs->cap_rows * 2 + 4;
	struct plan_row *rows = reallocarray(rs->plan->rows, cap, sizeof(*rows));
	struct row_key *keys;

	if (!rows)
		return -ENOMEM;
	rs->plan->rows = rows;
	keys = reallocarray(rs->keys, cap, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	rs->keys = keys;
	rs->cap_rows = cap;
	return 0;
}

static int append_row(struct resolver *rs, const struct row_key *key)
{
	struct plan *plan = rs->plan;
	int r = plan->n_rows == rs->cap_rows ? grow_rows(rs) : 0;

	if (r < 0)
		return r;
	r = fill_row(rs, key, &plan->rows[plan->n_rows]);
	if (r < 0)
		return r;
	rs->keys[plan->n_rows++] = *key;
	return 0;
}

static uint32_t hash_key(const struct resolver *rs, const struct row_key *key)
{
	uint64_t words[sizeof(*key) / sizeof(uint64_t)], h = 0;
	size_t n = offsetof(struct row_key, ranks) / sizeof(uint64_t) + (rs->ranking.n + 63) / 64;

	memcpy(words, key, sizeof(*key));
	for (size_t i = 0; i < n; i++) {
		h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

/* The row with this key, made when there is none. There are never more rows than half the slots. */
static int intern_row(struct resolver *rs, const struct row_key *key, uint16_t *ret)
{
	uint32_t slot = hash_key(rs, key) & rs->mask;
	int r;

	/* A slot that is taken means that there are keys. */
	for (; rs->slots[slot] && rs->keys; slot = (slot + 1) & rs->mask) {
		uint16_t row = (uint16_t)(rs->slots[slot] - 1);

		if (memcmp(&rs->keys[row], key, sizeof(*key)) == 0) {
			*ret = row;
			return 0;
		}
	}
	r = append_row(rs, key);
	if (r < 0)
		return r;
	rs->slots[slot] = (uint16_t)rs->plan->n_rows;
	*ret = (uint16_t)(rs->plan->n_rows - 1);
	return 0;
}

static void make_key(const struct resolver *rs, uint32_t cpu, struct row_key *ret)
{
	const struct machine_cpu *c = &rs->machine->cpus[cpu];

	*ret = (struct row_key){
		.qos_prior_ns = c->has_qos ? c->qos_prior_ns : LATENCY_NONE,
		.hold_ns = holds_limit(rs->holds, cpu),
		.held = held_set_of(&rs->held, cpu),
		.left = c->left,
		.table = MACHINE_NO_TABLE,
		.flags = (uint8_t)((c->online ? KEY_ONLINE : 0) | (c->has_qos ? KEY_HAS_QOS : 0) |
				   (c->waitpkg ? KEY_WAITPKG : 0) | (c->tight ? KEY_TIGHT : 0) |
				   (machine_module_c0(&rs->machine->module, cpu) ? KEY_C0 : 0) |
				   (c->own_off ? KEY_OWN_OFF : 0) | (c->crowded ? KEY_CROWDED : 0)),
	};
	if (c->online) {
		ret->table = c->table;
		ret->disabled_prior = c->disabled_prior;
		ret->vetoed = c->vetoed;
	}
	for (uint32_t i = 0; i < rs->ranking.n; i++)
		if (cpuset_has(&rs->ranking.v[i].cpus, cpu))
			ret->ranks[i / 64] |= UINT64_C(1) << i % 64;
}

static int make_rows(struct resolver *rs)
{
	struct row_key key, before;
	uint16_t row = PLAN_NO_ROW;
	int r;

	for (uint32_t cpu = 0; cpu < rs->machine->n_cpus; cpu++) {
		rs->plan->row_of[cpu] = PLAN_NO_ROW;
		if (!rs->machine->cpus[cpu].present)
			continue;
		make_key(rs, cpu, &key);
		if (row == PLAN_NO_ROW || memcmp(&key, &before, sizeof(key)) != 0) {
			r = intern_row(rs, &key, &row);
			if (r < 0)
				return r;
			before = key;
		}
		rs->plan->row_of[cpu] = row;
		rs->plan->rows[row].n_cpus++;
	}
	return 0;
}

/* Everything -------------------------------------------------------------------------------------- */

static int resolver_init(struct resolver *rs)
{
	uint32_t n = rs->machine->n_cpus, slots = 4;

	while (slots < 2 * n)
		slots *= 2;
	rs->mask = slots - 1;
	rs->slots = calloc(slots, sizeof(*rs->slots));
	rs->plan = calloc(1, sizeof(*rs->plan));
	if (!rs->slots || !rs->plan)
		return -ENOMEM;
	rs->plan->row_of = calloc(n, sizeof(*rs->plan->row_of));
	if (!rs->plan->row_of)
		return -ENOMEM;
	rs->plan->n_cpus = n;
	rs->plan->own_row = rs->machine->own_row;
	modes_knobs(rs->policy, rs->machine, rs->plan);
	rs->plan->sets_global =
		rs->machine->has_global && rs->policy->global_limit_ns != LATENCY_NONE;
	rs->plan->global_ns =
		rs->plan->sets_global ? whole_us(rs->policy->global_limit_ns) : LATENCY_NONE;
	return 0;
}

static void resolver_done(struct resolver *rs)
{
	rank_done(&rs->ranking);
	free(rs->keys);
	free(rs->slots);
	held_done(&rs->held);
	plan_free(rs->plan);
}

int plan_resolve(const struct policy *policy, const struct machine *machine,
		 const struct holds *holds, struct diag_list *diags, struct plan **ret)
{
	_cleanup_(resolver_done) struct resolver rs = {
		.policy = policy, .machine = machine, .holds = holds};
	int r;

	r = resolver_init(&rs);
	if (r >= 0)
		r = held_make(holds, machine->n_cpus, &rs.held);
	if (r >= 0)
		r = rank_make(policy, machine, &rs.ranking);
	if (r >= 0)
		r = make_rows(&rs);
	if (r >= 0)
		held_warn(policy, holds, diags);
	if (r >= 0)
		workload_warn(policy, machine, diags);
	if (r >= 0)
		r = advice_give(policy, machine, rs.plan, diags);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(rs.plan);
	return 0;
}
