/* SPDX-License-Identifier: GPL-2.0-only */
/* x86 - the few instructions the idle path is made of, each always inline */
#ifndef X86_H
#define X86_H

#include "compat.h"

/*
 * Plain instructions instead of the paravirt calls: with those, patching leaves fillers behind.
 * Where they would differ, under Xen PV, there is no cpuidle (hook_refusal()).
 */
static __always_inline void x86_irq_off(void)
{
	if (COMPAT_TRACED_OFF)
		local_irq_disable();
	else
		asm volatile("cli" ::: "memory");
}

/* Interrupts are let in after the instruction that follows STI. */
static __always_inline void x86_irq_window(void)
{
	asm volatile("sti; nop" ::: "memory");
	x86_irq_off();
}

static __always_inline void x86_sti_hlt(void)
{
	asm volatile("sti; hlt" ::: "memory");
	x86_irq_off();
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
	x86_irq_off();
}

#endif /* X86_H */
