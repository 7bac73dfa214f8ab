/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "advice.h"

#include "bootargs.h"
#include "modes.h"
#include "notes.h"

#include <strings.h>

/* No recorded server takes longer to leave C1E. */
#define C1E_LATENCY_MAX_NS (20 * NSEC_PER_USEC)

struct advisor {
	const struct policy *policy;
	const struct machine *machine;
	const struct plan *plan;
	struct notes notes;
};

/* One row under examination. table is NULL where there is no cpuidle, or the CPUs are offline. */
struct subject {
	const struct plan_row *row;
	const struct idle_table *table;
	uint32_t index;
};

static bool c0x_in_effect(const struct plan_row *row)
{
	return row->modes[MODE_C0].effective != MODE_OFF;
}

/* Who is to be asked about the limit of a row. */
static void limit_words(const struct advisor *a, const struct plan_row *row, char *buf, size_t size)
{
	char ns[LATENCY_TEXT_MAX];

	units_format_latency(row->limit_ns, ns, sizeof(ns));
	switch ((enum limit_source)row->limit_source) {
	case LIMIT_NONE:
		snprintf(buf, size, "no limit");
		return;
	case LIMIT_POLICY:
		snprintf(buf, size, "LatencyLimit=%s of profile %s", ns,
			 a->policy->profiles[row->limit_profile].name);
		return;
	case LIMIT_HOLD:
		snprintf(buf, size, "%s of a hold", ns);
		return;
	case LIMIT_GLOBAL_POLICY:
		snprintf(buf, size, "GlobalLatencyLimit=%s", ns);
		return;
	case LIMIT_CPU_QOS:
		snprintf(buf, size, "%s that others put into pm_qos_resume_latency_us", ns);
		return;
	case LIMIT_GLOBAL_OTHERS:
		snprintf(buf, size, "%s that others hold on /dev/cpu_dma_latency", ns);
		return;
	}
}

static bool is_off_for_limit(const struct plan_state *s)
{
	return s->reason == STATE_OFF_OVER_LIMIT || s->reason == STATE_OFF_ZERO_LIMIT;
}

/* The state with the shortest exit latency of those that only the limit keeps off; NULL: none. */
static const struct idle_state *nearest_state(const struct subject *s)
{
	const struct idle_state *best = NULL;

	for (uint32_t i = 1; i < s->table->n; i++) {
		const struct idle_state *state = &s->table->states[i];

		if (is_off_for_limit(&s->row->states[i]) &&
		    (!best || state->exit_latency_ns < best->exit_latency_ns))
			best = state;
	}
	return best;
}

static void spin_remedy(const struct subject *s, char *buf, size_t size)
{
	const struct idle_state *next = nearest_state(s);
	char ns[LATENCY_TEXT_MAX] = "";
	bool c0x = s->row->modes[MODE_C0].reason == MODE_NO_MODULE;

	if (next)
		units_format_latency(next->exit_latency_ns, ns, sizeof(ns));
	snprintf(buf, size, "%s%s%s%s%s", next ? "a limit of " : "", ns,
		 next ? " would allow " : "",
		 next ? next->name : "leave one of the other states on",
		 c0x ? ", cpuidle_policy.ko would put C0.x in POLL's place" : "");
}

static void advise_spin(struct advisor *a, const struct subject *s)
{
	bool by_others = s->row->limit_source == LIMIT_CPU_QOS ||
			 s->row->limit_source == LIMIT_GLOBAL_OTHERS;
	char limit[128], remedy[192];
	const char *guest = a->machine->virt == VIRT_GUEST
				    ? ", and a guest that spins looks fully loaded to its host"
				    : ", at the cost of power and of the neighbours' turbo";

	if (!s->row->only_poll || c0x_in_effect(s->row))
		return;
	limit_words(a, s->row, limit, sizeof(limit));
	spin_remedy(s, remedy, sizeof(remedy));
	notes_add(&a->notes, by_others ? DIAG_INFO : DIAG_WARNING, NULL, s->index,
		  "%s leaves only POLL: the CPU will spin when idle%s; %s", limit, guest, remedy);
}

