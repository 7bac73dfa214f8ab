/* SPDX-License-Identifier: GPL-2.0-only */
/* wire - generic netlink by hand: what a test needs, malformed messages included */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include "cpuidle_policy.h"

#define WIRE_CPUS  1024
#define WIRE_WORDS (WIRE_CPUS / 32)

struct wire {
	int fd;
	uint16_t family;
	uint32_t group;
	uint32_t seq;
	char text[256]; /* extended ACK of the last exchange */
	uint32_t offset; /* and its offset, 0: none */
};

struct wire_msg {
	union {
		struct nlmsghdr h;
		char buf[65536];
	};
};

/* One received message: attributes of its top level, data pointing into the buffer given. */
struct wire_reply {
	uint8_t cmd;
	const struct nlattr *tb[64];
	const struct nlattr *states[16];
	unsigned int n_states;
};

/* A row of CONFIG_GET, or a request for one. given: bit per attribute. */
struct wire_row {
	uint32_t given;
	uint32_t value[CPUIDLE_POLICY_RULE_MAX + 1];
	uint32_t mask[WIRE_WORDS];
	uint32_t words;
	uint32_t generation;
	uint32_t own;
	uint32_t guest;
};

int wire_open(struct wire *w); /* negative errno when there is no such family */
void wire_close(struct wire *w);
int wire_join(struct wire *w);

void wire_begin(struct wire *w, struct wire_msg *m, uint8_t cmd, uint16_t flags);
struct nlattr *wire_put(struct wire_msg *m, uint16_t type, const void *data, size_t len);
void wire_put_u32(struct wire_msg *m, uint16_t type, uint32_t value);
void wire_put_u64(struct wire_msg *m, uint16_t type, uint64_t value);
struct nlattr *wire_nest(struct wire_msg *m, uint16_t type);
void wire_nest_end(struct wire_msg *m, struct nlattr *nest);
void wire_put_row(struct wire_msg *m, const struct wire_row *row);

/* Send, collect every answer until the ACK or the end of a dump. */
typedef void (*wire_cb)(const struct nlmsghdr *h, void *arg);
int wire_talk(struct wire *w, struct wire_msg *m, wire_cb cb, void *arg);

/* Wait for one notification; 0, or -ETIME. */
int wire_event(struct wire *w, struct wire_msg *m, int ms);

void wire_parse(const struct nlmsghdr *h, struct wire_reply *r);
void wire_parse_nest(const struct nlattr *nest, const struct nlattr **tb, unsigned int max);
uint32_t wire_u32(const struct nlattr *a);
uint64_t wire_u64(const struct nlattr *a);
const char *wire_str(const struct nlattr *a);
unsigned int wire_len(const struct nlattr *a);
const void *wire_data(const struct nlattr *a);
const struct nlattr *wire_next(const struct nlattr *a, int *rem);

/* Whole requests. */
struct wire_caps {
	uint32_t version, nr_cpus, generation, attached, own, n_states, pid, left_ms;
	uint64_t features;
	uint32_t waitpkg[WIRE_WORDS], umwait_control;
	bool has_umwait_control;
	char c0_reason[128], row_reason[128];
	char driver[64], owner[64], reason[128];
	char name[16][32];
	uint32_t flags[16];
	uint64_t latency[16];
};
int wire_caps(struct wire *w, struct wire_caps *caps);
int wire_take(struct wire *w, const char *owner, uint32_t ms, uint32_t grace_ms);
int wire_simple(struct wire *w, uint8_t cmd);
int wire_set(struct wire *w, const struct wire_row *rows, unsigned int n);
int wire_rows(struct wire *w, struct wire_row *rows, unsigned int max);
int wire_qos(struct wire *w, uint32_t id, const uint32_t *mask, uint32_t words, int64_t ns);

struct wire_stats {
	uint32_t cpu, vetoed, inside, n_states;
	uint64_t windows, sti_mwaits, broadcasts, entry[16], c0_waits, c0_rearms,
		poll_hits, poll_misses, poll_ns, ioports;
};
int wire_stats(struct wire *w, struct wire_stats *stats, unsigned int max);
struct wire_stats wire_stats_of(struct wire *w, unsigned int cpu); /* all zero: it is not online */

struct wire_limit {
	uint32_t id, mask0;
	int64_t ns;
};
int wire_limits(struct wire *w, struct wire_limit *limits, unsigned int max);

/*
 * "cpus=0,2-3 window=0x2 sti=0x2 off=0x4 bcast=auto|avoid|off count=1 poll=2 c1=2 row=2 own=1
 * guest=1"; false: not so
 */
bool wire_parse_row(const char *text, struct wire_row *row);

/* Set one row, given in words; -EINVAL when they are none. */
int wire_ask(struct wire *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif /* WIRE_H */
