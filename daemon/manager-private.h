/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_MANAGER_PRIVATE_H
#define CPUIDLED_MANAGER_PRIVATE_H

#include "manager.h"

#include "foreign.h"
#include "reload.h"
#include "report.h"
#include "transition.h"

/* The manager's inside, shared by manager.c (loop, state), manager-run.c (pipeline), manager-look.c (others). */
#define MANAGER_ERROR_MAX 512U

struct sd_event_source;

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

	/* In force: policy and machine are what plan was made of. */
	struct policy *policy;
	struct machine *machine;
	struct plan *plan;
	unsigned needs; /* what machine was read for */
	char *settings; /* run-time policy text, NULL: none */

	enum manager_state state;
	uint64_t generation, foreign_writes;
	uint32_t retries; /* in a row */
	bool stale; /* the machine may not be what is known of it */
	bool failed; /* the plan does not stand for want of a write */
	bool serving; /* READY=1 was said */
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

/* Where the manager's words go. */
struct report manager_reporter(const struct manager *m);

/*
 * manager-run.c: the one way to a CPU. source: read the policy anew; NULL: the one in force. left: record of a
 * dead predecessor, at start. A host that changed under it is read again and tried once more. Errors as of
 * reload_run() and transition_run(); everything is told to the log, diags as well.
 */
int manager_run(struct manager *m, const struct source_options *source,
		const struct restore_record *left, struct diag_list *diags);

/* manager-look.c: reads every marked file once and answers what others wrote. */
void manager_look(struct manager *m);
/* The same before a restore: what others wrote is theirs, and nothing is answered any more. */
void manager_look_last(struct manager *m);

#endif