/* Others took POLL away and a limit takes the rest: the governors then go over the limit. */
static void advise_no_poll(struct advisor *a, const struct subject *s)
{
	if (!(s->row->disabled_prior & 1) || s->row->limit_ns == 0)
		return;
	for (uint32_t i = 1; i < s->table->n; i++)
		if (s->row->states[i].enabled)
			return;
	notes_add(
		&a->notes, DIAG_WARNING, NULL, s->index,
		"others disabled %s and the limit leaves no other state, so the governor takes the "
		"first enabled one although it is over the limit; switch %s on again",
		s->table->states[0].name, s->table->states[0].name);
}

/* Disabled by file, whoever did it; a limit alone does not make it so. */
static bool is_disabled(const struct plan_row *row, uint32_t i)
{
	unsigned set = (row->disabled_prior & ~row->disable_care) |
		       (row->disable_mask & row->disable_care);

	return set >> i & 1;
}

static void advise_ladder(struct advisor *a, const struct subject *s)
{
	uint32_t hole = UINT32_MAX;

	if (!streq(a->machine->governor, "ladder"))
		return;
	for (uint32_t i = 1; i < s->table->n; i++) {
		if (hole == UINT32_MAX && is_disabled(s->row, i))
			hole = i;
		if (hole == UINT32_MAX || !s->row->states[i].enabled)
			continue;
		notes_add(&a->notes, DIAG_WARNING, NULL, s->index,
			  "governor ladder climbs state by state and stops before %s, which is "
			  "disabled: %s behind it is never entered; write menu or teo to "
			  "cpuidle/current_governor, or leave %s on",
			  s->table->states[hole].name, s->table->states[i].name,
			  s->table->states[hole].name);
		return;
	}
}

static void advise_by_hand(struct advisor *a, const struct subject *s)
{
	for (uint32_t i = 1; i < s->table->n; i++) {
		const struct idle_state *state = &s->table->states[i];

		if (s->row->states[i].reason != STATE_OFF_BY_DEFAULT ||
		    s->row->disabled_prior >> i & 1)
			continue;
		notes_add(&a->notes, DIAG_WARNING, NULL, s->index,
			  "%s is off by default on this host and was switched on by hand; the plan "
			  "switches it off, EnableStates=%s keeps it on",
			  state->name, state->name);
	}
}

/* Exit latency of the state with this name, and whether it is on; false where there is none. */
static bool find_state(const struct subject *s, const char *name, uint64_t *ret_ns, bool *ret_on)
{
	for (uint32_t i = 0; i < s->table->n; i++)
		if (strcasecmp(s->table->states[i].name, name) == 0) {
			*ret_ns = s->table->states[i].exit_latency_ns;
			*ret_on = s->row->states[i].enabled;
			return true;
		}
	return false;
}

static void advise_promotion(struct advisor *a, const struct subject *s)
{
	uint64_t c1 = 0, c1e = 0, limit = s->row->limit_ns;
	bool on, have_c1e, on_c1e;

	if (!streq(a->machine->vendor, "GenuineIntel") || limit == LATENCY_NONE)
		return;
	if (!find_state(s, "C1", &c1, &on) || !on)
		return;
	have_c1e = find_state(s, "C1E", &c1e, &on_c1e);
	if ((have_c1e ? c1e : C1E_LATENCY_MAX_NS) <= limit)
		return;
	notes_add(
		&a->notes, DIAG_INFO, NULL, s->index,
		"C1 is within the limit but C1E %s: if the firmware promotes C1 to C1E by itself, "
		"waking takes longer than the limit; only MSR 0x1fc bit 1 tells, which is not "
		"read here, so look for C1E in the firmware's settings",
		have_c1e ? "is not" : "is not in the table");
}

static void advise_demotion(struct advisor *a, const struct subject *s)
{
	if (a->machine->c1_demotion != 1)
		return;
	for (uint32_t i = 1; i < s->table->n; i++)
		if (s->row->states[i].enabled && s->table->states[i].class > STATE_CLASS_HALT) {
			notes_add(&a->notes, DIAG_INFO, NULL, s->index,
				  "C1 demotion is on: the hardware takes C1 for %s as it sees fit, "
				  "so deeper states get rarer; write 0 to "
				  "cpuidle/intel_c1_demotion to have them as often as asked for",
				  s->table->states[i].name);
			return;
		}
}

