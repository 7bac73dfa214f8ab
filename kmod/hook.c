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
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/processor.h>
#include "enter.h"
#include "hook.h"
#include "insert.h"
#include "ioport.h"

/* Flags of intel_idle's own, in no header */
#define HOOK_INTEL_IBRS	  BIT(16)
#define HOOK_INTEL_XSTATE BIT(17)
#define HOOK_INTEL_HINT	  GENMASK(31, 24)

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
	int i;

	if (boot_cpu_has(X86_FEATURE_XENPV))
		return "a Xen PV guest has no cpuidle";
	if (!drv && boot_option_idle_override != IDLE_NO_OVERRIDE)
		return "idle= on the kernel's command line keeps cpuidle off";
	for (i = 0; drv && i < drv->state_count; i++)
		if (!drv->states[i].enter)
			return "the cpuidle driver has a state that cannot be entered";
	return NULL;
}

enter_fn hook_lower(const struct cpuidle_driver *drv, int index)
{
	return hook_stands(drv, index) ? enter_lower[index] : drv->states[index].enter;
}

/*
 * Which states idle without kernel IBRS? Those flagged so, and those entered by the same function
 * as one of them: a parameter of intel_idle's makes it so for all.
 */
static u32 hook_ibrs(const struct cpuidle_driver *drv)
{
	u32 ibrs = 0;
	int i, k;

	if (!cpu_feature_enabled(X86_FEATURE_KERNEL_IBRS))
		return 0;
	for (i = 0; i < drv->state_count; i++) {
		if (!(drv->states[i].flags & HOOK_INTEL_IBRS))
			continue;
		for (k = 0; k < drv->state_count; k++)
			if (hook_lower(drv, k) == hook_lower(drv, i))
				ibrs |= BIT(k);
	}
	return ibrs;
}

/* intel_idle keeps the hint in its flags, acpi_idle tells it in words. C1 is hint 0 in both. */
static bool hook_mwait_c1(const struct cpuidle_driver *drv, const struct cpuidle_state *state)
{
	if (!boot_cpu_has(X86_FEATURE_MWAIT) || state->flags & CPUIDLE_FLAG_POLLING)
		return false;
	if (!strcmp(drv->name, "intel_idle"))
		return !(state->flags & HOOK_INTEL_HINT);
	if (!strcmp(drv->name, "acpi_idle"))
		return !strcmp(state->desc, "ACPI FFH MWAIT 0x0");
	return false;
}

/* Hybrid parts may differ by CPU. One that was never online has no features yet. */
static bool hook_find_waitpkg(void)
{
	u32 cpu, any = 0;

	memset(hook_waitpkg, 0, table_words(nr_cpu_ids) * sizeof(*hook_waitpkg));
	for_each_possible_cpu(cpu) {
		if (!cpu_has(&cpu_data(cpu), X86_FEATURE_WAITPKG))
			continue;
		hook_waitpkg[cpu / 32] |= 1u << (cpu % 32);
		any = 1;
	}
	return any;
}

static void hook_cpu_caps(struct table_caps *caps)
{
	caps->timer_stops = !boot_cpu_has(X86_FEATURE_ARAT);
	caps->monitor_bug = boot_cpu_has_bug(X86_BUG_MONITOR) ||
			    boot_cpu_has_bug(X86_BUG_CLFLUSH_MONITOR);
	caps->in_guest = boot_cpu_has(X86_FEATURE_HYPERVISOR);
	caps->waitpkg = hook_waitpkg;
	caps->clock_bad = !enter_tsc_khz ||
			  !(boot_cpu_has(X86_FEATURE_NONSTOP_TSC) || caps->in_guest);
	if (!hook_find_waitpkg())
		caps->c0_reason = "no CPU has UMWAIT (WAITPKG)";
	else if (caps->monitor_bug)
		caps->c0_reason = "MONITOR is unreliable on this CPU";
	else if (!boot_cpu_has(X86_FEATURE_CONSTANT_TSC) || !enter_tsc_khz)
		caps->c0_reason = "the TSC does not run at one rate";
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
	if (hook_mwait_c1(drv, state))
		caps->mwait_c1 |= bit;
	if (!strcmp(drv->name, "intel_idle") && state->flags & HOOK_INTEL_XSTATE)
		caps->xstate |= bit;
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
	hook_cpu_caps(caps);
	if (!drv) {
		caps->row_reason = "there is no cpuidle driver";
		caps->ioport_reason = caps->row_reason;
		return;
	}
	for (i = 0; i < drv->state_count && i < TABLE_STATES; i++)
		if (i != at)
			hook_state_caps(drv, &drv->states[i], BIT(caps->states++), caps);
	caps->c1 = hook_c1(caps);
	if (!strcmp(drv->name, "intel_idle"))
		caps->ibrs = table_set_plain(hook_ibrs(drv), at);
	caps->row_reason = insert_refusal(drv);
	ioport_caps(drv, caps);
}

bool hook_umwait_control(u32 *control)
{
	u32 high;

	return boot_cpu_has(X86_FEATURE_WAITPKG) &&
	       !rdmsr_safe(MSR_IA32_UMWAIT_CONTROL, control, &high);
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
