/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "layers.h"

#include "bootargs.h"
#include "buf.h"
#include "adapt-text.h"
#include "crowd.h"
#include "guard-text.h"
#include "hold-text.h"
#include "modes.h"
#include "workload.h"

struct pile {
	const struct policy *policy;
	const struct machine *machine;
	const struct plan *plan;
	const struct plan_row *from;
	const struct layers_holds *holds;
	const struct idle_table *table; /* NULL: no cpuidle, or offline */
	struct view_row *row;
	struct buf buf; /* the layer being written */
	bool failed;
};

/* Puts the text that stands in the buffer on the pile. */
static void put(struct pile *p, const char *name)
{
	struct view_row *row = p->row;
	struct view_layer *v = reallocarray(row->layers, row->n_layers + 1, sizeof(*v));
	struct view_layer layer = {.name = strdup(name), .text = buf_finish(&p->buf)};

	if (v)
		row->layers = v;
	if (!v || !layer.name || !layer.text) {
		free(layer.name);
		free(layer.text);
		p->failed = true;
		return;
	}
	v[row->n_layers++] = layer;
}

static void say_latency(struct pile *p, uint64_t ns)
{
	char text[LATENCY_TEXT_MAX];

	buf_puts(&p->buf,
		 ns == LATENCY_NONE ? "none" : units_format_latency(ns, text, sizeof(text)));
}

/* Names of the states in mask: "C3, C6". */
static void say_states(struct pile *p, unsigned mask)
{
	bool more = false;

	for (uint32_t i = 0; p->table && i < p->table->n; i++) {
		if (!(mask >> i & 1))
			continue;
		buf_printf(&p->buf, "%s%s", more ? ", " : "", p->table->states[i].name);
		more = true;
	}
}

static void say_words(struct pile *p, const char *key, const struct words *words)
{
	if (words->n == 0)
		return;
	buf_printf(&p->buf, ", %s=", key);
	for (uint32_t i = 0; i < words->n; i++)
		buf_printf(&p->buf, "%s%s", i ? " " : "", words->v[i]);
}

/* From the bottom up --------------------------------------------------------------------------- */

static void pile_driver(struct pile *p)
{
	if (!p->from->online) {
		buf_puts(&p->buf, "offline: its states are unknown until it comes up");
	} else if (!p->table) {
		buf_printf(&p->buf, "%s: there are no idle states to choose from",
			   p->machine->driver);
	} else {
		buf_printf(&p->buf, "%s offers", p->machine->driver);
		for (uint32_t i = 0; i < p->table->n; i++) {
			const struct idle_state *s = &p->table->states[i];

			buf_printf(&p->buf, "%s %s ", i ? "," : "", s->name);
			if (s->exit_latency_ns == LATENCY_NONE)
				buf_puts(&p->buf, "(exit latency unknown)");
			else
				say_latency(p, s->exit_latency_ns);
			if (s->entry != STATE_ENTRY_POLL && s->entry != STATE_ENTRY_UNKNOWN)
				buf_printf(&p->buf, " by %s", machine_entry_name(s->entry));
		}
	}
	put(p, "driver");
}

static void pile_boot(struct pile *p)
{
	struct bootarg arg;

	for (unsigned at = 0; bootargs_next(p->machine, &at, &arg);) {
		buf_printf(&p->buf, "%s%s%s: %s", arg.key, *arg.value ? "=" : "", arg.value,
			   arg.effect);
		put(p, "boot parameter");
	}
}

/* Why the limit of one demand counts or does not. */
static void say_limit_fate(struct pile *p, const struct plan_demand *d)
{
	uint64_t ns = p->policy->profiles[d->profile].resolved.latency_limit_ns;

	if (ns == LATENCY_NONE || d->group == PLAN_GROUP_HOLD)
		return;
	if (ns > p->from->demand_limit_ns) {
		buf_puts(&p->buf, ", which loses to the stricter ");
		say_latency(p, p->from->demand_limit_ns);
	} else if (!d->wins_limit) {
		buf_puts(&p->buf, ", the same as the strictest");
	} else if (p->from->n_demands > 1) {
		buf_puts(&p->buf, ", the strictest of the policy");
	}
}