static void advise_guest(struct advisor *a, const struct subject *s)
{
	bool ours = false;

	if (a->machine->virt != VIRT_GUEST || s->row->only_poll)
		return;
	for (uint32_t i = 1; i < s->table->n; i++) {
		if (s->table->states[i].class <= STATE_CLASS_HALT)
			continue;
		if (s->row->states[i].enabled)
			return;
		ours |= s->row->states[i].reason != STATE_OFF_BY_OTHERS;
	}
	if (ours)
		notes_add(
			&a->notes, DIAG_WARNING, NULL, s->index,
			"nothing deeper than %s is left in this guest: some hypervisors then show "
			"an idle guest as busy; allow a deeper state if their figures matter",
			machine_class_name(STATE_CLASS_HALT));
}

static void advise_no_qos(struct advisor *a, const struct subject *s)
{
	if (!s->row->has_qos && !a->machine->module.limits &&
	    s->row->demand_limit_ns != LATENCY_NONE && s->table)
		notes_add(&a->notes, DIAG_INFO, NULL, s->index,
			  "there is no power/pm_qos_resume_latency_us; the limit is set by "
			  "disabling the states above it");
}

static void advise_no_driver(struct advisor *a, const struct subject *s)
{
	char limit[LATENCY_TEXT_MAX];

	if (!s->row->online || s->table || s->row->policy_limit_ns == LATENCY_NONE)
		return;
	units_format_latency(s->row->policy_limit_ns, limit, sizeof(limit));
	notes_add(&a->notes, DIAG_INFO, NULL, s->index,
		  "no idle states to choose from (cpuidle driver: %s); the limit of %s is set and "
		  "takes effect once there is a driver",
		  a->machine->driver, limit);
}

static void advise_looser(struct advisor *a, const struct subject *s)
{
	char ours[LATENCY_TEXT_MAX];
	uint64_t others = MIN_OF(s->row->cpu_others_ns, s->row->global_others_ns);

	if (s->row->policy_limit_ns == LATENCY_NONE || others >= s->row->policy_limit_ns)
		return;
	units_format_latency(s->row->policy_limit_ns, ours, sizeof(ours));
	notes_add(&a->notes, DIAG_INFO, NULL, s->index,
		  "the limit of %s is looser than what others hold %s; theirs stands", ours,
		  s->row->cpu_others_ns <= s->row->global_others_ns ? "in pm_qos_resume_latency_us"
								    : "on /dev/cpu_dma_latency");
}

/* Something near to what was named is in effect. */
static bool is_near(enum mode_reason reason)
{
	return reason >= MODE_NO_ROW;
}

/* A mode that was named and is not in effect. What auto leaves out needs no word. */
static void advise_modes(struct advisor *a, const struct subject *s)
{
	for (unsigned i = 0; i < MODE_N; i++) {
		const struct plan_mode_cell *c = &s->row->modes[i];
		const char *words = modes_module_words(a->machine, i, c->reason);

		if (c->requested == MODE_AUTO || c->reason == MODE_AS_ASKED ||
		    c->reason == MODE_HARMLESS || c->reason == MODE_OFFLINE ||
		    c->reason == MODE_BY_GOVERNOR || c->reason == MODE_CROWDED)
			continue;
		notes_add(&a->notes, c->reason == MODE_UNSAFE ? DIAG_WARNING : DIAG_INFO,
			  &a->policy->profiles[s->row->profile].at, s->index,
			  "%s=%s %s: %s%s%s; it %s %s", modes_key(i),
			  plan_mode_value_name(c->requested),
			  is_near(c->reason) ? "is not possible here" : "has no effect",
			  modes_reason_text(c->reason), *words ? ": " : "", words,
			  is_near(c->reason) ? "becomes" : "stays",
			  plan_mode_value_name(c->effective));
	}
}

static bool same_words(const struct words *a, const struct words *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (strcasecmp(a->v[i], b->v[i]) != 0)
			return false;
	return true;
}

static bool same_modes(const struct settings *a, const struct settings *b)
{
	return a->c0 == b->c0 && a->c0_depth == b->c0_depth && a->zero_latency == b->zero_latency &&
	       a->c1_interrupts == b->c1_interrupts && a->haltpoll_ns == b->haltpoll_ns &&
	       a->broadcast == b->broadcast && a->ioport == b->ioport &&
	       same_words(&a->enable_states, &b->enable_states);
}

