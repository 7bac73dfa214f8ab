/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_CLIENT_H
#define CPUIDLED_CLIENT_H

#include "cmd.h"
#include "diag.h"
#include "listing.h"
#include "view.h"

/*
 * The daemon as seen from here: one function per method of daemon/protocol.h, typed results out. The
 * private socket is tried first, because it works without a bus daemon; then the system bus. Callers
 * that want to change something and are not root go the other way round, since only there polkit can
 * give them leave.
 *
 * Every function returns 0 or an exit code (cmd.h) after having said why on stderr; results are written
 * on success only.
 */
struct client;

enum client_intent { CLIENT_READS, CLIENT_WRITES };

int client_open(const struct options *o, enum client_intent intent, struct client **ret);
void client_close(struct client *c);
DEFINE_CLEANUP(struct client *, client_closep, client_close)

struct client_words {
	char **v;
	uint32_t n;
};

/* Strings are owned, never NULL after client_status(); numbers the daemon did not send are 0. */
struct client_status {
	char *version, *state, *last_error, *on_foreign_write, *driver, *governor, *settings;
	char *adapt; /* the same of Adapt= */
	char *workloads; /* which workloads live, "" from an older daemon */
	char *guard; /* what the residency guard does and did, "" from an older daemon */
	char *umwait; /* what cpu/umwait_control says, "" where it is not there */
	char *module; /* what cpuidle_policy.ko is to it, or why nothing */
	uint64_t generation, foreign_writes;
	uint32_t cpus, cpus_online, holds;
	struct client_words backends, policy_files;
};

int client_status(struct client *c, struct client_status *ret);
void client_status_done(struct client_status *s);

/* The plan in force for a CPU selector (NULL: all CPUs); layers: with every layer of explain. */
int client_plan(struct client *c, const char *cpus, bool layers, struct view *ret);

/* The merged policy as text, owned by the caller. */
int client_policy(struct client *c, char **ret);

int client_profiles(struct client *c, struct listing *ret);

struct client_finding {
	char *cpus, *result, *knob, *detail;
};

struct client_findings {
	struct client_finding *v;
	uint32_t n;
};

/* interval_us: how long the counters are observed, 0: not at all. The answer comes after that. */
int client_verify(struct client *c, uint64_t interval_us, struct client_findings *ret);
void client_findings_done(struct client_findings *f);

/*
 * The writing ones. What the daemon found in the policy is added to diags whether it took it or not;
 * EXIT_NOT_AS_ASKED, without a word on stderr, when it refused because of them.
 */
int client_reload(struct client *c, struct diag_list *diags);
int client_set(struct client *c, const char *text, struct diag_list *diags);
int client_reset(struct client *c, struct diag_list *diags);

/* What to hold; strings may be NULL. */
struct client_ask {
	const char *cpus, *profile, *reason, *app, *unit;
	uint64_t limit_ns; /* LATENCY_NONE: no limit of its own */
	uint64_t ttl_us; /* 0: no end by time */
	const char *const *modes; /* KEY=VALUE, each with its '=' */
	uint32_t n_modes;
	int fd; /* tied to this; -1: to the connection */
	bool detached; /* tied to nobody */
};

int client_hold(struct client *c, const struct client_ask *ask, uint32_t *ret_id);
int client_release(struct client *c, uint32_t id);

/*
 * Waits until hold id has ended (EXIT_NOT_AS_ASKED, said why), the daemon has gone (EXIT_NOT_THERE), or one of SIGINT,
 * SIGTERM, SIGHUP and SIGQUIT comes (EXIT_OK). These are blocked from then on.
 */
int client_hold_wait(struct client *c, uint32_t id);

struct client_held {
	uint32_t id, pid, uid; /* pid 0: not known */
	char *app, *unit, *reason, *cpus, *profile, *modes;
	uint64_t since_us, limit_ns, left_us; /* UINT64_MAX: no end by time */
};

struct client_holds {
	struct client_held *v;
	uint32_t n;
};

int client_holds(struct client *c, struct client_holds *ret);
void client_holds_done(struct client_holds *h);

/* Calls fn for each Changed signal until it returns false or the daemon goes away (EXIT_NOT_THERE). */
typedef bool (*client_event_fn)(const char *what, const char *detail, const char *why,
				void *userdata);
int client_monitor(struct client *c, client_event_fn fn, void *userdata);

#endif
