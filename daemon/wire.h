/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_WIRE_H
#define CPUIDLED_WIRE_H

#include "module.h"

/*
 * Bytes of the family cpuidle_policy to structs and back (the contract is kmod/uapi/cpuidle_policy.h). No
 * socket, no state: what comes in is data of any quality, what goes out is for whoever sends it.
 */
#define WIRE_NAME_MAX 32U /* of drivers, states and owners, with the NUL */
#define WIRE_TEXT_MAX 192U /* the kernel's words about a refusal */
#define WIRE_QOS_ID   1U /* the id our latency requests go by */

/* ---- out ---- */

/* Messages one behind the other. Memory trouble is remembered: failed. Zero-initialised is valid. */
struct wire_out {
	uint8_t *bytes; /* owned */
	size_t n, cap;
	bool failed;
};

void wire_out_done(struct wire_out *o);

struct wire_head {
	uint16_t family; /* number of the family */
	uint32_t seq;
	bool ack; /* an answer is wanted for success, too; failure always has one */
};

enum wire_request {
	WIRE_CAPS_GET,
	WIRE_LEASE_RENEW,
	WIRE_LEASE_DROP,
	WIRE_CONFIG_GET, /* dumps */
	WIRE_QOS_GET,
};

/* Asks the controller for a family by name; the kernel loads the module of that alias. */
void wire_put_family(struct wire_out *o, uint32_t seq);
void wire_put_request(struct wire_out *o, const struct wire_head *h, enum wire_request what);
/* owner: 1 .. 31 printable characters; both times in ms. */
void wire_put_take(struct wire_out *o, const struct wire_head *h, const char *owner,
		   uint32_t lease_ms, uint32_t grace_ms);

/*
 * The whole configuration: everything back to the kernel's own for all CPUs of have and want, then the rows
 * of want. Refused by the kernel when generation is not its current one; 0: any.
 */
void wire_put_config(struct wire_out *o, const struct wire_head *h, const struct module_rows *have,
		     const struct module_rows *want, uint32_t generation);

/* The latency requests that get shorter (tighten), or those that get longer; nothing when there are none. */
void wire_put_qos(struct wire_out *o, const struct wire_head *h, const struct module_rows *have,
		  const struct module_rows *want, bool tighten);

/* ---- in ---- */

enum wire_kind {
	WIRE_UNKNOWN, /* something else: to be skipped */
	WIRE_ANSWER, /* an error, or 0 for success */
	WIRE_DONE, /* the end of a dump */
	WIRE_FAMILY, /* of the controller: a family is there (answer, or news) */
	WIRE_FAMILY_GONE,
	WIRE_CAPS,
	WIRE_CONFIG,
	WIRE_QOS,
	WIRE_LEASE_EVENT,
	WIRE_CONFIG_EVENT,
	WIRE_QOS_EVENT,
	WIRE_HOTPLUG_EVENT,
	WIRE_DRIVER_EVENT,
};

/* What is left of a buffer of received messages, aligned as malloc does. */
struct wire_in {
	uint8_t *bytes;
	size_t n;
};

struct nlmsghdr;

struct wire_message {
	enum wire_kind kind;
	struct nlmsghdr *header; /* in the buffer */
	uint32_t seq;
	bool torn; /* part of a dump that is not of one moment */
	int error; /* WIRE_ANSWER, WIRE_DONE: 0 or negative errno */
	uint32_t offset; /* of the attribute the error is about, in the request; 0: none */
	char text[WIRE_TEXT_MAX]; /* the kernel's words, "" for none */
};

/* The next message; false at the end, or where the rest is no message. family: ours, 0: not known. */
bool wire_next(struct wire_in *in, uint16_t family, struct wire_message *ret);

/* The following decode a message of their kind. 0, or -EBADMSG: it is not what it claims to be. */

struct wire_family {
	bool ours; /* named cpuidle_policy */
	uint16_t id;
	uint32_t version;
	uint32_t events; /* number of the group "events", 0: none */
};
int wire_get_family(const struct wire_message *m, struct wire_family *ret);

struct wire_state {
	char name[WIRE_NAME_MAX];
	bool window, sti_mwait; /* these are accepted for it */
	bool c1; /* C1_BACKEND is about it */
	bool ioport; /* IOPORT is about it */
};

struct wire_caps {
	uint32_t version; /* of the contract */
	uint32_t nr_cpus;
	uint32_t generation;
	char driver[WIRE_NAME_MAX]; /* "": none */
	char reason[WIRE_TEXT_MAX]; /* why no policy can be set; "": it can */
	char owner[WIRE_NAME_MAX]; /* "": nobody has the lease */
	uint32_t owner_pid;
	bool attached, own_driver;
	bool can_own, can_window, can_sti_mwait, can_states_off, can_broadcast, can_qos;
	bool can_c0, can_c0_row, can_haltpoll, can_ioport;
	bool dummy_wait, host_poll; /* as measured with the first lease; see the contract */
	char c0_reason[WIRE_TEXT_MAX], c0_row_reason[WIRE_TEXT_MAX]; /* why not; "" */
	uint32_t waitpkg[CPU_MAX / 32]; /* bit N of the whole: CPU N has UMWAIT */
	uint8_t own_row; /* number of the state the module has put in; 0: none */
	uint32_t n_states; /* without that one: all numbers are as if it were not there */
	struct wire_state states[MACHINE_STATES_MAX];
};
int wire_get_caps(const struct wire_message *m, struct wire_caps *ret);

/* WIRE_CONFIG and WIRE_CONFIG_EVENT: a row and who has it; cpus is initialised by the caller. */
struct wire_config {
	uint32_t generation;
	bool own_driver;
	bool resync; /* too many rows to tell: read them all */
	struct plan_module row; /* limit_ns is not part of it */
};
int wire_get_config(const struct wire_message *m, struct wire_config *ret, struct cpuset *cpus);

/* WIRE_QOS and WIRE_QOS_EVENT: id 0 is the limit in force of all requests together. */
struct wire_limit {
	uint32_t id;
	uint64_t limit_ns; /* LATENCY_NONE */
};
int wire_get_limit(const struct wire_message *m, struct wire_limit *ret, struct cpuset *cpus);

struct wire_lease {
	bool taken; /* else it ended */
	char owner[WIRE_NAME_MAX];
	uint32_t owner_pid;
	uint32_t generation;
};
int wire_get_lease(const struct wire_message *m, struct wire_lease *ret);

#endif
