// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the machine allows; the instructions themselves are in arm64.h. Only the own driver is
 * governed, in guests whose kernel has none: a driver of the kernel's is one for each CPU, with
 * tables of their own.
 */
#include <linux/cpuidle.h>
#include <asm/arch_timer.h>
#include <asm/cpufeature.h>
#include <asm/hwcap.h>
#include "arch.h"
#include "enter.h"
#include "own.h"

enum arm64_wait arm64_wait __read_mostly;

/* The architecture has the firmware tell the rate. */
u32 arch_clock_khz(void)
{
	if (cpus_have_cap(ARM64_HAS_WFXT))
		arm64_wait = ARM64_WAIT_WFET;
	else if (cpu_have_named_feature(EVTSTRM))
		arm64_wait = ARM64_WAIT_WFE;
	return arch_timer_get_cntfrq() / 1000;
}

const char *arch_refusal(const struct cpuidle_driver *drv)
{
	if (drv && drv != own_driver())
		return "on arm64 each CPU has a cpuidle driver of its own; these are not hooked";
	return NULL;
}

void arch_cpu_caps(struct table_caps *caps, u32 *waitpkg)
{
	caps->clock_bad = !enter_clock_khz;
	caps->c0_reason = "no CPU has UMWAIT (WAITPKG)";
}

void arch_state_caps(const struct cpuidle_driver *drv, const struct cpuidle_state *state, u32 bit,
		     struct table_caps *caps)
{
}

u32 arch_ibrs(const struct cpuidle_driver *drv)
{
	return 0;
}

bool arch_umwait_control(u32 *control)
{
	return false;
}
