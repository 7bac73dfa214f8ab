/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The other half of wire.h: what comes in. Nothing about it is believed but what was looked at. */
#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include <linux/genetlink.h>

#include "cpuidle_policy.h"
#include "wire.h"

#define A(x)	 CPUIDLE_POLICY_A_##x
#define CMD(x)	 CPUIDLE_POLICY_CMD_##x
#define RULE(x)	 CPUIDLE_POLICY_RULE_##x
#define QOS(x)	 CPUIDLE_POLICY_QOS_##x
#define STATE(x) CPUIDLE_POLICY_STATE_##x

/* ---- messages ---- */

static enum wire_kind kind_of_ctrl(uint8_t cmd)
{
	switch (cmd) {
	case CTRL_CMD_NEWFAMILY:
		return WIRE_FAMILY;
	case CTRL_CMD_DELFAMILY:
		return WIRE_FAMILY_GONE;
	}
	return WIRE_UNKNOWN;
}

static enum wire_kind kind_of_cmd(uint8_t cmd)
{
	switch (cmd) {
	case CMD(CAPS_GET):
		return WIRE_CAPS;
	case CMD(CONFIG_GET):
		return WIRE_CONFIG;
	case CMD(QOS_GET):
		return WIRE_QOS;
	case CMD(LEASE_NTF):
		return WIRE_LEASE_EVENT;
	case CMD(CONFIG_NTF):
		return WIRE_CONFIG_EVENT;
	case CMD(QOS_NTF):
		return WIRE_QOS_EVENT;
	case CMD(HOTPLUG_NTF):
		return WIRE_HOTPLUG_EVENT;
	case CMD(DRIVER_NTF):
		return WIRE_DRIVER_EVENT;
	}
	return WIRE_UNKNOWN;
}

/* Words from the kernel go to terminals and the journal: printable, or left out. */
static void copy_text(char *to, size_t size, struct nlattr *attr)
{
	const char *from = nla_data(attr);
	size_t n = strnlen(from, (size_t)nla_len(attr)), at = 0;

	for (size_t i = 0; i < n && at + 1 < size; i++)
		if (from[i] >= ' ' && from[i] <= '~')
			to[at++] = from[i];
	to[at] = '\0';
}

/* Attributes of an extended ACK: behind the error and the request's header, or all of the request. */
static void get_words(struct nlmsghdr *nlh, int payload, struct wire_message *ret)
{
	struct nlattr *tb[NLMSGERR_ATTR_MAX + 1], *attrs;
	const struct nlmsgerr *err = nlmsg_data(nlh);
	size_t skip = sizeof(*err), len = (size_t)payload;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED) && err->error) {
		if (err->msg.nlmsg_len < NLMSG_HDRLEN || err->msg.nlmsg_len > len)
			return;
		skip += NLMSG_ALIGN(err->msg.nlmsg_len - NLMSG_HDRLEN);
	}
	if (skip >= len)
		return;
	attrs = (struct nlattr *)((char *)nlmsg_data(nlh) + skip);
	if (nla_parse(tb, NLMSGERR_ATTR_MAX, attrs, (int)(len - skip), NULL) < 0)
		return;
	if (tb[NLMSGERR_ATTR_MSG])
		copy_text(ret->text, sizeof(ret->text), tb[NLMSGERR_ATTR_MSG]);
	if (tb[NLMSGERR_ATTR_OFFS] && nla_len(tb[NLMSGERR_ATTR_OFFS]) >= 4)
		ret->offset = nla_get_u32(tb[NLMSGERR_ATTR_OFFS]);
}

static void get_answer(struct nlmsghdr *nlh, struct wire_message *ret)
{
	int payload = nlmsg_datalen(nlh);
	const struct nlmsgerr *err = nlmsg_data(nlh);

	if (payload < (int)sizeof(*err))
		return;
	ret->kind = WIRE_ANSWER;
	/* Nothing but a negative errno is a failure the rest of us could name. */
	ret->error = err->error < -4095 || err->error > 0 ? -EPROTO : err->error;
	get_words(nlh, payload, ret);
}

