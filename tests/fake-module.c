/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testlib.h"

#include "cpuidle_policy.h"
#include "fake-module.h"
#include "kernel.h"

#define FAMILY	 0x1f
#define REPLY	 4096U
#define PAYLOAD	 (NLMSG_HDRLEN + GENL_HDRLEN)
#define ATTRS(h) ((const uint8_t *)(h) + PAYLOAD)

/* ---- building ---- */

struct reply {
	union {
		struct nlmsghdr h;
		uint8_t bytes[REPLY];
	};
};

static void begin(struct reply *r, uint16_t type, uint16_t flags, uint32_t seq, uint8_t cmd)
{
	struct genlmsghdr genl = {.cmd = cmd, .version = 1};

	memset(r, 0, sizeof(*r));
	r->h = (struct nlmsghdr){
		.nlmsg_len = PAYLOAD, .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = seq};
	memcpy(r->bytes + NLMSG_HDRLEN, &genl, sizeof(genl));
}

static uint32_t put(struct reply *r, uint16_t type, const void *data, size_t n)
{
	struct nlattr a = {.nla_len = (uint16_t)(NLA_HDRLEN + n), .nla_type = type};
	uint32_t at = r->h.nlmsg_len;

	ck_assert_uint_lt(at + NLA_HDRLEN + NLA_ALIGN(n), REPLY);
	memcpy(r->bytes + at, &a, sizeof(a));
	if (n)
		memcpy(r->bytes + at + NLA_HDRLEN, data, n);
	r->h.nlmsg_len += (uint32_t)(NLA_HDRLEN + NLA_ALIGN(n));
	return at;
}

static void put_u32(struct reply *r, uint16_t type, uint32_t value)
{
	(void)put(r, type, &value, sizeof(value));
}

static void put_text(struct reply *r, uint16_t type, const char *text)
{
	(void)put(r, type, text, strlen(text) + 1);
}

static void end_nest(struct reply *r, uint32_t at)
{
	uint16_t len = (uint16_t)(r->h.nlmsg_len - at);

	memcpy(r->bytes + at, &len, sizeof(len));
}

static void deliver(struct fake_module *f, int fd, const struct reply *r)
{
	if (f->mute)
		return;
	/* Counted before the other thread can have it. */
	f->n_answers += fd == f->peer_fd;
	ck_assert_int_eq(send(fd, r->bytes, r->h.nlmsg_len, 0), (int)r->h.nlmsg_len);
}

/* An answer, with words where there are some. The request is echoed by its header alone (CAP_ACK). */
static void answer(struct fake_module *f, const struct nlmsghdr *req, int error, const char *text)
{
	struct nlmsgerr err = {.error = error, .msg = *req};
	struct reply r;

	memset(&r, 0, sizeof(r));
	r.h = (struct nlmsghdr){
		.nlmsg_len = NLMSG_HDRLEN + sizeof(err),
		.nlmsg_type = NLMSG_ERROR,
		.nlmsg_flags = NLM_F_CAPPED,
		.nlmsg_seq = req->nlmsg_seq,
	};
	memcpy(r.bytes + NLMSG_HDRLEN, &err, sizeof(err));
	if (text) {
		r.h.nlmsg_flags |= NLM_F_ACK_TLVS;
		put_text(&r, NLMSGERR_ATTR_MSG, text);
	}
	deliver(f, f->peer_fd, &r);
}

static bool has_row(const struct fake_module *f)
{
	for (uint32_t cpu = 0; cpu < FAKE_CPUS; cpu++)
		if (f->rows[cpu].row)
			return true;
	return false;
}

static void put_c0(const struct fake_module *f, struct reply *r)
{
	const uint32_t half[FAKE_CPUS / 32] = {UINT32_MAX};

	(void)put(r, CPUIDLE_POLICY_A_WAITPKG, half, sizeof(half));
	if (f->c0_reason)
		put_text(r, CPUIDLE_POLICY_A_C0_REASON, f->c0_reason);
	if (f->row_reason)
		put_text(r, CPUIDLE_POLICY_A_C0_ROW_REASON, f->row_reason);
}

static void put_state(struct reply *r, uint32_t index, const char *name, uint32_t flags)
{
	uint32_t nest = put(r, NLA_F_NESTED | CPUIDLE_POLICY_A_STATE, NULL, 0);

	put_u32(r, CPUIDLE_POLICY_STATE_INDEX, index);
	put_text(r, CPUIDLE_POLICY_STATE_NAME, name);
	put_u32(r, CPUIDLE_POLICY_STATE_FLAGS, flags);
	end_nest(r, nest);
}

