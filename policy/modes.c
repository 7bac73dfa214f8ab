/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "modes.h"

/* Entering and leaving C0.2 takes about this long: a shorter limit cannot be met by it. */
#define C0X_LATENCY_NS 200U
/* C1Interrupts=auto: whoever asks for this little wants interrupts served at once. */
#define WINDOW_LIMIT_NS (20 * NSEC_PER_USEC)
/* HaltPoll=auto: what the kernel's own haltpoll begins with (guest_halt_poll_ns, governors/haltpoll.c). */
#define HALTPOLL_AUTO_NS (200 * NSEC_PER_USEC)

struct host {
	const struct machine *machine;
	const struct idle_table *table; /* NULL: no cpuidle on these CPUs */
	const struct policy *policy;
	const struct plan *plan;
	const struct settings *settings;
	const struct plan_row *row;
};

static struct plan_mode_cell cell(enum mode_value requested, enum mode_value wanted,
				  enum mode_value effective, enum mode_reason reason)
{
	return (struct plan_mode_cell){
		.requested = (uint8_t)requested,
		.wanted = (uint8_t)wanted,
		.effective = (uint8_t)effective,
		.reason = (uint8_t)reason,
	};
}

/* The rules want nothing beyond what the kernel does by itself (otherwise), for this reason. */
static struct plan_mode_cell unwanted(enum mode_value requested, enum mode_value otherwise,
				      enum mode_reason reason)
{
	return cell(requested, otherwise, otherwise, reason);
}

/* Wanted, and done by the module: in effect only where that is loaded and able. */
static struct plan_mode_cell by_module(const struct host *h, bool able, enum mode_value requested,
				       enum mode_value wanted, enum mode_value otherwise)
{
	if (!h->machine->module.loaded)
		return cell(requested, wanted, otherwise, MODE_NO_MODULE);
	if (!able)
		return cell(requested, wanted, otherwise, MODE_MODULE_LACKS);
	return cell(requested, wanted, wanted, MODE_AS_ASKED);
}

/* The states in which the CPU halts and that this row uses. */
static uint16_t halts(const struct idle_table *table, const struct plan_row *row)
{
	uint16_t set = 0;

	for (uint32_t i = 0; i < table->n; i++)
		if (table->states[i].class == STATE_CLASS_HALT && row->states[i].enabled)
			set |= (uint16_t)(1U << i);
	return set;
}

static bool any_entry(const struct host *h, enum state_entry entry)
{
	for (uint32_t i = 0; i < h->table->n; i++)
		if (h->table->states[i].entry == entry)
			return true;
	return false;
}

/* Exit latency of the first state in which the CPU halts; LATENCY_NONE where there is none. */
static uint64_t halt_latency(const struct idle_table *table)
{
	for (uint32_t i = 0; i < table->n; i++)
		if (table->states[i].class >= STATE_CLASS_HALT)
			return table->states[i].exit_latency_ns;
	return LATENCY_NONE;
}

/* By place: what C0Depth= makes of it. */
static const enum mode_value c0_values[][2] = {
	[C0_OFF] = {MODE_OFF, MODE_OFF},
	[C0_POLL] = {MODE_C0_POLL_1, MODE_C0_POLL_2},
	[C0_STATE] = {MODE_C0_STATE_1, MODE_C0_STATE_2},
	[C0_AUTO] = {MODE_AUTO, MODE_AUTO},
	[C0_C1] = {MODE_C0_C1_1, MODE_C0_C1_2},
};

static enum mode_value c0_value(const struct host *h, enum c0_mode place)
{
	return c0_values[place][h->settings->c0_depth == C0_DEPTH_2];
}

/* Does the limit leave room for C0.x? With a limit of zero ZeroLatency= decides. */
static bool c0_fits_limit(const struct host *h)
{
	uint64_t limit = h->row->limit_ns;

	return limit ? limit >= C0X_LATENCY_NS : h->settings->zero_latency == ZERO_LATENCY_C0;
}

/* Would the CPU spin otherwise? A limit between POLL and C1 says so even where C1 is kept by others. */
static bool c0_is_useful(const struct host *h)
{
	return h->row->only_poll || h->row->limit_ns < halt_latency(h->table);
}

