/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_TRANSITION_H
#define CPUIDLED_TRANSITION_H

#include "apply.h"
#include "host.h"
#include "watch.h"

/*
 * One way from where a host stands to where it shall: record, apply, verify, note in the machine. The host
 * is at the new values afterwards, or where it was; a kill -9 anywhere between leaves a record that
 * leads back.
 */
struct transition {
	int root_fd;
	struct host *host;
	struct watch *watch; /* NULL: nobody watches */
	struct actuator actuator;
	struct actuator_module module;
};

enum transition_step {
	STEP_DONE,
	STEP_RECORD, /* the record could not be written: nothing was tried */
	STEP_APPLY, /* a write failed: rolled back */
	STEP_MODULE, /* the module refused: rolled back */
	STEP_VERIFY, /* a value did not stick or could not be read: rolled back */
};

struct transition_result {
	enum transition_step step; /* where it ended */
	int error; /* negative errno of that step */
	int record_error; /* done, but the tidied record could not be written: the older one leads back, too */
	uint32_t n_left; /* writes of a rollback that failed: the host is not where it was */
	struct change at; /* STEP_APPLY, STEP_VERIFY: which file */
	uint64_t found; /* STEP_VERIFY with -ESTALE: what stood there */
	uint32_t n_written;
	bool module_changed; /* the module was told something new */
	const char *words; /* STEP_MODULE: the module's own; borrowed from it */
};

/*
 * Files that tighten, then all that the module keeps (want), then files that loosen: what moves from one to the
 * other is never in neither. 0 or the error in ret. m is told what stands on success only.
 */
int transition_run(const struct transition *t, struct machine *m, const struct changes *c,
		   const struct module_rows *want, struct transition_result *ret);

/*
 * Back to what others had, trying every file; the record keeps what could not be done. Returns the number
 * of files that failed, n_written those put back. Negative errno when nothing could be tried.
 */
int transition_undo(const struct transition *t, struct machine *m, struct transition_result *ret);

/* Writes the record of what is ours as m stands: after priors have moved. -errno. */
int transition_record(const struct transition *t, const struct machine *m);

/* What was found of an earlier run. */
struct transition_leftover {
	uint32_t n_foreign; /* files others have written since, and keep */
	bool damaged; /* the record was not whole */
};

/*
 * Reads the record of a dead predecessor and the host, and puts back what is still ours. Result as of
 * transition_undo(); 0 when there is nothing to do.
 */
int transition_restore(const struct transition *t, struct transition_leftover *leftover,
		       struct transition_result *ret);

#endif
