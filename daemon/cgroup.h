/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_CGROUP_H
#define CPUIDLED_CGROUP_H

#include "workload.h"

/*
 * The cgroup v2 hierarchy below a root directory, as far as workloads ask for it: only directories are listed below
 * which one of them can be, and only control groups that match are read.
 *
 * The CPUs of a control group are those of its cpuset.cpus.effective, or of the nearest one above that has it
 * (Documentation/admin-guide/cgroup-v2.rst: without the controller the parent's hold). That file leaves offline CPUs
 * out; those that the configured cpuset.cpus names are added, so that a CPU has its plan when it comes up.
 */
#define CGROUP_ROOT	"sys/fs/cgroup"
#define CGROUP_PATH_MAX 4096U
#define CGROUP_DIRS_MAX 16384U /* listed at most */

enum cgroup_part { CGROUP_DIR, CGROUP_FILE };

/* Whoever wants to know what is about to be looked at, before it is: a watch then misses nothing. */
struct cgroup_watcher {
	/* path is relative to the root directory: "sys/fs/cgroup/a.slice/cgroup.events" */
	void (*about_to_read)(void *data, enum cgroup_part part, const char *path);
	void *data;
};

/* What is asked for: the workloads of one or two policies (a new one may turn out not to be taken). */
struct cgroup_query {
	const struct policy *policies[2]; /* each may be NULL */
	const struct machine *machine; /* its CPUs, and which are online */
};

/* Does anybody ask? */
bool cgroup_wanted(const struct cgroup_query *q);
bool cgroup_may_be_below(const struct cgroup_query *q, const char *path);
bool cgroup_matches(const struct cgroup_query *q, const char *path);

/*
 * Reads; ret is initialised here. watcher may be NULL. A host without the hierarchy is no error (ret->absent), what
 * vanishes meanwhile is left out. -ENOMEM.
 */
int cgroup_read(int root_fd, const struct cgroup_query *q, const struct cgroup_watcher *watcher,
		struct cgroups *ret);

#endif