/* The end of a dump carries its errno as an int. */
static void get_end(struct nlmsghdr *nlh, struct wire_message *ret)
{
	int error = 0;

	if (nlmsg_datalen(nlh) >= (int)sizeof(error))
		memcpy(&error, nlmsg_data(nlh), sizeof(error));
	ret->kind = WIRE_DONE;
	ret->error = error < -4095 || error > 0 ? -EPROTO : error;
}

static void get_kind(struct nlmsghdr *nlh, uint16_t family, struct wire_message *ret)
{
	const struct genlmsghdr *genl;

	if (nlh->nlmsg_type == NLMSG_ERROR)
		get_answer(nlh, ret);
	else if (nlh->nlmsg_type == NLMSG_DONE)
		get_end(nlh, ret);
	if (nlh->nlmsg_type < NLMSG_MIN_TYPE || !genlmsg_valid_hdr(nlh, 0))
		return;
	genl = genlmsg_hdr(nlh);
	if (nlh->nlmsg_type == GENL_ID_CTRL)
		ret->kind = kind_of_ctrl(genl->cmd);
	else if (family && nlh->nlmsg_type == family)
		ret->kind = kind_of_cmd(genl->cmd);
}

bool wire_next(struct wire_in *in, uint16_t family, struct wire_message *ret)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)in->bytes;
	size_t step;

	if (!nlmsg_ok(nlh, (int)MIN_OF(in->n, (size_t)INT32_MAX)))
		return false;
	*ret = (struct wire_message){
		.header = nlh,
		.seq = nlh->nlmsg_seq,
		.torn = nlh->nlmsg_flags & NLM_F_DUMP_INTR,
	};
	get_kind(nlh, family, ret);
	step = MIN_OF(in->n, (size_t)NLMSG_ALIGN(nlh->nlmsg_len));
	in->bytes += step;
	in->n -= step;
	return true;
}

static int parse(const struct wire_message *m, struct nlattr **tb, int max,
		 const struct nla_policy *policy)
{
	struct nlmsghdr *nlh = m->header;

	return genlmsg_parse(nlh, 0, tb, max, policy) < 0 ? -EBADMSG : 0;
}

static int parse_nest(struct nlattr *nest, struct nlattr **tb, int max,
		      const struct nla_policy *policy)
{
	return nla_parse_nested(tb, max, nest, policy) < 0 ? -EBADMSG : 0;
}

static void mask_to_cpuset(struct nlattr *attr, struct cpuset *cpus)
{
	const uint8_t *data = nla_data(attr);
	uint32_t n = MIN_OF((uint32_t)nla_len(attr) / 4, CPU_MAX / 32), word;

	for (uint32_t i = 0; i < n; i++) {
		memcpy(&word, data + i * sizeof(word), sizeof(word));
		for (uint32_t bit = 0; bit < 32 && word; bit++)
			if (word & UINT32_C(1) << bit)
				cpuset_add(cpus, i * 32 + bit);
	}
}

static uint32_t u32_or(struct nlattr *attr, uint32_t otherwise)
{
	return attr ? nla_get_u32(attr) : otherwise;
}

static void text_or_empty(char *to, size_t size, struct nlattr *attr)
{
	to[0] = '\0';
	if (attr)
		copy_text(to, size, attr);
}

/* ---- the controller ---- */

static const struct nla_policy ctrl_policy[CTRL_ATTR_MAX + 1] = {
	[CTRL_ATTR_FAMILY_ID] = {.type = NLA_U16},
	[CTRL_ATTR_FAMILY_NAME] = {.type = NLA_STRING},
	[CTRL_ATTR_VERSION] = {.type = NLA_U32},
	[CTRL_ATTR_MCAST_GROUPS] = {.type = NLA_NESTED},
};

static const struct nla_policy group_policy[CTRL_ATTR_MCAST_GRP_MAX + 1] = {
	[CTRL_ATTR_MCAST_GRP_NAME] = {.type = NLA_STRING},
	[CTRL_ATTR_MCAST_GRP_ID] = {.type = NLA_U32},
};

static int get_group(struct nlattr *nest, struct wire_family *ret)
{
	struct nlattr *tb[CTRL_ATTR_MCAST_GRP_MAX + 1];
	char name[WIRE_NAME_MAX];

	if (parse_nest(nest, tb, CTRL_ATTR_MCAST_GRP_MAX, group_policy) < 0)
		return -EBADMSG;
	text_or_empty(name, sizeof(name), tb[CTRL_ATTR_MCAST_GRP_NAME]);
	if (streq(name, CPUIDLE_POLICY_EVENTS))
		ret->events = u32_or(tb[CTRL_ATTR_MCAST_GRP_ID], 0);
	return 0;
}

