/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_CGROUP_WATCH_H
#define CPUIDLED_CGROUP_WATCH_H

#include "cgroup.h"

/*
 * The control groups of workloads, followed by inotify: no polling, no wake-up while none comes, goes or changes.
 *
 * The kernel tells of cgroup.events itself when the last process has gone or the first come (kernfs_notify()). Of
 * cpuset.cpus.effective it tells nothing; but it follows from cpuset.cpus, cpuset.cpus.partition and
 * cgroup.subtree_control of the control group and of those above it, and who writes those is noticed as any writer of
 * a file is. CPUs that come and go are the caller's to notice.
 */
struct cgroup_watch {
	int fd; /* inotify, non-blocking; for the loop. -1: nobody has asked so far */
	int root_fd; /* the caller's */
	char *prefix; /* root without a trailing slash, owned */
	struct cgroup_mark *marks; /* by descriptor */
	uint32_t n_marks, cap_marks;
	uint32_t round; /* counts readings */
	bool stale; /* something came that has not been read yet */
	uint32_t n_failed; /* places that could not be watched in the last round */
	int error; /* why the first one could not: -ENOSPC is fs.inotify.max_user_watches */
	struct cgroups found; /* as last read; machine.cgroups points here */
};

struct cgroup_mark {
	int wd;
	uint32_t round; /* when it was last wanted */
	bool dir;
	char *path; /* below the hierarchy, of the directory that is watched; NULL for a file */
};

/* Asks nothing yet. -ENOMEM. */
int cgroup_watch_init(struct cgroup_watch *w, const char *root, int root_fd);
void cgroup_watch_done(struct cgroup_watch *w); /* also for one that is zero with fd -1 */

/*
 * Reads what the query asks for and watches it from then on; what was watched and is not asked for any more is let
 * go. ret_changed: something is otherwise than before. -ENOMEM: what was known stays, and is stale.
 * Where there can be no watching all is read the same, and told by n_failed.
 */
int cgroup_watch_read(struct cgroup_watch *w, const struct cgroup_query *q, bool *ret_changed);

/* Takes the events that have come. True: something has to be read again. */
bool cgroup_watch_collect(struct cgroup_watch *w, const struct cgroup_query *q);

#endif
