/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_WORKLOAD_H
#define CPUIDLED_WORKLOAD_H

#include "buf.h"
#include "machine.h"
#include "policy.h"

/*
 * Which control groups are a [Workload]'s, and which CPUs that makes. A workload is a group whose CPUs are given
 * from outside: those of the control groups that match and have a process in them, at this moment.
 *
 * Paths are those of the one cgroup v2 hierarchy, "/system.slice/a.service", as systemd and container engines write
 * them:
 *  - a unit is the first component of a path that is no slice (systemd: cg_path_get_unit()), so what runs inside a
 *    unit, or is called like one in somebody's own subtree, is not the unit;
 *  - a name that could be taken for a file of the kernel has a "_" in front (systemd: cg_escape());
 *  - a container is docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope or crio-ID.scope, or ID alone where
 *    the engine does without systemd, at any depth.
 */
struct cgroup {
	char *path;
	bool populated; /* there is a process in it, or below */
	struct cpuset
		cpus; /* where those may run; ones that are offline now included where they are known */
};

/* The control groups of a host that a policy's workloads match, by path. Zero-initialised: none. */
struct cgroups {
	struct cgroup *v;
	uint32_t n, cap;
	bool absent; /* the host has no cgroup v2 hierarchy */
	bool cut; /* there were more than could be looked at */
};

void cgroups_done(struct cgroups *g);

/* Adds one, in order; path is copied, cpus taken over. -ENOMEM: cpus stays the caller's. */
int cgroups_add(struct cgroups *g, const char *path, bool populated, struct cpuset *cpus);

bool cgroups_equal(const struct cgroups *a, const struct cgroups *b);

/* Is the control group of this path the workload's? */
bool workload_matches(const struct workload *w, const char *path);

/* Can one below it be? "" is the root of the hierarchy. */
bool workload_may_be_below(const struct workload *w, const char *path);

/* Both, for any workload of a policy. */
bool workload_any_matches(const struct policy *policy, const char *path);
bool workload_any_below(const struct policy *policy, const char *path);

/*
 * The CPUs of a workload, none while nothing of it runs; ret is initialised here. CPUs=all makes them all there are.
 * -ENOMEM.
 */
int workload_cpus(const struct workload *w, const struct machine *machine, struct cpuset *ret);

/* "Unit=a.service, which is /system.slice/a.service" */
void workload_put(const struct workload *w, const struct machine *machine, struct buf *b);

#define WORKLOAD_STATUS_NONE "none" /* of a policy without any */

/* "2 of 3 live: database on 2-3, web on 0-1"; "none" for a policy without. NULL: out of memory. Owned. */
char *workload_status(const struct policy *policy, const struct machine *machine);

/* Says what keeps workloads from being followed on this host. */
void workload_warn(const struct policy *policy, const struct machine *machine,
		   struct diag_list *diags);

#endif