int wire_get_family(const struct wire_message *m, struct wire_family *ret)
{
	struct nlattr *tb[CTRL_ATTR_MAX + 1], *group;
	struct wire_family f = {.events = 0};
	char name[WIRE_NAME_MAX];
	int rest, r = parse(m, tb, CTRL_ATTR_MAX, ctrl_policy);

	if (r < 0 || !tb[CTRL_ATTR_FAMILY_NAME] || !tb[CTRL_ATTR_FAMILY_ID])
		return -EBADMSG;
	text_or_empty(name, sizeof(name), tb[CTRL_ATTR_FAMILY_NAME]);
	f.ours = streq(name, CPUIDLE_POLICY_FAMILY);
	f.id = nla_get_u16(tb[CTRL_ATTR_FAMILY_ID]);
	f.version = u32_or(tb[CTRL_ATTR_VERSION], 0);
	if (tb[CTRL_ATTR_MCAST_GROUPS])
		nla_for_each_nested(group, tb[CTRL_ATTR_MCAST_GROUPS], rest)
		{
			r = get_group(group, &f);
			if (r < 0)
				return r;
		}
	*ret = f;
	return 0;
}

/* ---- ours ---- */

static const struct nla_policy top_policy[A(MAX) + 1] = {
	[A(VERSION)] = {.type = NLA_U32},      [A(FEATURES)] = {.type = NLA_U64},
	[A(NR_CPUS)] = {.type = NLA_U32},      [A(GENERATION)] = {.type = NLA_U32},
	[A(DRIVER)] = {.type = NLA_STRING},    [A(ATTACHED)] = {.type = NLA_U32},
	[A(OWN_DRIVER)] = {.type = NLA_U32},   [A(REASON)] = {.type = NLA_STRING},
	[A(STATE)] = {.type = NLA_NESTED},     [A(LEASE_MS)] = {.type = NLA_U32},
	[A(OWNER)] = {.type = NLA_STRING},     [A(OWNER_PID)] = {.type = NLA_U32},
	[A(RULE)] = {.type = NLA_NESTED},      [A(QOS)] = {.type = NLA_NESTED},
	[A(EVENT)] = {.type = NLA_U32},	       [A(RESYNC)] = {.type = NLA_U32},
	[A(C0_REASON)] = {.type = NLA_STRING}, [A(C0_ROW_REASON)] = {.type = NLA_STRING},
};

static const struct nla_policy state_policy[STATE(MAX) + 1] = {
	[STATE(INDEX)] = {.type = NLA_U32},
	[STATE(NAME)] = {.type = NLA_STRING},
	[STATE(FLAGS)] = {.type = NLA_U32},
};

static const struct nla_policy rule_policy[RULE(MAX) + 1] = {
	[RULE(IRQ_WINDOW)] = {.type = NLA_U32},	  [RULE(STI_MWAIT)] = {.type = NLA_U32},
	[RULE(STATES_OFF)] = {.type = NLA_U32},	  [RULE(BROADCAST)] = {.type = NLA_U32},
	[RULE(POLL_BACKEND)] = {.type = NLA_U32}, [RULE(C1_BACKEND)] = {.type = NLA_U32},
	[RULE(C0_ROW)] = {.type = NLA_U32},	  [RULE(HALTPOLL_NS)] = {.type = NLA_U32},
	[RULE(IOPORT)] = {.type = NLA_U32},
};

static const struct nla_policy qos_policy[CPUIDLE_POLICY_QOS_ATTR_MAX + 1] = {
	[QOS(ID)] = {.type = NLA_U32},
	[QOS(LATENCY_NS)] = {.type = NLA_U64},
};