/* Why its modes count or do not, against the demand that decides. */
static void say_modes_fate(struct pile *p, const struct plan_demand *d)
{
	const struct plan_demand *w = &p->plan->demands[p->from->demands];
	struct plan_party mine, theirs;

	if (p->from->n_demands < 2)
		return;
	if (d->wins_modes) {
		buf_puts(&p->buf, "; its modes hold");
		return;
	}
	if (w->group == PLAN_GROUP_HOLD) {
		buf_printf(&p->buf, "; its modes do not hold: profile %s is held",
			   p->policy->profiles[w->profile].name);
		return;
	}
	if (!plan_party_of(p->policy, d, &mine) || !plan_party_of(p->policy, w, &theirs))
		return;
	buf_printf(&p->buf, "; its modes do not hold: %s %s ", theirs.kind, theirs.name);
	if (mine.priority != theirs.priority)
		buf_printf(&p->buf, "has Priority=%" PRId32 " against %" PRId32, theirs.priority,
			   mine.priority);
	else if (d->n_cpus != w->n_cpus)
		buf_printf(&p->buf, "has fewer CPUs (%" PRIu32 " against %" PRIu32 ")", w->n_cpus,
			   d->n_cpus);
	else
		buf_puts(&p->buf, "comes first by its name");
}

static void put_demand(struct pile *p, const struct plan_demand *d)
{
	char name[POLICY_NAME_MAX + 16] = "default profile";
	struct plan_party party;

	if (d->group == PLAN_GROUP_HOLD)
		snprintf(name, sizeof(name), "held profile");
	else if (plan_party_of(p->policy, d, &party))
		snprintf(name, sizeof(name), "%s %s", party.kind, party.name);
	put(p, name);
}

static void pile_demands(struct pile *p)
{
	for (uint32_t i = 0; i < p->from->n_demands; i++) {
		const struct plan_demand *d = &p->plan->demands[p->from->demands + i];
		const struct profile *profile = &p->policy->profiles[d->profile];
		const struct workload *w = plan_workload_of(p->policy, d);

		buf_printf(&p->buf, "profile %s, LatencyLimit=", profile->name);
		say_latency(p, profile->resolved.latency_limit_ns);
		say_limit_fate(p, d);
		say_words(p, "DisableStates", &profile->resolved.disable_states);
		say_words(p, "EnableStates", &profile->resolved.enable_states);
		say_modes_fate(p, d);
		if (w) {
			buf_puts(&p->buf, "; for ");
			workload_put(w, p->machine, &p->buf);
		}
		put_demand(p, d);
	}
}

static bool concerns(const struct pile *p, const struct hold *hold)
{
	const struct cpuset *cpus = hold_cpus(p->holds->holds, hold);

	cpuset_for_each(cpu, p->holds->cpus)
		if (cpuset_has(cpus, cpu))
			return true;
	return false;
}

static void pile_hold(struct pile *p, const struct hold *hold)
{
	const struct holds *h = p->holds->holds;
	char *cpus = cpuset_to_string(hold_cpus(h, hold));
	char name[32];

	hold_put_ask(&p->buf, h, hold);
	buf_printf(&p->buf, " for %s; ", cpus ? cpus : "");
	free(cpus);
	hold_put_owner(&p->buf, hold);
	if (*hold_reason(hold))
		buf_printf(&p->buf, ": %s", hold_reason(hold));
	buf_puts(&p->buf, "; since ");
	hold_put_time(&p->buf, hold->since_us);
	snprintf(name, sizeof(name), "hold %u", hold->id);
	put(p, name);
	p->failed |= !cpus;
}

static void pile_holds(struct pile *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; p->holds->sorted && i < p->holds->holds->n; i++) {
		if (!concerns(p, p->holds->sorted[i]))
			continue;
		if (n++ < VIEW_HOLDS_MAX)
			pile_hold(p, p->holds->sorted[i]);
	}
	if (n <= VIEW_HOLDS_MAX)
		return;
	buf_printf(&p->buf, "%u more, the strictest limit of all is ", n - VIEW_HOLDS_MAX);
	say_latency(p, p->from->hold_limit_ns);
	buf_puts(&p->buf, "; 'cpuidlectl list-holds' tells each");
	put(p, "holds");
}

