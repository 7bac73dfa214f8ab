/* SPDX-License-Identifier: GPL-2.0-only */
/* x86 - the few instructions the idle path is made of, each always inline; see arch.h */
#ifndef X86_H
#define X86_H

#include <linux/cpuidle.h>
#include <asm/nospec-branch.h>
#include "compat.h"

#define ARCH_HALT_NAME "HALT"
#define ARCH_HALT_DESC "HLT"

/*
 * Plain instructions instead of the paravirt calls: with those, patching leaves fillers behind.
 * Where they would differ, under Xen PV, there is no cpuidle (hook_refusal()).
 */
static __always_inline void arch_irq_off(void)
{
	if (COMPAT_TRACED_OFF)
		local_irq_disable();
	else
		asm volatile("cli" ::: "memory");
}

/* Interrupts are let in after the instruction that follows STI. */
static __always_inline void arch_irq_window(void)
{
	asm volatile("sti; nop" ::: "memory");
	arch_irq_off();
}

/* A remote wake-up sends an interrupt, which is pending until STI's shadow is over. */
static __always_inline void arch_halt(void)
{
	x86_idle_clear_cpu_buffers();
	asm volatile("sti; hlt" ::: "memory");
	arch_irq_off();
}

static __always_inline void x86_monitor(const void *address)
{
	asm volatile(".byte 0x0f, 0x01, 0xc8" : : "a"(address), "c"(0), "d"(0) : "memory");
}

/*
 * C1, hint 0. STI's shadow covers MWAIT: an interrupt is either taken before MONITOR was armed, or
 * ends the MWAIT; a timer it queues is seen by the idle loop.
 */
static __always_inline void x86_sti_mwait(void)
{
	asm volatile("sti; .byte 0x0f, 0x01, 0xc9" : : "a"(0), "c"(0) : "memory");
	arch_irq_off();
}

static __always_inline void arch_irq_on(void)
{
	asm volatile("sti" ::: "memory");
}

static __always_inline void x86_inb(u16 port)
{
	u8 value;

	asm volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
}

static __always_inline void arch_relax(u64 start, u64 ticks)
{
	cpu_relax();
}

static __always_inline u64 arch_clock(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a"(low), "=d"(high));
	return low | (u64)high << 32;
}

static __always_inline void x86_umonitor(const void *address)
{
	/* umonitor %rcx */
	asm volatile(".byte 0xf3, 0x0f, 0xae, 0xf1" : : "c"(address) : "memory");
}

/*
 * UMWAIT (SDM volume 2): wait for a store to the monitored line, an interrupt, masked or not, or
 * for the TSC to reach @end. True when none of these ended it but the limit of
 * IA32_UMWAIT_CONTROL.
 */
static __always_inline bool x86_umwait(u32 control, u64 end)
{
	bool limit;

	asm volatile(".byte 0xf2, 0x0f, 0xae, 0xf1" /* umwait %ecx */
		     : "=@ccc"(limit)
		     : "c"(control), "a"((u32)end), "d"((u32)(end >> 32))
		     : "memory");
	return limit;
}

#endif /* X86_H */
