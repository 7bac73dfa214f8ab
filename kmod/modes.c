// SPDX-License-Identifier: GPL-2.0-only
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>
#include "arch.h"
#include "enter.h"
#include "event.h"
#include "hook.h"
#include "hostpoll.h"
#include "insert.h"
#include "ioport.h"
#include "measure.h"
#include "modes.h"
#include "own.h"
#include "unveto.h"

#define MODES_RECONCILE (2 * HZ)

DEFINE_MUTEX(modes_mutex); /* all control, see modes.h */

static union table_row *modes_now; /* [nr_cpu_ids], what is in force */
static u32 *modes_changed;	   /* scratch set of CPUs */
static u32 *modes_can_exist;
static cpumask_var_t modes_kick;
static u32 modes_gen = 1;
static unsigned int modes_grace_ms = CPUIDLE_POLICY_GRACE_DEF;
static bool modes_own; /* the own driver is wanted */
static struct table_caps modes_caps; /* of the driver we are attached to */
static int modes_cpuhp;

static void modes_reconcile(struct work_struct *work);
static void modes_settled(struct work_struct *work);
static DECLARE_DEFERRABLE_WORK(modes_reconcile_work, modes_reconcile);
static DECLARE_DELAYED_WORK(modes_settle_work, modes_settled);

const union table_row *modes_rows(void)
{
	return modes_now;
}

const u32 *modes_possible(void)
{
	return modes_can_exist;
}

u32 modes_generation(void)
{
	return modes_gen;
}

static union table_row *modes_copy(void)
{
	union table_row *rows = kvmalloc_array(nr_cpu_ids, sizeof(*rows), GFP_KERNEL);

	if (rows)
		memcpy(rows, modes_now, nr_cpu_ids * sizeof(*rows));
	return rows;
}

/* What the idle path of a CPU is to read. */
static void modes_live(u32 cpu)
{
	union table_row live = table_row_live(&modes_caps, modes_now[cpu], insert_at());

	WRITE_ONCE(per_cpu(enter_cpu, cpu).row.w, live.w);
}

static bool modes_want_row(void)
{
	return table_rows_any(modes_now, nr_cpu_ids).c0;
}

static bool modes_unused(void)
{
	return !table_rows_any(modes_now, nr_cpu_ids).w;
}

/* ---- hotplug: while attached, after the driver's own callbacks, so its device is there ---- */

static int modes_cpu_online(unsigned int cpu)
{
	unsigned long flags;

	WRITE_ONCE(per_cpu(enter_cpu, cpu).parked, false);
	local_irq_save(flags);
	enter_refresh(NULL);
	local_irq_restore(flags);
	hostpoll_set(cpu, READ_ONCE(per_cpu(enter_cpu, cpu).row).haltpoll_us);
	return 0;
}

/* The device outlives its CPU, and maybe us: our bits must not. Never a reason to stay online. */
static int modes_cpu_offline(unsigned int cpu)
{
	WRITE_ONCE(per_cpu(enter_cpu, cpu).parked, true);
	hostpoll_set(cpu, false);
	if (!unveto_here())
		pr_warn("CPU %u takes disabled states offline\n", cpu);
	return 0;
}

/* ---- attach and detach ---- */

static int modes_attach(const char **why)
{
	int ret;

	if (hook_driver())
		return 0;
	ret = hook_attach(why);
	if (ret)
		return ret;
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "cpuidle/policy:online", modes_cpu_online,
				modes_cpu_offline);
	if (ret < 0) {
		hook_detach();
		*why = "no CPU hotplug callback to be had";
		return ret;
	}
	modes_cpuhp = ret;
	queue_delayed_work(system_wq, &modes_reconcile_work, MODES_RECONCILE);
	return 0;
}

/*
 * With all rows 0. False when a CPU could not be freed of our bits, because it was never idle: then
 * the hook stays for another try, unless this is @final and our text is about to go.
 */
static bool modes_detach(bool final)
{
	if (!hook_driver())
		return true;
	while (insert_remove(&modes_caps, modes_now)) {
		if (!final)
			return false;
		msleep(20);
	}
	if (!unveto_all(final) && !final)
		return false;
	cpuhp_remove_state_nocalls(modes_cpuhp);
	hook_detach();
	return true;
}

/* Is something of ours in the kernel that no row needs? */
static bool modes_to_settle(void)
{
	return modes_unused() && (hook_driver() || (own_running() && !modes_own));
}

static void modes_settle_now(void)
{
	if (!modes_to_settle())
		return;
	if (!modes_detach(false)) {
		queue_delayed_work(system_wq, &modes_settle_work, MODES_RECONCILE);
		return;
	}
	if (!modes_own)
		own_stop();
	event_driver();
}

static void modes_settled(struct work_struct *work)
{
	mutex_lock(&modes_mutex);
	modes_settle_now();
	mutex_unlock(&modes_mutex);
}

