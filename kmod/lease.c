// SPDX-License-Identifier: GPL-2.0-only
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include "event.h"
#include "lease.h"
#include "modes.h"
#include "qos.h"

/*
 * Extended ACK text is sent after the lock is released, so the text that names an owner must
 * outlive him. The oldest of these is written over only after as many changes of owner.
 */
#define LEASE_TEXTS    16
#define LEASE_TEXT_LEN 96

static struct {
	u32 portid; /* 0: nobody */
	u32 pid;
	u32 ms;
	u32 grace_ms;
	unsigned long end; /* jiffies */
	char owner[CPUIDLE_POLICY_OWNER_LEN];
	const char *text; /* for whoever comes second */
} lease;

static bool lease_shut; /* the module goes */
static char lease_texts[LEASE_TEXTS][LEASE_TEXT_LEN];
static unsigned int lease_turn;

static void lease_expire(struct work_struct *work);
static DECLARE_DELAYED_WORK(lease_work, lease_expire);

static int lease_refuse(struct table_refusal *refusal, int err, const char *text)
{
	refusal->err = err;
	refusal->attr = 0;
	refusal->text = text;
	return err;
}

static void lease_name(const struct lease_ask *ask)
{
	char *text = lease_texts[lease_turn++ % LEASE_TEXTS];

	strscpy(lease.owner, ask->owner, sizeof(lease.owner));
	lease.pid = ask->pid;
	snprintf(text, LEASE_TEXT_LEN, "the lease is held by %s (pid %u)", lease.owner, lease.pid);
	lease.text = text;
}

int lease_check(u32 portid, struct table_refusal *refusal)
{
	if (!lease.portid)
		return lease_refuse(refusal, -ENOLCK, "no lease: take one first");
	if (lease.portid != portid)
		return lease_refuse(refusal, -EBUSY, lease.text);
	return 0;
}

void lease_renew(void)
{
	lease.end = jiffies + msecs_to_jiffies(lease.ms);
	mod_delayed_work(system_wq, &lease_work, msecs_to_jiffies(lease.ms));
}

int lease_take(const struct lease_ask *ask, struct table_refusal *refusal)
{
	bool again = lease.portid == ask->portid;

	if (lease_shut)
		return lease_refuse(refusal, -ESHUTDOWN, "the module is going away");
	if (lease.portid && !again)
		return lease_refuse(refusal, -EBUSY, lease.text);
	if (!again && qos_watch())
		return lease_refuse(refusal, -ENOMEM, "the CPUs' latency limits cannot be watched");
	if (!again || strcmp(lease.owner, ask->owner) || lease.pid != ask->pid)
		lease_name(ask);
	if (!again)
		modes_measure();
	lease.portid = ask->portid;
	lease.ms = ask->ms;
	lease.grace_ms = ask->grace_ms;
	modes_settle(lease.grace_ms);
	lease_renew();
	if (!again) {
		pr_info("lease taken by %s (pid %u)\n", lease.owner, lease.pid);
		event_lease(CPUIDLE_POLICY_LEASE_TAKEN, lease.owner, lease.pid);
	}
	return 0;
}

/* Whatever ended it, the host's own settings come first; only then may another take the lease. */
void lease_end(u32 event)
{
	static const char *const why[] = {
		[CPUIDLE_POLICY_LEASE_DROPPED] = "dropped",
		[CPUIDLE_POLICY_LEASE_EXPIRED] = "expired",
		[CPUIDLE_POLICY_LEASE_CLOSED] = "owner gone",
	};

	if (!lease.portid)
		return;
	modes_clear();
	qos_clear();
	qos_unwatch();
	lease.portid = 0;
	pr_info("lease of %s (pid %u): %s\n", lease.owner, lease.pid, why[event]);
	event_lease(event, lease.owner, lease.pid);
	modes_settle(event == CPUIDLE_POLICY_LEASE_DROPPED ? 0 : lease.grace_ms);
}

static void lease_expire(struct work_struct *work)
{
	mutex_lock(&modes_mutex);
	/* renewed between the timer and here: then it is queued again */
	if (!delayed_work_pending(&lease_work))
		lease_end(CPUIDLE_POLICY_LEASE_EXPIRED);
	mutex_unlock(&modes_mutex);
}

void lease_closed(u32 portid)
{
	/* every netlink socket of the system comes by here when it is closed */
	if (READ_ONCE(lease.portid) != portid)
		return;
	mutex_lock(&modes_mutex);
	if (lease.portid == portid) {
		lease_end(CPUIDLE_POLICY_LEASE_CLOSED);
		/* before anyone else can take the lease: from then on it is his */
		cancel_delayed_work(&lease_work);
	}
	mutex_unlock(&modes_mutex);
}

const char *lease_owner(void)
{
	return lease.portid ? lease.owner : NULL;
}

u32 lease_pid(void)
{
	return lease.pid;
}

u32 lease_left_ms(void)
{
	return time_before(jiffies, lease.end) ? jiffies_to_msecs(lease.end - jiffies) : 0;
}

void lease_exit(void)
{
	mutex_lock(&modes_mutex);
	lease_shut = true;
	lease_end(CPUIDLE_POLICY_LEASE_DROPPED);
	mutex_unlock(&modes_mutex);
	cancel_delayed_work_sync(&lease_work);
}
