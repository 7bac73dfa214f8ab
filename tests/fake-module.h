/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_FAKE_MODULE_H
#define CPUIDLED_FAKE_MODULE_H

#include <pthread.h>

#include "base.h"

/*
 * A kernel with cpuidle_policy.ko, as far as its messages go: a thread at the far end of two sockets that
 * keeps rows and limits, and refuses what the test says. For what the real one does there are guests.
 */
#define FAKE_CPUS 64U

struct fake_row {
	uint32_t window, sti_mwait, off, broadcast, poll, c1, row, haltpoll_ns, ioport;
	uint64_t limit_ns; /* of id 1; UINT64_MAX: none */
};

struct fake_module {
	int requests_fd, events_fd; /* ours: what the daemon gets */
	int peer_fd, news_fd; /* the kernel's */
	pthread_t thread;

	/* The test sets these between requests. */
	bool absent; /* no such family */
	uint32_t version;
	uint32_t generation;
	const char *owner; /* somebody else has the lease */
	const char *reason;
	uint32_t n_states;
	bool torn; /* the next dump is not of one moment */
	int fail_cmd, fail_error; /* that command is refused, once, */
	uint32_t fail_after; /* after so many of its kind */
	const char *fail_text;
	bool mute; /* says nothing at all */
	bool c0; /* takes C0.x, on the first half of its CPUs */
	const char *c0_reason, *row_reason;
	bool halts, dummy_wait; /* takes HALTPOLL_NS and IOPORT; the kernel reads the PM timer */

	/* And reads these. */
	bool leased, own_driver, guest;
	struct fake_row rows[FAKE_CPUS];
	uint32_t n_datagrams; /* that came in: one per system call of the daemon */
	uint32_t n_answers; /* that went out */
	uint32_t n_config, n_qos, n_renewed;
	/* Called after each accepted change. */
	void (*changed)(const struct fake_module *f, void *data);
	void *data;
};

void fake_start(struct fake_module *f); /* f is initialised here */
void fake_stop(struct fake_module *f);

/* News for the daemon. */
struct kernel;

/* kernel_verify() has to succeed: how many CPUs differ, and the first of them. */
void fake_verify(struct kernel *k, uint32_t *differs, uint32_t *first);

enum fake_news {
	FAKE_CAME,
	FAKE_GONE,
	FAKE_LEASE_ENDED,
	FAKE_DRIVER,
	FAKE_CONFIG,
	FAKE_QOS,
	FAKE_HOTPLUG
};
void fake_tell(struct fake_module *f, enum fake_news what);

#endif
