/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include <linux/genetlink.h>

#include "cpuidle_policy.h"
#include "wire.h"

#define A(x)	CPUIDLE_POLICY_A_##x
#define CMD(x)	CPUIDLE_POLICY_CMD_##x
#define RULE(x) CPUIDLE_POLICY_RULE_##x
#define QOS(x)	CPUIDLE_POLICY_QOS_##x

/* The rows carry the policy's numbers. */
_Static_assert((int)BROADCAST_AUTO == (int)CPUIDLE_POLICY_BROADCAST_AUTO &&
		       (int)BROADCAST_AVOID == (int)CPUIDLE_POLICY_BROADCAST_AVOID &&
		       (int)BROADCAST_OFF == (int)CPUIDLE_POLICY_BROADCAST_OFF,
	       "one numbering");
_Static_assert((int)C0_WAIT_NONE == (int)CPUIDLE_POLICY_POLL_NATIVE &&
		       (int)C0_WAIT_1 == (int)CPUIDLE_POLICY_POLL_C01 &&
		       (int)C0_WAIT_2 == (int)CPUIDLE_POLICY_POLL_C02 &&
		       (int)C0_WAIT_1 == (int)CPUIDLE_POLICY_C1_C01 &&
		       (int)C0_WAIT_2 == (int)CPUIDLE_POLICY_C1_C02 &&
		       (int)C0_WAIT_1 == (int)CPUIDLE_POLICY_ROW_C01 &&
		       (int)C0_WAIT_2 == (int)CPUIDLE_POLICY_ROW_C02,
	       "one numbering");

#define HEADERS_SIZE (NLMSG_HDRLEN + GENL_HDRLEN + 64U) /* of a message, and its plain numbers */
#define NEST_SIZE    160U /* of a rule or a request, but for its set of CPUs */
#define MASK_WORDS   (CPU_MAX / 32U)

/* ---- sets of CPUs ---- */

struct mask {
	uint32_t words[MASK_WORDS];
	uint32_t n; /* words in use */
};

static void mask_add(struct mask *m, uint32_t cpu)
{
	m->words[cpu / 32] |= UINT32_C(1) << cpu % 32;
	m->n = MAX_OF(m->n, cpu / 32 + 1);
}

/* ---- out ---- */

void wire_out_done(struct wire_out *o)
{
	free(o->bytes);
	*o = (struct wire_out){.n = 0};
}

static void append(struct wire_out *o, const void *bytes, size_t n)
{
	if (o->n + n > o->cap) {
		size_t cap = o->n + n;
		uint8_t *grown = realloc(o->bytes, cap);

		if (!grown) {
			o->failed = true;
			return;
		}
		o->bytes = grown;
		o->cap = cap;
	}
	memcpy(o->bytes + o->n, bytes, n);
	o->n += n;
}

/* A message with room for size bytes behind its headers. NULL without memory. */
static struct nl_msg *begin(const struct wire_head *h, int cmd, int flags, size_t size)
{
	struct nl_msg *msg = nlmsg_alloc_size(HEADERS_SIZE + size);

	if (msg && genlmsg_put(msg, 0, h->seq, h->family, 0,
			       NLM_F_REQUEST | flags | (h->ack ? NLM_F_ACK : 0), (uint8_t)cmd,
			       CPUIDLE_POLICY_VERSION))
		return msg;
	nlmsg_free(msg);
	return NULL;
}

/* failed: something did not find room. */
static void end(struct wire_out *o, struct nl_msg *msg, bool failed)
{
	if (!msg || failed)
		o->failed = true;
	else
		append(o, nlmsg_hdr(msg), NLMSG_ALIGN(nlmsg_hdr(msg)->nlmsg_len));
	nlmsg_free(msg);
}

