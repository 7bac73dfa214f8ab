/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "modes.h"

/* Entering and leaving C0.2 takes about this long: a shorter limit cannot be met by it. */
#define C0X_LATENCY_NS 200U
/* C1Interrupts=auto: whoever asks for this little wants interrupts served at once. */
#define WINDOW_LIMIT_NS (20 * NSEC_PER_USEC)

struct host {
	const struct machine *machine;
	const struct idle_table *table; /* NULL: no cpuidle on these CPUs */
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

static enum mode_value c0_requested(const struct settings *s)
{
	bool deep = s->c0_depth == C0_DEPTH_2;

	switch ((enum c0_mode)s->c0) {
	case C0_OFF:
		return MODE_OFF;
	case C0_POLL:
		return deep ? MODE_C0_POLL_2 : MODE_C0_POLL_1;
	case C0_STATE:
		return deep ? MODE_C0_STATE_2 : MODE_C0_STATE_1;
	case C0_AUTO:
		break;
	}
	return MODE_AUTO;
}

/* Does the limit leave room for C0.x? With a limit of zero ZeroLatency= decides, for POLL's place only. */
static bool c0_fits_limit(const struct host *h)
{
	uint64_t limit = h->row->limit_ns;

	if (limit != 0)
		return limit >= C0X_LATENCY_NS;
	return h->settings->zero_latency == ZERO_LATENCY_C0 && h->settings->c0 != C0_STATE;
}

/* Would the CPU spin otherwise? A limit between POLL and C1 says so even where C1 is kept by others. */
static bool c0_is_useful(const struct host *h)
{
	return h->row->only_poll || h->row->limit_ns < halt_latency(h->table);
}

static struct plan_mode_cell decide_c0(const struct host *h)
{
	enum mode_value asked = c0_requested(h->settings), wanted = asked;

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
	if (asked == MODE_AUTO)
		wanted = h->settings->c0_depth == C0_DEPTH_2 ? MODE_C0_POLL_2 : MODE_C0_POLL_1;
	return by_module(h, h->machine->module.c0x, asked, wanted, MODE_OFF);
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
	/* The kernel's own governor polls before it halts. */
	if (asked == MODE_AUTO && h->table && streq(h->machine->governor, "haltpoll"))
		return unwanted(asked, MODE_NATIVE, MODE_HARMLESS);
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

/* The first number of a kernel release: 6 of "6.1.0-57-amd64"; UINT32_MAX when it is none. */
static uint32_t kernel_major(const struct machine *m)
{
	const char *p = m->osrelease ? m->osrelease : "";
	uint32_t major;

	return units_scan_u32(&p, UINT16_MAX, &major) < 0 ? UINT32_MAX : major;
}

/* Kernels before 6.0 read a PM-timer port after each SystemIO entry on Zen, too, which costs much. */
static bool has_dummy_read(const struct machine *m)
{
	return (streq(m->vendor, "AuthenticAMD") || streq(m->vendor, "HygonGenuine")) &&
	       m->family >= 0x17 && kernel_major(m) < 6;
}

static struct plan_mode_cell decide_ioport(const struct host *h)
{
	static const enum mode_value asked_values[] = {
		[IOPORT_NATIVE] = MODE_NATIVE,
		[IOPORT_DIRECT] = MODE_DIRECT,
		[IOPORT_AUTO] = MODE_AUTO,
	};
	enum mode_value asked = asked_values[h->settings->ioport];
	bool have = h->table && any_entry(h, STATE_ENTRY_IOPORT);

	if (asked == MODE_NATIVE)
		return unwanted(asked, MODE_NATIVE, MODE_AS_ASKED);
	if (asked == MODE_AUTO && (!have || !has_dummy_read(h->machine)))
		return unwanted(asked, MODE_NATIVE, MODE_NOT_NEEDED);
	if (!have)
		return unwanted(asked, MODE_NATIVE, MODE_NO_STATE);
	return by_module(h, h->machine->module.ioport, asked, MODE_DIRECT, MODE_NATIVE);
}

static struct plan_mode_cell offline(struct plan_mode_cell c, enum mode_value otherwise)
{
	return cell(c.requested, otherwise, otherwise, MODE_OFFLINE);
}

void modes_decide(const struct machine *machine, const struct settings *settings,
		  struct plan_row *row)
{
	struct host h = {
		.machine = machine,
		.table = row->table < machine->n_tables ? &machine->tables[row->table] : NULL,
		.settings = settings,
		.row = row,
	};
	static const enum mode_value plain[MODE_N] = {
		[MODE_C0] = MODE_OFF,	     [MODE_C1_INTERRUPTS] = MODE_NATIVE,
		[MODE_HALTPOLL] = MODE_OFF,  [MODE_BROADCAST] = MODE_NATIVE,
		[MODE_IOPORT] = MODE_NATIVE,
	};

