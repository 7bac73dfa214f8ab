/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_MANAGER_PRIVATE_H
#define CPUIDLED_MANAGER_PRIVATE_H

#include "manager.h"

#include "foreign.h"
#include "adapt.h"
#include "cgroup-watch.h"
#include "crowd.h"
#include "guard.h"
#include "kernel.h"
#include "reload.h"
#include "report.h"
#include "stall.h"
#include "steal.h"
#include "tally.h"
#include "transition.h"

/* The manager's inside, shared by manager.c (loop, state), manager-run.c (pipeline), manager-look.c
 * (others), manager-module.c (the kernel's module), manager-guard.c (the residency guard), manager-hold.c
 * (holds), manager-hotplug.c (CPUs that come and go), manager-workload.c (workloads), manager-verify.c (comparing,
 * and observing for a while). */
#define MANAGER_ERROR_MAX 512U
#define MANAGER_WHY_MAX	  300U

struct sd_event_source;

/* The module says beforehand what it can; some of it turns out only when it is asked. */
enum manager_refused { REFUSED_NOTHING, REFUSED_ROW, REFUSED_ALL };

/*
 *            bad policy: exit 3, leftovers restored
 *           +------------------------------------->
 *           |
 *   START --+-- applied ---> ACTIVE <----- retry, reload or ---- DEGRADED
 *           |                  |           the writer relents      ^  |
 *           |                  +-- write fails, value differs, ----+  |
 *           |                  |   looser foreign value left alone    |
 *           +-- write fails ---|------------------------------------->+
 *                              |                                      |
 *                              +--- SIGTERM --> RESTORING <-----------+
 *                                                   |
 *                                                   +--> exit
 */
struct manager {
	const struct manager_options *options;
	struct manager_hooks hooks;
	void *hooks_data;

	int root_fd, lock_fd;
	struct host host;
	struct watch watch;
	struct foreign foreign;
	struct transition transition;

	struct sd_event *event;
	struct sd_event_source
		*watch_source; /* off between the first event and the look at the files */
	struct sd_event_source *settle,
		*retry; /* one-shot timers, off when there is nothing to do */
	struct sd_event_source *signals[3];

	struct kernel *kernel; /* NULL: not used with these options */
	struct sd_event_source *module_news, *module_renew;
	struct sd_event_source *module_settle; /* one-shot, off when there is nothing to do */
	struct guard guard; /* of no cells: nobody asks for it */
	struct adapt adapt; /* the same */
	struct crowd crowd; /* the same */
	struct steal steal;
	struct stall stall; /* how long tasks have waited for CPUs */
	struct tally tally;
	struct sd_event_source *guard_timer; /* NULL: off */
	struct cgroup_watch cgroups; /* what workloads run in */
	struct sd_event_source *workload_news; /* NULL until the policy has a workload */
	struct sd_event_source *workload_settle; /* one-shot, off when there is nothing to do */
	const struct machine *workload_machine; /* only compared */
	char *workloads_text; /* what is told of them; NULL: nothing yet */
	bool workloads_blind; /* some of it cannot be watched, which was said */
	bool again; /* the run that ends needs another one: the host changed by it */
	bool declined; /* the run that ends was refused by the module, which is ours still */
	bool declined_row; /* and asked for a state of its own */
	enum manager_refused refused; /* what is done without since, until the next try */
	bool module_came; /* worth another handshake */
	char module_text[KERNEL_TEXT_MAX]; /* what it is to us, or why it is nothing */
	char refused_text[KERNEL_TEXT_MAX]; /* its words about what it refused */

	/* In force: policy and machine are what plan was made of. */
	struct policy *policy;
	struct machine *machine;
	struct plan *plan;
	unsigned needs; /* what machine was read for */
	char *settings; /* run-time policy text, NULL: none */
	struct sd_event_source *hotplug, *hotplug_settle; /* the second one-shot, mostly off */
	struct holds holds;
	struct sd_event_source *hold_timer; /* one-shot; NULL until a hold has an end */
	uint64_t hold_until_us; /* what it is set to, 0: off */
	struct round *rounds; /* of observation, that are under way */
	uint64_t planned_ns; /* when the plan in force came, by CLOCK_MONOTONIC */

