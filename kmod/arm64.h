/* SPDX-License-Identifier: GPL-2.0-only */
/* arm64 - the few instructions the idle path is made of, each always inline; see arch.h */
#ifndef ARM64_H
#define ARM64_H

#include <linux/irqflags.h>
#include <linux/thread_info.h>
#include <asm/barrier.h>
#include <asm/cmpxchg.h>
#include <asm/cpuidle.h>
#include <asm/sysreg.h>
#include "compat.h"

#define ARCH_HALT_NAME "WFI"
#define ARCH_HALT_DESC "WFI"

/* How arch_relax() waits. WFE alone would not end in time: the event stream must be there. */
enum arm64_wait { ARM64_WAIT_SPIN, ARM64_WAIT_WFE, ARM64_WAIT_WFET };

extern enum arm64_wait arm64_wait; /* written once */

static __always_inline void arch_irq_on(void)
{
	raw_local_irq_enable();
}

static __always_inline void arch_irq_off(void)
{
	if (COMPAT_TRACED_OFF)
		local_irq_disable();
	else
		raw_local_irq_disable();
}

/* Without the barrier nothing says that a pending interrupt is taken in between. */
static __always_inline void arch_irq_window(void)
{
	raw_local_irq_enable();
	isb();
	arch_irq_off();
}

/*
 * WFI ends with an interrupt that is pending, masked or not; a wake-up from elsewhere sends one.
 * With priorities for masking, what masks them must be taken off for that, as cpu_do_idle() does.
 */
static __always_inline void arch_halt(void)
{
	struct arm_cpuidle_irq_context context;

	arm_cpuidle_save_irq_context(&context);
	dsb(sy);
	wfi();
	arm_cpuidle_restore_irq_context(&context);
}

/* The virtual counter; it runs at one rate and never stops. */
static __always_inline u64 arch_clock(void)
{
	return read_sysreg(cntvct_el0);
}

/*
 * WFET waits like WFE, at the longest till the counter says @end. LDXR arms the monitor that a
 * store by another CPU ends both with; SEVL and WFE first, so that no event of the past does.
 */
static __always_inline void arm64_wfet(unsigned long *flags, unsigned long old, u64 end)
{
	unsigned long now;

	asm volatile("	sevl\n"
		     "	wfe\n"
		     "	ldxr	%[now], %[flags]\n"
		     "	eor	%[now], %[now], %[old]\n"
		     "	cbnz	%[now], 1f\n"
		     "	msr	s0_3_c1_c0_0, %[end]\n" /* wfet %[end] */
		     "1:"
		     : [now] "=&r"(now), [flags] "+Q"(*flags)
		     : [old] "r"(old), [end] "r"(end));
}

static __always_inline void arch_relax(u64 start, u64 ticks)
{
	unsigned long *flags = (unsigned long *)&current_thread_info()->flags;
	unsigned long old = READ_ONCE(*flags);

	/* set since the caller's look: nobody would store it again */
	if (old & _TIF_NEED_RESCHED)
		return;
	if (arm64_wait == ARM64_WAIT_WFE)
		__cmpwait_relaxed(flags, old);
	else if (arm64_wait == ARM64_WAIT_WFET)
		arm64_wfet(flags, old, start + ticks < start ? U64_MAX : start + ticks);
	else
		cpu_relax();
}

#endif /* ARM64_H */