void modes_own_state(const struct machine *m, enum c0_wait depth, struct idle_state *ret)
{
	*ret = m->own_state;
	if (!m->own_row || depth) {
		snprintf(ret->name, sizeof(ret->name), "C0.%u", depth == C0_WAIT_1 ? 1 : 2);
		snprintf(ret->desc, sizeof(ret->desc), "UMWAIT %s", ret->name);
	}
	/* Its files count microseconds, in which it takes none. */
	ret->exit_latency_ns = ret->target_residency_ns = C0X_LATENCY_NS;
	ret->class = STATE_CLASS_C0X;
	ret->entry = STATE_ENTRY_UMWAIT;
}

/* Do lists of states of the CPU's profiles name the own state, or its class? */
static bool own_state_is_disabled(const struct host *h)
{
	const struct plan_demand *d = &h->plan->demands[h->row->demands];
	struct idle_state own;

	modes_own_state(h->machine, h->settings->c0_depth == C0_DEPTH_2 ? C0_WAIT_2 : C0_WAIT_1,
			&own);
	for (uint32_t i = 0; i < h->row->n_demands; i++) {
		const struct words *w = &h->policy->profiles[d[i].profile].resolved.disable_states;

		for (uint32_t k = 0; k < w->n; k++)
			if (machine_state_matches(&own, w->v[k]))
				return true;
	}
	return false;
}

/* Why there can be no state of its own for this CPU; MODE_AS_ASKED where there can. */
static enum mode_reason row_reason(const struct host *h)
{
	if (own_state_is_disabled(h))
		return MODE_ROW_DISABLED;
	/* The governors then take state 0 without a look at the table. */
	if (h->row->kernel_zero)
		return MODE_ROW_LIMIT;
	/* It polls in state 0 and halts in state 1, whatever that is. */
	if (streq(h->machine->governor, "haltpoll"))
		return MODE_ROW_GOVERNOR;
	return h->machine->module.c0_row ? MODE_AS_ASKED : MODE_NO_ROW;
}

/* In which place, once C0.x itself is possible: the one that was asked for, or POLL's, which always is. */
static enum c0_mode c0_place(const struct host *h, enum c0_mode asked, enum mode_reason *ret)
{
	*ret = MODE_AS_ASKED;
	if (asked == C0_STATE)
		*ret = row_reason(h);
	else if (asked == C0_C1 && !(h->machine->module.c1_states & halts(h->table, h->row)))
		*ret = MODE_NO_C1;
	return *ret == MODE_AS_ASKED ? asked : C0_POLL;
}

static bool c02_is_forbidden(const struct host *h)
{
	return h->settings->c0_depth == C0_DEPTH_2 && h->plan->has_knob[HOST_UMWAIT_C02] &&
	       modes_knob_stands(h->machine, h->plan, HOST_UMWAIT_C02) == 0;
}

/* C0.x is wanted at this place, and the module can do it on this CPU. */
static struct plan_mode_cell c0_in_effect(const struct host *h, enum mode_value asked,
					  enum c0_mode place)
{
	enum mode_reason reason;
	enum mode_value wanted = c0_value(h, place), effective;

	place = c0_place(h, place, &reason);
	effective = c0_value(h, place);
	if (c02_is_forbidden(h)) {
		effective = c0_values[place][0];
		if (reason == MODE_AS_ASKED)
			reason = MODE_C02_FORBIDDEN;
	}
	return cell(asked, wanted, effective, reason);
}

static struct plan_mode_cell decide_c0(const struct host *h)
{
	enum mode_value asked = c0_value(h, h->settings->c0);
	enum c0_mode place = h->settings->c0 == C0_AUTO ? C0_POLL : h->settings->c0;

	if (asked == MODE_OFF)
		return unwanted(asked, MODE_OFF, MODE_AS_ASKED);
	if (!h->table)
		return unwanted(asked, MODE_OFF, MODE_NO_STATE);
	if (asked == MODE_AUTO && !c0_is_useful(h))
		return unwanted(asked, MODE_OFF, MODE_NOT_NEEDED);
	if (!h->row->waitpkg)
		return unwanted(asked, MODE_OFF, MODE_NO_WAITPKG);
	if (asked == MODE_AUTO && h->machine->virt == VIRT_GUEST)
		return unwanted(asked, MODE_OFF, MODE_GUEST);
	if (!c0_fits_limit(h))
		return unwanted(asked, MODE_OFF, MODE_LIMIT_TOO_SHORT);
	if (!h->row->c0_able)
		return by_module(h, false, asked, c0_value(h, place), MODE_OFF);
	return c0_in_effect(h, asked, place);
}