void modes_settle(unsigned int ms)
{
	modes_grace_ms = ms;
	if (!modes_to_settle())
		return;
	if (ms)
		mod_delayed_work(system_wq, &modes_settle_work, msecs_to_jiffies(ms));
	else
		modes_settle_now();
}

/* ---- committing ---- */

/* Of the CPUs that have new rows. One that goes offline meanwhile has seen to it itself. */
static void modes_tell_host(void)
{
	unsigned int cpu;

	cpus_read_lock();
	for_each_cpu_and(cpu, modes_kick, cpu_online_mask)
		hostpoll_set(cpu, modes_now[cpu].haltpoll_us);
	cpus_read_unlock();
}

/*
 * Write the new rows and have each CPU concerned take notice. When it returns they all have: a
 * CPU in ->enter has left it, since the IPI ends the wait.
 */
static u32 modes_publish(const union table_row *rows)
{
	u32 cpu, n = table_rows_diff(modes_now, rows, nr_cpu_ids, modes_changed);

	if (!n)
		return 0;
	cpumask_clear(modes_kick);
	for_each_possible_cpu(cpu) {
		if (!table_mask_test(modes_changed, cpu))
			continue;
		modes_now[cpu] = rows[cpu];
		if (rows[cpu].ioport)
			ioport_fill(cpu, &modes_caps);
		modes_live(cpu);
		cpumask_set_cpu(cpu, modes_kick);
	}
	on_each_cpu_mask(modes_kick, enter_refresh, NULL, true);
	modes_tell_host();
	return n;
}

static void modes_keys(void)
{
	struct table_caps caps;

	hook_caps(hook_driver(), &caps);
	if (measure_broadcasts(caps.timer_stop && table_rows_any(modes_now, nr_cpu_ids).count))
		on_each_cpu(enter_refresh, NULL, true);
}

static int modes_refuse(struct table_refusal *refusal, int err, const char *text)
{
	refusal->err = err;
	refusal->attr = 0;
	refusal->text = text;
	return err;
}

void modes_measure(void)
{
	struct cpuidle_driver *drv = cpuidle_get_driver();
	struct table_caps caps;

	if (!drv || hook_refusal())
		return;
	hook_caps(drv, &caps);
	ioport_measure(drv, &caps);
}

int modes_stage_init(struct modes_stage *stage, struct table_refusal *refusal)
{
	const char *why = hook_refusal();

	stage->rows = NULL;
	if (why)
		return modes_refuse(refusal, -EOPNOTSUPP, why);
	stage->rows = modes_copy();
	if (!stage->rows)
		return modes_refuse(refusal, -ENOMEM, "out of memory");
	stage->own = own_running();
	hook_caps(cpuidle_get_driver(), &stage->caps);
	return 0;
}

void modes_stage_guest(struct modes_stage *stage)
{
	stage->caps.in_guest = false;
}

void modes_stage_free(struct modes_stage *stage)
{
	kvfree(stage->rows);
}

int modes_stage_own(struct modes_stage *stage, bool own, struct table_refusal *refusal)
{
	struct cpuidle_driver *drv = cpuidle_get_driver();

	if (own && drv && !own_running())
		return modes_refuse(refusal, -EBUSY, "the kernel has a cpuidle driver of its own");
	stage->own = own;
	if (own)
		drv = own_driver();
	else if (own_running())
		drv = NULL;
	hook_caps(drv, &stage->caps); /* takes back modes_stage_guest() */
	return 0;
}

/* The table may have changed since the rules were judged; then they must be judged again. */
static int modes_prepare(struct modes_stage *stage, union table_row used, const char **why)
{
	struct table_caps caps;
	int ret = 0;

	if (stage->own)
		ret = own_start(why);
	if (!ret && used.w)
		ret = modes_attach(why);
	if (ret || !used.w)
		return ret;
	hook_caps(hook_driver(), &caps);
	caps.in_guest = stage->caps.in_guest;
	if (memcmp(&caps, &stage->caps, sizeof(caps))) {
		*why = "the driver's table changed meanwhile, try again";
		return -EAGAIN;
	}
	modes_caps = caps;
	return used.c0 ? insert_add(&caps, modes_now, used.c0 & CPUIDLE_POLICY_ROW_C02, why) : 0;
}

/* Our own state goes with the last row that wants it; if not at once then with a later look. */
static void modes_row(void)
{
	u32 deep = table_rows_any(modes_now, nr_cpu_ids).c0 & CPUIDLE_POLICY_ROW_C02;

	if (modes_want_row())
		insert_name(deep);
	else
		insert_remove(&modes_caps, modes_now);
}

