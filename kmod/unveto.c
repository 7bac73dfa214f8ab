// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU clears its bits itself when it next goes idle (enter.c): only then is the device it is
 * given surely alive. An idle CPU does so at once, woken by the IPI that told it the new row. A
 * busy one is made to idle for a moment, as idle injection does.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/version.h>
#include "enter.h"
#include "hook.h"
#include "unveto.h"

/* The first tries may be over before ->enter was reached: emulated and overcommitted CPUs do it. */
#define UNVETO_NS    (100 * NSEC_PER_USEC)
#define UNVETO_TRIES 8

static bool unveto_done(unsigned int cpu)
{
	return !READ_ONCE(per_cpu(enter_cpu, cpu).vetoed);
}

static bool unveto_met(unsigned int cpu)
{
	return !cpu_online(cpu) || READ_ONCE(per_cpu(enter_cpu, cpu).dev);
}

typedef bool (*unveto_fn)(unsigned int cpu);

static bool unveto_everywhere(unveto_fn done)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		if (!done(cpu))
			return false;
	return true;
}

/* play_idle() wants a per-CPU kernel thread of policy FIFO. */
static void unveto_idle(unsigned int cpu, unveto_fn done)
{
	int n;

	for (n = 0; n < UNVETO_TRIES && !done(cpu); n++)
		play_idle_precise(UNVETO_NS << n, U64_MAX);
}

bool unveto_here(void)
{
	unsigned int cpu = smp_processor_id();
	unsigned long flags;

	local_irq_save(flags);
	enter_refresh(NULL);
	local_irq_restore(flags);
	if (unveto_done(cpu))
		return true;
	sched_set_fifo(current);
	unveto_idle(cpu, unveto_done);
	sched_set_normal(current, 0);
	return unveto_done(cpu);
}

struct unveto_force {
	struct completion over;
	unveto_fn done;
};

static int unveto_thread(void *data)
{
	struct unveto_force *force = data;

	unveto_idle(smp_processor_id(), force->done);
	complete(&force->over);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void unveto_busy(unsigned int cpu, unveto_fn done)
{
	struct unveto_force force = { .done = done };
	struct task_struct *task;

	init_completion(&force.over);
	task = kthread_create_on_node(unveto_thread, &force, cpu_to_node(cpu), "cpuidle_unveto/%u",
				      cpu);
	if (IS_ERR(task))
		return;
	kthread_bind(task, cpu);
	sched_set_fifo(task);
	wake_up_process(task);
	wait_for_completion(&force.over);
	kthread_stop(task);
}

/*
 * Last resort, the module's text being about to go: through the device remembered with the bits.
 * Not where the driver frees devices at run time; there it has registered new ones without our
 * bits, or the CPU has used the old one since.
 */
static void unveto_remembered(void)
{
	struct cpuidle_driver *drv = hook_driver();
	unsigned int cpu;
	int i;

	if (LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0) && !strcmp(drv->name, "acpi_idle"))
		return;
	cpuidle_pause_and_lock();
	for_each_possible_cpu(cpu) {
		struct enter_cpu *e = &per_cpu(enter_cpu, cpu);

		if (unveto_done(cpu))
			continue;
		pr_notice("CPU %u never idled, its states are enabled from outside\n", cpu);
		for (i = 0; i < TABLE_STATES; i++)
			e->dev->states_usage[i].disable &= ~ENTER_DISABLE;
		WRITE_ONCE(e->vetoed, 0);
	}
	cpuidle_resume_and_unlock();
}

/* Idle CPUs soon are done, once woken; busy ones are made to idle. */
static void unveto_wait(unveto_fn done)
{
	unsigned int cpu;
	int n;

	for (n = 0; n < 20 && !unveto_everywhere(done); n++) {
		wake_up_all_idle_cpus();
		usleep_range(1000, 5000);
	}
	cpus_read_lock();
	for_each_online_cpu(cpu)
		if (!done(cpu))
			unveto_busy(cpu, done);
	cpus_read_unlock();
}

bool unveto_all(bool final)
{
	unveto_wait(unveto_done);
	if (final && !unveto_everywhere(unveto_done))
		unveto_remembered();
	return unveto_everywhere(unveto_done);
}

void unveto_meet(void)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		if (!unveto_met(cpu))
			WRITE_ONCE(per_cpu(enter_cpu, cpu).poke, 1);
	unveto_wait(unveto_met);
}
