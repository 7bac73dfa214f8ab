// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests are the kernel's own, per CPU device: the kernel takes the least of them and of what
 * the user wrote to pm_qos_resume_latency_us. Adding one allocates and can fail, so it is first
 * added asking for nothing; giving it its value cannot fail.
 */
#include <linux/cpu.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/pm_qos.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "event.h"
#include "modes.h"
#include "qos.h"

#define QOS_NONE    PM_QOS_RESUME_LATENCY_NO_CONSTRAINT
#define QOS_JOIN_MS 10
#define QOS_MAX_NS  ((u64)(QOS_NONE - 1) * NSEC_PER_USEC)

struct qos_hold {
	struct list_head list; /* by rising id */
	u32 id;
	union table_row *rows;		     /* [nr_cpu_ids] */
	struct dev_pm_qos_request **request; /* [nr_cpu_ids], NULL: none */
};

struct qos_watcher {
	struct notifier_block nb;
	u32 cpu;
	bool on;
};

static LIST_HEAD(qos_holds);
static u32 qos_count;
static struct qos_watcher *qos_watchers; /* [nr_cpu_ids] */

/* Whose changes are our own: notifiers are called by the task that makes the change. */
static struct task_struct *qos_self;

static cpumask_var_t qos_dirty, qos_told;
static DEFINE_RAW_SPINLOCK(qos_dirty_lock);
static void qos_tell(struct work_struct *work);
static DECLARE_DELAYED_WORK(qos_tell_work, qos_tell);

/* ---- watching ---- */

static void qos_tell(struct work_struct *work)
{
	mutex_lock(&modes_mutex);
	raw_spin_lock_irq(&qos_dirty_lock);
	cpumask_copy(qos_told, qos_dirty);
	cpumask_clear(qos_dirty);
	raw_spin_unlock_irq(&qos_dirty_lock);
	if (!cpumask_empty(qos_told))
		event_qos(qos_told);
	mutex_unlock(&modes_mutex);
}

static int qos_notify(struct notifier_block *nb, unsigned long value, void *unused)
{
	struct qos_watcher *watcher = container_of(nb, struct qos_watcher, nb);
	unsigned long flags;

	if (READ_ONCE(qos_self) == current)
		return NOTIFY_OK;
	raw_spin_lock_irqsave(&qos_dirty_lock, flags);
	cpumask_set_cpu(watcher->cpu, qos_dirty);
	raw_spin_unlock_irqrestore(&qos_dirty_lock, flags);
	queue_delayed_work(system_wq, &qos_tell_work, msecs_to_jiffies(QOS_JOIN_MS));
	return NOTIFY_OK;
}

int qos_watch(void)
{
	u32 cpu;
	int ret;

	for_each_possible_cpu(cpu) {
		struct qos_watcher *watcher = &qos_watchers[cpu];
		struct device *dev = get_cpu_device(cpu);

		if (!dev || watcher->on)
			continue;
		watcher->cpu = cpu;
		watcher->nb.notifier_call = qos_notify;
		ret = dev_pm_qos_add_notifier(dev, &watcher->nb, DEV_PM_QOS_RESUME_LATENCY);
		if (ret) {
			qos_unwatch();
			return ret;
		}
		watcher->on = true;
	}
	return 0;
}

void qos_unwatch(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu) {
		struct qos_watcher *watcher = &qos_watchers[cpu];
		struct device *dev = get_cpu_device(cpu);

		if (dev && watcher->on)
			dev_pm_qos_remove_notifier(dev, &watcher->nb, DEV_PM_QOS_RESUME_LATENCY);
		watcher->on = false;
	}
	/* no old news for the next owner */
	raw_spin_lock_irq(&qos_dirty_lock);
	cpumask_clear(qos_dirty);
	raw_spin_unlock_irq(&qos_dirty_lock);
}