static void pile_global_policy(struct pile *p)
{
	uint64_t ns = p->policy->global_limit_ns;

	if (ns == LATENCY_NONE)
		return;
	say_latency(p, ns);
	if (p->plan->sets_global)
		buf_puts(&p->buf, " for all CPUs, held on /dev/cpu_dma_latency");
	else
		buf_puts(&p->buf,
			 " for all CPUs, set on each since there is no /dev/cpu_dma_latency");
	put(p, "GlobalLatencyLimit");
}

static void pile_global_others(struct pile *p)
{
	if (!p->machine->has_global) {
		buf_puts(&p->buf, "there is none, or it cannot be read");
	} else if (p->from->global_others_ns == LATENCY_NONE) {
		buf_puts(&p->buf, "nobody else holds a request");
	} else {
		buf_puts(&p->buf, "others hold ");
		say_latency(p, p->from->global_others_ns);
	}
	put(p, "cpu_dma_latency");
}

static void pile_qos(struct pile *p)
{
	const struct plan_row *row = p->from;

	if (!row->has_qos) {
		buf_puts(&p->buf, "there is none; a limit is set by disabling the states above it");
		put(p, "pm_qos_resume_latency_us");
		return;
	}
	if (row->cpu_others_ns == LATENCY_NONE) {
		buf_puts(&p->buf, "nobody else asks for anything");
	} else {
		buf_puts(&p->buf, "others ask for ");
		say_latency(p, row->cpu_others_ns);
	}
	if (row->left & 1U << MACHINE_BIT_QOS) {
		buf_puts(&p->buf, ", and the file is left to them since they wrote it");
	} else if (row->sets_qos) {
		buf_puts(&p->buf, "; set to ");
		say_latency(p, row->qos_ns);
	} else {
		buf_puts(&p->buf, "; left as it is");
	}
	put(p, "pm_qos_resume_latency_us");
}

static unsigned states_with(const struct pile *p, enum state_reason reason)
{
	unsigned mask = 0;

	for (uint32_t i = 0; p->table && i < p->table->n; i++)
		if (p->from->states[i].reason == reason)
			mask |= 1U << i;
	return mask;
}

static void pile_states_others(struct pile *p)
{
	unsigned mask = states_with(p, STATE_OFF_BY_OTHERS);

	if (!mask)
		return;
	say_states(p, mask);
	buf_puts(&p->buf, " disabled before us; stays so until others enable it");
	put(p, "disabled by others");
}

static void pile_default_off(struct pile *p)
{
	unsigned off = states_with(p, STATE_OFF_BY_DEFAULT), on = states_with(p, STATE_ON_NAMED);

	if (!off && !on)
		return;
	say_states(p, off);
	if (off)
		buf_puts(&p->buf, " stays off, EnableStates= would switch it on");
	if (off && on)
		buf_puts(&p->buf, "; ");
	say_states(p, on);
	if (on)
		buf_puts(&p->buf, " switched on by EnableStates=");
	put(p, "off by default");
}

/* The first disabled state below an enabled one: ladder stops there. -1: none. */
static int ladder_hole(const struct pile *p)
{
	const struct plan_row *row = p->from;
	unsigned off = (row->disabled_prior & ~row->disable_care) |
		       (row->disable_mask & row->disable_care);
	int hole = -1;

	for (uint32_t i = 1; i < p->table->n; i++) {
		if (hole < 0 && off >> i & 1)
			hole = (int)i;
		if (hole >= 0 && row->states[i].enabled)
			return hole;
	}
	return -1;
}

/* menu looks no further than the first enabled state over the limit. -1: all within are before it. */
static int menu_stop(const struct pile *p)
{
	int stop = -1;

	for (uint32_t i = 1; i < p->table->n; i++) {
		if (stop < 0 && p->from->states[i].reason == STATE_OFF_OVER_LIMIT)
			stop = (int)i;
		if (stop >= 0 && p->from->states[i].enabled)
			return stop;
	}
	return -1;
}