static bool takes_c1(const struct plan_row *row)
{
	return row->modes[MODE_C0].effective == MODE_C0_C1_1 ||
	       row->modes[MODE_C0].effective == MODE_C0_C1_2;
}

static struct plan_mode_cell decide_c1_interrupts(const struct host *h)
{
	static const enum mode_value asked_values[] = {
		[C1_NATIVE] = MODE_NATIVE,
		[C1_WINDOW] = MODE_WINDOW,
		[C1_STI_MWAIT] = MODE_STI_MWAIT,
		[C1_AUTO] = MODE_AUTO,
	};
	enum mode_value asked = asked_values[h->settings->c1_interrupts];
	enum mode_value wanted = asked == MODE_AUTO ? MODE_WINDOW : asked;
	const struct machine_module *module = &h->machine->module;
	uint16_t able = wanted == MODE_WINDOW ? module->window_states : module->sti_mwait_states;

	/* C1 is entered in one way only. */
	if (wanted == MODE_STI_MWAIT && takes_c1(h->row))
		able &= (uint16_t)~module->c1_states;

	if (asked == MODE_NATIVE)
		return unwanted(asked, MODE_NATIVE, MODE_AS_ASKED);
	if (asked == MODE_AUTO && h->row->limit_ns > WINDOW_LIMIT_NS)
		return unwanted(asked, MODE_NATIVE, MODE_NOT_NEEDED);
	if (!h->table || !halts(h->table, h->row))
		return unwanted(asked, MODE_NATIVE, MODE_NO_STATE);
	if (wanted == MODE_STI_MWAIT && !any_entry(h, STATE_ENTRY_MWAIT))
		return unwanted(asked, MODE_NATIVE, MODE_NO_STATE);
	return by_module(h, able & halts(h->table, h->row), asked, wanted, MODE_NATIVE);
}

/* The kernel's own governor polls before it halts: never both. */
static bool governor_polls(const struct host *h)
{
	return h->table && streq(h->machine->governor, "haltpoll");
}

static struct plan_mode_cell decide_haltpoll(const struct host *h)
{
	uint64_t ns = h->settings->haltpoll_ns;
	enum mode_value asked = ns == HALTPOLL_OFF    ? MODE_OFF
				: ns == HALTPOLL_AUTO ? MODE_AUTO
						      : MODE_HALTPOLL_ON;

	if (asked == MODE_OFF)
		return unwanted(asked, MODE_OFF, MODE_AS_ASKED);
	if (asked == MODE_AUTO && h->machine->virt != VIRT_GUEST)
		return unwanted(asked, MODE_OFF, MODE_NOT_GUEST);
	if (governor_polls(h)) {
		const struct machine_knob *k = &h->machine->knobs[HOST_HALTPOLL];

		if (asked == MODE_AUTO || !k->present || k->left)
			return unwanted(asked, MODE_NATIVE, MODE_HARMLESS);
		if (h->row->crowded)
			return cell(asked, MODE_HALTPOLL_ON, MODE_NATIVE, MODE_CROWDED);
		return cell(asked, MODE_HALTPOLL_ON, MODE_HALTPOLL_ON, MODE_BY_GOVERNOR);
	}
	if (h->row->crowded && h->machine->module.haltpoll)
		return cell(asked, MODE_HALTPOLL_ON, MODE_OFF, MODE_CROWDED);
	return by_module(h, h->machine->module.haltpoll, asked, MODE_HALTPOLL_ON, MODE_OFF);
}

static struct plan_mode_cell decide_broadcast(const struct host *h)
{
	switch ((enum broadcast_mode)h->settings->broadcast) {
	case BROADCAST_AUTO:
		break;
	case BROADCAST_AVOID:
		if (h->machine->arat)
			return unwanted(MODE_AVOID, MODE_NATIVE, MODE_NOT_NEEDED);
		if (!h->table)
			return unwanted(MODE_AVOID, MODE_NATIVE, MODE_NO_STATE);
		return by_module(h, h->machine->module.broadcast, MODE_AVOID, MODE_AVOID,
				 MODE_NATIVE);
	case BROADCAST_OFF:
		if (h->machine->arat)
			return cell(MODE_OFF, MODE_OFF, MODE_OFF, MODE_HARMLESS);
		return unwanted(MODE_OFF, MODE_NATIVE, MODE_UNSAFE);
	}
	return unwanted(MODE_AUTO, MODE_NATIVE, MODE_NOT_NEEDED);
}

