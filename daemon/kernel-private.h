/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_KERNEL_PRIVATE_H
#define CPUIDLED_KERNEL_PRIVATE_H

#include "kernel.h"
#include "wire.h"

/* What kernel.c and its other halves, kernel-{talk,set,news}.c, share. */

/* More than any single message of the family takes; the kernel makes a dump's buffers no larger than ours. */
#define KERNEL_BUFFER 16384U

struct nl_sock;

struct kernel {
	struct nl_sock *requests, *events; /* NULL on descriptors of the caller's */
	int requests_fd, events_fd;
	uint32_t seq; /* of the last request */

	enum kernel_standing standing;
	uint16_t family; /* 0: not there */
	uint32_t joined; /* group of the family we listen to, 0: none */
	struct wire_caps caps; /* as last told */
	struct module_rows have,
		before; /* what stands in our name, and what did before the last change */
	bool restate; /* but the configuration may not be what have says */
	bool adrift; /* not KERNEL_OURS, but the lease may be, with who knows what */
	char text[KERNEL_TEXT_MAX];

	uint8_t *buffer; /* of KERNEL_BUFFER, for answers */
};

/* ---- kernel-talk.c ---- */

/* Requests first..last are on their way; what comes back for them. */
struct kernel_talk {
	uint32_t first, last; /* numbers of the requests; the last one is answered in any case */
	int error; /* the first failure, 0: none */
	int failed; /* which request that was of, from 1; 0: none was sent; -1: not known what was done */
	bool torn; /* a dump that is not of one moment */
	int (*take)(const struct wire_message *m,
		    void *data); /* of what is no answer; may be NULL */
	void *data;
	char text[WIRE_TEXT_MAX]; /* the kernel's words about it, "" for none */
};

/* The head of the next request. */
struct wire_head kernel_head(struct kernel *k, bool ack);
/* Sends what is in o, up to the request of the last head, and hears all answers. 0 or t->error. */
int kernel_talk(struct kernel *k, struct wire_out *o, struct kernel_talk *t);

void kernel_say(struct kernel *k, const char *fmt, ...) _printf_(2, 3);
/* "cpuidle_policy refused WHAT: the kernel's words (errno's text)" */
void kernel_say_refused(struct kernel *k, const char *what, const struct kernel_talk *t);

/* ---- kernel.c ---- */

int kernel_ask(struct kernel *k, enum wire_request what,
	       struct kernel_talk *t); /* as kernel_talk() */
void kernel_say_ours(struct kernel *k); /* the text of KERNEL_OURS */
int kernel_get_caps(struct kernel *k, struct wire_caps *ret);
/* Nothing of ours stands any more. */
void kernel_forget(struct kernel *k, enum kernel_standing standing);

/* ---- kernel-set.c ---- */

/* Can the same be asked of both, and do state numbers mean the same? */
bool kernel_same_table(const struct wire_caps *a, const struct wire_caps *b);

#endif
