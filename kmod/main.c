// SPDX-License-Identifier: GPL-2.0-only
/*
 * cpuidle_policy - per-CPU idle policy at run time
 *
 * Loading it changes nothing: what it does is asked for over generic netlink
 * (uapi/cpuidle_policy.h) by the owner of a lease, and ends with him.
 */
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>
#include "event.h"
#include "lease.h"
#include "modes.h"
#include "netlink.h"
#include "qos.h"

/* ---- telling of CPUs that come and go; the callbacks may not take modes_mutex ---- */

static cpumask_var_t main_moved, main_told;
static DEFINE_SPINLOCK(main_moved_lock);
static int main_cpuhp_up, main_cpuhp_down;

static void main_tell(struct work_struct *work)
{
	mutex_lock(&modes_mutex);
	spin_lock(&main_moved_lock);
	cpumask_copy(main_told, main_moved);
	cpumask_clear(main_moved);
	spin_unlock(&main_moved_lock);
	if (!cpumask_empty(main_told))
		event_hotplug(main_told);
	mutex_unlock(&modes_mutex);
}

static DECLARE_WORK(main_tell_work, main_tell);

static int main_cpu_moved(unsigned int cpu)
{
	spin_lock(&main_moved_lock);
	cpumask_set_cpu(cpu, main_moved);
	spin_unlock(&main_moved_lock);
	queue_work(system_wq, &main_tell_work);
	return 0;
}

static int __init main_hotplug_init(void)
{
	int ret = -ENOMEM;

	if (!zalloc_cpumask_var(&main_moved, GFP_KERNEL))
		return ret;
	if (!zalloc_cpumask_var(&main_told, GFP_KERNEL))
		goto err_moved;
	/* up: when it is online; down: when it is no longer */
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "cpuidle/policy:up", main_cpu_moved,
					NULL);
	if (ret < 0)
		goto err_told;
	main_cpuhp_up = ret;
	ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "cpuidle/policy:down", NULL,
					main_cpu_moved);
	if (ret < 0)
		goto err_up;
	main_cpuhp_down = ret;
	return 0;
err_up:
	cpuhp_remove_state_nocalls(main_cpuhp_up);
err_told:
	free_cpumask_var(main_told);
err_moved:
	free_cpumask_var(main_moved);
	return ret;
}

static void main_hotplug_exit(void)
{
	cpuhp_remove_state_nocalls(main_cpuhp_down);
	cpuhp_remove_state_nocalls(main_cpuhp_up);
	cancel_work_sync(&main_tell_work);
	free_cpumask_var(main_told);
	free_cpumask_var(main_moved);
}

static int __init main_init(void)
{
	int ret = modes_init();

	if (ret)
		return ret;
	ret = qos_init();
	if (ret)
		goto err_modes;
	ret = main_hotplug_init();
	if (ret)
		goto err_qos;
	ret = netlink_init();
	if (ret)
		goto err_hotplug;
	return 0;
err_hotplug:
	main_hotplug_exit();
err_qos:
	qos_exit();
err_modes:
	modes_exit();
	return ret;
}

/* The lease goes first, and to nobody else: listeners hear of it while there is a family. */
static void __exit main_exit(void)
{
	lease_exit();
	netlink_exit();
	main_hotplug_exit();
	qos_exit();
	modes_exit();
}

module_init(main_init);
module_exit(main_exit);
MODULE_DESCRIPTION("Per-CPU idle policy at run time");
MODULE_AUTHOR("The cpuidled authors");
MODULE_LICENSE("GPL");
MODULE_ALIAS_GENL_FAMILY("cpuidle_policy");
