// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages are made from the grammar, most of them wrong in one place, many mutated bytewise
 * afterwards. What must hold: the generation moves only when a CONFIG_SET, or the end of a lease,
 * was acknowledged; what is refused is refused with words.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include "fuzz.h"
#include "tap.h"
#include "wire.h"

static uint64_t fuzz_state;

static uint32_t fuzz_rand(void)
{
	fuzz_state ^= fuzz_state << 13;
	fuzz_state ^= fuzz_state >> 7;
	fuzz_state ^= fuzz_state << 17;
	return fuzz_state >> 16;
}

static uint32_t fuzz_below(uint32_t n)
{
	return fuzz_rand() % n;
}

static uint32_t fuzz_value(void)
{
	static const uint32_t corners[] = { 0, 1, 2, 3, 4, 0x3ff, 0x400, 0x7fffffff, 0x80000000,
					    0xffffffff, 100, 600000, 600001, 32767, 32768 };

	switch (fuzz_below(4)) {
	case 0:
		return fuzz_rand();
	case 1:
		return 1u << fuzz_below(32);
	default:
		return corners[fuzz_below(sizeof(corners) / sizeof(corners[0]))];
	}
}

static void fuzz_blob(struct wire_msg *m, uint16_t type)
{
	static unsigned char blob[4096];
	unsigned int i, len = fuzz_below(16) ? fuzz_below(24) : fuzz_below(sizeof(blob));

	for (i = 0; i < len; i++)
		blob[i] = fuzz_below(3) ? 0 : fuzz_rand();
	wire_put(m, type, blob, len);
}

static void fuzz_mask(struct wire_msg *m, uint16_t type)
{
	uint32_t mask[4] = { fuzz_below(8) ? fuzz_below(4) : fuzz_rand(), 0, 0, 0 };

	if (!fuzz_below(16))
		mask[fuzz_below(4)] = fuzz_rand();
	wire_put(m, type, mask, fuzz_below(8) ? 4 : fuzz_below(17));
}

static void fuzz_attr(struct wire_msg *m, uint16_t type, bool mask)
{
	switch (fuzz_below(mask ? 6 : 10)) {
	case 0:
		fuzz_blob(m, type);
		break;
	case 1:
		wire_put_u64(m, type, (uint64_t)fuzz_rand() << 32 | fuzz_value());
		break;
	default:
		if (mask)
			fuzz_mask(m, type);
		else
			wire_put_u32(m, type, fuzz_value());
	}
}

/* One nest; mostly with its set of CPUs, and a few fields. */
static void fuzz_nest(struct wire_msg *m, uint16_t type, uint16_t mask, uint16_t max)
{
	struct nlattr *nest = wire_put(m, type | (fuzz_below(16) ? NLA_F_NESTED : 0), NULL, 0);
	unsigned int i, n = fuzz_below(5);
	uint16_t attr;

	if (!nest)
		return;
	if (fuzz_below(16))
		fuzz_attr(m, mask, true);
	for (i = 0; i < n; i++) {
		attr = fuzz_below(fuzz_below(4) ? 7 : max + 3);
		if (fuzz_below(2) && attr != mask)
			wire_put_u32(m, attr, fuzz_below(8)); /* likely to be good */
		else
			fuzz_attr(m, attr, attr == mask);
	}
	wire_nest_end(m, nest);
	if (!fuzz_below(32))
		nest->nla_len = fuzz_rand();
}

static void fuzz_message(struct wire *w, struct wire_msg *m)
{
	static const char name[] = "fuzz";
	unsigned int i, n = fuzz_below(4);
	uint8_t cmd = fuzz_below(CPUIDLE_POLICY_CMD_MAX + 3);

	if (fuzz_below(2))
		cmd = fuzz_below(2) ? CPUIDLE_POLICY_CMD_CONFIG_SET : CPUIDLE_POLICY_CMD_QOS_SET;
	wire_begin(w, m, cmd, fuzz_below(8) ? 0 : fuzz_rand());
	m->h.nlmsg_flags |= NLM_F_REQUEST;
	m->h.nlmsg_flags &= ~NLM_F_DUMP;
	if (!fuzz_below(8))
		m->h.nlmsg_flags |= NLM_F_DUMP;
	if (cmd == CPUIDLE_POLICY_CMD_LEASE_TAKE && fuzz_below(4)) {
		wire_put_u32(m, CPUIDLE_POLICY_A_LEASE_MS, 60000);
		wire_put(m, CPUIDLE_POLICY_A_OWNER, name, sizeof(name));
	}
	for (i = 0; i <= n; i++) {
		if (cmd == CPUIDLE_POLICY_CMD_CONFIG_SET && fuzz_below(8))
			fuzz_nest(m, CPUIDLE_POLICY_A_RULE, CPUIDLE_POLICY_RULE_CPUMASK,
				  CPUIDLE_POLICY_RULE_MAX);
		else if (cmd == CPUIDLE_POLICY_CMD_QOS_SET && fuzz_below(8))
			fuzz_nest(m, CPUIDLE_POLICY_A_QOS, CPUIDLE_POLICY_QOS_CPUMASK,
				  CPUIDLE_POLICY_QOS_ATTR_MAX);
		else if (!fuzz_below(2))
			fuzz_attr(m, fuzz_below(CPUIDLE_POLICY_A_MAX + 3), false);
	}
}