/* The state of our own stands at 1 while a row asks for it. */
static void put_states(const struct fake_module *f, struct reply *r)
{
	bool own = has_row(f);
	char name[16];

	for (uint32_t i = 0; i < f->n_states; i++) {
		snprintf(name, sizeof(name), i ? "C%u" : "POLL", i);
		if (own && i == 1)
			put_state(r, 1, "C0.2", CPUIDLE_POLICY_SF_C0);
		put_state(r, i + (own && i), name,
			  i == 1	       ? CPUIDLE_POLICY_SF_IRQ_WINDOW | CPUIDLE_POLICY_SF_C1
			  : i == 2 && f->halts ? CPUIDLE_POLICY_SF_IOPORT
					       : 0);
	}
}

static void put_caps(const struct fake_module *f, struct reply *r)
{
	uint64_t features = CPUIDLE_POLICY_F_QOS | CPUIDLE_POLICY_F_IRQ_WINDOW |
			    CPUIDLE_POLICY_F_STATES_OFF | CPUIDLE_POLICY_F_BROADCAST |
			    CPUIDLE_POLICY_F_HOOK;

	if (f->c0)
		features |= CPUIDLE_POLICY_F_C0 | (f->row_reason ? 0 : CPUIDLE_POLICY_F_C0_ROW);

	if (f->halts)
		features |= CPUIDLE_POLICY_F_HALTPOLL | CPUIDLE_POLICY_F_HOST_POLL |
			    CPUIDLE_POLICY_F_IOPORT;
	/* Measured with the first lease. */
	if (f->dummy_wait && f->leased)
		features |= CPUIDLE_POLICY_F_DUMMY_WAIT;
	put_u32(r, CPUIDLE_POLICY_A_VERSION, f->version);
	(void)put(r, CPUIDLE_POLICY_A_FEATURES, &features, sizeof(features));
	put_u32(r, CPUIDLE_POLICY_A_NR_CPUS, FAKE_CPUS);
	put_u32(r, CPUIDLE_POLICY_A_GENERATION, f->generation);
	put_text(r, CPUIDLE_POLICY_A_DRIVER, "fake_idle");
	if (f->reason)
		put_text(r, CPUIDLE_POLICY_A_REASON, f->reason);
	if (f->c0 || f->c0_reason)
		put_c0(f, r);
	put_states(f, r);
}

static void put_mask(struct reply *r, uint16_t type, uint32_t cpu)
{
	uint32_t words[FAKE_CPUS / 32] = {0};

	words[cpu / 32] = UINT32_C(1) << cpu % 32;
	(void)put(r, type, words, sizeof(words));
}

static void put_row(const struct fake_module *f, struct reply *r, uint32_t cpu)
{
	uint32_t nest;

	put_u32(r, CPUIDLE_POLICY_A_GENERATION, f->generation);
	nest = put(r, NLA_F_NESTED | CPUIDLE_POLICY_A_RULE, NULL, 0);
	put_mask(r, CPUIDLE_POLICY_RULE_CPUMASK, cpu);
	put_u32(r, CPUIDLE_POLICY_RULE_IRQ_WINDOW, f->rows[cpu].window);
	put_u32(r, CPUIDLE_POLICY_RULE_STI_MWAIT, f->rows[cpu].sti_mwait);
	put_u32(r, CPUIDLE_POLICY_RULE_STATES_OFF, f->rows[cpu].off);
	put_u32(r, CPUIDLE_POLICY_RULE_BROADCAST, f->rows[cpu].broadcast);
	put_u32(r, CPUIDLE_POLICY_RULE_POLL_BACKEND, f->rows[cpu].poll);
	put_u32(r, CPUIDLE_POLICY_RULE_C1_BACKEND, f->rows[cpu].c1);
	put_u32(r, CPUIDLE_POLICY_RULE_C0_ROW, f->rows[cpu].row);
	put_u32(r, CPUIDLE_POLICY_RULE_HALTPOLL_NS, f->rows[cpu].haltpoll_ns);
	put_u32(r, CPUIDLE_POLICY_RULE_IOPORT, f->rows[cpu].ioport);
	end_nest(r, nest);
}

static void put_limit(const struct fake_module *f, struct reply *r, uint32_t cpu)
{
	uint32_t nest = put(r, NLA_F_NESTED | CPUIDLE_POLICY_A_QOS, NULL, 0);

	put_u32(r, CPUIDLE_POLICY_QOS_ID, 1);
	put_mask(r, CPUIDLE_POLICY_QOS_CPUMASK, cpu);
	(void)put(r, CPUIDLE_POLICY_QOS_LATENCY_NS, &f->rows[cpu].limit_ns, sizeof(uint64_t));
	end_nest(r, nest);
}

