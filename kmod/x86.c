// SPDX-License-Identifier: GPL-2.0-only
/* What the machine and its drivers allow; the instructions themselves are in x86.h. */
#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/string.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/processor.h>
#include <asm/tsc.h>
#include "arch.h"
#include "enter.h"
#include "hook.h"

/* Flags of intel_idle's own, in no header */
#define X86_INTEL_IBRS	 BIT(16)
#define X86_INTEL_XSTATE BIT(17)
#define X86_INTEL_HINT	 GENMASK(31, 24)

u32 arch_clock_khz(void)
{
	return tsc_khz;
}

const char *arch_refusal(const struct cpuidle_driver *drv)
{
	if (boot_cpu_has(X86_FEATURE_XENPV))
		return "a Xen PV guest has no cpuidle";
	if (!drv && boot_option_idle_override != IDLE_NO_OVERRIDE)
		return "idle= on the kernel's command line keeps cpuidle off";
	return NULL;
}

/*
 * Which states idle without kernel IBRS? Those flagged so, and those entered by the same function
 * as one of them: a parameter of intel_idle's makes it so for all.
 */
u32 arch_ibrs(const struct cpuidle_driver *drv)
{
	u32 ibrs = 0;
	int i, k;

	if (strcmp(drv->name, "intel_idle") || !cpu_feature_enabled(X86_FEATURE_KERNEL_IBRS))
		return 0;
	for (i = 0; i < drv->state_count; i++) {
		if (!(drv->states[i].flags & X86_INTEL_IBRS))
			continue;
		for (k = 0; k < drv->state_count; k++)
			if (hook_lower(drv, k) == hook_lower(drv, i))
				ibrs |= BIT(k);
	}
	return ibrs;
}

/* intel_idle keeps the hint in its flags, acpi_idle tells it in words. C1 is hint 0 in both. */
static bool x86_mwait_c1(const struct cpuidle_driver *drv, const struct cpuidle_state *state)
{
	if (!boot_cpu_has(X86_FEATURE_MWAIT) || state->flags & CPUIDLE_FLAG_POLLING)
		return false;
	if (!strcmp(drv->name, "intel_idle"))
		return !(state->flags & X86_INTEL_HINT);
	if (!strcmp(drv->name, "acpi_idle"))
		return !strcmp(state->desc, "ACPI FFH MWAIT 0x0");
	return false;
}

void arch_state_caps(const struct cpuidle_driver *drv, const struct cpuidle_state *state, u32 bit,
		     struct table_caps *caps)
{
	if (x86_mwait_c1(drv, state))
		caps->mwait_c1 |= bit;
	if (!strcmp(drv->name, "intel_idle") && state->flags & X86_INTEL_XSTATE)
		caps->xstate |= bit;
}

/* Hybrid parts may differ by CPU. One that was never online has no features yet. */
static bool x86_find_waitpkg(u32 *waitpkg)
{
	u32 cpu, any = 0;

	for_each_possible_cpu(cpu) {
		if (!cpu_has(&cpu_data(cpu), X86_FEATURE_WAITPKG))
			continue;
		waitpkg[cpu / 32] |= 1u << (cpu % 32);
		any = 1;
	}
	return any;
}

void arch_cpu_caps(struct table_caps *caps, u32 *waitpkg)
{
	caps->timer_stops = !boot_cpu_has(X86_FEATURE_ARAT);
	caps->monitor_bug = boot_cpu_has_bug(X86_BUG_MONITOR) ||
			    boot_cpu_has_bug(X86_BUG_CLFLUSH_MONITOR);
	caps->in_guest = boot_cpu_has(X86_FEATURE_HYPERVISOR);
	caps->clock_bad = !enter_clock_khz ||
			  !(boot_cpu_has(X86_FEATURE_NONSTOP_TSC) || caps->in_guest);
	if (!x86_find_waitpkg(waitpkg))
		caps->c0_reason = "no CPU has UMWAIT (WAITPKG)";
	else if (caps->monitor_bug)
		caps->c0_reason = "MONITOR is unreliable on this CPU";
	else if (!boot_cpu_has(X86_FEATURE_CONSTANT_TSC) || !enter_clock_khz)
		caps->c0_reason = "the TSC does not run at one rate";
}

bool arch_umwait_control(u32 *control)
{
	u32 high;

	return boot_cpu_has(X86_FEATURE_WAITPKG) &&
	       !rdmsr_safe(MSR_IA32_UMWAIT_CONTROL, control, &high);
}