static int get_state(struct nlattr *nest, struct wire_caps *caps)
{
	struct nlattr *tb[STATE(MAX) + 1];
	struct wire_state *s;
	uint32_t index, flags;

	if (parse_nest(nest, tb, STATE(MAX), state_policy) < 0 || !tb[STATE(INDEX)])
		return -EBADMSG;
	index = nla_get_u32(tb[STATE(INDEX)]);
	if (index >= MACHINE_STATES_MAX)
		return -EBADMSG;
	flags = u32_or(tb[STATE(FLAGS)], 0);
	if (flags & CPUIDLE_POLICY_SF_C0) {
		caps->own_row = (uint8_t)index;
		return 0;
	}
	/* In order, so that those behind it come after it. */
	if (caps->own_row && index > caps->own_row)
		index--;
	s = &caps->states[index];
	text_or_empty(s->name, sizeof(s->name), tb[STATE(NAME)]);
	s->window = flags & CPUIDLE_POLICY_SF_IRQ_WINDOW;
	s->sti_mwait = flags & CPUIDLE_POLICY_SF_STI_MWAIT;
	s->c1 = flags & CPUIDLE_POLICY_SF_C1;
	s->ioport = flags & CPUIDLE_POLICY_SF_IOPORT;
	caps->n_states = MAX_OF(caps->n_states, index + 1);
	return 0;
}

/* Repeated attributes: the parsed table knows but the last of them. */
static int get_states(const struct wire_message *m, struct wire_caps *caps)
{
	struct genlmsghdr *genl = genlmsg_hdr(m->header);
	struct nlattr *attr;
	int rest, r;

	nla_for_each_attr(attr, genlmsg_attrdata(genl, 0), genlmsg_attrlen(genl, 0), rest)
	{
		if (nla_type(attr) != A(STATE))
			continue;
		r = get_state(attr, caps);
		if (r < 0)
			return r;
	}
	return 0;
}

static void get_features(uint64_t features, struct wire_caps *c)
{
	c->can_own = features & CPUIDLE_POLICY_F_OWN_DRIVER;
	c->can_window = features & CPUIDLE_POLICY_F_IRQ_WINDOW;
	c->can_sti_mwait = features & CPUIDLE_POLICY_F_STI_MWAIT;
	c->can_states_off = features & CPUIDLE_POLICY_F_STATES_OFF;
	c->can_broadcast = features & CPUIDLE_POLICY_F_BROADCAST;
	c->can_qos = features & CPUIDLE_POLICY_F_QOS;
	c->can_c0 = features & CPUIDLE_POLICY_F_C0;
	c->can_c0_row = features & CPUIDLE_POLICY_F_C0_ROW;
	c->can_haltpoll = features & CPUIDLE_POLICY_F_HALTPOLL;
	c->can_ioport = features & CPUIDLE_POLICY_F_IOPORT;
	c->dummy_wait = features & CPUIDLE_POLICY_F_DUMMY_WAIT;
	c->host_poll = features & CPUIDLE_POLICY_F_HOST_POLL;
}

int wire_get_caps(const struct wire_message *m, struct wire_caps *ret)
{
	struct nlattr *tb[A(MAX) + 1];
	struct wire_caps c = {.n_states = 0};
	int r = parse(m, tb, A(MAX), top_policy);

	if (r < 0 || !tb[A(VERSION)] || !tb[A(FEATURES)])
		return -EBADMSG;
	c.version = nla_get_u32(tb[A(VERSION)]);
	c.nr_cpus = u32_or(tb[A(NR_CPUS)], 0);
	c.generation = u32_or(tb[A(GENERATION)], 0);
	c.attached = u32_or(tb[A(ATTACHED)], 0);
	c.own_driver = u32_or(tb[A(OWN_DRIVER)], 0);
	c.owner_pid = u32_or(tb[A(OWNER_PID)], 0);
	get_features(nla_get_u64(tb[A(FEATURES)]), &c);
	text_or_empty(c.driver, sizeof(c.driver), tb[A(DRIVER)]);
	text_or_empty(c.reason, sizeof(c.reason), tb[A(REASON)]);
	text_or_empty(c.owner, sizeof(c.owner), tb[A(OWNER)]);
	text_or_empty(c.c0_reason, sizeof(c.c0_reason), tb[A(C0_REASON)]);
	text_or_empty(c.c0_row_reason, sizeof(c.c0_row_reason), tb[A(C0_ROW_REASON)]);
	if (tb[A(WAITPKG)])
		memcpy(c.waitpkg, nla_data(tb[A(WAITPKG)]),
		       MIN_OF((size_t)nla_len(tb[A(WAITPKG)]), sizeof(c.waitpkg)));
	r = get_states(m, &c);
	if (r == 0)
		*ret = c;
	return r;
}

