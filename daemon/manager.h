/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_MANAGER_H
#define CPUIDLED_MANAGER_H

#include "diag.h"
#include "hold.h"
#include "machine.h"
#include "plan.h"
#include "policy.h"
#include "verify.h"

/*
 * The one object of a running daemon: loop, timers, signals, current policy, machine and plan. Everything
 * that can change a CPU enters through manager_run(): start, reload, run-time settings, a foreign write.
 * Live state changes by one assignment after the new plan stands verified.
 */
enum manager_state {
	MANAGER_START, /* nothing applied yet */
	MANAGER_ACTIVE, /* the plan stands */
	MANAGER_DEGRADED, /* it does not, or not everywhere; retried with growing pauses */
	MANAGER_RESTORING, /* on the way back to the host's own settings */
};

struct manager_options {
	const char *root; /* "/" or a recorded tree */
	const char *policy; /* named policy file, NULL: search */
	bool once; /* apply, verify, exit */
	bool no_bus; /* neither system bus nor private socket */
};

/* Exit statuses of the daemon (man 8 cpuidled). */
enum manager_exit {
	MANAGER_EXIT_OK = 0,
	MANAGER_EXIT_FAILED = 1,
	MANAGER_EXIT_USAGE = 2,
	MANAGER_EXIT_REFUSED = 3, /* the policy has errors, or the host is not as asked */
	MANAGER_EXIT_UNAVAILABLE = 4, /* cannot run here: another one does, or there are no CPUs */
};

/*
 * What the layer above (the bus) wants to be told; wired by main. Called from the loop, after the state
 * they speak of stands. Each may be NULL.
 */
struct manager_hooks {
	/* Something about the CPUs has changed, or who decides about them, and why: signal Changed. */
	void (*changed)(void *data, const char *what, const char *detail, const char *why);
	/* State, generation, policy files, last error or the count of foreign writes moved. */
	void (*properties)(void *data);
	/* A hold has ended, and owner has one fewer: signal HoldReleased. With its last one owner may be freed. */
	void (*released)(void *data, uint32_t id, struct hold_owner *owner, const char *why);
};

struct manager;
struct sd_event;

/* o and its strings stay the caller's and must outlive the manager. -ENOMEM. */
int manager_new(const struct manager_options *o, struct manager **ret);
void manager_free(struct manager *m);
void manager_set_hooks(struct manager *m, const struct manager_hooks *hooks, void *data);

/*
 * In this order: manager_start() takes the lock, reads, applies once and watches; manager_main() says
 * READY=1, serves until SIGTERM or SIGINT and restores; manager_once() does without loop and restore.
 * All return the exit status of the process; after a failed start nothing of ours stands.
 */
int manager_start(struct manager *m);
int manager_main(struct manager *m);
int manager_once(struct manager *m);

struct sd_event *manager_event(const struct manager *m); /* borrowed; NULL before manager_start() */
const char *manager_root(const struct manager *m); /* "/" or the recorded tree */

enum manager_state manager_state(const struct manager *m);
const char *manager_state_name(enum manager_state state);
const struct policy *manager_policy(const struct manager *m); /* NULL before the first one */
const struct machine *manager_machine(const struct manager *m);
const struct plan *manager_plan(const struct manager *m);
uint64_t manager_generation(const struct manager *m); /* counts plans that reached the CPUs */
uint64_t manager_foreign_writes(const struct manager *m);
/* What Adapt= does, in one line. Returns buf. */
const char *manager_adapt(const struct manager *m, char *buf, size_t size);
/* What the residency guard does, in one line. Returns buf. */
const char *manager_guard(const struct manager *m, char *buf, size_t size);
/* "1 of 2 live: database on 2-3", or "none" for a policy without workloads. */
const char *manager_workloads(const struct manager *m);
/* "cpuidle_policy 1 on intel_idle", or what is missing of the module and why. */
const char *manager_module(const struct manager *m);
const char *manager_last_error(const struct manager *m); /* "" when all is well */

/*
 * Reads the policy again and takes it over whole, or not at all. Diagnostics of both outcomes are
 * added to diags. 0, -EBADMSG (bad policy, nothing changed), or -errno of apply (rolled back).
 */
int manager_reload(struct manager *m, struct diag_list *diags);

/* The same with text on top of the files (NULL: without any from now on). */
int manager_set(struct manager *m, const char *text, struct diag_list *diags);

/*
 * manager-hold.c. Holds survive reloads and end with the daemon. All of them enter the one path where a CPU's limit
 * or modes change, and cost no write where they do not.
 */
const struct holds *manager_holds(const struct manager *m);
uint64_t
manager_hold_clock(void); /* us; that of hold_spec.until_us, which goes on in a suspended system */

/*
 * Takes one for owner, which outlives it; it stands when this returns. -ENODATA: there is no plan yet; -ENOENT: the
 * policy has no such profile; -ENOSPC: too many; -ENOMEM; -errno of apply. Nothing stays behind of a failed one.
 */
int manager_hold(struct manager *m, const struct hold_spec *spec, struct hold_owner *owner,
		 uint32_t *ret_id);

/* Ends one. It has ended even where -errno of apply tells that the CPUs do not know yet. */
int manager_release(struct manager *m, struct hold *hold, const char *why);

/* All of them, silently and for nobody to see: their owners are about to go with the daemon. */
void manager_forget_holds(struct manager *m);

/* Ends all holds of n owners in one go. */
void manager_release_owners(struct manager *m, struct hold_owner **owners, uint32_t n,
			    const char *why);

/*
 * manager-verify.c. Reads every file the plan speaks of and compares (verify.h). A value found changed that no
 * event told of is taken up like a foreign write right after. The findings are the caller's, for findings_done().
 */
int manager_verify(struct manager *m, struct findings *ret);

/*
 * The same in a while, together with what the kernel's counters show meanwhile (proof.h). Nothing waits for it: fn is
 * called from the loop, once, with 0 and the findings, or with -errno and none. Those who ask within
 * MANAGER_JOIN_US for the same interval are answered by one observation, which began with the first of them.
 */
struct observer;
typedef void (*manager_observed_fn)(void *data, int error, const struct findings *findings);

#define MANAGER_INTERVAL_MAX_SEC 600U
#define MANAGER_INTERVAL_MAX_US	 (UINT64_C(1000000) * MANAGER_INTERVAL_MAX_SEC)
#define MANAGER_JOIN_US		 UINT64_C(100000)
#define MANAGER_ROUNDS_MAX	 8U /* observations at a time */
#define MANAGER_ROUNDS_OTHERS	 6U /* of them for others than root */

/*
 * interval_us: 1..MANAGER_INTERVAL_MAX_US. root: who asks may have the places that are kept for root. The observer is
 * the caller's to cancel until fn is called. -ENODATA: there is no plan yet; -EUSERS: too many already; -ENOMEM.
 */
int manager_observe(struct manager *m, uint64_t interval_us, bool root, manager_observed_fn fn,
		    void *data, struct observer **ret);
void manager_observe_cancel(struct observer *o); /* fn is not called any more; NULL: nothing */

#endif
