/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * arch - what differs between machines: x86.h and arm64.h have the instructions, x86.c and arm64.c
 * what the machine allows
 *
 * Each header has, always inline and for interrupts off:
 *
 *	arch_irq_on(), arch_irq_off()	let interrupts in, and no more
 *	arch_irq_window()		let in those that are pending
 *	arch_halt()			wait for an interrupt, taken or not when it returns
 *	arch_clock()			ticks of a clock that runs through idle
 *	arch_relax(start, ticks)	in a loop that polls need_resched(), interrupts on: wait a
 *					little, at the longest till about that time
 */
#ifndef ARCH_H
#define ARCH_H

#include "table.h"

struct cpuidle_driver;
struct cpuidle_state;

/* Rate of arch_clock(); 0 if it is not known. Called once, before all others. */
u32 arch_clock_khz(void);

/* Why the machine, or its kernel, allows no hook on @drv (NULL: no own driver); else NULL. */
const char *arch_refusal(const struct cpuidle_driver *drv);

/* Fills in what is about CPUs; @waitpkg has a bit for each. */
void arch_cpu_caps(struct table_caps *caps, u32 *waitpkg);

/* Fills in what only this machine's drivers say of a state. */
void arch_state_caps(const struct cpuidle_driver *drv, const struct cpuidle_state *state, u32 bit,
		     struct table_caps *caps);

/* Set of states, live, that idle without kernel IBRS. */
u32 arch_ibrs(const struct cpuidle_driver *drv);

/* IA32_UMWAIT_CONTROL of this CPU; false where there is none. */
bool arch_umwait_control(u32 *control);

#if defined(CONFIG_X86_64)
#include "x86.h"
#elif defined(CONFIG_ARM64)
#include "arm64.h"
#else
#error "the module is for x86-64 and arm64"
#endif

#endif /* ARCH_H */
