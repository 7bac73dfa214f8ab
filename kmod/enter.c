// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs with interrupts off and RCU not watching: no locks, no tracing, no printing, nothing that
 * is not inlined from here. tests/kmod/check-noinstr holds it to that with objtool.
 *
 * There is one function per state so that the index is a constant: it needs no register saved over
 * the call, and what a CPU without any mode pays for the hook is eleven instructions.
 */
#include <linux/cpu.h>
#include <linux/sched.h>
#include <linux/sched/idle.h>
#include <linux/thread_info.h>
#include "enter.h"
#include "x86.h"

DEFINE_PER_CPU_ALIGNED(struct enter_cpu, enter_cpu);
DEFINE_STATIC_KEY_FALSE(enter_key_broadcast);

enter_fn enter_lower[TABLE_STATES] __read_mostly;

/*
 * The CPU itself sets its veto bits, with the device it was just given: a remembered device may
 * be gone, acpi_idle frees them at run time. sysfs shows and changes bit 0 alone, so the user's
 * own choice stands beside ours. poll_limit_ns depends on which states are usable.
 */
static __always_inline u32 enter_veto(struct cpuidle_device *dev, struct cpuidle_driver *drv,
				      struct enter_cpu *cpu, union table_row row)
{
	bool avoid = row.broadcast == CPUIDLE_POLICY_BROADCAST_AVOID;
	u32 vetoed = 0;
	int i;

	WRITE_ONCE(cpu->poke, 0);
	WRITE_ONCE(cpu->own, cpu->own & ~ENTER_VETO);
	for (i = 0; i < drv->state_count && i < TABLE_STATES; i++) {
		bool off = row.states_off & BIT(i);

		if (avoid && drv->states[i].flags & CPUIDLE_FLAG_TIMER_STOP)
			off = true;
		if (off && !READ_ONCE(cpu->parked)) {
			dev->states_usage[i].disable |= ENTER_DISABLE;
			vetoed |= BIT(i);
		} else {
			dev->states_usage[i].disable &= ~ENTER_DISABLE;
		}
	}
	dev->poll_limit_ns = 0;
	cpu->dev = dev;
	WRITE_ONCE(cpu->vetoed, vetoed);
	return vetoed;
}

static __always_inline void enter_count(struct cpuidle_driver *drv, struct enter_cpu *cpu,
					union table_row row, int index)
{
	WRITE_ONCE(cpu->entries[index], cpu->entries[index] + 1);
	if (row.irq_window & BIT(index))
		WRITE_ONCE(cpu->windows, cpu->windows + 1);
	if (row.sti_mwait & BIT(index))
		WRITE_ONCE(cpu->sti_mwaits, cpu->sti_mwaits + 1);
	/* no such question where no CPU's timer ever stops */
	if (static_branch_unlikely(&enter_key_broadcast) &&
	    drv->states[index].flags & CPUIDLE_FLAG_TIMER_STOP)
		WRITE_ONCE(cpu->broadcasts, cpu->broadcasts + 1);
}

/*
 * No wake-up may be lost: MONITOR must be armed before need_resched() is looked at for the last
 * time. VERW as close before the wait as the kernel's own MWAIT idle has it.
 */
static __always_inline int enter_sti_mwait(int index)
{
	if (!current_set_polling_and_test()) {
		x86_idle_clear_cpu_buffers();
		x86_monitor(&current_thread_info()->flags);
		if (!need_resched())
			x86_sti_mwait();
	}
	current_clr_polling();
	return index;
}

static __cpuidle int enter_slow(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	struct enter_cpu *cpu = raw_cpu_ptr(&enter_cpu);
	union table_row row = { .w = READ_ONCE(cpu->row.w) };

	/* chosen before the veto was known here: let the governor choose again */
	if ((READ_ONCE(cpu->poke) || cpu->own & ENTER_VETO) &&
	    enter_veto(dev, drv, cpu, row) & BIT(index))
		return -EBUSY;
	if (row.count)
		enter_count(drv, cpu, row, index);
	if (row.sti_mwait & BIT(index))
		return enter_sti_mwait(index);
	return enter_lower[index](dev, drv, index);
}

/*
 * The window is open after the wait, not before: whatever the driver does around its wait stays
 * as it is, and no interrupt can queue a timer that the sleeping CPU would miss. What it saves is
 * the housekeeping between the end of the wait and the handler.
 */
static __always_inline int enter_at(struct cpuidle_device *dev, struct cpuidle_driver *drv,
				    int index, const int row)
{
	int ret;

	raw_cpu_inc(enter_cpu.inside);
	if (unlikely(raw_cpu_read(enter_cpu.slow)))
		ret = enter_slow(dev, drv, index);
	else
		ret = enter_lower[row](dev, drv, index);
	if (raw_cpu_read(enter_cpu.row.w) & BIT(row))
		x86_irq_window();
	raw_cpu_dec(enter_cpu.inside);
	return ret;
}

#define ENTER_STATE(n)                                                                             \
	static __cpuidle int enter_##n(struct cpuidle_device *dev, struct cpuidle_driver *drv,     \
				       int index)                                                  \
	{                                                                                          \
		return enter_at(dev, drv, index, n);                                               \
	}

ENTER_STATE(0)
ENTER_STATE(1)
ENTER_STATE(2)
ENTER_STATE(3)
ENTER_STATE(4)
ENTER_STATE(5)
ENTER_STATE(6)
ENTER_STATE(7)
ENTER_STATE(8)
ENTER_STATE(9)

const enter_fn enter_table[TABLE_STATES] = { enter_0, enter_1, enter_2, enter_3, enter_4,
					     enter_5, enter_6, enter_7, enter_8, enter_9 };

void enter_refresh(void *unused)
{
	struct enter_cpu *cpu = this_cpu_ptr(&enter_cpu);
	union table_row row = { .w = READ_ONCE(cpu->row.w) };
	u8 own = 0;

	if (cpu->vetoed || row.states_off || row.broadcast == CPUIDLE_POLICY_BROADCAST_AVOID)
		own |= ENTER_VETO;
	if (row.count)
		own |= ENTER_COUNT;
	if (row.sti_mwait)
		own |= ENTER_MWAIT;
	WRITE_ONCE(cpu->own, own);
}