/* Anything after the netlink header's length, type and sequence number, which carry it there. */
static void fuzz_mutate(struct wire_msg *m)
{
	uint32_t flips = fuzz_below(6), at;

	while (flips--) {
		at = NLMSG_HDRLEN + fuzz_below(m->h.nlmsg_len - NLMSG_HDRLEN);
		m->buf[at] = fuzz_below(2) ? (uint32_t)m->buf[at] ^ 1u << fuzz_below(8) :
					     fuzz_rand();
	}
	if (!fuzz_below(64))
		m->h.nlmsg_len = NLMSG_HDRLEN + fuzz_below(m->h.nlmsg_len - NLMSG_HDRLEN + 1);
	if (m->h.nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN))
		return;
	/* a dump that is not one would be waited for without end */
	if ((m->h.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP)
		m->h.nlmsg_flags |= NLM_F_ACK;
}

static uint32_t fuzz_generation(struct wire *w)
{
	struct wire_caps caps;

	return wire_caps(w, &caps) ? 0 : caps.generation;
}

struct fuzz_tally {
	uint64_t taken, refused, silent, moved, errors[256];
};

static uint8_t fuzz_cmd(const struct wire_msg *m)
{
	const struct genlmsghdr *g = NLMSG_DATA(&m->h);

	return g->cmd;
}

/* May this command, acknowledged, have changed the configuration? */
static bool fuzz_moves(uint8_t cmd)
{
	return cmd == CPUIDLE_POLICY_CMD_CONFIG_SET || cmd == CPUIDLE_POLICY_CMD_LEASE_DROP;
}

/* ---- sending ---- */

#define FUZZ_BATCH 16

/* Messages that go out as one datagram, each to be answered by one acknowledgement. */
struct fuzz_batch {
	uint32_t n, len, seq; /* seq: of the first */
	uint8_t cmd[FUZZ_BATCH];
	unsigned char buf[131072];
};

static void fuzz_judge(struct fuzz_tally *t, int ret, bool words)
{
	if (ret >= 0) {
		t->taken++;
		return;
	}
	t->refused++;
	t->silent += !words;
	if (ret > -256)
		t->errors[-ret]++;
}

static void fuzz_watch(struct wire *watch, struct fuzz_tally *t, bool may_move, uint32_t *gen)
{
	uint32_t now = fuzz_generation(watch);

	if (now != *gen && !may_move)
		t->moved++;
	*gen = now;
}

/* One answer of the kernel's; true if it may have changed the configuration. */
static bool fuzz_answer(const struct fuzz_batch *b, const struct nlmsghdr *h,
			struct fuzz_tally *t, uint32_t *answered, bool *leased)
{
	uint32_t i = h->nlmsg_seq - b->seq;
	int ret;

	if (h->nlmsg_type != NLMSG_ERROR || i >= b->n)
		return false; /* what was asked for comes before its acknowledgement */
	ret = ((const struct nlmsgerr *)NLMSG_DATA(h))->error;
	fuzz_judge(t, ret, h->nlmsg_flags & NLM_F_ACK_TLVS);
	++*answered;
	*leased |= ret >= 0 && b->cmd[i] == CPUIDLE_POLICY_CMD_LEASE_TAKE;
	return ret >= 0 && fuzz_moves(b->cmd[i]);
}

static void fuzz_flush(struct wire *w, struct wire *watch, struct fuzz_batch *b,
		       struct fuzz_tally *t, uint32_t *gen)
{
	static unsigned char room[FUZZ_BATCH][8192];
	struct mmsghdr got[FUZZ_BATCH];
	struct iovec iov[FUZZ_BATCH];
	bool moves = false, leased = false;
	uint32_t answered = 0;
	struct nlmsghdr *h;
	int i, n, len;

