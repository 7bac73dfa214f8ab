// SPDX-License-Identifier: GPL-2.0-only
/*
 * Only ->enter is replaced, at the same index: latencies, flags, ->enter_s2idle, ->enter_dead,
 * sysfs and the governors' data stay the driver's own.
 *
 * It is done in stop_machine(): then every CPU's idle task is parked outside of ->enter, which no
 * other barrier promises (a CPU in ->enter is quiescent for RCU). cpus_read_lock() is taken inside,
 * so neither it nor cpuidle's lock may be held here.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/build_bug.h>
#include <linux/cpu.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <linux/uaccess.h>
#include "arch.h"
#include "enter.h"
#include "hook.h"
#include "insert.h"
#include "ioport.h"

static struct cpuidle_driver *hook_drv;
static u32 *hook_waitpkg; /* set of CPUs, one word for 32 */

int hook_init(void)
{
	hook_waitpkg = kvcalloc(table_words(nr_cpu_ids), sizeof(*hook_waitpkg), GFP_KERNEL);
	return hook_waitpkg ? 0 : -ENOMEM;
}

void hook_exit(void)
{
	kvfree(hook_waitpkg);
}

const char *hook_refusal(void)
{
	struct cpuidle_driver *drv = cpuidle_get_driver();
	const char *why = arch_refusal(drv);
	int i;

	if (why)
		return why;
	for (i = 0; drv && i < drv->state_count; i++)
		if (!drv->states[i].enter)
			return "the cpuidle driver has a state that cannot be entered";
	return NULL;
}

enter_fn hook_lower(const struct cpuidle_driver *drv, int index)
{
	return hook_stands(drv, index) ? enter_lower[index] : drv->states[index].enter;
}

static void hook_state_caps(const struct cpuidle_driver *drv, const struct cpuidle_state *state,
			    u32 bit, struct table_caps *caps)
{
	if (state->flags & CPUIDLE_FLAG_POLLING)
		caps->polling |= bit;
	if (state->flags & CPUIDLE_FLAG_TIMER_STOP)
		caps->timer_stop |= bit;
	if (state->flags & CPUIDLE_FLAG_RCU_IDLE)
		caps->rcu_idle |= bit;
	if (state->flags & CPUIDLE_FLAG_COUPLED)
		caps->coupled |= bit;
	arch_state_caps(drv, state, bit, caps);
}

/* The first state that halts, where it is an ordinary one. */
static u32 hook_c1(const struct table_caps *caps)
{
	u32 halts = ((1u << caps->states) - 1) & ~caps->polling;
	u32 first = halts & -halts;

	return first & ~(caps->timer_stop | caps->rcu_idle | caps->coupled);
}

void hook_caps(const struct cpuidle_driver *drv, struct table_caps *caps)
{
	int i, at = drv && drv == hook_drv ? insert_at() : -1;

	memset(caps, 0, sizeof(*caps));
	memset(hook_waitpkg, 0, table_words(nr_cpu_ids) * sizeof(*hook_waitpkg));
	caps->waitpkg = hook_waitpkg;
	arch_cpu_caps(caps, hook_waitpkg);
	if (!drv) {
		caps->row_reason = "there is no cpuidle driver";
		caps->ioport_reason = caps->row_reason;
		return;
	}
	for (i = 0; i < drv->state_count && i < TABLE_STATES; i++)
		if (i != at)
			hook_state_caps(drv, &drv->states[i], BIT(caps->states++), caps);
	caps->c1 = hook_c1(caps);
	caps->ibrs = table_set_plain(arch_ibrs(drv), at);
	caps->row_reason = insert_refusal(drv);
	ioport_caps(drv, caps);
}

bool hook_stands(const struct cpuidle_driver *drv, int index)
{
	return READ_ONCE(drv->states[index].enter) == enter_table[index];
}

/* A table in read-only memory must be an errno here, not an oops with all CPUs stopped. */
static int hook_probe(struct cpuidle_state *state)
{
	enter_fn same = state->enter;

	__put_kernel_nofault(&state->enter, &same, enter_fn, fault);
	return 0;
fault:
	return -EROFS;
}

static int hook_swap_in(void *unused)
{
	int i, ret = 0;

	for (i = 0; i < hook_drv->state_count && !ret; i++)
		ret = hook_probe(&hook_drv->states[i]);
	for (i = 0; i < hook_drv->state_count && !ret; i++) {
		if (hook_stands(hook_drv, i))
			continue;
		enter_lower[i] = hook_drv->states[i].enter;
		WRITE_ONCE(hook_drv->states[i].enter, enter_table[i]);
	}
	return ret;
}

/* Where the driver wrote its own pointer meanwhile, that one is right and stays. */
static int hook_swap_out(void *unused)
{
	int i;

	for (i = 0; i < TABLE_STATES; i++)
		if (hook_stands(hook_drv, i))
			WRITE_ONCE(hook_drv->states[i].enter, enter_lower[i]);
	return 0;
}

int hook_attach(const char **why)
{
	struct cpuidle_driver *drv = cpuidle_get_driver();
	int ret;

	BUILD_BUG_ON(TABLE_STATES != CPUIDLE_STATE_MAX);
	if (hook_drv)
		return 0;
	if (!drv) {
		*why = "there is no cpuidle driver";
		return -ENODEV;
	}
	if (!try_module_get(drv->owner)) {
		*why = "the cpuidle driver is going away";
		return -ENODEV;
	}
	hook_drv = drv;
	ret = stop_machine(hook_swap_in, NULL, NULL);
	if (ret) {
		hook_drv = NULL;
		module_put(drv->owner);
		*why = "the cpuidle driver's table cannot be written";
		return ret;
	}
	pr_info("attached to %s, %d states\n", drv->name, drv->state_count);
	return 0;
}

void hook_detach(void)
{
	int cpu;

	if (!hook_drv)
		return;
	WARN_ON_ONCE(insert_at() >= 0);
	stop_machine(hook_swap_out, NULL, NULL);
	for_each_possible_cpu(cpu) {
		per_cpu(enter_cpu, cpu).dev = NULL;
		WARN_ON_ONCE(enter_inside(&per_cpu(enter_cpu, cpu)));
		WARN_ON_ONCE(READ_ONCE(per_cpu(enter_cpu, cpu).vetoed));
	}
	pr_info("detached from %s\n", hook_drv->name);
	module_put(hook_drv->owner);
	hook_drv = NULL;
}

struct cpuidle_driver *hook_driver(void)
{
	return hook_drv;
}

/*
 * acpi_idle writes its whole table again when the firmware's C-states change. For a moment of that
 * there is no driver; then the look is repeated by the next call.
 */
bool hook_reconcile(void)
{
	int i;

	if (!hook_drv || cpuidle_get_driver() != hook_drv)
		return false;
	for (i = 0; i < hook_drv->state_count; i++)
		if (!hook_stands(hook_drv, i))
			break;
	if (i == hook_drv->state_count || hook_refusal())
		return false;
	if (stop_machine(hook_swap_in, NULL, NULL))
		pr_warn_once("the table of %s can no longer be written\n", hook_drv->name);
	return true;
}
