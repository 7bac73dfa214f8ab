// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "arch.h"
#include "enter.h"
#include "event.h"
#include "hook.h"
#include "hostpoll.h"
#include "insert.h"
#include "ioport.h"
#include "lease.h"
#include "measure.h"
#include "message.h"
#include "modes.h"
#include "own.h"
#include "qos.h"

#define A(x)	CPUIDLE_POLICY_A_##x
#define RULE(x) CPUIDLE_POLICY_RULE_##x

static size_t message_mask_size(void)
{
	return table_words(nr_cpu_ids) * sizeof(u32);
}

/* Room for any message of ours: names and numbers, and two sets of CPUs. */
static struct sk_buff *message_new(void)
{
	return genlmsg_new(3328 + 2 * message_mask_size(), GFP_KERNEL);
}

static int message_put_cpus(struct sk_buff *skb, int attr, const struct cpumask *cpus)
{
	struct nlattr *nla = nla_reserve(skb, attr, message_mask_size());

	if (!nla)
		return -EMSGSIZE;
	bitmap_to_arr32(nla_data(nla), cpumask_bits(cpus), nr_cpu_ids);
	return 0;
}

/* ---- CAPS ---- */

static u32 message_plain_flags(const struct table_caps *caps, int index)
{
	union table_row row = { .irq_window = BIT(index), .sti_mwait = BIT(index) };
	u32 flags = 0;

	if (caps->polling & BIT(index))
		flags |= CPUIDLE_POLICY_SF_POLLING;
	if (caps->timer_stop & BIT(index))
		flags |= CPUIDLE_POLICY_SF_TIMER_STOP;
	if (caps->rcu_idle & BIT(index))
		flags |= CPUIDLE_POLICY_SF_RCU_IDLE;
	if (caps->coupled & BIT(index))
		flags |= CPUIDLE_POLICY_SF_COUPLED;
	row = table_row_fit(caps, row);
	if (row.irq_window)
		flags |= CPUIDLE_POLICY_SF_IRQ_WINDOW;
	if (row.sti_mwait)
		flags |= CPUIDLE_POLICY_SF_STI_MWAIT;
	if (caps->ioport & BIT(index))
		flags |= CPUIDLE_POLICY_SF_IOPORT;
	if (caps->c1 & BIT(index))
		flags |= CPUIDLE_POLICY_SF_C1;
	return flags;
}

/* @caps knows the driver's own states only. */
static u32 message_state_flags(const struct table_caps *caps, const struct cpuidle_driver *drv,
			       int index)
{
	int at = insert_at();
	u32 flags;

	if (index == at)
		flags = CPUIDLE_POLICY_SF_C0;
	else
		flags = message_plain_flags(caps, at >= 0 && index > at ? index - 1 : index);
	if (hook_stands(drv, index))
		flags |= CPUIDLE_POLICY_SF_HOOKED;
	return flags;
}