static u64 qos_limit(u32 cpu)
{
	struct device *dev = get_cpu_device(cpu);
	s32 us = QOS_NONE;

	if (!dev)
		return 0;
	spin_lock_irq(&dev->power.lock);
	if (!IS_ERR_OR_NULL(dev->power.qos))
		us = READ_ONCE(dev->power.qos->resume_latency.target_value);
	spin_unlock_irq(&dev->power.lock);
	return us == QOS_NONE ? 0 : (u64)us * NSEC_PER_USEC + 1;
}

void qos_limits(union table_row *rows)
{
	u32 cpu;

	memset(rows, 0, nr_cpu_ids * sizeof(*rows));
	for_each_possible_cpu(cpu)
		rows[cpu].w = qos_limit(cpu);
}

/* ---- requests ---- */

static struct qos_hold *qos_find(u32 id)
{
	struct qos_hold *hold;

	list_for_each_entry(hold, &qos_holds, list)
		if (hold->id == id)
			return hold;
	return NULL;
}

static void qos_free(struct qos_hold *hold)
{
	kvfree(hold->request);
	kvfree(hold->rows);
	kfree(hold);
}

static struct qos_hold *qos_new(u32 id)
{
	struct qos_hold *hold = kzalloc(sizeof(*hold), GFP_KERNEL), *next;
	struct list_head *place = &qos_holds;

	if (!hold)
		return NULL;
	hold->id = id;
	hold->rows = kvcalloc(nr_cpu_ids, sizeof(*hold->rows), GFP_KERNEL);
	hold->request = kvcalloc(nr_cpu_ids, sizeof(*hold->request), GFP_KERNEL);
	if (!hold->rows || !hold->request) {
		qos_free(hold);
		return NULL;
	}
	list_for_each_entry(next, &qos_holds, list) {
		if (next->id > id) {
			place = &next->list;
			break;
		}
	}
	list_add_tail(&hold->list, place);
	qos_count++;
	return hold;
}

static int qos_refuse(struct table_refusal *refusal, int err, u32 attr, const char *text)
{
	refusal->err = err;
	refusal->attr = attr;
	refusal->text = text;
	return err;
}

static int qos_add(struct qos_hold *hold, u32 cpu, struct table_refusal *refusal)
{
	struct device *dev = get_cpu_device(cpu);
	struct dev_pm_qos_request *request;
	int ret;

	if (hold->request[cpu])
		return 0;
	if (!dev)
		return qos_refuse(refusal, -ENODEV, CPUIDLE_POLICY_QOS_CPUMASK,
				  "the set names a CPU that is not present");
	request = kzalloc(sizeof(*request), GFP_KERNEL);
	if (!request)
		return qos_refuse(refusal, -ENOMEM, 0, "out of memory");
	ret = dev_pm_qos_add_request(dev, request, DEV_PM_QOS_RESUME_LATENCY, QOS_NONE);
	if (ret < 0) {
		kfree(request);
		return qos_refuse(refusal, ret, 0, "the kernel takes no latency request");
	}
	hold->request[cpu] = request;
	return 0;
}

static void qos_remove(struct qos_hold *hold, u32 cpu)
{
	if (!hold->request[cpu])
		return;
	dev_pm_qos_remove_request(hold->request[cpu]);
	kfree(hold->request[cpu]);
	hold->request[cpu] = NULL;
	hold->rows[cpu].w = 0;
}

static bool qos_asks(const struct qos_ask *ask, u32 cpu)
{
	return cpu / 32 < ask->words && table_mask_test(ask->mask, cpu);
}

static int qos_check(const struct qos_ask *ask, struct table_refusal *refusal)
{
	int ret = table_mask_check(ask->mask, ask->words, modes_possible(), nr_cpu_ids, refusal);

	if (ret) {
		refusal->attr = CPUIDLE_POLICY_QOS_CPUMASK;
		return ret;
	}
	if (!ask->id)
		return qos_refuse(refusal, -EINVAL, CPUIDLE_POLICY_QOS_ID, "id 0 is not a request");
	if (ask->limited && ask->latency_ns > QOS_MAX_NS)
		return qos_refuse(refusal, -ERANGE, CPUIDLE_POLICY_QOS_LATENCY_NS,
				  "more than the kernel counts: leave the latency out instead");
	return 0;
}