/* A value this daemon does not know is none that it has set. */
static uint8_t wait_or_none(struct nlattr *attr)
{
	return (uint8_t)MIN_OF(u32_or(attr, 0), UINT8_MAX);
}

static int get_rule(struct nlattr *nest, struct plan_module *ret, struct cpuset *cpus)
{
	struct nlattr *tb[RULE(MAX) + 1];

	if (parse_nest(nest, tb, RULE(MAX), rule_policy) < 0 || !tb[RULE(CPUMASK)])
		return -EBADMSG;
	*ret = (struct plan_module){
		.limit_ns = LATENCY_NONE,
		.irq_window = (uint16_t)u32_or(tb[RULE(IRQ_WINDOW)], 0),
		.sti_mwait = (uint16_t)u32_or(tb[RULE(STI_MWAIT)], 0),
		.states_off = (uint16_t)u32_or(tb[RULE(STATES_OFF)], 0),
		.broadcast = (uint8_t)u32_or(tb[RULE(BROADCAST)], 0),
		.poll = wait_or_none(tb[RULE(POLL_BACKEND)]),
		.c1 = wait_or_none(tb[RULE(C1_BACKEND)]),
		.row = wait_or_none(tb[RULE(C0_ROW)]),
		.haltpoll_us = u32_or(tb[RULE(HALTPOLL_NS)], 0) / 1000,
		.ioport_direct = u32_or(tb[RULE(IOPORT)], 0) == CPUIDLE_POLICY_IOPORT_DIRECT,
	};
	mask_to_cpuset(tb[RULE(CPUMASK)], cpus);
	return 0;
}

int wire_get_config(const struct wire_message *m, struct wire_config *ret, struct cpuset *cpus)
{
	struct nlattr *tb[A(MAX) + 1];
	struct wire_config c = {.row.limit_ns = LATENCY_NONE};
	int r = parse(m, tb, A(MAX), top_policy);

	if (r < 0)
		return r;
	c.generation = u32_or(tb[A(GENERATION)], 0);
	c.own_driver = u32_or(tb[A(OWN_DRIVER)], 0);
	c.resync = u32_or(tb[A(RESYNC)], 0);
	if (!tb[A(RULE)] && !c.resync)
		return -EBADMSG;
	r = tb[A(RULE)] ? get_rule(tb[A(RULE)], &c.row, cpus) : 0;
	if (r == 0)
		*ret = c;
	return r;
}

int wire_get_limit(const struct wire_message *m, struct wire_limit *ret, struct cpuset *cpus)
{
	struct nlattr *top[A(MAX) + 1], *tb[CPUIDLE_POLICY_QOS_ATTR_MAX + 1];
	int r = parse(m, top, A(MAX), top_policy);

	if (r < 0 || !top[A(QOS)])
		return -EBADMSG;
	r = parse_nest(top[A(QOS)], tb, CPUIDLE_POLICY_QOS_ATTR_MAX, qos_policy);
	if (r < 0 || !tb[QOS(ID)] || !tb[QOS(CPUMASK)])
		return -EBADMSG;
	ret->id = nla_get_u32(tb[QOS(ID)]);
	ret->limit_ns = tb[QOS(LATENCY_NS)] ? nla_get_u64(tb[QOS(LATENCY_NS)]) : LATENCY_NONE;
	mask_to_cpuset(tb[QOS(CPUMASK)], cpus);
	return 0;
}

int wire_get_lease(const struct wire_message *m, struct wire_lease *ret)
{
	struct nlattr *tb[A(MAX) + 1];
	int r = parse(m, tb, A(MAX), top_policy);

	if (r < 0 || !tb[A(EVENT)])
		return -EBADMSG;
	ret->taken = nla_get_u32(tb[A(EVENT)]) == CPUIDLE_POLICY_LEASE_TAKEN;
	ret->owner_pid = u32_or(tb[A(OWNER_PID)], 0);
	ret->generation = u32_or(tb[A(GENERATION)], 0);
	text_or_empty(ret->owner, sizeof(ret->owner), tb[A(OWNER)]);
	return 0;
}