static void say_governor_effect(struct pile *p)
{
	const char *governor = p->machine->governor;
	int at;

	if (streq(governor, "ladder")) {
		at = ladder_hole(p);
		if (at >= 0)
			buf_printf(&p->buf,
				   ": stops before %s, which is disabled, so nothing "
				   "behind it is entered",
				   p->table->states[at].name);
		else
			buf_puts(&p->buf, ": climbs state by state");
		return;
	}
	if (streq(governor, "haltpoll")) {
		modes_haltpoll_text(p->machine, p->plan, &p->buf);
		return;
	}
	at = streq(governor, "menu") ? menu_stop(p) : -1;
	if (at >= 0)
		buf_printf(&p->buf, ": looks no further than %s, which is over the limit",
			   p->table->states[at].name);
	else
		buf_puts(&p->buf,
			 ": the deepest state that is on and worth the expected idle time");
}

static void pile_governor(struct pile *p)
{
	if (!p->table || !*p->machine->governor)
		return;
	buf_puts(&p->buf, p->machine->governor);
	say_governor_effect(p);
	put(p, "governor");
}

static void pile_demotion(struct pile *p)
{
	if (!streq(p->machine->vendor, "GenuineIntel"))
		return;
	switch (p->machine->c1_demotion) {
	case 0:
		buf_puts(&p->buf, "C1 demotion is off");
		break;
	case 1:
		buf_puts(&p->buf, "C1 demotion is on: C1 may be taken for deeper states");
		break;
	default:
		buf_puts(&p->buf, "C1 demotion is not known to this kernel");
		break;
	}
	buf_puts(&p->buf, "; C1E promotion (MSR 0x1fc) is not read");
	put(p, "hardware");
}

static uint64_t umwait_stands(const struct pile *p, enum host_knob which)
{
	return modes_knob_stands(p->machine, p->plan, which);
}

static void pile_umwait(struct pile *p)
{
	if (!p->from->waitpkg)
		return;
	buf_puts(&p->buf, "UMWAIT is there");
	if (p->plan->has_knob[HOST_UMWAIT_C02])
		buf_printf(&p->buf, "; C0.2 %s%s",
			   umwait_stands(p, HOST_UMWAIT_C02) ? "allowed"
							     : "forbidden, C0.1 in its place",
			   p->plan->knobs[HOST_UMWAIT_C02] != HOST_KEEP ? " by UmwaitC02=" : "");
	if (p->plan->has_knob[HOST_UMWAIT_MAX] && umwait_stands(p, HOST_UMWAIT_MAX))
		buf_printf(&p->buf, "; at most %" PRIu64 " TSC cycles at a time",
			   umwait_stands(p, HOST_UMWAIT_MAX));
	if (p->plan->knobs[HOST_UMWAIT_MAX] != HOST_KEEP)
		buf_printf(&p->buf, "%s by UmwaitMaxTime=",
			   p->plan->knobs[HOST_UMWAIT_MAX] ? "" : "; no limit of time");
	put(p, "hardware");
}

/* The module --------------------------------------------------------------------------------------- */

static void say_part(struct pile *p, const char *what)
{
	buf_printf(&p->buf, "%s%s", p->buf.n ? "; " : "", what);
}

static void say_set(struct pile *p, const char *before, unsigned mask, const char *behind)
{
	if (!mask)
		return;
	say_part(p, before);
	say_states(p, mask);
	buf_puts(&p->buf, behind);
}

static void say_wait(struct pile *p, const char *what, uint8_t wait)
{
	if (wait == C0_WAIT_NONE)
		return;
	say_part(p, what);
	buf_puts(&p->buf, wait == C0_WAIT_1 ? "C0.1" : "C0.2");
}

