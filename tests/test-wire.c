/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "testlib.h"

#include "cpuidle_policy.h"
#include "wire.h"

#define FAMILY 0x21

/* ---- out ---- */

static const struct wire_head head = {.family = FAMILY, .seq = 7, .ack = true};

/* Rows for n CPUs, of which CPU i has row i % n_rows. */
static void make_rows(struct module_rows *r, uint32_t n, uint32_t n_rows)
{
	*r = (struct module_rows){.n_cpus = n, .n_rows = n_rows};
	r->row_of = calloc(n, sizeof(*r->row_of));
	r->rows = calloc(n_rows + 1, sizeof(*r->rows));
	ck_assert(r->row_of && r->rows);
	for (uint32_t i = 0; i < n; i++)
		r->row_of[i] = (uint16_t)(i % n_rows);
	for (uint32_t i = 0; i < n_rows; i++)
		r->rows[i] = (struct plan_module){
			.limit_ns = i ? i * NSEC_PER_USEC : LATENCY_NONE,
			.irq_window = (uint16_t)i,
		};
}

/* The attributes of a message, or of a nest. */
static const struct nlattr *next_attr(const struct nlattr *a, const uint8_t *end)
{
	const uint8_t *p = (const uint8_t *)a + NLA_ALIGN(a->nla_len);

	ck_assert_uint_ge(a->nla_len, NLA_HDRLEN);
	ck_assert((const uint8_t *)a + a->nla_len <= end);
	return p < end ? (const struct nlattr *)p : NULL;
}

