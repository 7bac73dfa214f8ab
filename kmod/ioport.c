// SPDX-License-Identifier: GPL-2.0-only
/*
 * acpi_idle enters a "SystemIO" state by reading a port. Kernels before 6.0, and later ones on
 * Intel's CPUs, then read the ACPI PM timer, once needed by chipsets that stop the CPU late. On
 * AMD's Zen that read is not needed, and takes place after the wake-up: it costs a microsecond or
 * more and counts as residency.
 *
 * C2 only: C3 has rules about bus masters and caches that are the kernel's to follow.
 */
#include <linux/acpi.h>
#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <acpi/processor.h>
#include <asm/msr.h>
#include "enter.h"
#include "hook.h"
#include "ioport.h"

/* Some ten milliseconds in all; of 64 the shortest was not yet short enough in an emulator. */
#define IOPORT_ROUNDS 1024

static int ioport_dummy = -1; /* not measured */

#if IS_REACHABLE(CONFIG_ACPI_PROCESSOR)
/* The state behind row @index: acpi_idle numbers the valid ones, from 1, POLL being 0. */
static const struct acpi_processor_cx *ioport_cx(unsigned int cpu, int index)
{
	struct acpi_processor *pr = per_cpu(processors, cpu);
	int i, n = 0;

	if (!pr || !pr->flags.power)
		return NULL;
	/* the kernel itself then takes C1 instead, with more than one CPU */
	if (!pr->flags.has_cst && !(acpi_gbl_FADT.flags & ACPI_FADT_C2_MP_SUPPORTED))
		return NULL;
	for (i = 1; i < ACPI_PROCESSOR_MAX_POWER; i++)
		if (pr->power.states[i].valid && ++n == index)
			return &pr->power.states[i];
	return NULL;
}

static u16 ioport_of(unsigned int cpu, int index)
{
	const struct acpi_processor_cx *cx = ioport_cx(cpu, index);

	if (!cx || cx->entry_method != ACPI_CSTATE_SYSTEMIO || cx->type != ACPI_STATE_C2 ||
	    cx->address > U16_MAX)
		return 0;
	return cx->address;
}
#else
static u16 ioport_of(unsigned int cpu, int index)
{
	return 0;
}
#endif

static bool ioport_everywhere(int index)
{
	unsigned int cpu;
	bool all = true;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		all = all && ioport_of(cpu, index);
	cpus_read_unlock();
	return all;
}

void ioport_caps(const struct cpuidle_driver *drv, struct table_caps *caps)
{
	bool any = false;
	int i;

	caps->ioport_reason = "the driver enters no state by reading an I/O port";
	if (strcmp(drv->name, "acpi_idle"))
		return;
	for (i = 1; i < drv->state_count && i < TABLE_STATES; i++) {
		if (strncmp(drv->states[i].desc, "ACPI IOPORT", strlen("ACPI IOPORT")))
			continue;
		any = true;
		if (ioport_everywhere(i) && !(drv->states[i].flags & CPUIDLE_FLAG_RCU_IDLE))
			caps->ioport |= BIT(i);
	}
	if (caps->ioport)
		caps->ioport_reason = NULL;
	else if (any)
		caps->ioport_reason = "only C2 of every CPU can be entered so, C3 is the kernel's";
}

void ioport_fill(unsigned int cpu, const struct table_caps *caps)
{
	struct enter_cpu *e = &per_cpu(enter_cpu, cpu);
	int i;

	cpus_read_lock();
	for (i = 0; i < TABLE_STATES; i++)
		WRITE_ONCE(e->port[i], caps->ioport & BIT(i) ? ioport_of(cpu, i) : 0);
	cpus_read_unlock();
}

/* ---- what the kernel's own entry does ---- */

static void ioport_nothing(struct irq_work *work)
{
}

static DEFINE_IRQ_WORK(ioport_pending, ioport_nothing);

struct ioport_try {
	struct cpuidle_device *dev;
	struct cpuidle_driver *drv;
	int index;
	u16 port;
};

enum ioport_way {
	IOPORT_WAY_DRIVER,
	IOPORT_WAY_SKIPPED,
	IOPORT_WAY_PORT,
	IOPORT_WAY_TIMER,
	IOPORT_WAY_NOTHING,
	IOPORT_WAYS,
};

/*
 * TSC ticks of one entry that ends at once, because an interrupt is pending. acpi_idle takes no
 * more of the device than the CPU's number. The same into C1 ends before it waits, when there is
 * other work: all of the driver but reads. The flag stays, and costs this task one turn; taken
 * away it might be somebody else's.
 */
static u64 ioport_time(const struct ioport_try *try, enum ioport_way way)
{
	unsigned long flags;
	u64 start, ticks;

	local_irq_save(flags);
	irq_work_queue(&ioport_pending);
	try->dev->cpu = smp_processor_id();
	if (way == IOPORT_WAY_SKIPPED)
		set_thread_flag(TIF_NEED_RESCHED);
	start = rdtsc_ordered();
	if (way == IOPORT_WAY_DRIVER)
		hook_lower(try->drv, try->index)(try->dev, try->drv, try->index);
	else if (way == IOPORT_WAY_SKIPPED)
		hook_lower(try->drv, 1)(try->dev, try->drv, 1);
	else if (way == IOPORT_WAY_PORT)
		inb(try->port);
	else if (way == IOPORT_WAY_TIMER)
		inl(acpi_gbl_FADT.xpm_timer_block.address);
	ticks = rdtsc_ordered() - start;
	local_irq_restore(flags);
	irq_work_sync(&ioport_pending);
	return ticks;
}

/*
 * The shortest of several is the one that nothing disturbed. In turns, so that a slow moment is one
 * for all. What the driver takes besides the port's read and all that it does in C1, too, is
 * either nothing or the timer's read: half of that read is the line between the two. Reading the
 * clock is in each of the five once.
 */
static bool ioport_try(const struct ioport_try *try)
{
	u64 best[IOPORT_WAYS];
	s64 read, rest;
	int i, way;

	memset(best, 0xff, sizeof(best));
	for (i = 0; i < IOPORT_ROUNDS; i++) {
		for (way = 0; way < IOPORT_WAYS; way++)
			best[way] = min(best[way], ioport_time(try, way));
		cond_resched();
	}
	read = best[IOPORT_WAY_TIMER] - best[IOPORT_WAY_NOTHING];
	rest = best[IOPORT_WAY_DRIVER] - best[IOPORT_WAY_PORT];
	rest -= best[IOPORT_WAY_SKIPPED] - best[IOPORT_WAY_NOTHING];
	return rest > read / 2;
}

void ioport_measure(const struct cpuidle_driver *drv, const struct table_caps *caps)
{
	const struct acpi_generic_address *timer = &acpi_gbl_FADT.xpm_timer_block;
	struct ioport_try try = { .drv = cpuidle_get_driver() };

	if (ioport_dummy >= 0 || !caps->ioport || drv != try.drv)
		return;
	if (timer->space_id != ACPI_ADR_SPACE_SYSTEM_IO || !timer->address) {
		ioport_dummy = 0;
		return;
	}
	try.dev = kzalloc(sizeof(*try.dev), GFP_KERNEL);
	if (!try.dev)
		return;
	try.index = __ffs(caps->ioport);
	try.port = ioport_of(raw_smp_processor_id(), try.index);
	/* the first row is C1: acpi_idle sees to that */
	if (try.port && try.index > 1)
		ioport_dummy = ioport_try(&try);
	kfree(try.dev);
}

bool ioport_dummy_wait(void)
{
	return ioport_dummy > 0;
}
