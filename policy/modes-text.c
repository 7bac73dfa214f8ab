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