void wire_put_family(struct wire_out *o, uint32_t seq)
{
	const struct wire_head h = {.family = GENL_ID_CTRL, .seq = seq, .ack = true};
	struct nl_msg *msg = begin(&h, CTRL_CMD_GETFAMILY, 0, 64);
	bool failed = !msg || nla_put_string(msg, CTRL_ATTR_FAMILY_NAME, CPUIDLE_POLICY_FAMILY) < 0;

	end(o, msg, failed);
}

void wire_put_request(struct wire_out *o, const struct wire_head *h, enum wire_request what)
{
	static const struct {
		int cmd, flags;
	} requests[] = {
		[WIRE_CAPS_GET] = {CMD(CAPS_GET), 0},
		[WIRE_LEASE_RENEW] = {CMD(LEASE_RENEW), 0},
		[WIRE_LEASE_DROP] = {CMD(LEASE_DROP), 0},
		[WIRE_CONFIG_GET] = {CMD(CONFIG_GET), NLM_F_DUMP},
		[WIRE_QOS_GET] = {CMD(QOS_GET), NLM_F_DUMP},
	};

	end(o, begin(h, requests[what].cmd, requests[what].flags, 0), false);
}

void wire_put_take(struct wire_out *o, const struct wire_head *h, const char *owner,
		   uint32_t lease_ms, uint32_t grace_ms)
{
	struct nl_msg *msg = begin(h, CMD(LEASE_TAKE), 0, 64);
	bool failed = !msg || nla_put_u32(msg, A(LEASE_MS), lease_ms) < 0 ||
		      nla_put_u32(msg, A(GRACE_MS), grace_ms) < 0 ||
		      nla_put_string(msg, A(OWNER), owner) < 0;

	end(o, msg, failed);
}

static bool put_rule(struct nl_msg *msg, const struct mask *mask, const struct plan_module *row)
{
	struct nlattr *nest = nla_nest_start(msg, A(RULE));

	return nest && nla_put(msg, RULE(CPUMASK), (int)(mask->n * 4), mask->words) >= 0 &&
	       nla_put_u32(msg, RULE(IRQ_WINDOW), row->irq_window) >= 0 &&
	       nla_put_u32(msg, RULE(STI_MWAIT), row->sti_mwait) >= 0 &&
	       nla_put_u32(msg, RULE(STATES_OFF), row->states_off) >= 0 &&
	       nla_put_u32(msg, RULE(BROADCAST), row->broadcast) >= 0 &&
	       nla_put_u32(msg, RULE(COUNT), 0) >= 0 &&
	       nla_put_u32(msg, RULE(POLL_BACKEND), row->poll) >= 0 &&
	       nla_put_u32(msg, RULE(C1_BACKEND), row->c1) >= 0 &&
	       nla_put_u32(msg, RULE(C0_ROW), row->row) >= 0 &&
	       nla_put_u32(msg, RULE(HALTPOLL_NS), row->haltpoll_us * 1000) >= 0 &&
	       nla_put_u32(msg, RULE(IOPORT),
			   row->ioport_direct ? CPUIDLE_POLICY_IOPORT_DIRECT
					      : CPUIDLE_POLICY_IOPORT_NATIVE) >= 0 &&
	       nla_nest_end(msg, nest) >= 0;
}

/* Every CPU that has a row in either. */
static void mask_all(struct mask *mask, const struct module_rows *have,
		     const struct module_rows *want)
{
	*mask = (struct mask){.n = 0};
	for (uint32_t cpu = 0; cpu < MAX_OF(have->n_cpus, want->n_cpus); cpu++)
		if ((cpu < have->n_cpus && have->row_of[cpu] != PLAN_NO_ROW) ||
		    (cpu < want->n_cpus && want->row_of[cpu] != PLAN_NO_ROW))
			mask_add(mask, cpu);
}

