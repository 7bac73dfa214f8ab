// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/version.h>
#include <trace/events/power.h>
#include <asm/desc.h>
#include <asm/irq_vectors.h>
#include <asm/msr.h>
#include "round.h"

#define ROUND_SLEEP (12 * NSEC_PER_USEC)
/* TSC ticks after its deadline at which the timer's interrupt is pending for sure */
#define ROUND_PENDING 1000
/* vector.S reads the TSC behind so many of its own instructions */
#define ROUND_VECTOR 4

extern const char vector_entry[];
u64 vector_tsc;
unsigned long vector_next;

static struct desc_ptr round_idt;
static gate_desc round_gates[IDT_ENTRIES] __aligned(PAGE_SIZE);
static struct hrtimer round_timer;
static struct task_struct *round_task; /* NULL: nobody measures */
static enum round_kind round_kind;
static struct round round_now;

/*
 * The emulator counts by runs of instructions without a jump taken: RDTSC says how many were
 * executed when the run that it is in began. Behind a jump that is exact.
 */
static __always_inline u64 round_tsc(void)
{
	u32 low, high;

	asm volatile("jmp 1f; 1: rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return low | (u64)high << 32;
}

static u64 round_deadline(void)
{
	return __rdmsr(MSR_IA32_TSC_DEADLINE);
}

/*
 * The emulator lets a sleeping CPU's time pass in steps of ten ticks. So each round begins its wait
 * three ticks later than the one before: each place in a step is met, and the least distance is
 * exact.
 */
static __always_inline void round_stagger(void)
{
	static unsigned int rounds;
	unsigned int i = rounds++ % 10;

	asm volatile("1: nop; dec %0; jns 1b" : "+r"(i));
}

/* Interrupts are off here, and RCU still watches. */
static void round_enter(void *unused, unsigned int state, unsigned int cpu)
{
	if (!round_task || state == PWR_EVENT_EXIT)
		return;
	round_now.state = state;
	round_now.entries++;
	round_now.deadline = round_deadline();
	if (round_kind == ROUND_STORE)
		wake_up_process(round_task);
	while (round_kind == ROUND_PENDED && rdtsc() <= round_now.deadline + ROUND_PENDING)
		cpu_relax();
	round_stagger();
	round_now.in = round_tsc();
}

static enum hrtimer_restart round_expire(struct hrtimer *timer)
{
	u64 now = round_tsc();

	if (!round_task)
		return HRTIMER_NORESTART;
	round_now.interrupts++;
	round_now.timer = now;
	round_now.vector = vector_tsc - ROUND_VECTOR;
	wake_up_process(round_task);
	return HRTIMER_NORESTART;
}

static void round_arm(void)
{
	hrtimer_start(&round_timer, ns_to_ktime(ROUND_SLEEP), HRTIMER_MODE_REL_PINNED_HARD);
}

static void round_idle(void)
{
	set_current_state(TASK_UNINTERRUPTIBLE);
	if (round_kind != ROUND_STORE)
		round_arm();
	schedule();
	round_now.task = round_tsc();
}

/* MONITOR;MWAIT with the interrupt break, or UMONITOR;UMWAIT without an end of its own. */
static void round_instruction(void)
{
	local_irq_disable();
	round_arm();
	round_now.deadline = round_deadline();
	round_stagger();
	if (round_kind == ROUND_MWAIT) {
		asm volatile(".byte 0x0f, 0x01, 0xc8" : : "a"(&round_now), "c"(0), "d"(0));
		asm volatile(".byte 0x0f, 0x01, 0xc9" : : "a"(0), "c"(1) : "memory");
	} else {
		asm volatile(".byte 0xf3, 0x0f, 0xae, 0xf0" : : "a"(&round_now));
		asm volatile(".byte 0xf2, 0x0f, 0xae, 0xf1" : : "c"(0), "a"(~0), "d"(~0)
			     : "cc", "memory");
	}
	round_now.task = round_tsc();
	local_irq_enable();
}

void round_run(enum round_kind kind, struct round *ret_round)
{
	memset(&round_now, 0, sizeof(round_now));
	vector_tsc = 0;
	round_kind = kind;
	WRITE_ONCE(round_task, current);
	if (kind == ROUND_MWAIT || kind == ROUND_UMWAIT)
		round_instruction();
	else
		round_idle();
	WRITE_ONCE(round_task, NULL);
	hrtimer_cancel(&round_timer);
	*ret_round = round_now;
}

static void round_load_idt(const struct desc_ptr *idt)
{
	asm volatile("lidt %0" : : "m"(*idt));
}

/* A copy of the IDT, with one gate led past vector.S. */
static void round_divert(void)
{
	struct desc_ptr own = { .address = (unsigned long)round_gates };
	gate_desc *gate = &round_gates[LOCAL_TIMER_VECTOR];
	unsigned long entry = (unsigned long)vector_entry;

	store_idt(&round_idt);
	own.size = round_idt.size;
	memcpy(round_gates, (void *)round_idt.address,
	       min_t(size_t, round_idt.size + 1, sizeof(round_gates)));
	vector_next = gate_offset(gate);
	gate->offset_low = (u16)entry;
	gate->offset_middle = (u16)(entry >> 16);
	gate->offset_high = (u32)(entry >> 32);
	round_load_idt(&own);
}

int round_init(void)
{
	int ret;

	if (num_possible_cpus() != 1 || !boot_cpu_has(X86_FEATURE_TSC_DEADLINE_TIMER))
		return -ENODEV;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&round_timer, round_expire, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&round_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	round_timer.function = round_expire;
#endif
	ret = register_trace_cpu_idle(round_enter, NULL);
	if (ret)
		return ret;
	local_irq_disable();
	round_divert();
	local_irq_enable();
	return 0;
}

void round_exit(void)
{
	local_irq_disable();
	round_load_idt(&round_idt);
	local_irq_enable();
	unregister_trace_cpu_idle(round_enter, NULL);
	tracepoint_synchronize_unregister();
}
