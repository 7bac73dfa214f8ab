// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs with interrupts off and RCU not watching: no locks, no tracing, no printing, nothing that
 * is not inlined from here. tests/kmod/check-noinstr holds it to that with objtool.
 *
 * There is one function per state so that the index is a constant: it needs no register saved over
 * the call. What a CPU without any mode pays for the hook is twelve instructions, of which two
 * count its way in and its way out.
 */
#include <linux/cpu.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/idle.h>
#include <linux/thread_info.h>
#include <linux/time.h>
#include "arch.h"
#include "enter.h"

DEFINE_PER_CPU_ALIGNED(struct enter_cpu, enter_cpu);
DEFINE_STATIC_KEY_FALSE(enter_key_broadcast);

enter_fn enter_lower[TABLE_STATES] __read_mostly;
u32 enter_clock_khz __read_mostly;

/* POLL's own bounds for the time it takes, in every kernel we build on. */
#define ENTER_POLL_MIN (10 * NSEC_PER_USEC)
#define ENTER_POLL_MAX (TICK_NSEC / 16)

/* Where haltpoll begins, as the kernel's governor of that name does. */
#define ENTER_HALT_START (50ULL * NSEC_PER_USEC)

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
	/* the table may have shrunk: in what is beyond it now no bit may wait for its return */
	for (i = 0; i < TABLE_STATES; i++) {
		bool off = row.states_off & BIT(i);

		if (avoid && drv->states[i].flags & CPUIDLE_FLAG_TIMER_STOP)
			off = true;
		if (off && i < drv->state_count && !READ_ONCE(cpu->parked)) {
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
					int index)
{
	/* no such question where no CPU's timer ever stops */
	if (static_branch_unlikely(&enter_key_broadcast) &&
	    drv->states[index].flags & CPUIDLE_FLAG_TIMER_STOP)
		WRITE_ONCE(cpu->broadcasts, cpu->broadcasts + 1);
}

#ifdef CONFIG_X86_64
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

/*
 * No wake-up may be lost: the monitor must be armed before need_resched() is looked at for the last
 * time. Interrupts stay closed: UMWAIT ends with one that is pending, so none can come between the
 * look and the wait and queue a timer that nobody sees. When only the limit of IA32_UMWAIT_CONTROL
 * has ended it, it goes on: a governor that was shown a stream of such ends would learn that this
 * CPU is never idle for long. Then the window: the handler runs first.
 */
static __always_inline void enter_umwait(struct enter_cpu *cpu, union table_row row, u32 depth,
					 u64 end)
{
	if (!current_set_polling_and_test()) {
		if (row.count)
			WRITE_ONCE(cpu->c0_waits, cpu->c0_waits + 1);
		x86_idle_clear_cpu_buffers();
		for (;;) {
			x86_umonitor(&current_thread_info()->flags);
			if (need_resched())
				break;
			if (!x86_umwait(depth, end))
				break;
			WRITE_ONCE(cpu->c0_rearms, cpu->c0_rearms + 1);
		}
	}
	arch_irq_window();
	current_clr_polling();
}

/* After the wait, as the kernel's own I/O port entry does, but without its look at the PM timer. */
static __always_inline int enter_ioport(struct enter_cpu *cpu, int index)
{
	perf_lopwr_cb(true);
	x86_inb(cpu->port[index]);
	perf_lopwr_cb(false);
	WRITE_ONCE(cpu->ioports, cpu->ioports + 1);
	return index;
}

#else
/* Refused, so never in a row, on a machine that has none of it (hook_caps()). */
static __always_inline int enter_sti_mwait(int index)
{
	return index;
}

static __always_inline void enter_umwait(struct enter_cpu *cpu, union table_row row, u32 depth,
					 u64 end)
{
}

static __always_inline int enter_ioport(struct enter_cpu *cpu, int index)
{
	return index;
}
#endif

/* UMWAIT's control word: 1 is C0.1, 0 is C0.2; the enums have them as 1 and 2. */
static __always_inline u32 enter_depth(u32 value)
{
	return value & 1;
}

/*
 * How long POLL may take, in ticks: what the kernel's own POLL would, so that a wrong guess of the
 * governor's is mended as soon. With no other state usable there is nothing to mend.
 */
static __always_inline u64 enter_poll_ticks(struct cpuidle_device *dev, struct cpuidle_driver *drv,
					    struct enter_cpu *cpu)
{
	u64 ns = dev->poll_limit_ns;
	bool other = ns;
	int i;

	if (likely(ns && ns == cpu->poll_ns))
		return cpu->poll_ticks;
	for (i = 1; !ns && i < drv->state_count && i < TABLE_STATES; i++) {
		if (dev->states_usage[i].disable)
			continue;
		other = true;
		if (drv->states[i].target_residency_ns >= ENTER_POLL_MIN)
			ns = drv->states[i].target_residency_ns;
	}
	if (!ns || ns > ENTER_POLL_MAX)
		ns = ENTER_POLL_MAX;
	dev->poll_limit_ns = ns;
	cpu->poll_ns = ns;
	cpu->poll_ticks = other ? ns * enter_clock_khz / USEC_PER_SEC : U64_MAX;
	return cpu->poll_ticks;
}

static __always_inline int enter_poll(struct cpuidle_device *dev, struct cpuidle_driver *drv,
				      struct enter_cpu *cpu, union table_row row, int index)
{
	u64 ticks = enter_poll_ticks(dev, drv, cpu), end = U64_MAX;

	if (ticks != U64_MAX)
		end = arch_clock() + ticks;
	dev->poll_time_limit = false;
	enter_umwait(cpu, row, enter_depth(row.poll), end);
	if (arch_clock() >= end && !need_resched())
		dev->poll_time_limit = true;
	return index;
}

/*
 * Chosen before this CPU knew that the state is not, or no more, for it: the governor chooses
 * again.
 */
__cpuidle int enter_c0(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	struct enter_cpu *cpu = raw_cpu_ptr(&enter_cpu);
	union table_row row = { .w = READ_ONCE(cpu->row.w) };

	if (!row.c0)
		return -EBUSY;
	enter_umwait(cpu, row, enter_depth(row.c0), U64_MAX);
	return index;
}

static __always_inline int enter_halt(struct cpuidle_device *dev, struct cpuidle_driver *drv,
				      struct enter_cpu *cpu, union table_row row, int index)
{
	if (row.sti_mwait & BIT(index))
		return enter_sti_mwait(index);
	if (row.c1 && index == row.c1_at) {
		enter_umwait(cpu, row, enter_depth(row.c1), U64_MAX);
		return index;
	}
	if (row.ioport && cpu->port[index])
		return enter_ioport(cpu, index);
	return enter_lower[index](dev, drv, index);
}

/* True when there is work to do; interrupts are served meanwhile. */
static __always_inline bool enter_poll_for(u64 ticks)
{
	u64 start = arch_clock();
	bool found = true;

	arch_irq_on();
	if (!current_set_polling_and_test()) {
		while (!need_resched()) {
			arch_relax(start, ticks);
			if (arch_clock() - start > ticks) {
				found = need_resched();
				break;
			}
		}
	}
	arch_irq_off();
	current_clr_polling();
	return found;
}

#ifndef CONFIG_ARCH_HAS_CPU_RELAX
/* Where the kernel has no polling state to give to a driver. */
__cpuidle int enter_spin(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	u64 ticks = enter_poll_ticks(dev, drv, raw_cpu_ptr(&enter_cpu));

	dev->poll_time_limit = !enter_poll_for(ticks);
	return index;
}
#endif

/* The limit for the next time, by how long the CPU was halted. */
static __always_inline void enter_adapt(struct enter_cpu *cpu, u64 max, u64 halted)
{
	u64 start = ENTER_HALT_START * enter_clock_khz / USEC_PER_SEC, ticks = cpu->halt_ticks;

	if (halted > max)
		ticks = ticks < max / 64 ? 0 : ticks / 2;
	else if (halted > ticks)
		ticks = max(ticks * 2, start);
	WRITE_ONCE(cpu->halt_ticks, min(ticks, max));
}

/*
 * Never poll and halt in one entry: an interrupt taken while polling may have queued a timer that
 * only the idle loop looks at. So a poll in vain is an entry of its own, into the polling state,
 * and the next one halts.
 */
static __always_inline int enter_haltpoll(struct cpuidle_device *dev, struct cpuidle_driver *drv,
					  struct enter_cpu *cpu, union table_row row, int index)
{
	u64 max = row.haltpoll_us * enter_clock_khz / 1000, start;
	int ret;

	if (cpu->halt_ticks && !cpu->halt_polled) {
		bool found = enter_poll_for(min(cpu->halt_ticks, max));

		if (found)
			WRITE_ONCE(cpu->poll_hits, cpu->poll_hits + 1);
		else
			WRITE_ONCE(cpu->poll_misses, cpu->poll_misses + 1);
		dev->poll_time_limit = !found;
		cpu->halt_polled = !found;
		return 0;
	}
	cpu->halt_polled = false;
	start = arch_clock();
	ret = enter_halt(dev, drv, cpu, row, index);
	enter_adapt(cpu, max, arch_clock() - start);
	return ret;
}

/* Where the timer is stopped, or others are involved, no time may pass before the halt. */
#define ENTER_PLAIN                                                                                \
	(CPUIDLE_FLAG_POLLING | CPUIDLE_FLAG_TIMER_STOP | CPUIDLE_FLAG_RCU_IDLE |                  \
	 CPUIDLE_FLAG_COUPLED)

/*
 * The window is open after the wait, not before: whatever the driver does around its wait stays
 * as it is, and no interrupt can queue a timer that the sleeping CPU would miss. What it saves is
 * the housekeeping between the end of the wait and the handler.
 */
static __always_inline void enter_leave(int index)
{
	if (raw_cpu_read(enter_cpu.row.w) & BIT(index)) {
		arch_irq_window();
		raw_cpu_inc(enter_cpu.windows);
	} else {
		raw_cpu_inc(enter_cpu.exits);
	}
}

static noinline __cpuidle int enter_other(struct cpuidle_device *dev, struct cpuidle_driver *drv,
					  int index)
{
	struct enter_cpu *cpu = raw_cpu_ptr(&enter_cpu);
	union table_row row = { .w = READ_ONCE(cpu->row.w) };
	int ret;

	if (row.poll && drv->states[index].flags & CPUIDLE_FLAG_POLLING)
		ret = enter_poll(dev, drv, cpu, row, index);
	else if (row.haltpoll_us && !(drv->states[index].flags & ENTER_PLAIN))
		ret = enter_haltpoll(dev, drv, cpu, row, index);
	else
		ret = enter_halt(dev, drv, cpu, row, index);
	if (row.sti_mwait & BIT(index))
		raw_cpu_inc(enter_cpu.sti_mwaits);
	else
		enter_leave(index);
	return ret;
}

/* What takes more than a look at the row. */
static noinline __cpuidle int enter_look(struct cpuidle_device *dev, struct cpuidle_driver *drv,
					 int index)
{
	struct enter_cpu *cpu = raw_cpu_ptr(&enter_cpu);
	union table_row row = { .w = READ_ONCE(cpu->row.w) };

	/* chosen before the veto was known here: let the governor choose again */
	if ((READ_ONCE(cpu->poke) || cpu->own & ENTER_VETO) &&
	    enter_veto(dev, drv, cpu, row) & BIT(index)) {
		raw_cpu_inc(enter_cpu.exits);
		return -EBUSY;
	}
	if (row.count)
		enter_count(drv, cpu, index);
	return enter_other(dev, drv, index);
}

/*
 * Cut so that no function saves registers for what another one does. The row is looked at without
 * the masking that the compiler has for a bit field: this is row.sti_mwait.
 */
static __cpuidle int enter_slow(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	u16 slow = raw_cpu_read(enter_cpu.slow);

	if (slow == ENTER_MWAIT && raw_cpu_read(enter_cpu.row.w) >> TABLE_STATES & BIT(index)) {
		enter_sti_mwait(index);
		raw_cpu_inc(enter_cpu.sti_mwaits);
		return index;
	}
	if (slow & ~(ENTER_MWAIT | ENTER_C0 | ENTER_HALT))
		return enter_look(dev, drv, index);
	return enter_other(dev, drv, index);
}

static __always_inline int enter_at(struct cpuidle_device *dev, struct cpuidle_driver *drv,
				    int index, const int row)
{
	int ret;

	raw_cpu_inc(enter_cpu.entries[row]);
	if (unlikely(raw_cpu_read(enter_cpu.slow)))
		return enter_slow(dev, drv, index);
	ret = enter_lower[row](dev, drv, index);
	enter_leave(row);
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

/* Each way in has one way out. A CPU that passes by while its counters are read may look inside. */
bool enter_inside(const struct enter_cpu *cpu)
{
	u64 out = READ_ONCE(cpu->windows) + READ_ONCE(cpu->sti_mwaits) + READ_ONCE(cpu->exits);
	u64 in = 0;
	int i;

	for (i = 0; i < TABLE_STATES; i++)
		in += READ_ONCE(cpu->entries[i]);
	return in != out;
}

void enter_refresh(void *unused)
{
	struct enter_cpu *cpu = this_cpu_ptr(&enter_cpu);
	union table_row row = { .w = READ_ONCE(cpu->row.w) };
	u8 own = 0;

	if (cpu->vetoed || row.states_off || row.broadcast == CPUIDLE_POLICY_BROADCAST_AVOID)
		own |= ENTER_VETO;
	if (row.count && static_key_enabled(&enter_key_broadcast))
		own |= ENTER_COUNT;
	if (row.sti_mwait)
		own |= ENTER_MWAIT;
	if (row.poll || row.c1)
		own |= ENTER_C0;
	if (row.haltpoll_us || row.ioport)
		own |= ENTER_HALT;
	if (!row.haltpoll_us)
		cpu->halt_ticks = 0;
	cpu->poll_ns = 0; /* the states that are usable may be others now */
	WRITE_ONCE(cpu->own, own);
}
