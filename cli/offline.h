/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_OFFLINE_H
#define CPUIDLED_OFFLINE_H

#include "cmd.h"
#include "plan.h"
#include "view.h"
#include "workload.h"

/*
 * What the daemon would make of policy files, without one: reads them and the host (this one or the tree
 * of --root) and resolves. Values that a daemon's restore record calls its own are not taken for those
 * of others.
 */
struct offline {
	struct policy *policy; /* NULL when the files have errors */
	struct machine *machine; /* NULL when only the policy was asked for */
	struct cgroups cgroups; /* what its workloads run in now */
	struct plan *plan;
	struct diag_list diags;
};

/* Do the options ask for an answer without the daemon? */
bool offline_wanted(const struct options *o);

/*
 * Reads the policy: file, else --policy, else the search path. EXIT_OK, also with errors in diags
 * (policy is NULL then); an exit code after a message otherwise. ret is the caller's to release anyway.
 */
int offline_policy(const struct options *o, const char *file, struct offline *ret);

/* Reads the host as well and resolves, unless the policy has errors. */
int offline_plan(const struct options *o, const char *file, struct offline *ret);

/* The rows of the plan for a selector (NULL: all CPUs). */
int offline_view(const struct offline *f, const char *cpus, unsigned flags, struct view *ret);

void offline_done(struct offline *f);

#endif