	if (!b->n)
		return;
	memset(got, 0, sizeof(got));
	for (i = 0; i < FUZZ_BATCH; i++) {
		iov[i] = (struct iovec){ room[i], sizeof(room[i]) };
		got[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
	}
	n = send(w->fd, b->buf, b->len, 0) < 0 ? -1 : 1;
	while (n > 0 && answered < b->n) {
		n = recvmmsg(w->fd, got, FUZZ_BATCH, MSG_WAITFORONE, NULL);
		for (i = 0; i < n; i++) {
			len = got[i].msg_len;
			for (h = (struct nlmsghdr *)room[i]; NLMSG_OK(h, len);
			     h = NLMSG_NEXT(h, len))
				moves |= fuzz_answer(b, h, t, &answered, &leased);
		}
	}
	t->errors[EAGAIN] += b->n - answered;
	b->n = b->len = 0;
	if (leased)
		wire_take(w, "fuzz", 600000, 600000); /* not to expire by itself */
	fuzz_watch(watch, t, moves, gen);
}

/* By itself: a dump, which has another end, and what is so cut that the next would be lost in it. */
static void fuzz_alone(struct wire *w, struct wire *watch, struct wire_msg *m,
		       struct fuzz_tally *t, uint32_t *gen)
{
	int ret = wire_talk(w, m, NULL, NULL);

	fuzz_judge(t, ret, w->text[0]);
	if (ret >= 0 && fuzz_cmd(m) == CPUIDLE_POLICY_CMD_LEASE_TAKE)
		wire_take(w, "fuzz", 600000, 600000);
	fuzz_watch(watch, t, ret >= 0 && fuzz_moves(fuzz_cmd(m)), gen);
}

static void fuzz_one(struct wire *w, struct wire *watch, struct fuzz_batch *b,
		     struct fuzz_tally *t, uint32_t *gen)
{
	static struct wire_msg m;
	uint32_t len;

	fuzz_message(w, &m);
	len = m.h.nlmsg_len;
	if (!fuzz_below(3))
		fuzz_mutate(&m);
	if (m.h.nlmsg_len != len || m.h.nlmsg_flags & NLM_F_DUMP) {
		w->seq--; /* the batch's numbers follow one another */
		fuzz_flush(w, watch, b, t, gen);
		w->seq++;
		m.h.nlmsg_seq = w->seq;
		fuzz_alone(w, watch, &m, t, gen);
		return;
	}
	if (!b->n)
		b->seq = m.h.nlmsg_seq;
	m.h.nlmsg_flags |= NLM_F_ACK;
	b->cmd[b->n++] = fuzz_cmd(&m);
	memset(b->buf + b->len, 0, NLMSG_ALIGN(len));
	memcpy(b->buf + b->len, m.buf, len);
	b->len += NLMSG_ALIGN(len);
	if (b->n == FUZZ_BATCH || b->len > sizeof(b->buf) / 2)
		fuzz_flush(w, watch, b, t, gen);
}

int fuzz_run(uint32_t seed, uint64_t count)
{
	static struct fuzz_batch batch;
	struct fuzz_tally t = { 0 };
	struct wire w, watch;
	uint32_t gen;
	uint64_t i;
	int e;

	fuzz_state = 0x9e3779b97f4a7c15ULL * (seed + 1);
	if (wire_open(&w) || wire_open(&watch))
		return 1;
	wire_take(&w, "fuzz", 600000, 0);
	gen = fuzz_generation(&watch);
	for (i = 0; i < count; i++) {
		fuzz_one(&w, &watch, &batch, &t, &gen);
		if (i % 160 == 159) {
			fuzz_flush(&w, &watch, &batch, &t, &gen);
			wire_take(&w, "fuzz", 600000, i % 320 == 159 ? 0 : 600000);
		}
	}
	fuzz_flush(&w, &watch, &batch, &t, &gen);
	tap_note("seed %u: %llu taken, %llu refused, %llu of them without words", seed,
		 (unsigned long long)t.taken, (unsigned long long)t.refused,
		 (unsigned long long)t.silent);
	for (e = 0; e < 256; e++)
		if (t.errors[e])
			tap_note("%s: %llu", strerror(e), (unsigned long long)t.errors[e]);
	tap_ok(!t.moved, "%llu messages: nothing changed without an accepted SET",
	       (unsigned long long)count);
	tap_ok(!t.errors[EAGAIN], "every message was answered");
	tap_ok(t.taken > count / 100, "some messages were good");
	tap_ok(fuzz_generation(&watch) != 0, "the module still answers");
	wire_close(&w);
	wire_close(&watch);
	return tap_failed;
}