	enum manager_state state;
	uint64_t generation, foreign_writes;
	uint32_t retries; /* in a row */
	uint64_t global_told_ns; /* what others hold on cpu_dma_latency, as last logged */
	bool stale; /* the machine may not be what is known of it */
	bool failed; /* the plan does not stand for want of a write */
	bool serving; /* READY=1 was said */
	char why[MANAGER_WHY_MAX]; /* what set the daemon in motion, for whoever listens */
	char last_error[MANAGER_ERROR_MAX];
};

/* manager.c: notes what went wrong, until the next settling. */
void manager_set_error(struct manager *m, const char *text);
/* manager.c: decides where we are after a way through the pipeline, and when to try again. */
void manager_settle_state(struct manager *m);
/* manager.c: STATUS= and the bus's properties; before is a notification to put in front, or "". */
void manager_publish(const struct manager *m, const char *before);
/* manager.c: look at the marked files soon. */
void manager_look_soon(struct manager *m);

/*
 * manager-run.c: says what has just set the daemon in motion. Every handler of the loop that may change something says
 * so first; manager_tell() passes it on with each change.
 */
void manager_because(struct manager *m, const char *fmt, ...) _printf_(2, 3);
void manager_tell(const struct manager *m, const char *what, const char *detail);
/* Where the manager's words go. */
struct report manager_reporter(struct manager *m);

/*
 * manager-run.c: the one way to a CPU. source: read the policy anew; NULL: the one in force. left: record of a
 * dead predecessor, at start. A host that changed under it is read again and tried once more; what the module
 * refuses is done without: first its own state, then all of it. Errors as of
 * reload_run() and transition_run(); everything is told to the log, diags as well.
 */
int manager_run(struct manager *m, const struct source_options *source,
		const struct restore_record *left, struct diag_list *diags);

/*
 * The same once more for something else than a policy that has changed: state, STATUS= and the bus's properties
 * follow. The daemon's own news, so a failure is kept for the retry as well as returned.
 */
int manager_run_again(struct manager *m);

/*
 * manager-module.c: the handshake with cpuidle_policy.ko, before the first run; without it all goes on by the
 * host's files. stop gives back what it keeps for us, at once.
 */
void manager_module_start(struct manager *m);
void manager_module_stop(struct manager *m);
/*
 * What the module keeps for us, NULL: nothing, it is not ours. differs, the caller's: CPUs for which the kernel says
 * otherwise are added, all where it says nothing. tell adds that to f; -ENOMEM.
 */
const struct module_rows *manager_module_kept(struct manager *m, struct cpuset *differs);
int manager_module_tell(struct manager *m, const struct cpuset *differs, struct findings *f);
void manager_module_free(struct manager *m);
void manager_module_describe(struct manager *m, struct machine_module *ret);

/*
 * manager-guard.c: takes up a new plan, after a run; looks from now on, or not any more. True: the plan has a veto
 * that is none any more, and wants another run.
 */
bool manager_guard_follow(struct manager *m);
void manager_guard_free(struct manager *m);
void manager_hold_free(struct manager *m); /* manager-hold.c */

/* manager-hotplug.c: listens from now on; without that all goes on, and a reload finds them. */
void manager_hotplug_start(struct manager *m);
void manager_hotplug_free(struct manager *m);
/* What is different about the host itself, now that it was read again: CPUs, driver. */
void manager_hotplug_tell(const struct manager *m, const struct machine *now);

/* manager-workload.c: start before the first run; follow after each, to listen and to tell what lives now. */
int manager_workload_start(struct manager *m); /* -ENOMEM */
void manager_workload_follow(struct manager *m);
void manager_workload_free(struct manager *m);

/* manager-verify.c: there is a new plan, or the machine is another; and the end. */
void manager_verify_follow(struct manager *m);
void manager_verify_free(struct manager *m);

/* manager-look.c: reads every marked file once and answers what others wrote. */
void manager_look(struct manager *m);
/*
 * The same before files are written for another reason, so that what others wrote a moment ago is not written over.
 * Only judges, and notes in machine; true when that wants another plan.
 */
bool manager_look_first(struct manager *m, const struct policy *policy, struct machine *machine);
/* The same before a restore: what others wrote is theirs, and nothing is answered any more. */
void manager_look_last(struct manager *m);

#endif
