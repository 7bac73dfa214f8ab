// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every command has a policy with at least one attribute: 6.1 and 6.12 skip validation for those
 * with none. Operations run in parallel as far as genetlink is concerned, because stopping the
 * machine under its lock would hold up every other family.
 */
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include "compat.h"
#include "lease.h"
#include "message.h"
#include "modes.h"
#include "netlink.h"
#include "qos.h"

#define A(x)	CPUIDLE_POLICY_A_##x
#define RULE(x) CPUIDLE_POLICY_RULE_##x
#define QOS(x)	CPUIDLE_POLICY_QOS_##x

#define NETLINK_MASK_LEN (DIV_ROUND_UP(NR_CPUS, 32) * sizeof(u32))

/* .min and .max of a policy are s16 */
COMPAT_RANGE struct netlink_range_validation netlink_lease_range = {
	.min = CPUIDLE_POLICY_LEASE_MIN,
	.max = CPUIDLE_POLICY_LEASE_MAX,
};

COMPAT_RANGE struct netlink_range_validation netlink_grace_range = {
	.max = CPUIDLE_POLICY_GRACE_MAX,
};

static const struct nla_policy netlink_rule_policy[CPUIDLE_POLICY_RULE_MAX + 1] = {
	[RULE(CPUMASK)] = { .type = NLA_BINARY, .len = NETLINK_MASK_LEN },
	[RULE(IRQ_WINDOW)] = { .type = NLA_U32 },
	[RULE(STI_MWAIT)] = { .type = NLA_U32 },
	[RULE(STATES_OFF)] = { .type = NLA_U32 },
	[RULE(BROADCAST)] = { .type = NLA_U32 },
	[RULE(COUNT)] = { .type = NLA_U32 },
	[RULE(POLL_BACKEND)] = { .type = NLA_U32 },
	[RULE(C1_BACKEND)] = { .type = NLA_U32 },
	[RULE(C0_ROW)] = { .type = NLA_U32 },
	[RULE(HALTPOLL_NS)] = { .type = NLA_U32 },
	[RULE(IOPORT)] = { .type = NLA_U32 },
};

static const struct nla_policy netlink_ask_policy[CPUIDLE_POLICY_QOS_ATTR_MAX + 1] = {
	[QOS(PAD)] = { .type = NLA_BINARY, .len = 0 },
	[QOS(ID)] = { .type = NLA_U32 },
	[QOS(CPUMASK)] = { .type = NLA_BINARY, .len = NETLINK_MASK_LEN },
	[QOS(LATENCY_NS)] = { .type = NLA_U64 },
};

static const struct nla_policy netlink_none_policy[A(PAD) + 1] = {
	[A(PAD)] = { .type = NLA_REJECT },
};

static const struct nla_policy netlink_take_policy[A(OWNER) + 1] = {
	[A(LEASE_MS)] = NLA_POLICY_FULL_RANGE(NLA_U32, &netlink_lease_range),
	[A(GRACE_MS)] = NLA_POLICY_FULL_RANGE(NLA_U32, &netlink_grace_range),
	[A(OWNER)] = { .type = NLA_NUL_STRING, .len = CPUIDLE_POLICY_OWNER_LEN - 1 },
};

static const struct nla_policy netlink_config_policy[A(GUEST) + 1] = {
	[A(GENERATION)] = { .type = NLA_U32 },
	[A(OWN_DRIVER)] = NLA_POLICY_MAX(NLA_U32, 1),
	[A(GUEST)] = NLA_POLICY_MAX(NLA_U32, 1),
	[A(RULE)] = NLA_POLICY_NESTED(netlink_rule_policy),
};

static const struct nla_policy netlink_qos_policy[A(QOS) + 1] = {
	[A(QOS)] = NLA_POLICY_NESTED(netlink_ask_policy),
};

/* @text must be static: it is copied after the caller has returned. */
static int netlink_refuse(struct genl_info *info, const struct nlattr *attr, int err,
			  const char *text)
{
	if (info->extack) {
		info->extack->_msg = text;
		info->extack->bad_attr = attr;
	}
	return err;
}

/* GENL_ADMIN_PERM alone is CAP_NET_ADMIN, which containers are given. */
static int netlink_may_write(struct sk_buff *skb, struct genl_info *info)
{
	if (netlink_capable(skb, CAP_SYS_ADMIN))
		return 0;
	return netlink_refuse(info, NULL, -EPERM, "CAP_SYS_ADMIN is needed");
}

