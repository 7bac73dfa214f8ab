/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_VERIFY_H
#define CPUIDLED_VERIFY_H

#include "actuator.h"
#include "plan.h"

/*
 * Does what the plan asks for still stand: file by file, and as the limit that comes of all who limit a CPU?
 * Compares; reads nothing but the global request. What came of it on the CPUs is proof.h's.
 */

/* CPUs with the same answer to the same question. All strings are owned. */
struct finding {
	char *cpus; /* "0-3,8"; "" for cpu_dma_latency */
	const char *result; /* "ok", "differs", "unsupported" */
	/*
	 * "limit": of all sources; "pm_qos_resume_latency_us", "state3/disable", "cpu_dma_latency" and other
	 * files; "cpuidle_policy": what the module keeps; a mode: "c0"; "usage", "state3/usage": the counters
	 */
	char *knob;
	char *detail; /* "20us", "found none, should be 20us" */
};

#define FINDINGS_MAX 128U /* groups; further ones are only counted */

struct findings {
	struct finding *v;
	uint32_t n;
	uint32_t n_differs; /* files and CPUs, not groups; of those dropped as well */
	uint32_t dropped; /* groups' members that found no place */
};

struct verify_input {
	const struct plan *plan;
	const struct machine *now; /* as it stands this moment, read for the purpose */
	const struct actuator *actuator; /* answers for the global request */
	const struct module_rows
		*kept; /* what the module keeps for us; NULL: nothing, or it is not there */
	const struct cpuset *not_kept; /* CPUs for which the kernel says otherwise; with kept */
};

/* -ENOMEM, -errno of reading the global request. */
int verify_make(const struct verify_input *in, struct findings *ret);

/* One more: strings are copied. result: "ok", "differs". n CPUs differ. -ENOMEM. */
int findings_add(struct findings *f, const char *cpus, const char *result, const char *knob,
		 const char *detail, uint32_t n);
/* When all are added: says how many are not. -ENOMEM. */
int findings_close(struct findings *f);
void findings_done(struct findings *f);

#endif