static int message_put_state(struct sk_buff *skb, const struct table_caps *caps,
			     const struct cpuidle_driver *drv, int index)
{
	const struct cpuidle_state *state = &drv->states[index];
	struct nlattr *nest = nla_nest_start(skb, A(STATE));

	if (!nest || nla_put_u32(skb, CPUIDLE_POLICY_STATE_INDEX, index) ||
	    nla_put_string(skb, CPUIDLE_POLICY_STATE_NAME, state->name) ||
	    nla_put_string(skb, CPUIDLE_POLICY_STATE_DESC, state->desc) ||
	    nla_put_u64_64bit(skb, CPUIDLE_POLICY_STATE_LATENCY_NS, state->exit_latency_ns,
			      CPUIDLE_POLICY_STATE_PAD) ||
	    nla_put_u64_64bit(skb, CPUIDLE_POLICY_STATE_RESIDENCY_NS, state->target_residency_ns,
			      CPUIDLE_POLICY_STATE_PAD) ||
	    nla_put_u32(skb, CPUIDLE_POLICY_STATE_FLAGS, message_state_flags(caps, drv, index)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static u64 message_features(const struct table_caps *caps, const struct cpuidle_driver *drv)
{
	u64 features = CPUIDLE_POLICY_F_QOS;

	if (caps->timer_stops)
		features |= CPUIDLE_POLICY_F_TIMER_STOPS;
	if (hook_refusal())
		return features;
	features |= CPUIDLE_POLICY_F_IRQ_WINDOW | CPUIDLE_POLICY_F_STATES_OFF |
		    CPUIDLE_POLICY_F_BROADCAST | CPUIDLE_POLICY_F_COUNT;
	features |= drv && drv != own_driver() ? CPUIDLE_POLICY_F_HOOK :
						 CPUIDLE_POLICY_F_OWN_DRIVER;
	if (caps->mwait_c1 && !caps->monitor_bug)
		features |= CPUIDLE_POLICY_F_STI_MWAIT;
	if (!caps->clock_bad && caps->polling & 1)
		features |= CPUIDLE_POLICY_F_HALTPOLL;
	if (!caps->ioport_reason)
		features |= CPUIDLE_POLICY_F_IOPORT;
	if (ioport_dummy_wait())
		features |= CPUIDLE_POLICY_F_DUMMY_WAIT;
	if (hostpoll_possible())
		features |= CPUIDLE_POLICY_F_HOST_POLL;
	if (!caps->c0_reason)
		features |= CPUIDLE_POLICY_F_C0;
	if (!caps->c0_reason && !caps->row_reason)
		features |= CPUIDLE_POLICY_F_C0_ROW;
	return features;
}

static int message_put_owner(struct sk_buff *skb)
{
	if (!lease_owner())
		return 0;
	if (nla_put_string(skb, A(OWNER), lease_owner()) ||
	    nla_put_u32(skb, A(OWNER_PID), lease_pid()) ||
	    nla_put_u32(skb, A(LEASE_MS), lease_left_ms()))
		return -EMSGSIZE;
	return 0;
}

static int message_put_c0(struct sk_buff *skb, const struct table_caps *caps)
{
	u32 control;

	if (nla_put(skb, A(WAITPKG), message_mask_size(), caps->waitpkg) ||
	    (arch_umwait_control(&control) && nla_put_u32(skb, A(UMWAIT_CONTROL), control)) ||
	    (caps->c0_reason && nla_put_string(skb, A(C0_REASON), caps->c0_reason)) ||
	    (caps->row_reason && nla_put_string(skb, A(C0_ROW_REASON), caps->row_reason)))
		return -EMSGSIZE;
	return 0;
}

static int message_put_caps(struct sk_buff *skb)
{
	struct cpuidle_driver *drv = cpuidle_get_driver(), *shown = drv ?: own_driver();
	const char *why = hook_refusal();
	struct table_caps caps;
	int i;

	hook_caps(shown, &caps);
	if (nla_put_u32(skb, A(VERSION), CPUIDLE_POLICY_VERSION) ||
	    nla_put_u64_64bit(skb, A(FEATURES), message_features(&caps, drv), A(PAD)) ||
	    nla_put_u32(skb, A(NR_CPUS), nr_cpu_ids) ||
	    message_put_cpus(skb, A(ONLINE), cpu_online_mask) ||
	    nla_put_u32(skb, A(GENERATION), modes_generation()) ||
	    (drv && nla_put_string(skb, A(DRIVER), drv->name)) ||
	    nla_put_u32(skb, A(ATTACHED), !!hook_driver()) ||
	    nla_put_u32(skb, A(OWN_DRIVER), own_running()) ||
	    (why && nla_put_string(skb, A(REASON), why)) || message_put_owner(skb) ||
	    message_put_c0(skb, &caps))
		return -EMSGSIZE;
	for (i = 0; i < shown->state_count && i < TABLE_STATES; i++)
		if (message_put_state(skb, &caps, shown, i))
			return -EMSGSIZE;
	return 0;
}

struct sk_buff *message_caps(struct genl_info *info)
{
	struct sk_buff *skb = message_new();
	void *header;

	if (!skb)
		return ERR_PTR(-ENOMEM);
	header = genlmsg_put_reply(skb, info, &netlink_family, 0, CPUIDLE_POLICY_CMD_CAPS_GET);
	if (!header || message_put_caps(skb)) {
		nlmsg_free(skb);
		return ERR_PTR(-EMSGSIZE);
	}
	genlmsg_end(skb, header);
	return skb;
}

/* ---- rows ---- */

static int message_put_row(struct sk_buff *skb, union table_row row, const u32 *mask)
{
	struct nlattr *nest;

	if (nla_put_u32(skb, A(GENERATION), modes_generation()) ||
	    nla_put_u32(skb, A(OWN_DRIVER), own_running()))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, A(RULE));
	if (!nest || nla_put(skb, RULE(CPUMASK), message_mask_size(), mask) ||
	    nla_put_u32(skb, RULE(IRQ_WINDOW), row.irq_window) ||
	    nla_put_u32(skb, RULE(STI_MWAIT), row.sti_mwait) ||
	    nla_put_u32(skb, RULE(STATES_OFF), row.states_off) ||
	    nla_put_u32(skb, RULE(BROADCAST), row.broadcast) ||
	    nla_put_u32(skb, RULE(COUNT), row.count) ||
	    nla_put_u32(skb, RULE(POLL_BACKEND), row.poll) ||
	    nla_put_u32(skb, RULE(C1_BACKEND), row.c1) ||
	    nla_put_u32(skb, RULE(C0_ROW), row.c0) ||
	    nla_put_u32(skb, RULE(HALTPOLL_NS), row.haltpoll_us * NSEC_PER_USEC) ||
	    nla_put_u32(skb, RULE(IOPORT), row.ioport))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* @limit as in qos.h: nanoseconds + 1, or 0 */
static int message_put_qos(struct sk_buff *skb, u32 id, u64 limit, const u32 *mask)
{
	struct nlattr *nest = nla_nest_start(skb, A(QOS));

	if (!nest || nla_put_u32(skb, CPUIDLE_POLICY_QOS_ID, id) ||
	    nla_put(skb, CPUIDLE_POLICY_QOS_CPUMASK, message_mask_size(), mask) ||
	    (limit && nla_put_u64_64bit(skb, CPUIDLE_POLICY_QOS_LATENCY_NS, limit - 1,
					CPUIDLE_POLICY_QOS_PAD)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* ---- dumps ---- */

/* A copy of the rows, so that a dump of many messages is of one moment. */
struct message_dump {
	u32 id;	   /* of the request the rows belong to */
	u32 first; /* of the group in mask; nr_cpu_ids: none is waiting */
	u32 generation;
	u32 *todo;
	u32 *mask;
	union table_row rows[];
};

static struct message_dump *message_dump(struct netlink_callback *cb)
{
	return (struct message_dump *)cb->args[0];
}

static int message_start(struct netlink_callback *cb)
{
	size_t rows = nr_cpu_ids * sizeof(union table_row);
	struct message_dump *dump;

	dump = kvzalloc(sizeof(*dump) + rows + 2 * message_mask_size(), GFP_KERNEL);
	if (!dump)
		return -ENOMEM;
	dump->todo = (u32 *)&dump->rows[nr_cpu_ids];
	dump->mask = dump->todo + table_words(nr_cpu_ids);
	dump->first = nr_cpu_ids;
	cb->args[0] = (long)dump;
	return 0;
}

int message_done(struct netlink_callback *cb)
{
	kvfree(message_dump(cb));
	return 0;
}

int message_config_start(struct netlink_callback *cb)
{
	struct message_dump *dump;
	int ret = message_start(cb);

	if (ret)
		return ret;
	dump = message_dump(cb);
	memcpy(dump->todo, modes_possible(), message_mask_size());
	mutex_lock(&modes_mutex);
	memcpy(dump->rows, modes_rows(), nr_cpu_ids * sizeof(*dump->rows));
	mutex_unlock(&modes_mutex);
	return 0;
}

/* Limits of id 0, or the next id's requests, of CPUs that have one. */
static bool message_qos_load(struct message_dump *dump, bool limits)
{
	u32 cpu;

	mutex_lock(&modes_mutex);
	if (limits)
		qos_limits(dump->rows);
	else
		dump->id = qos_rows(dump->id, dump->rows);
	mutex_unlock(&modes_mutex);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		if (dump->rows[cpu].w)
			dump->todo[cpu / 32] |= 1u << (cpu % 32);
	return limits || dump->id;
}

int message_qos_start(struct netlink_callback *cb)
{
	int ret = message_start(cb);

	if (!ret)
		message_qos_load(message_dump(cb), true);
	return ret;
}

/* A group that found no room waits in the dump for the next buffer. */
static bool message_next_group(struct message_dump *dump)
{
	if (dump->first == nr_cpu_ids)
		dump->first = table_rows_group(dump->rows, nr_cpu_ids, dump->todo, dump->mask);
	return dump->first < nr_cpu_ids;
}

static void *message_dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &netlink_family,
			   NLM_F_MULTI, cmd);
}

/* What a dump callback returns when @ret stopped it. */
static int message_dump_end(struct sk_buff *skb, int ret)
{
	return ret && !skb->len ? ret : skb->len;
}

int message_config_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct message_dump *dump = message_dump(cb);
	void *header;
	int ret = 0;

	while (message_next_group(dump)) {
		header = message_dump_put(skb, cb, CPUIDLE_POLICY_CMD_CONFIG_GET);
		if (!header || message_put_row(skb, dump->rows[dump->first], dump->mask)) {
			if (header)
				genlmsg_cancel(skb, header);
			ret = -EMSGSIZE;
			break;
		}
		genlmsg_end(skb, header);
		dump->first = nr_cpu_ids;
	}
	return message_dump_end(skb, ret);
}

int message_qos_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct message_dump *dump = message_dump(cb);
	void *header;

	do {
		while (message_next_group(dump)) {
			header = message_dump_put(skb, cb, CPUIDLE_POLICY_CMD_QOS_GET);
			if (!header || message_put_qos(skb, dump->id, dump->rows[dump->first].w,
						       dump->mask)) {
				if (header)
					genlmsg_cancel(skb, header);
				return message_dump_end(skb, -EMSGSIZE);
			}
			genlmsg_end(skb, header);
			dump->first = nr_cpu_ids;
		}
	} while (dump->id != U32_MAX && message_qos_load(dump, false));
	dump->id = U32_MAX; /* the last call of a dump comes with nothing left to say */
	return message_dump_end(skb, 0);
}

int message_stats_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct cpuidle_driver *drv = cpuidle_get_driver();
	unsigned int states = drv ? min(drv->state_count, TABLE_STATES) : 0;
	unsigned int cpu;
	void *header;
	int ret = 0;

	for (cpu = cb->args[0]; cpu < nr_cpu_ids; cpu++) {
		if (!cpu_online(cpu))
			continue;
		header = message_dump_put(skb, cb, CPUIDLE_POLICY_CMD_STATS_GET);
		if (!header || measure_put(skb, cpu, states)) {
			if (header)
				genlmsg_cancel(skb, header);
			ret = -EMSGSIZE;
			break;
		}
		genlmsg_end(skb, header);
	}
	cb->args[0] = cpu;
	return message_dump_end(skb, ret);
}

/* ---- notifications ---- */

static bool message_is_open;

void message_open(bool open)
{
	message_is_open = open;
}

static bool message_heard(void)
{
	return message_is_open && genl_has_listeners(&netlink_family, &init_net, MESSAGE_GROUP);
}

/* Listeners see -ENOBUFS and know to read everything again. */
static void message_lost(struct sk_buff *skb)
{
	nlmsg_free(skb);
	genl_set_err(&netlink_family, &init_net, 0, MESSAGE_GROUP, ENOBUFS);
}

static void *message_ntf(struct sk_buff **skb, u8 cmd)
{
	*skb = message_new();
	return *skb ? genlmsg_put(*skb, 0, 0, &netlink_family, 0, cmd) : NULL;
}

static void message_send(struct sk_buff *skb, void *header)
{
	genlmsg_end(skb, header);
	genlmsg_multicast(&netlink_family, skb, 0, MESSAGE_GROUP, GFP_KERNEL);
}

void event_driver(void)
{
	struct sk_buff *skb;
	void *header;

	if (!message_heard())
		return;
	header = message_ntf(&skb, CPUIDLE_POLICY_CMD_DRIVER_NTF);
	if (!header || message_put_caps(skb))
		message_lost(skb);
	else
		message_send(skb, header);
}

void event_lease(u32 event, const char *owner, u32 pid)
{
	struct sk_buff *skb;
	void *header;

	if (!message_heard())
		return;
	header = message_ntf(&skb, CPUIDLE_POLICY_CMD_LEASE_NTF);
	if (!header || nla_put_u32(skb, A(EVENT), event) || nla_put_string(skb, A(OWNER), owner) ||
	    nla_put_u32(skb, A(OWNER_PID), pid) ||
	    nla_put_u32(skb, A(GENERATION), modes_generation()))
		message_lost(skb);
	else
		message_send(skb, header);
}

void event_hotplug(const struct cpumask *cpus)
{
	struct sk_buff *skb;
	void *header;

	if (!message_heard())
		return;
	header = message_ntf(&skb, CPUIDLE_POLICY_CMD_HOTPLUG_NTF);
	if (!header || message_put_cpus(skb, A(ONLINE), cpu_online_mask) ||
	    message_put_cpus(skb, A(CPUMASK), cpus))
		message_lost(skb);
	else
		message_send(skb, header);
}

/* One CONFIG_NTF; without @mask: come and read everything. */
static void message_config(union table_row row, const u32 *mask)
{
	struct sk_buff *skb;
	void *header = message_ntf(&skb, CPUIDLE_POLICY_CMD_CONFIG_NTF);
	int ret = header ? 0 : -ENOBUFS;

	if (!ret && mask)
		ret = message_put_row(skb, row, mask);
	else if (!ret)
		ret = nla_put_u32(skb, A(GENERATION), modes_generation()) ?:
		      nla_put_u32(skb, A(OWN_DRIVER), own_running()) ?:
		      nla_put_u32(skb, A(RESYNC), 1);
	if (ret)
		message_lost(skb);
	else
		message_send(skb, header);
}

static void message_qos(u64 limit, const u32 *mask)
{
	struct sk_buff *skb;
	void *header = message_ntf(&skb, CPUIDLE_POLICY_CMD_QOS_NTF);

	if (!header || message_put_qos(skb, 0, limit, mask))
		message_lost(skb);
	else
		message_send(skb, header);
}

/* How many groups the CPUs in @todo (consumed) make; stops counting past the limit. */
static u32 message_groups(const union table_row *rows, u32 *todo, u32 *mask)
{
	u32 n = 0;

	while (n <= CPUIDLE_POLICY_NTF_MAX &&
	       table_rows_group(rows, nr_cpu_ids, todo, mask) < nr_cpu_ids)
		n++;
	return n;
}

void event_config(const u32 *changed)
{
	const union table_row *rows = modes_rows();
	u32 *todo, *mask, first, groups;

	if (!message_heard())
		return;
	todo = kvmalloc(2 * message_mask_size(), GFP_KERNEL);
	if (!todo) {
		message_lost(NULL);
		return;
	}
	mask = todo + table_words(nr_cpu_ids);
	memcpy(todo, changed, message_mask_size());
	groups = message_groups(rows, todo, mask);
	memcpy(todo, changed, message_mask_size());
	if (!groups || groups > CPUIDLE_POLICY_NTF_MAX)
		message_config(rows[0], NULL);
	while (groups && groups <= CPUIDLE_POLICY_NTF_MAX) {
		first = table_rows_group(rows, nr_cpu_ids, todo, mask);
		if (first == nr_cpu_ids)
			break;
		message_config(rows[first], mask);
	}
	kvfree(todo);
}

void event_qos(const struct cpumask *cpus)
{
	size_t size = nr_cpu_ids * sizeof(union table_row);
	union table_row *rows;
	u32 *todo, *mask, first;

	if (!message_heard())
		return;
	rows = kvmalloc(size + 2 * message_mask_size(), GFP_KERNEL);
	if (!rows) {
		message_lost(NULL);
		return;
	}
	todo = (u32 *)&rows[nr_cpu_ids];
	mask = todo + table_words(nr_cpu_ids);
	bitmap_to_arr32(todo, cpumask_bits(cpus), nr_cpu_ids);
	qos_limits(rows);
	while ((first = table_rows_group(rows, nr_cpu_ids, todo, mask)) < nr_cpu_ids)
		message_qos(rows[first].w, mask);
	kvfree(rows);
}