static bool put_rules(struct nl_msg *msg, const struct module_rows *have,
		      const struct module_rows *want)
{
	static const struct plan_module nothing = {.limit_ns = LATENCY_NONE};
	struct mask mask;

	mask_all(&mask, have, want);
	if (mask.n > 0 && !put_rule(msg, &mask, &nothing))
		return false;
	for (uint32_t i = 0; i < want->n_rows; i++) {
		if (module_row_is_default(&want->rows[i]))
			continue;
		mask = (struct mask){.n = 0};
		for (uint32_t cpu = 0; cpu < want->n_cpus; cpu++)
			if (want->row_of[cpu] == i)
				mask_add(&mask, cpu);
		if (mask.n > 0 && !put_rule(msg, &mask, &want->rows[i]))
			return false;
	}
	return true;
}

static size_t nests_size(uint32_t n, const struct module_rows *have, const struct module_rows *want)
{
	return (size_t)n * (NEST_SIZE + (MAX_OF(have->n_cpus, want->n_cpus) + 31) / 32 * 4);
}

void wire_put_config(struct wire_out *o, const struct wire_head *h, const struct module_rows *have,
		     const struct module_rows *want, uint32_t generation)
{
	struct nl_msg *msg = begin(h, CMD(CONFIG_SET), 0, nests_size(want->n_rows + 1, have, want));
	bool failed = !msg || (generation && nla_put_u32(msg, A(GENERATION), generation) < 0);

	if (!failed && have->own_driver != want->own_driver)
		failed = nla_put_u32(msg, A(OWN_DRIVER), want->own_driver) < 0;
	if (!failed && want->guest)
		failed = nla_put_u32(msg, A(GUEST), 1) < 0;
	failed = failed || !put_rules(msg, have, want);
	end(o, msg, failed);
}

static bool put_limit(struct nl_msg *msg, const struct mask *mask, uint64_t limit_ns)
{
	struct nlattr *nest = nla_nest_start(msg, A(QOS));

	return nest && nla_put_u32(msg, QOS(ID), WIRE_QOS_ID) >= 0 &&
	       nla_put(msg, QOS(CPUMASK), (int)(mask->n * 4), mask->words) >= 0 &&
	       (limit_ns == LATENCY_NONE || nla_put_u64(msg, QOS(LATENCY_NS), limit_ns) >= 0) &&
	       nla_nest_end(msg, nest) >= 0;
}

/* CPUs whose limit becomes that of row i of want, from one that is longer (tighten) or shorter. */
static void mask_moving(struct mask *mask, const struct module_rows *have,
			const struct module_rows *want, uint32_t i, bool tighten)
{
	*mask = (struct mask){.n = 0};
	for (uint32_t cpu = 0; cpu < MAX_OF(have->n_cpus, want->n_cpus); cpu++) {
		uint64_t from = module_row_of(have, cpu)->limit_ns;
		uint64_t to = module_row_of(want, cpu)->limit_ns;
		uint16_t row = cpu < want->n_cpus ? want->row_of[cpu] : PLAN_NO_ROW;

		/* One past the rows: whoever has none. */
		if ((row == i || (row == PLAN_NO_ROW && i == want->n_rows)) &&
		    (tighten ? to < from : to > from))
			mask_add(mask, cpu);
	}
}

void wire_put_qos(struct wire_out *o, const struct wire_head *h, const struct module_rows *have,
		  const struct module_rows *want, bool tighten)
{
	struct nl_msg *msg = begin(h, CMD(QOS_SET), 0, nests_size(want->n_rows + 1, have, want));
	bool failed = !msg, any = false;
	struct mask mask;

	for (uint32_t i = 0; i <= want->n_rows && !failed; i++) {
		uint64_t limit = i < want->n_rows ? want->rows[i].limit_ns : LATENCY_NONE;

		mask_moving(&mask, have, want, i, tighten);
		if (mask.n == 0)
			continue;
		any = true;
		failed = !put_limit(msg, &mask, limit);
	}
	if (any || failed)
		end(o, msg, failed);
	else
		nlmsg_free(msg);
}