int qos_prepare(const struct qos_ask *ask, struct table_refusal *refusal)
{
	struct qos_hold *hold;
	u32 cpu;
	int ret = qos_check(ask, refusal);

	if (ret || !ask->limited)
		return ret;
	hold = qos_find(ask->id);
	if (!hold && qos_count >= CPUIDLE_POLICY_QOS_MAX)
		return qos_refuse(refusal, -ENOSPC, CPUIDLE_POLICY_QOS_ID, "too many ids");
	if (!hold)
		hold = qos_new(ask->id);
	if (!hold)
		return qos_refuse(refusal, -ENOMEM, 0, "out of memory");
	WRITE_ONCE(qos_self, current);
	for_each_possible_cpu(cpu) {
		if (ret || !qos_asks(ask, cpu))
			continue;
		ret = qos_add(hold, cpu, refusal);
	}
	WRITE_ONCE(qos_self, NULL);
	return ret;
}

void qos_set(const struct qos_ask *ask)
{
	struct qos_hold *hold = qos_find(ask->id);
	u32 cpu;

	if (!hold)
		return;
	WRITE_ONCE(qos_self, current);
	for_each_possible_cpu(cpu) {
		if (!qos_asks(ask, cpu) || !hold->request[cpu])
			continue;
		hold->rows[cpu].w = ask->limited ? ask->latency_ns + 1 : 0;
		dev_pm_qos_update_request(hold->request[cpu],
					  ask->limited ? (s32)div_u64(ask->latency_ns,
								      NSEC_PER_USEC) :
							 QOS_NONE);
	}
	WRITE_ONCE(qos_self, NULL);
}

static void qos_sweep_rows(bool all)
{
	struct qos_hold *hold, *next;
	u32 cpu, used;

	WRITE_ONCE(qos_self, current);
	list_for_each_entry_safe(hold, next, &qos_holds, list) {
		used = 0;
		for_each_possible_cpu(cpu) {
			if (all || !hold->rows[cpu].w)
				qos_remove(hold, cpu);
			else
				used++;
		}
		if (used)
			continue;
		list_del(&hold->list);
		qos_count--;
		qos_free(hold);
	}
	WRITE_ONCE(qos_self, NULL);
}

void qos_sweep(void)
{
	qos_sweep_rows(false);
}

void qos_clear(void)
{
	qos_sweep_rows(true);
}

u32 qos_rows(u32 id, union table_row *rows)
{
	struct qos_hold *hold;

	list_for_each_entry(hold, &qos_holds, list) {
		if (hold->id <= id)
			continue;
		memcpy(rows, hold->rows, nr_cpu_ids * sizeof(*rows));
		return hold->id;
	}
	return 0;
}

int qos_init(void)
{
	qos_watchers = kvcalloc(nr_cpu_ids, sizeof(*qos_watchers), GFP_KERNEL);
	if (!qos_watchers)
		return -ENOMEM;
	if (!zalloc_cpumask_var(&qos_dirty, GFP_KERNEL))
		goto err_watchers;
	if (!zalloc_cpumask_var(&qos_told, GFP_KERNEL))
		goto err_dirty;
	return 0;
err_dirty:
	free_cpumask_var(qos_dirty);
err_watchers:
	kvfree(qos_watchers);
	return -ENOMEM;
}

/* The lease has ended before: no request is left and nobody is watched. */
void qos_exit(void)
{
	cancel_delayed_work_sync(&qos_tell_work);
	free_cpumask_var(qos_told);
	free_cpumask_var(qos_dirty);
	kvfree(qos_watchers);
}