/* Two groups or workloads with equal rights and different modes: the name decided, which nobody means. */
static void advise_tie(struct advisor *a, const struct subject *s)
{
	const struct plan_demand *d = &a->plan->demands[s->row->demands];
	struct plan_party first, second;

	if (s->row->n_demands < 2 || !plan_party_of(a->policy, &d[0], &first) ||
	    !plan_party_of(a->policy, &d[1], &second))
		return;
	if (first.priority != second.priority || d[0].n_cpus != d[1].n_cpus ||
	    same_modes(&a->policy->profiles[d[0].profile].resolved,
		       &a->policy->profiles[d[1].profile].resolved))
		return;
	notes_add(
		&a->notes, DIAG_WARNING, second.at, s->index,
		"%s %s and %s %s have the same Priority= and the same number of CPUs, so the modes "
		"of %s hold for its name alone; give one of them a higher Priority=",
		first.kind, first.name, second.kind, second.name, first.name);
}

/* State lists ------------------------------------------------------------------------------------- */

/* Where a list of a profile was written: its own section, or the base it came from. */
static const struct place *list_place(const struct advisor *a, const struct profile *p, bool enable)
{
	for (uint32_t depth = 0; p && depth <= a->policy->n_profiles; depth++) {
		const struct place *at = enable ? &p->enable_at : &p->disable_at;

		if (at->file || !p->base)
			return at;
		p = policy_profile(a->policy, p->base);
	}
	return NULL;
}

static bool table_has(const struct idle_table *table, const char *word)
{
	for (uint32_t i = 0; i < table->n; i++)
		if (machine_state_matches(&table->states[i], word))
			return true;
	return false;
}

static bool is_general_word(const char *word)
{
	enum state_class class;

	return strcasecmp(word, "C0") == 0 || machine_class_from_name(word, &class) == 0;
}

/* "POLL, C1, C6" of one table. */
static void table_words(const struct idle_table *table, char *buf, size_t size)
{
	size_t n = 0;

	*buf = '\0';
	for (uint32_t i = 0; i < table->n && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? ", " : "",
				      table->states[i].name);
}

static bool row_has_profile(const struct advisor *a, const struct plan_row *row, uint32_t profile)
{
	for (uint32_t i = 0; i < row->n_demands; i++)
		if (a->plan->demands[row->demands + i].profile == profile)
			return true;
	return false;
}

/* Does the word mean something on any CPU of the profile? Hybrids need it on one kind only. */
static bool word_is_known(const struct advisor *a, uint32_t profile, const char *word)
{
	for (uint32_t i = 0; i < a->plan->n_rows; i++) {
		const struct plan_row *row = &a->plan->rows[i];

		if (row->table < a->machine->n_tables && row_has_profile(a, row, profile) &&
		    table_has(&a->machine->tables[row->table], word))
			return true;
	}
	return false;
}

static void advise_word(struct advisor *a, uint32_t profile, bool enable, const char *word)
{
	char have[MACHINE_STATES_MAX * (MACHINE_STATE_NAME_MAX + 2)];
	const struct profile *p = &a->policy->profiles[profile];

	if (is_general_word(word) || word_is_known(a, profile, word))
		return;
	for (uint32_t i = 0; i < a->plan->n_rows; i++) {
		const struct plan_row *row = &a->plan->rows[i];

		if (row->table >= a->machine->n_tables || !row_has_profile(a, row, profile))
			continue;
		table_words(&a->machine->tables[row->table], have, sizeof(have));
		notes_add(
			&a->notes, DIAG_WARNING, list_place(a, p, enable), i,
			"%sStates=%s: there is no such state; there are %s, and the classes poll, "
			"c0x, halt, core-off and package-off",
			enable ? "Enable" : "Disable", word, have);
	}
}

