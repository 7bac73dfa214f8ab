/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_RANK_H
#define CPUIDLED_RANK_H

#include "plan.h"

/* Groups and workloads on one host, in the order in which their word about modes counts. */
struct ranked {
	struct plan_party party;
	uint32_t group; /* as in plan_demand */
	uint32_t profile;
	uint32_t n_cpus; /* the fewer, the more specific */
	struct cpuset cpus;
};

struct ranking {
	struct ranked *v;
	uint32_t n;
};

/* -ENOMEM; ret is to be released anyway. */
int rank_make(const struct policy *policy, const struct machine *machine, struct ranking *ret);
void rank_done(struct ranking *ranking);

#endif