static int netlink_caps_get(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *reply;

	mutex_lock(&modes_mutex);
	reply = message_caps(info);
	mutex_unlock(&modes_mutex);
	if (IS_ERR(reply))
		return netlink_refuse(info, NULL, PTR_ERR(reply), "no room for the reply");
	return genlmsg_reply(reply, info);
}

/* ---- lease ---- */

static bool netlink_printable(const char *text)
{
	const char *c = text;

	while (isprint(*c))
		c++;
	return c != text && !*c;
}

static int netlink_lease_take(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct table_refusal refusal = { 0 };
	struct lease_ask ask = {
		.portid = info->snd_portid,
		.grace_ms = CPUIDLE_POLICY_GRACE_DEF,
		.pid = task_tgid_nr(current),
	};
	int ret = netlink_may_write(skb, info);

	if (ret)
		return ret;
	if (!attrs[A(LEASE_MS)] || !attrs[A(OWNER)])
		return netlink_refuse(info, NULL, -EINVAL, "LEASE_MS and OWNER are required");
	ask.ms = nla_get_u32(attrs[A(LEASE_MS)]);
	ask.owner = nla_data(attrs[A(OWNER)]);
	if (attrs[A(GRACE_MS)])
		ask.grace_ms = nla_get_u32(attrs[A(GRACE_MS)]);
	if (!netlink_printable(ask.owner))
		return netlink_refuse(info, attrs[A(OWNER)], -EINVAL, "owner: not printable");
	mutex_lock(&modes_mutex);
	ret = lease_take(&ask, &refusal);
	mutex_unlock(&modes_mutex);
	return ret ? netlink_refuse(info, NULL, ret, refusal.text) : 0;
}

static int netlink_lease_renew(struct sk_buff *skb, struct genl_info *info)
{
	struct table_refusal refusal = { 0 };
	int ret = netlink_may_write(skb, info);

	if (ret)
		return ret;
	mutex_lock(&modes_mutex);
	ret = lease_check(info->snd_portid, &refusal);
	if (!ret)
		lease_renew();
	mutex_unlock(&modes_mutex);
	return ret ? netlink_refuse(info, NULL, ret, refusal.text) : 0;
}

static int netlink_lease_drop(struct sk_buff *skb, struct genl_info *info)
{
	struct table_refusal refusal = { 0 };
	int ret = netlink_may_write(skb, info);

	if (ret)
		return ret;
	mutex_lock(&modes_mutex);
	ret = lease_check(info->snd_portid, &refusal);
	if (!ret)
		lease_end(CPUIDLE_POLICY_LEASE_DROPPED);
	mutex_unlock(&modes_mutex);
	return ret ? netlink_refuse(info, NULL, ret, refusal.text) : 0;
}

/* ---- configuration ---- */

/* A set of CPUs out of @attr; what it names is judged by the caller's next step. */
static int netlink_mask(struct genl_info *info, const struct nlattr *nest,
			const struct nlattr *attr, const u32 **mask, u32 *words)
{
	if (!attr)
		return netlink_refuse(info, nest, -EINVAL, "CPUMASK is required");
	if (!nla_len(attr) || nla_len(attr) % sizeof(u32))
		return netlink_refuse(info, attr, -EINVAL, "a set of CPUs is whole u32 words");
	*mask = nla_data(attr);
	*words = nla_len(attr) / sizeof(u32);
	return 0;
}

static int netlink_rule(struct genl_info *info, const struct nlattr *nest,
			struct modes_stage *stage)
{
	struct nlattr *tb[CPUIDLE_POLICY_RULE_MAX + 1];
	struct table_refusal refusal = { 0 };
	struct table_rule rule = { 0 };
	u32 attr;
	int ret;

	ret = nla_parse_nested(tb, CPUIDLE_POLICY_RULE_MAX, nest, netlink_rule_policy,
			       info->extack);
	if (ret)
		return ret;
	ret = netlink_mask(info, nest, tb[RULE(CPUMASK)], &rule.mask, &rule.words);
	if (ret)
		return ret;
	for (attr = RULE(CPUMASK) + 1; attr <= CPUIDLE_POLICY_RULE_MAX; attr++) {
		if (!tb[attr])
			continue;
		rule.given |= BIT(attr);
		rule.value[attr] = nla_get_u32(tb[attr]);
	}
	ret = table_mask_check(rule.mask, rule.words, modes_possible(), nr_cpu_ids, &refusal);
	if (!ret)
		ret = table_rule_check(&stage->caps, &rule, &refusal);
	if (!ret)
		ret = table_rule_apply(&stage->caps, &rule, stage->rows, nr_cpu_ids, &refusal);
	if (!ret)
		return 0;
	return netlink_refuse(info, tb[refusal.attr] ?: nest, ret, refusal.text);
}