/* ---- reading requests ---- */

struct attr {
	uint16_t type;
	uint32_t n;
	const uint8_t *data;
};

/* The attribute at *at of n bytes; false at the end. */
static bool next(const uint8_t **at, uint32_t *n, struct attr *ret)
{
	struct nlattr a;

	if (*n < NLA_HDRLEN)
		return false;
	memcpy(&a, *at, sizeof(a));
	ck_assert_uint_ge(a.nla_len, NLA_HDRLEN);
	ck_assert_uint_le(a.nla_len, *n);
	*ret = (struct attr){a.nla_type & NLA_TYPE_MASK, a.nla_len - NLA_HDRLEN, *at + NLA_HDRLEN};
	*at += MIN_OF((uint32_t)NLA_ALIGN(a.nla_len), *n);
	*n -= MIN_OF((uint32_t)NLA_ALIGN(a.nla_len), *n);
	return true;
}

static bool find(const uint8_t *at, uint32_t n, uint16_t type, struct attr *ret)
{
	while (next(&at, &n, ret))
		if (ret->type == type)
			return true;
	return false;
}

static uint32_t get_u32(const uint8_t *at, uint32_t n, uint16_t type, uint32_t otherwise)
{
	struct attr a;
	uint32_t value = otherwise;

	if (find(at, n, type, &a)) {
		ck_assert_uint_eq(a.n, sizeof(value));
		memcpy(&value, a.data, sizeof(value));
	}
	return value;
}

static bool has_cpu(const struct attr *mask, uint32_t cpu)
{
	uint32_t word;

	if (cpu / 32 * 4 + 4 > mask->n)
		return false;
	memcpy(&word, mask->data + cpu / 32 * 4, sizeof(word));
	return word & UINT32_C(1) << cpu % 32;
}

static void take_rule(struct fake_module *f, const struct attr *rule)
{
	struct attr mask;

	ck_assert(find(rule->data, rule->n, CPUIDLE_POLICY_RULE_CPUMASK, &mask));
	for (uint32_t cpu = 0; cpu < FAKE_CPUS; cpu++) {
		struct fake_row *row = &f->rows[cpu];

		if (!has_cpu(&mask, cpu))
			continue;
		row->window =
			get_u32(rule->data, rule->n, CPUIDLE_POLICY_RULE_IRQ_WINDOW, row->window);
		row->sti_mwait =
			get_u32(rule->data, rule->n, CPUIDLE_POLICY_RULE_STI_MWAIT, row->sti_mwait);
		row->off = get_u32(rule->data, rule->n, CPUIDLE_POLICY_RULE_STATES_OFF, row->off);
		row->broadcast =
			get_u32(rule->data, rule->n, CPUIDLE_POLICY_RULE_BROADCAST, row->broadcast);
		row->poll =
			get_u32(rule->data, rule->n, CPUIDLE_POLICY_RULE_POLL_BACKEND, row->poll);
		row->c1 = get_u32(rule->data, rule->n, CPUIDLE_POLICY_RULE_C1_BACKEND, row->c1);
		row->row = get_u32(rule->data, rule->n, CPUIDLE_POLICY_RULE_C0_ROW, row->row);
		row->haltpoll_ns = get_u32(rule->data, rule->n, CPUIDLE_POLICY_RULE_HALTPOLL_NS,
					   row->haltpoll_ns);
		row->ioport = get_u32(rule->data, rule->n, CPUIDLE_POLICY_RULE_IOPORT, row->ioport);
	}
}

static int take_config(struct fake_module *f, const uint8_t *at, uint32_t n)
{
	struct attr a;

	if (get_u32(at, n, CPUIDLE_POLICY_A_GENERATION, f->generation) != f->generation)
		return -ESTALE;
	f->own_driver = get_u32(at, n, CPUIDLE_POLICY_A_OWN_DRIVER, f->own_driver);
	f->guest = get_u32(at, n, CPUIDLE_POLICY_A_GUEST, 0);
	while (next(&at, &n, &a))
		if (a.type == CPUIDLE_POLICY_A_RULE)
			take_rule(f, &a);
	f->generation++;
	f->n_config++;
	return 0;
}