static void advise_first_state(struct advisor *a, const struct subject *s)
{
	for (uint32_t d = 0; s->table && d < s->row->n_demands; d++) {
		const struct plan_demand *demand = &a->plan->demands[s->row->demands + d];
		const struct profile *p = &a->policy->profiles[demand->profile];

		for (uint32_t i = 0; i < p->resolved.disable_states.n; i++) {
			const char *word = p->resolved.disable_states.v[i];

			if (machine_state_matches(&s->table->states[0], word))
				notes_add(&a->notes, DIAG_WARNING, list_place(a, p, false),
					  s->index,
					  "DisableStates=%s means %s, the first state, which stays "
					  "on: the kernel needs one to fall back to",
					  word, s->table->states[0].name);
		}
	}
}

static void advise_lists(struct advisor *a)
{
	for (uint32_t p = 0; p < a->policy->n_profiles; p++) {
		const struct settings *s = &a->policy->profiles[p].resolved;

		for (uint32_t i = 0; i < s->disable_states.n; i++)
			advise_word(a, p, false, s->disable_states.v[i]);
		for (uint32_t i = 0; i < s->enable_states.n; i++)
			advise_word(a, p, true, s->enable_states.v[i]);
	}
}

static void advise_host(struct advisor *a)
{
	struct bootarg arg;

	for (unsigned at = 0; bootargs_next(a->machine, &at, &arg);)
		if (arg.no_cpuidle)
			notes_add(
				&a->notes, DIAG_WARNING, NULL, NOTES_HOST,
				"booted with %s%s%s: %s, whatever the policy says; boot without it",
				arg.key, *arg.value ? "=" : "", arg.value, arg.effect);
}

/* What was asked of umwait_control on a host that has none, or that others have taken over. */
static void advise_umwait(struct advisor *a)
{
	static const char *const keys[HOST_KNOBS] = {"UmwaitC02", "UmwaitMaxTime", NULL};
	const bool asked[HOST_KNOBS] = {
		a->policy->umwait_c02 != UMWAIT_C02_KEEP,
		a->policy->umwait_max_time != HOST_KEEP,
	};

	for (unsigned i = 0; i < HOST_KNOBS; i++)
		if (asked[i] && !a->plan->has_knob[i])
			notes_add(&a->notes, DIAG_INFO, NULL, NOTES_HOST,
				  "%s= has no effect: there is no cpu/umwait_control, which takes "
				  "CPUs with UMWAIT; leave it out here",
				  keys[i]);
}

/* The time of the kernel's governor haltpoll is one for all CPUs. */
static void advise_haltpoll(struct advisor *a, const struct subject *s)
{
	uint64_t all = a->plan->knobs[HOST_HALTPOLL];
	char text[LATENCY_TEXT_MAX];

	if (all == HOST_KEEP || !s->row->online ||
	    (s->row->modes[MODE_HALTPOLL].reason == MODE_BY_GOVERNOR && s->row->haltpoll_ns == all))
		return;
	notes_add(&a->notes, DIAG_INFO, NULL, s->index,
		  "governor haltpoll polls up to %s here, too: guest_halt_poll_ns is one for all "
		  "CPUs, and another profile asks for that",
		  units_format_latency(all, text, sizeof(text)));
}

static void advise_row(struct advisor *a, uint32_t index)
{
	const struct plan_row *row = &a->plan->rows[index];
	struct subject s = {
		.row = row,
		.table = row->table < a->machine->n_tables ? &a->machine->tables[row->table] : NULL,
		.index = index,
	};

	advise_tie(a, &s);
	advise_looser(a, &s);
	advise_no_driver(a, &s);
	advise_modes(a, &s);
	advise_haltpoll(a, &s);
	if (!s.table)
		return;
	advise_spin(a, &s);
	advise_no_poll(a, &s);
	advise_by_hand(a, &s);
	advise_first_state(a, &s);
	advise_ladder(a, &s);
	advise_promotion(a, &s);
	advise_demotion(a, &s);
	advise_guest(a, &s);
	advise_no_qos(a, &s);
}

int advice_give(const struct policy *policy, const struct machine *machine, const struct plan *plan,
		struct diag_list *diags)
{
	struct advisor a = {
		.policy = policy,
		.machine = machine,
		.plan = plan,
		.notes = {.plan = plan},
	};
	int r;

	advise_host(&a);
	advise_umwait(&a);
	advise_lists(&a);
	for (uint32_t i = 0; i < plan->n_rows; i++)
		advise_row(&a, i);
	r = notes_tell(&a.notes, diags);
	notes_done(&a.notes);
	return r;
}