/*
 * On Zen the read of the PM timer after each SystemIO entry is of no use (Linux 6.0, e400ad8b7e6a). Which kernels
 * still have it no version tells: it went to stable trees, too.
 */
static bool is_zen(const struct machine *m)
{
	return (streq(m->vendor, "AuthenticAMD") || streq(m->vendor, "HygonGenuine")) &&
	       m->family >= 0x17;
}

static struct plan_mode_cell decide_ioport(const struct host *h)
{
	static const enum mode_value asked_values[] = {
		[IOPORT_NATIVE] = MODE_NATIVE,
		[IOPORT_DIRECT] = MODE_DIRECT,
		[IOPORT_AUTO] = MODE_AUTO,
	};
	enum mode_value asked = asked_values[h->settings->ioport];
	const struct machine_module *module = &h->machine->module;
	bool have = h->table && any_entry(h, STATE_ENTRY_IOPORT);

	if (asked == MODE_NATIVE)
		return unwanted(asked, MODE_NATIVE, MODE_AS_ASKED);
	if (!have)
		return unwanted(asked, MODE_NATIVE,
				asked == MODE_AUTO ? MODE_NOT_NEEDED : MODE_NO_STATE);
	if (asked == MODE_AUTO && !is_zen(h->machine))
		return unwanted(asked, MODE_NATIVE, MODE_NOT_NEEDED);
	if (asked == MODE_AUTO && !module->loaded)
		return unwanted(asked, MODE_NATIVE, MODE_UNMEASURED);
	if (asked == MODE_AUTO && module->ioport && !module->dummy_wait)
		return unwanted(asked, MODE_NATIVE, MODE_NO_DUMMY);
	return by_module(h, module->ioport, asked, MODE_DIRECT, MODE_NATIVE);
}

static struct plan_mode_cell offline(struct plan_mode_cell c, enum mode_value otherwise)
{
	return cell(c.requested, otherwise, otherwise, MODE_OFFLINE);
}

void modes_decide(const struct machine *machine, const struct policy *policy,
		  const struct plan *plan, const struct settings *settings, struct plan_row *row)
{
	struct host h = {
		.machine = machine,
		.policy = policy,
		.plan = plan,
		.table = row->table < machine->n_tables ? &machine->tables[row->table] : NULL,
		.settings = settings,
		.row = row,
	};
	static const enum mode_value plain[MODE_N] = {
		[MODE_C0] = MODE_OFF,	     [MODE_C1_INTERRUPTS] = MODE_NATIVE,
		[MODE_HALTPOLL] = MODE_OFF,  [MODE_BROADCAST] = MODE_NATIVE,
		[MODE_IOPORT] = MODE_NATIVE,
	};

	row->haltpoll_ns =
		settings->haltpoll_ns == HALTPOLL_AUTO ? HALTPOLL_AUTO_NS : settings->haltpoll_ns;
	row->modes[MODE_C0] = decide_c0(&h);
	row->modes[MODE_C1_INTERRUPTS] = decide_c1_interrupts(&h);
	row->modes[MODE_HALTPOLL] = decide_haltpoll(&h);
	row->modes[MODE_BROADCAST] = decide_broadcast(&h);
	row->modes[MODE_IOPORT] = decide_ioport(&h);
	for (unsigned i = 0; !row->online && i < MODE_N; i++)
		row->modes[i] = offline(row->modes[i], plain[i]);
}

static void keep_off(const struct machine *machine, struct plan_row *row)
{
	uint16_t off = row->disable_care & row->disable_mask;

	if (!machine->module.states_off)
		return;
	/* What others, or the kernel's default, have off already needs only to be watched: they may change their mind. */
	off &= (uint16_t)~row->disabled_prior;
	row->module.states_off = off;
	row->disable_care &= (uint16_t)~off;
	row->disable_mask &= (uint16_t)~off;
}