static int netlink_rules(struct genl_info *info, struct modes_stage *stage)
{
	struct nlattr *attr;
	int rem, ret = 0;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(attr) != A(RULE))
			continue;
		ret = netlink_rule(info, attr, stage);
		if (ret)
			break;
	}
	return ret;
}

static int netlink_generation(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[A(GENERATION)];

	if (!attr || nla_get_u32(attr) == modes_generation())
		return 0;
	return netlink_refuse(info, attr, -ESTALE, "the configuration has changed since");
}

/* Decode all, then commit. Under modes_mutex. */
static int netlink_transaction(struct genl_info *info)
{
	struct nlattr *own = info->attrs[A(OWN_DRIVER)], *guest = info->attrs[A(GUEST)];
	struct table_refusal refusal = { 0 };
	struct modes_stage stage;
	int ret;

	ret = modes_stage_init(&stage, &refusal);
	if (ret)
		return netlink_refuse(info, NULL, ret, refusal.text);
	if (own)
		ret = modes_stage_own(&stage, nla_get_u32(own), &refusal);
	if (guest && nla_get_u32(guest))
		modes_stage_guest(&stage);
	if (ret) {
		netlink_refuse(info, own, ret, refusal.text);
	} else {
		ret = netlink_rules(info, &stage);
		if (!ret) {
			ret = modes_commit(&stage, &refusal);
			if (ret)
				netlink_refuse(info, NULL, ret, refusal.text);
		}
	}
	modes_stage_free(&stage);
	return ret;
}

static int netlink_config_set(struct sk_buff *skb, struct genl_info *info)
{
	struct table_refusal refusal = { 0 };
	int ret = netlink_may_write(skb, info);

	if (ret)
		return ret;
	if (!info->attrs[A(RULE)] && !info->attrs[A(OWN_DRIVER)])
		return netlink_refuse(info, NULL, -EINVAL, "nothing to set: no RULE");
	mutex_lock(&modes_mutex);
	ret = lease_check(info->snd_portid, &refusal);
	if (ret)
		netlink_refuse(info, NULL, ret, refusal.text);
	if (!ret)
		ret = netlink_generation(info);
	if (!ret)
		ret = netlink_transaction(info);
	if (!ret)
		lease_renew();
	mutex_unlock(&modes_mutex);
	return ret;
}

/* ---- latency requests ---- */

static int netlink_ask(struct genl_info *info, const struct nlattr *nest, struct qos_ask *ask,
		       struct nlattr **tb)
{
	int ret = nla_parse_nested(tb, CPUIDLE_POLICY_QOS_ATTR_MAX, nest, netlink_ask_policy,
				   info->extack);

	if (ret)
		return ret;
	if (!tb[QOS(ID)])
		return netlink_refuse(info, nest, -EINVAL, "ID is required");
	ask->id = nla_get_u32(tb[QOS(ID)]);
	ask->limited = tb[QOS(LATENCY_NS)];
	if (ask->limited)
		ask->latency_ns = nla_get_u64(tb[QOS(LATENCY_NS)]);
	return netlink_mask(info, nest, tb[QOS(CPUMASK)], &ask->mask, &ask->words);
}

/* Twice over the same bytes: to get everything ready, and to do it. */
static int netlink_asks(struct genl_info *info, bool commit)
{
	struct nlattr *attr, *tb[CPUIDLE_POLICY_QOS_ATTR_MAX + 1];
	struct table_refusal refusal = { 0 };
	struct qos_ask ask;
	int rem, ret;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(attr) != A(QOS))
			continue;
		ret = netlink_ask(info, attr, &ask, tb);
		if (ret)
			return ret;
		if (commit) {
			qos_set(&ask);
			continue;
		}
		ret = qos_prepare(&ask, &refusal);
		if (ret)
			return netlink_refuse(info, tb[refusal.attr] ?: attr, ret, refusal.text);
	}
	return 0;
}