START_TEST(request)
{
	struct wire_out o = {.n = 0};
	const struct nlmsghdr *h;
	const struct genlmsghdr *g;

	wire_put_request(&o, &head, WIRE_CAPS_GET);
	ck_assert(!o.failed);
	ck_assert_uint_eq(o.n, NLMSG_HDRLEN + GENL_HDRLEN);
	h = (const struct nlmsghdr *)o.bytes;
	g = (const struct genlmsghdr *)(o.bytes + NLMSG_HDRLEN);
	ck_assert_uint_eq(h->nlmsg_len, o.n);
	ck_assert_uint_eq(h->nlmsg_type, FAMILY);
	ck_assert_uint_eq(h->nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
	ck_assert_uint_eq(h->nlmsg_seq, 7);
	ck_assert_uint_eq(g->cmd, CPUIDLE_POLICY_CMD_CAPS_GET);
	ck_assert_uint_eq(g->version, CPUIDLE_POLICY_VERSION);
	wire_out_done(&o);
}
END_TEST

/* The kernel's strict check refuses a nest without its flag, and padding is not to carry anything. */
START_TEST(nests_are_marked)
{
	struct module_rows none = {.n_cpus = 0}, want;
	struct wire_out o = {.n = 0};
	const struct nlattr *a;
	uint32_t rules = 0;

	make_rows(&want, 70, 3);
	wire_put_config(&o, &head, &none, &want, 9);
	ck_assert(!o.failed);
	a = (const struct nlattr *)(o.bytes + NLMSG_HDRLEN + GENL_HDRLEN);
	for (; a; a = next_attr(a, o.bytes + o.n)) {
		if ((a->nla_type & NLA_TYPE_MASK) == CPUIDLE_POLICY_A_GENERATION)
			continue;
		ck_assert_uint_eq(a->nla_type, NLA_F_NESTED | CPUIDLE_POLICY_A_RULE);
		rules++;
	}
	/* Everything back for all, then the two rows that are not the kernel's own. */
	ck_assert_uint_eq(rules, 3);
	module_rows_done(&want);
	wire_out_done(&o);
}
END_TEST

/* As large as it gets: every CPU a row of its own, and sets no longer than they need be. */
START_TEST(largest)
{
	struct module_rows none = {.n_cpus = 0}, want;
	struct wire_out o = {.n = 0};

	make_rows(&want, CPU_MAX, CPU_MAX);
	wire_put_config(&o, &head, &none, &want, 0);
	ck_assert(!o.failed);
	ck_assert_uint_lt(o.n, 8U << 20);
	ck_assert_uint_eq(((const struct nlmsghdr *)o.bytes)->nlmsg_len, o.n);
	wire_put_qos(&o, &head, &none, &want, true);
	ck_assert(!o.failed);
	module_rows_done(&want);
	wire_out_done(&o);
}
END_TEST

START_TEST(nothing_moves)
{
	struct module_rows have, want;
	struct wire_out o = {.n = 0};

	make_rows(&have, 8, 4);
	make_rows(&want, 8, 4);
	wire_put_qos(&o, &head, &have, &want, true);
	wire_put_qos(&o, &head, &have, &want, false);
	ck_assert_uint_eq(o.n, 0);
	ck_assert(!o.failed);
	/* CPU 2 shorter, CPU 3 longer: each in its own half. */
	want.rows[2].limit_ns = 0;
	want.rows[3].limit_ns = LATENCY_NONE;
	wire_put_qos(&o, &head, &have, &want, true);
	ck_assert_uint_gt(o.n, 0);
	o.n = 0;
	wire_put_qos(&o, &head, &have, &want, false);
	ck_assert_uint_gt(o.n, 0);
	module_rows_done(&have);
	module_rows_done(&want);
	wire_out_done(&o);
}
END_TEST

/* ---- what is put can be got, since events repeat what was set ---- */

START_TEST(round_trip)
{
	struct module_rows none = {.n_cpus = 0}, want;
	struct cpuset cpus;
	struct wire_out o = {.n = 0};
	struct wire_config config;
	struct wire_message m;
	struct wire_in in;

	make_rows(&want, 40, 1);
	want.rows[0] = (struct plan_module){.limit_ns = LATENCY_NONE,
					    .irq_window = 2,
					    .sti_mwait = 4,
					    .states_off = 8,
					    .broadcast = BROADCAST_AVOID,
					    .poll = C0_WAIT_1,
					    .c1 = C0_WAIT_2,
					    .row = C0_WAIT_2};
	ck_assert_int_eq(cpuset_init(&cpus, CPU_MAX), 0);
	wire_put_config(&o, &head, &none, &want, 77);
	ck_assert(!o.failed);
	/* As the module tells it: the last rule stands. */
	((struct genlmsghdr *)(o.bytes + NLMSG_HDRLEN))->cmd = CPUIDLE_POLICY_CMD_CONFIG_NTF;
	in = (struct wire_in){.bytes = o.bytes, .n = o.n};
	ck_assert(wire_next(&in, FAMILY, &m));
	ck_assert_int_eq(m.kind, WIRE_CONFIG_EVENT);
	ck_assert_int_eq(wire_get_config(&m, &config, &cpus), 0);
	ck_assert_uint_eq(config.generation, 77);
	ck_assert(module_row_equal(&config.row, &want.rows[0]));
	ck_assert_uint_eq(cpuset_count(&cpus), 40);
	ck_assert(!wire_next(&in, FAMILY, &m));
	/* Of another family it says nothing. */
	in = (struct wire_in){.bytes = o.bytes, .n = o.n};
	ck_assert(wire_next(&in, FAMILY + 1, &m));
	ck_assert_int_eq(m.kind, WIRE_UNKNOWN);
	cpuset_done(&cpus);
	module_rows_done(&want);
	wire_out_done(&o);
}
END_TEST

/* ---- in ---- */

struct answer {
	struct nlmsghdr h;
	struct nlmsgerr err;
	uint8_t rest[256];
};

/* An answer with words; echo: bytes of the request behind its header. */
static uint32_t make_answer(struct answer *a, int error, uint16_t flags, uint32_t echo,
			    const char *text)
{
	struct nlattr attr = {.nla_len = (uint16_t)(NLA_HDRLEN + strlen(text) + 1),
			      .nla_type = NLMSGERR_ATTR_MSG};

	memset(a, 0, sizeof(*a));
	a->err = (struct nlmsgerr){.error = error, .msg = {.nlmsg_len = NLMSG_HDRLEN + echo}};
	memcpy(a->rest + echo, &attr, sizeof(attr));
	memcpy(a->rest + echo + NLA_HDRLEN, text, strlen(text) + 1);
	a->h = (struct nlmsghdr){
		.nlmsg_len =
			(uint32_t)(NLMSG_HDRLEN + sizeof(a->err) + echo + NLA_ALIGN(attr.nla_len)),
		.nlmsg_type = NLMSG_ERROR,
		.nlmsg_flags = flags,
		.nlmsg_seq = 7,
	};
	return a->h.nlmsg_len;
}

static void read_answer(struct answer *a, uint32_t n, struct wire_message *m)
{
	struct wire_in in = {.bytes = (uint8_t *)a, .n = n};

	ck_assert(wire_next(&in, FAMILY, m));
}

START_TEST(words_word_for_word)
{
	const char *words = "CPUMASK names CPU 9, which cannot exist";
	struct wire_message m;
	struct answer a;
	uint32_t n;

	n = make_answer(&a, -EINVAL, NLM_F_ACK_TLVS | NLM_F_CAPPED, 0, words);
	read_answer(&a, n, &m);
	ck_assert_int_eq(m.kind, WIRE_ANSWER);
	ck_assert_int_eq(m.error, -EINVAL);
	ck_assert_str_eq(m.text, words);
	/* The whole request in front of them. */
	n = make_answer(&a, -EINVAL, NLM_F_ACK_TLVS, 64, words);
	read_answer(&a, n, &m);
	ck_assert_str_eq(m.text, words);
	/* An old kernel has none. */
	n = make_answer(&a, -EINVAL, 0, 64, words);
	read_answer(&a, n, &m);
	ck_assert_str_eq(m.text, "");
	ck_assert_int_eq(m.error, -EINVAL);
	/* Nothing that moves a cursor reaches a terminal. */
	n = make_answer(&a, -EINVAL, NLM_F_ACK_TLVS | NLM_F_CAPPED, 0, "a\033[2Jb\nc");
	read_answer(&a, n, &m);
	ck_assert_str_eq(m.text, "a[2Jbc");
}
END_TEST

START_TEST(strange_answers)
{
	struct wire_message m;
	struct answer a;
	uint32_t n;

	/* No errno. */
	n = make_answer(&a, 5, NLM_F_CAPPED, 0, "");
	read_answer(&a, n, &m);
	ck_assert_int_eq(m.error, -EPROTO);
	n = make_answer(&a, INT32_MIN, NLM_F_CAPPED, 0, "");
	read_answer(&a, n, &m);
	ck_assert_int_eq(m.error, -EPROTO);
	/* A request longer than the answer that shows it. */
	n = make_answer(&a, -EINVAL, NLM_F_ACK_TLVS, 0, "words");
	a.err.msg.nlmsg_len = UINT32_MAX;
	read_answer(&a, n, &m);
	ck_assert_str_eq(m.text, "");
	/* Too short to be an answer. */
	a.h.nlmsg_len = NLMSG_HDRLEN + 2;
	read_answer(&a, NLMSG_HDRLEN + 4, &m);
	ck_assert_int_eq(m.kind, WIRE_UNKNOWN);
}
END_TEST

START_TEST(truncated)
{
	struct wire_in in;
	struct wire_message m;
	struct wire_caps caps;
	struct wire_out o = {.n = 0};

	wire_put_take(&o, &head, "cpuidled", 1000, 0);
	ck_assert(!o.failed);
	for (size_t n = 0; n < o.n; n++) {
		in = (struct wire_in){.bytes = o.bytes, .n = n};
		ck_assert(!wire_next(&in, FAMILY, &m));
	}
	/* What lacks the numbers that matter is no answer to a question for them. */
	((struct genlmsghdr *)(o.bytes + NLMSG_HDRLEN))->cmd = CPUIDLE_POLICY_CMD_CAPS_GET;
	in = (struct wire_in){.bytes = o.bytes, .n = o.n};
	ck_assert(wire_next(&in, FAMILY, &m));
	ck_assert_int_eq(m.kind, WIRE_CAPS);
	ck_assert_int_eq(wire_get_caps(&m, &caps), -EBADMSG);
	wire_out_done(&o);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("wire");
	TCase *t = tcase_create("out");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, request);
	tcase_add_test(t, nests_are_marked);
	tcase_add_test(t, largest);
	tcase_add_test(t, nothing_moves);
	tcase_add_test(t, round_trip);
	suite_add_tcase(s, t);
	t = tcase_create("in");
	tcase_add_test(t, words_word_for_word);
	tcase_add_test(t, strange_answers);
	tcase_add_test(t, truncated);
	suite_add_tcase(s, t);
	return test_main(s);
}