static int take_qos(struct fake_module *f, const uint8_t *at, uint32_t n)
{
	struct attr a, mask, limit;
	uint64_t ns;

	f->n_qos++;
	while (next(&at, &n, &a)) {
		ck_assert_uint_eq(a.type, CPUIDLE_POLICY_A_QOS);
		ck_assert_uint_eq(get_u32(a.data, a.n, CPUIDLE_POLICY_QOS_ID, 0), 1);
		ck_assert(find(a.data, a.n, CPUIDLE_POLICY_QOS_CPUMASK, &mask));
		ns = UINT64_MAX;
		if (find(a.data, a.n, CPUIDLE_POLICY_QOS_LATENCY_NS, &limit))
			memcpy(&ns, limit.data, sizeof(ns));
		for (uint32_t cpu = 0; cpu < FAKE_CPUS; cpu++)
			if (has_cpu(&mask, cpu))
				f->rows[cpu].limit_ns = ns;
	}
	return 0;
}

static void clear(struct fake_module *f)
{
	f->leased = f->own_driver = false;
	for (uint32_t cpu = 0; cpu < FAKE_CPUS; cpu++)
		f->rows[cpu] = (struct fake_row){.limit_ns = UINT64_MAX};
}

/* ---- one request ---- */

static int take(struct fake_module *f, const struct nlmsghdr *h, uint8_t cmd, const char **text)
{
	uint32_t n = (uint32_t)(h->nlmsg_len - PAYLOAD);

	if (cmd == CPUIDLE_POLICY_CMD_LEASE_TAKE) {
		*text = "the lease is held by somebody (pid 77)";
		if (f->owner)
			return -EBUSY;
		f->leased = true;
		return 0;
	}
	if (f->owner || !f->leased) {
		*text = f->owner ? "the lease is held by somebody (pid 77)"
				 : "no lease: take one first";
		return f->owner ? -EBUSY : -ENOLCK;
	}
	switch (cmd) {
	case CPUIDLE_POLICY_CMD_LEASE_RENEW:
		f->n_renewed++;
		return 0;
	case CPUIDLE_POLICY_CMD_LEASE_DROP:
		clear(f);
		return 0;
	case CPUIDLE_POLICY_CMD_CONFIG_SET:
		return take_config(f, ATTRS(h), n);
	case CPUIDLE_POLICY_CMD_QOS_SET:
		return take_qos(f, ATTRS(h), n);
	}
	return -EOPNOTSUPP;
}

static void dump(struct fake_module *f, const struct nlmsghdr *h, uint8_t cmd)
{
	uint16_t flags = NLM_F_MULTI | (f->torn ? NLM_F_DUMP_INTR : 0);
	struct reply r;

	f->torn = false;
	for (uint32_t cpu = 0; cpu < FAKE_CPUS; cpu++) {
		if (cmd == CPUIDLE_POLICY_CMD_QOS_GET && f->rows[cpu].limit_ns == UINT64_MAX)
			continue;
		begin(&r, FAMILY, flags, h->nlmsg_seq, cmd);
		if (cmd == CPUIDLE_POLICY_CMD_QOS_GET)
			put_limit(f, &r, cpu);
		else
			put_row(f, &r, cpu);
		deliver(f, f->peer_fd, &r);
	}
	memset(&r, 0, sizeof(r));
	r.h = (struct nlmsghdr){.nlmsg_len = NLMSG_HDRLEN + 4,
				.nlmsg_type = NLMSG_DONE,
				.nlmsg_flags = flags,
				.nlmsg_seq = h->nlmsg_seq};
	deliver(f, f->peer_fd, &r);
}

static void tell_family(struct fake_module *f, int fd, uint32_t seq, uint8_t cmd)
{
	uint16_t id = FAMILY;
	struct reply r;

	begin(&r, GENL_ID_CTRL, 0, seq, cmd);
	put_text(&r, CTRL_ATTR_FAMILY_NAME, CPUIDLE_POLICY_FAMILY);
	(void)put(&r, CTRL_ATTR_FAMILY_ID, &id, sizeof(id));
	deliver(f, fd, &r);
}

/* The request that the test wants refused. */
static bool refused(struct fake_module *f, uint8_t cmd)
{
	if (f->fail_error == 0 || cmd != f->fail_cmd || f->fail_after-- > 0)
		return false;
	return true;
}