	row->haltpoll_ns = settings->haltpoll_ns;
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
	/* What others, or the kernel's default, have off already needs nothing. */
	row->module.states_off = (uint16_t)(off & ~row->disabled_prior);
	row->disable_care &= (uint16_t)~off;
	row->disable_mask &= (uint16_t)~off;
}

void modes_module(const struct machine *machine, struct plan_row *row)
{
	uint16_t halting;

	if (!machine->module.loaded || row->table >= machine->n_tables)
		return;
	halting = halts(&machine->tables[row->table], row);
	if (row->modes[MODE_C1_INTERRUPTS].effective == MODE_WINDOW)
		row->module.irq_window = halting & machine->module.window_states;
	if (row->modes[MODE_C1_INTERRUPTS].effective == MODE_STI_MWAIT)
		row->module.sti_mwait = halting & machine->module.sti_mwait_states;
	if (row->modes[MODE_BROADCAST].effective == MODE_AVOID)
		row->module.broadcast = BROADCAST_AVOID;
	keep_off(machine, row);
}

void modes_umwait(const struct policy *policy, const struct machine *m, struct plan *plan)
{
	const uint64_t want[UMWAIT_N] = {
		[UMWAIT_C02] = policy->umwait_c02 == UMWAIT_C02_KEEP
				       ? UMWAIT_KEEP
				       : policy->umwait_c02 == UMWAIT_C02_ON,
		[UMWAIT_MAX] = policy->umwait_max_time,
	};

	for (unsigned i = 0; i < UMWAIT_N; i++) {
		plan->has_umwait[i] = m->umwait[i].present;
		plan->umwait[i] =
			m->umwait[i].present && !m->umwait[i].left ? want[i] : UMWAIT_KEEP;
	}
}

bool modes_want_driver(const struct plan_row *row)
{
	return row->policy_limit_ns != LATENCY_NONE ||
	       row->modes[MODE_C1_INTERRUPTS].requested == MODE_WINDOW;
}

const char *modes_key(enum plan_mode mode)
{
	switch (mode) {
	case MODE_C0:
		return "C0";
	case MODE_C1_INTERRUPTS:
		return "C1Interrupts";
	case MODE_HALTPOLL:
		return "HaltPoll";
	case MODE_BROADCAST:
		return "Broadcast";
	case MODE_IOPORT:
		return "IoPort";
	case MODE_N:
		break;
	}
	return "unknown";
}

const char *modes_reason_text(enum mode_reason reason)
{
	switch (reason) {
	case MODE_AS_ASKED:
		return "as asked";
	case MODE_NOT_NEEDED:
		return "of no use on this CPU";
	case MODE_NO_MODULE:
		return "needs cpuidle_policy.ko, which is not in use";
	case MODE_MODULE_LACKS:
		return "the loaded cpuidle_policy.ko cannot do it here";
	case MODE_NO_WAITPKG:
		return "the CPU has no UMWAIT (waitpkg)";
	case MODE_GUEST:
		return "in a guest only when named";
	case MODE_NOT_GUEST:
		return "auto is for guests, and this is none";
	case MODE_LIMIT_TOO_SHORT:
		return "the limit is shorter than waking from C0.x takes";
	case MODE_NO_STATE:
		return "there is no idle state for it";
	case MODE_UNSAFE:
		return "timers stop in deep states of this CPU (no ARAT) and would be lost";
	case MODE_HARMLESS:
		return "the kernel does it by itself here";
	case MODE_OFFLINE:
		return "the CPU is offline";
	}
	return "unknown";
}