static int netlink_qos_set(struct sk_buff *skb, struct genl_info *info)
{
	struct table_refusal refusal = { 0 };
	int ret = netlink_may_write(skb, info);

	if (ret)
		return ret;
	if (!info->attrs[A(QOS)])
		return netlink_refuse(info, NULL, -EINVAL, "nothing to set: no QOS");
	mutex_lock(&modes_mutex);
	ret = lease_check(info->snd_portid, &refusal);
	if (ret) {
		netlink_refuse(info, NULL, ret, refusal.text);
	} else {
		ret = netlink_asks(info, false);
		if (!ret) {
			netlink_asks(info, true);
			lease_renew();
		}
		qos_sweep();
	}
	mutex_unlock(&modes_mutex);
	return ret;
}

/* Places held in the contract. */
static int netlink_later(struct sk_buff *skb, struct genl_info *info)
{
	return netlink_refuse(info, NULL, -EOPNOTSUPP, "not in this version");
}

/* ---- the family ---- */

#define NETLINK_DO(_cmd, _policy, _doit)                                                           \
	{                                                                                          \
		.cmd = CPUIDLE_POLICY_CMD_##_cmd, .flags = GENL_ADMIN_PERM, .doit = _doit,         \
		.policy = _policy, .maxattr = ARRAY_SIZE(_policy) - 1,                             \
	}
#define NETLINK_DUMP(_cmd, _start, _dump, _done)                                                   \
	{                                                                                          \
		.cmd = CPUIDLE_POLICY_CMD_##_cmd, .flags = GENL_ADMIN_PERM, .start = _start,       \
		.dumpit = _dump, .done = _done, .policy = netlink_none_policy,                     \
		.maxattr = ARRAY_SIZE(netlink_none_policy) - 1,                                    \
	}

static const struct genl_ops netlink_ops[] = {
	NETLINK_DO(CAPS_GET, netlink_none_policy, netlink_caps_get),
	NETLINK_DO(LEASE_TAKE, netlink_take_policy, netlink_lease_take),
	NETLINK_DO(LEASE_RENEW, netlink_none_policy, netlink_lease_renew),
	NETLINK_DO(LEASE_DROP, netlink_none_policy, netlink_lease_drop),
	NETLINK_DO(CONFIG_SET, netlink_config_policy, netlink_config_set),
	NETLINK_DUMP(CONFIG_GET, message_config_start, message_config_dump, message_done),
	NETLINK_DO(QOS_SET, netlink_qos_policy, netlink_qos_set),
	NETLINK_DUMP(QOS_GET, message_qos_start, message_qos_dump, message_done),
	NETLINK_DUMP(STATS_GET, NULL, message_stats_dump, NULL),
	NETLINK_DO(MEASURE_SET, netlink_none_policy, netlink_later),
	NETLINK_DO(HIST_GET, netlink_none_policy, netlink_later),
};

static const struct genl_multicast_group netlink_groups[] = {
	[MESSAGE_GROUP] = {
		.name = CPUIDLE_POLICY_EVENTS,
#ifdef GENL_MCAST_CAP_SYS_ADMIN
		.flags = GENL_MCAST_CAP_SYS_ADMIN,
#endif
	},
};

struct genl_family netlink_family __ro_after_init = {
	.name = CPUIDLE_POLICY_FAMILY,
	.version = CPUIDLE_POLICY_VERSION,
	.module = THIS_MODULE,
	.ops = netlink_ops,
	.n_ops = ARRAY_SIZE(netlink_ops),
	.resv_start_op = CPUIDLE_POLICY_CMD_CAPS_GET, /* strict from the first command on */
	.mcgrps = netlink_groups,
	.n_mcgrps = ARRAY_SIZE(netlink_groups),
	.parallel_ops = true,
};

static int netlink_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct netlink_notify *notify = data;

	if (event == NETLINK_URELEASE && notify->protocol == NETLINK_GENERIC &&
	    net_eq(notify->net, &init_net))
		lease_closed(notify->portid);
	return NOTIFY_DONE;
}

static struct notifier_block netlink_nb = { .notifier_call = netlink_event };

int netlink_init(void)
{
	int ret = netlink_register_notifier(&netlink_nb);

	if (ret)
		return ret;
	ret = genl_register_family(&netlink_family);
	if (ret) {
		netlink_unregister_notifier(&netlink_nb);
		return ret;
	}
	mutex_lock(&modes_mutex);
	message_open(true);
	mutex_unlock(&modes_mutex);
	return 0;
}

void netlink_exit(void)
{
	mutex_lock(&modes_mutex);
	message_open(false);
	mutex_unlock(&modes_mutex);
	genl_unregister_family(&netlink_family);
	netlink_unregister_notifier(&netlink_nb);
}