static void serve(struct fake_module *f, const struct nlmsghdr *h)
{
	uint8_t cmd = ((const uint8_t *)h)[NLMSG_HDRLEN];
	const char *text = NULL;
	struct reply r;
	int error;

	if (h->nlmsg_type == GENL_ID_CTRL) {
		if (!f->absent)
			tell_family(f, f->peer_fd, h->nlmsg_seq, CTRL_CMD_NEWFAMILY);
		answer(f, h, f->absent ? -ENOENT : 0, NULL);
		return;
	}
	ck_assert_uint_eq(h->nlmsg_type, FAMILY);
	if (f->absent) {
		answer(f, h, -ENOENT, NULL);
	} else if (refused(f, cmd)) {
		error = f->fail_error;
		f->fail_error = 0;
		answer(f, h, error, f->fail_text);
	} else if (cmd == CPUIDLE_POLICY_CMD_CAPS_GET) {
		begin(&r, FAMILY, 0, h->nlmsg_seq, cmd);
		put_caps(f, &r);
		deliver(f, f->peer_fd, &r);
		answer(f, h, 0, NULL);
	} else if (h->nlmsg_flags & NLM_F_DUMP) {
		dump(f, h, cmd);
	} else {
		error = take(f, h, cmd, &text);
		if (error == 0 && f->changed)
			f->changed(f, f->data);
		if (error || h->nlmsg_flags & NLM_F_ACK)
			answer(f, h, error, error ? text : NULL);
	}
}

static void *run(void *arg)
{
	static const size_t size = 1 << 16;
	struct fake_module *f = arg;
	uint8_t *bytes = malloc(size);
	ssize_t n;

	ck_assert_ptr_nonnull(bytes);
	while ((n = recv(f->peer_fd, bytes, size, 0)) > 0) {
		const struct nlmsghdr *h = (const struct nlmsghdr *)bytes;

		f->n_datagrams++;
		while (n >= (ssize_t)PAYLOAD && h->nlmsg_len >= PAYLOAD && h->nlmsg_len <= n) {
			n -= NLMSG_ALIGN(h->nlmsg_len);
			serve(f, h);
			h = (const struct nlmsghdr *)((const uint8_t *)h +
						      NLMSG_ALIGN(h->nlmsg_len));
		}
		ck_assert_int_le(n, 0); /* nothing that is no message */
	}
	free(bytes);
	return NULL;
}

/* ---- for tests ---- */

void fake_tell(struct fake_module *f, enum fake_news what)
{
	struct reply r;

	switch (what) {
	case FAKE_CAME:
		tell_family(f, f->news_fd, 0, CTRL_CMD_NEWFAMILY);
		return;
	case FAKE_GONE:
		tell_family(f, f->news_fd, 0, CTRL_CMD_DELFAMILY);
		return;
	case FAKE_LEASE_ENDED:
		begin(&r, FAMILY, 0, 0, CPUIDLE_POLICY_CMD_LEASE_NTF);
		put_u32(&r, CPUIDLE_POLICY_A_EVENT, CPUIDLE_POLICY_LEASE_CLOSED);
		break;
	case FAKE_DRIVER:
		begin(&r, FAMILY, 0, 0, CPUIDLE_POLICY_CMD_DRIVER_NTF);
		put_caps(f, &r);
		break;
	case FAKE_CONFIG:
		begin(&r, FAMILY, 0, 0, CPUIDLE_POLICY_CMD_CONFIG_NTF);
		put_row(f, &r, 0);
		break;
	case FAKE_QOS:
		begin(&r, FAMILY, 0, 0, CPUIDLE_POLICY_CMD_QOS_NTF);
		break;
	case FAKE_HOTPLUG:
		begin(&r, FAMILY, 0, 0, CPUIDLE_POLICY_CMD_HOTPLUG_NTF);
		break;
	}
	deliver(f, f->news_fd, &r);
}

void fake_start(struct fake_module *f)
{
	int requests[2], events[2];

	*f = (struct fake_module){.version = 1, .generation = 5, .n_states = 4};
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, events), 0);
	f->requests_fd = requests[0];
	f->peer_fd = requests[1];
	f->events_fd = events[0];
	f->news_fd = events[1];
	clear(f);
	ck_assert_int_eq(pthread_create(&f->thread, NULL, run, f), 0);
}

void fake_stop(struct fake_module *f)
{
	shutdown(f->requests_fd, SHUT_RDWR);
	pthread_join(f->thread, NULL);
	close(f->requests_fd);
	close(f->peer_fd);
	close(f->events_fd);
	close(f->news_fd);
}

void fake_verify(struct kernel *k, uint32_t *differs, uint32_t *first)
{
	struct cpuset cpus;

	ck_assert_int_eq(cpuset_init(&cpus, CPU_MAX), 0);
	ck_assert_int_eq(kernel_verify(k, &cpus), 0);
	*differs = cpuset_count(&cpus);
	*first = cpuset_next(&cpus, 0);
	cpuset_done(&cpus);
}