static void say_kept(struct pile *p)
{
	const struct plan_module *m = &p->from->module;

	if (m->limit_ns != LATENCY_NONE) {
		say_part(p, "keeps the limit ");
		say_latency(p, m->limit_ns);
	}
	say_wait(p, "POLL waits in ", m->poll);
	say_wait(p, "C1 waits in ", m->c1);
	say_wait(p, "a state of its own is there, ", m->row);
	if (!m->row && p->plan->row && p->table)
		say_part(p, "keeps this CPU out of the state that others have asked for");
	say_set(p, "lets interrupts in behind ", m->irq_window, "");
	say_set(p, "enters ", m->sti_mwait, " by STI;MWAIT");
	say_set(p, "keeps ", m->states_off, " off");
	if (m->broadcast == BROADCAST_AVOID)
		say_part(p, "enters no state in which the timer stops");
	if (m->haltpoll_us) {
		say_part(p, "polls before it halts, up to ");
		say_latency(p, m->haltpoll_us * NSEC_PER_USEC);
		if (p->machine->module.host_poll)
			buf_puts(&p->buf, ", and has told the host not to");
	}
	if (m->ioport_direct)
		say_set(p, "enters ", p->machine->module.ioport_states,
			" by the port alone, without reading the PM timer");
}

/* What was wanted and is not so, with the module's own words where it has some. */
static void say_lost(struct pile *p)
{
	for (unsigned i = 0; i < MODE_N; i++) {
		const struct plan_mode_cell *c = &p->from->modes[i];
		const char *words = modes_module_words(p->machine, i, c->reason);

		if ((c->wanted == c->effective && !modes_is_told(c->reason)) ||
		    c->reason == MODE_OFFLINE)
			continue;
		say_part(p, c->wanted != c->effective ? "not " : "");
		buf_printf(&p->buf, "%s %s: %s%s%s", modes_key(i), plan_mode_value_name(c->wanted),
			   modes_reason_text(c->reason), *words ? ": " : "", words);
	}
}

static void pile_module(struct pile *p)
{
	const struct machine_module *m = &p->machine->module;

	if (m->loaded)
		say_kept(p);
	if (m->loaded && !p->buf.n)
		buf_puts(&p->buf, "keeps nothing for this CPU");
	say_lost(p);
	if (p->buf.n)
		put(p, "cpuidle_policy");
}

static void pile_adapt(struct pile *p)
{
	if (p->from->adapt_ns == LATENCY_NONE || !p->table)
		return;
	adapt_text(p->machine, p->plan, p->from, &p->buf);
	put(p, "Adapt");
}

static void pile_crowd(struct pile *p)
{
	if (!crowd_watches(p->machine, p->from))
		return;
	crowd_text(p->machine, p->plan, p->from, &p->buf);
	put(p, "HaltPoll");
}

static void pile_guard(struct pile *p)
{
	if (!p->from->guarded || !p->table)
		return;
	guard_text(p->machine, p->plan, p->from, p->table, &p->buf);
	put(p, "residency guard");
}

static void pile_rest(struct pile *p)
{
	unsigned mask = 0;

	if (!p->table)
		return;
	for (uint32_t i = 0; i < p->table->n; i++)
		mask |= (unsigned)p->from->states[i].enabled << i;
	say_states(p, mask);
	if (p->from->module.row && !p->from->own_off)
		buf_printf(&p->buf, ", C0.%u", p->plan->row);
	buf_puts(&p->buf, p->from->only_poll && p->from->modes[MODE_C0].effective == MODE_OFF
				  ? ": the CPU spins when idle; limit "
				  : "; limit ");
	say_latency(p, p->from->limit_ns);
	put(p, "what remains");
}

int layers_make(const struct policy *policy, const struct machine *machine, const struct plan *plan,
		const struct plan_row *from, const struct layers_holds *holds, struct view_row *row)
{
	struct pile p = {
		.policy = policy,
		.machine = machine,
		.plan = plan,
		.from = from,
		.holds = holds,
		.table = from->table < machine->n_tables ? &machine->tables[from->table] : NULL,
		.row = row,
	};

	pile_driver(&p);
	pile_boot(&p);
	pile_demands(&p);
	pile_holds(&p);
	pile_global_policy(&p);
	pile_global_others(&p);
	pile_qos(&p);
	pile_states_others(&p);
	pile_default_off(&p);
	pile_governor(&p);
	pile_demotion(&p);
	pile_umwait(&p);
	pile_module(&p);
	pile_crowd(&p);
	pile_adapt(&p);
	pile_guard(&p);
	pile_rest(&p);
	free(p.buf.text);
	return p.failed ? -ENOMEM : 0;
}
