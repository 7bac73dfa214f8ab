/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "modes.h"

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
	case MODE_NO_ROW:
		return "no state of its own can be put in here, so POLL waits in this way";
	case MODE_ROW_GOVERNOR:
		return "governor haltpoll would take a state of its own for halting, so POLL waits "
		       "in this way";
	case MODE_ROW_LIMIT:
		return "the limit leaves POLL alone, so POLL waits in this way";
	case MODE_ROW_DISABLED:
		return "DisableStates= means this state as well, so POLL waits in this way";
	case MODE_NO_C1:
		return "there is no C1 that could wait so, POLL alone does";
	case MODE_CROWDED:
		return "the host has too little for its guests at the moment";
	case MODE_BY_GOVERNOR:
		return "done by the kernel's governor haltpoll, through guest_halt_poll_ns";
	case MODE_NO_DUMMY:
		return "nothing is needed: this kernel enters the state without the dummy read";
	case MODE_UNMEASURED:
		return "only cpuidle_policy.ko can tell whether this kernel has the dummy read, and "
		       "it is not in use";
	case MODE_C02_FORBIDDEN:
		return "umwait_control/enable_c02 is 0, so the CPU takes C0.1; UmwaitC02=on would "
		       "allow C0.2";
	}
	return "unknown";
}

const char *modes_module_words(const struct machine *machine, enum plan_mode mode,
			       enum mode_reason reason)
{
	if (mode != MODE_C0)
		return "";
	if (reason == MODE_NO_ROW)
		return machine->module.c0_row_reason;
	return reason == MODE_MODULE_LACKS ? machine->module.c0_reason : "";
}

void modes_haltpoll_text(const struct machine *machine, const struct plan *plan, struct buf *b)
{
	const struct machine_haltpoll *h = &machine->haltpoll;
	char ns[LATENCY_TEXT_MAX];

	buf_printf(b, ": polls for up to %s before it halts%s",
		   units_format_latency(modes_knob_stands(machine, plan, HOST_HALTPOLL), ns,
					sizeof(ns)),
		   plan->knobs[HOST_HALTPOLL] != HOST_KEEP ? ", by HaltPoll=" : "");
	if (h->grow)
		buf_printf(b, "; begins with %s, times %" PRIu32 " after a short wait",
			   units_format_latency(h->grow_start_ns, ns, sizeof(ns)), h->grow);
	if (!h->allow_shrink)
		buf_puts(b, ", never shorter again");
	else if (h->shrink)
		buf_printf(b, ", divided by %" PRIu32 " after a long one", h->shrink);
	else
		buf_puts(b, ", none after a long one");
}

bool modes_is_told(enum mode_reason reason)
{
	return reason == MODE_NO_DUMMY || reason == MODE_UNMEASURED || reason == MODE_BY_GOVERNOR;
}
