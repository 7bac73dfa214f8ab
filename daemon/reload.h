/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_RELOAD_H
#define CPUIDLED_RELOAD_H

#include "cgroup-watch.h"
#include "host.h"
#include "source.h"

/*
 * The pipeline: source -> policy -> machine -> plan -> diff. Reads, and changes nothing; what it makes is
 * the caller's to take over or to throw away.
 */
struct reload_input {
	int root_fd;
	const struct host *host; /* what our global request stands at */
	const struct source_options *source; /* where to read the policy; NULL: it stays */
	const struct policy *policy; /* in force; may be NULL when source is given */
	struct machine *machine; /* as known, limits kept current by the watch; NULL: read it */
	unsigned needs; /* enum selector_needs machine was read for */
	const struct machine_module *module; /* what the module can do; NULL: it is not there */
	const struct holds *holds; /* may be NULL */
	struct cgroup_watch *cgroups; /* what workloads run in, brought up to date here */
	const struct restore_record
		*left; /* of a dead predecessor, for a first machine; may be NULL */
	bool stale; /* read the machine again whatever sysfs_same_host() says */
};

struct reload_result {
	struct policy *policy; /* new; NULL: the one in force stays */
	struct machine *machine; /* new; NULL: as known */
	unsigned needs;
	struct plan *plan;
	struct changes changes;
	uint32_t n_foreign; /* values others wrote while nobody looked, found by reading again */
};

/*
 * 0, -EBADMSG (the policy has errors, all in diags), -ENODEV (no CPU), -ENOMEM, -errno of reading the host.
 * Only the limits of /dev/cpu_dma_latency are brought up to date in a machine that is kept.
 */
int reload_run(const struct reload_input *in, struct diag_list *diags, struct reload_result *ret);
void reload_done(struct reload_result *r);

#endif