static void keep_c0(struct plan_row *row)
{
	struct plan_module *m = &row->module;

	switch ((enum mode_value)row->modes[MODE_C0].effective) {
	case MODE_C0_C1_1:
		m->c1 = C0_WAIT_1;
		m->poll = C0_WAIT_1;
		break;
	case MODE_C0_C1_2:
		m->c1 = C0_WAIT_2;
		m->poll = C0_WAIT_2;
		break;
	case MODE_C0_POLL_1:
		m->poll = C0_WAIT_1;
		break;
	case MODE_C0_POLL_2:
		m->poll = C0_WAIT_2;
		break;
	case MODE_C0_STATE_1:
		m->row = C0_WAIT_1;
		break;
	case MODE_C0_STATE_2:
		m->row = C0_WAIT_2;
		break;
	case MODE_OFF:
	case MODE_NATIVE:
	case MODE_WINDOW:
	case MODE_STI_MWAIT:
	case MODE_HALTPOLL_ON:
	case MODE_AUTO:
	case MODE_AVOID:
	case MODE_DIRECT:
		break;
	}
}

/* C0.x that was named; auto wants none where there is no POLL to replace. */
static bool wants_c0_driver(const struct plan_row *row)
{
	uint8_t asked = row->modes[MODE_C0].requested;

	return row->c0_able && asked != MODE_OFF && asked != MODE_AUTO;
}

/* Does a row ask for something that takes an idle driver? */
static bool wants_driver(const struct plan_row *row)
{
	return row->policy_limit_ns != LATENCY_NONE || wants_c0_driver(row) ||
	       row->modes[MODE_HALTPOLL].wanted != MODE_OFF ||
	       row->modes[MODE_C1_INTERRUPTS].requested == MODE_WINDOW;
}

static bool polls(const struct plan_row *row)
{
	return row->modes[MODE_HALTPOLL].effective == MODE_HALTPOLL_ON;
}

/* Its time is one for all CPUs: the longest that is asked for. */
static void ask_governor(uint64_t ns, struct plan *plan)
{
	uint64_t *all = &plan->knobs[HOST_HALTPOLL];

	*all = *all == HOST_KEEP ? ns : MAX_OF(*all, ns);
}

void modes_module(const struct machine *machine, struct plan_row *row, struct plan *plan)
{
	uint16_t halting;

	plan->own_driver |= machine->module.own_driver && wants_driver(row);
	if (polls(row) && row->modes[MODE_HALTPOLL].reason == MODE_BY_GOVERNOR)
		ask_governor(row->haltpoll_ns, plan);
	if (!machine->module.loaded || row->table >= machine->n_tables)
		return;
	halting = halts(&machine->tables[row->table], row);
	if (row->modes[MODE_C1_INTERRUPTS].effective == MODE_WINDOW)
		row->module.irq_window = halting & machine->module.window_states;
	if (row->modes[MODE_C1_INTERRUPTS].effective == MODE_STI_MWAIT)
		row->module.sti_mwait = halting & machine->module.sti_mwait_states;
	if (row->modes[MODE_BROADCAST].effective == MODE_AVOID)
		row->module.broadcast = BROADCAST_AVOID;
	if (polls(row) && row->modes[MODE_HALTPOLL].reason != MODE_BY_GOVERNOR)
		row->module.haltpoll_us = (uint32_t)(row->haltpoll_ns / NSEC_PER_USEC);
	row->module.ioport_direct = row->modes[MODE_IOPORT].effective == MODE_DIRECT;
	keep_c0(row);
	if (row->module.c1)
		row->module.sti_mwait &= (uint16_t)~machine->module.c1_states;
	plan->row = MAX_OF(plan->row, row->module.row);
	plan->guest |= machine->virt == VIRT_GUEST &&
		       (row->module.poll || row->module.c1 || row->module.row);
	keep_off(machine, row);
}

uint64_t modes_knob_stands(const struct machine *m, const struct plan *plan, enum host_knob which)
{
	return plan->knobs[which] != HOST_KEEP ? plan->knobs[which] : m->knobs[which].now;
}

void modes_knobs(const struct policy *policy, const struct machine *m, struct plan *plan)
{
	const uint64_t want[HOST_KNOBS] = {
		[HOST_UMWAIT_C02] = policy->umwait_c02 == UMWAIT_C02_KEEP
					    ? HOST_KEEP
					    : policy->umwait_c02 == UMWAIT_C02_ON,
		[HOST_UMWAIT_MAX] = policy->umwait_max_time,
		[HOST_HALTPOLL] = HOST_KEEP, /* the rows ask for it */
	};

	for (unsigned i = 0; i < HOST_KNOBS; i++) {
		plan->has_knob[i] = m->knobs[i].present;
		plan->knobs[i] = m->knobs[i].present && !m->knobs[i].left ? want[i] : HOST_KEEP;
	}
}