int modes_commit(struct modes_stage *stage, struct table_refusal *refusal)
{
	union table_row used = table_rows_any(stage->rows, nr_cpu_ids);
	bool had = hook_driver(), had_own = own_running(), had_row = insert_at() >= 0;
	const char *why = NULL;
	int ret;

	ret = table_rows_check(&stage->caps, stage->rows, nr_cpu_ids, refusal);
	if (ret)
		return ret;
	ret = modes_prepare(stage, used, &why);
	if (ret) {
		if (!had)
			modes_detach(false);
		if (!had_own)
			own_stop();
		return modes_refuse(refusal, ret, why);
	}
	if (modes_publish(stage->rows) || modes_own != stage->own) {
		modes_own = stage->own;
		modes_keys();
		modes_gen++;
		event_config(modes_changed);
	}
	modes_row();
	if (had_own && !modes_own)
		modes_settle_now(); /* the place is wanted back */
	else if (had != !!hook_driver() || had_own != own_running() ||
		 had_row != (insert_at() >= 0))
		event_driver();
	modes_settle(modes_grace_ms);
	return 0;
}

/*
 * Nothing here can fail, nothing of ours is allocated: this is the dead man's way. Our own state
 * is out of use at once, and out of the table as well unless somebody works on the devices at the
 * moment.
 */
void modes_clear(void)
{
	bool had_row = insert_at() >= 0;
	u32 cpu;

	if (modes_unused() && !modes_own)
		return;
	modes_own = false;
	cpumask_clear(modes_kick);
	memset(modes_changed, 0, table_words(nr_cpu_ids) * sizeof(*modes_changed));
	for_each_possible_cpu(cpu) {
		if (!modes_now[cpu].w)
			continue;
		modes_now[cpu].w = 0;
		modes_live(cpu);
		cpumask_set_cpu(cpu, modes_kick);
		modes_changed[cpu / 32] |= 1u << (cpu % 32);
	}
	on_each_cpu_mask(modes_kick, enter_refresh, NULL, true);
	modes_tell_host();
	modes_row();
	modes_keys();
	modes_gen++;
	event_config(modes_changed);
	if (had_row)
		event_driver();
}

/* ---- keeping what was set ---- */

/* The driver wrote a new table: what it does not allow any more is taken out of the rows. */
static void modes_refit(void)
{
	struct table_caps caps;
	union table_row *rows;
	u32 cpu;

	rows = modes_copy();
	if (!rows) {
		modes_clear();
		return;
	}
	hook_caps(hook_driver(), &caps);
	modes_caps = caps;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		rows[cpu] = table_row_fit(&caps, rows[cpu]);
	if (modes_publish(rows)) {
		modes_gen++;
		event_config(modes_changed);
	}
	modes_keys();
	kvfree(rows);
}

/*
 * sysfs changes states_usage[].disable by read and write, as we do, each on its own CPU: one of
 * the two may be lost. So our bits are asserted again now and then, when the CPU idles anyhow. The
 * timer is deferrable: it wakes no CPU.
 */
static void modes_reconcile(struct work_struct *work)
{
	u32 cpu;

	mutex_lock(&modes_mutex);
	if (hook_driver()) {
		if (hook_reconcile()) {
			modes_gen++;
			event_driver();
		}
		modes_refit();
		insert_retry();
		modes_row();
		for_each_possible_cpu(cpu)
			if (READ_ONCE(per_cpu(enter_cpu, cpu).vetoed))
				WRITE_ONCE(per_cpu(enter_cpu, cpu).poke, 1);
		queue_delayed_work(system_wq, &modes_reconcile_work, MODES_RECONCILE);
	}
	mutex_unlock(&modes_mutex);
}

int modes_init(void)
{
	u32 cpu;

	modes_now = kvcalloc(nr_cpu_ids, sizeof(*modes_now), GFP_KERNEL);
	modes_changed = kvcalloc(table_words(nr_cpu_ids), sizeof(u32), GFP_KERNEL);
	modes_can_exist = kvcalloc(table_words(nr_cpu_ids), sizeof(u32), GFP_KERNEL);
	if (!modes_now || !modes_changed || !modes_can_exist ||
	    !alloc_cpumask_var(&modes_kick, GFP_KERNEL) || hook_init()) {
		free_cpumask_var(modes_kick);
		kvfree(modes_can_exist);
		kvfree(modes_changed);
		kvfree(modes_now);
		return -ENOMEM;
	}
	for_each_possible_cpu(cpu)
		modes_can_exist[cpu / 32] |= 1u << (cpu % 32);
	enter_clock_khz = arch_clock_khz();
	own_init();
	return 0;
}

void modes_exit(void)
{
	mutex_lock(&modes_mutex);
	modes_clear();
	modes_detach(true);
	own_stop();
	mutex_unlock(&modes_mutex);
	cancel_delayed_work_sync(&modes_settle_work);
	cancel_delayed_work_sync(&modes_reconcile_work);
	hook_exit();
	free_cpumask_var(modes_kick);
	kvfree(modes_can_exist);
	kvfree(modes_changed);
	kvfree(modes_now);
}
