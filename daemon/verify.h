/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_VERIFY_H
#define CPUIDLED_VERIFY_H

#include "actuator.h"
#include "plan.h"

/* Does what the plan asks for still stand? Compares; reads nothing but the global request. */

/* CPUs with the same answer to the same question. All strings are owned. */
struct finding {
	char *cpus; /* "0-3,8"; "" for cpu_dma_latency */
	const char *result; /* "ok", "differs", "unsupported" */
	char *knob; /* "pm_qos_resume_latency_us", "state3/disable", "cpu_dma_latency", or a mode: "c0" */
	char *detail; /* "20us", "found none, should be 20us" */
};

#define FINDINGS_MAX 128U /* groups; further ones are only counted */

struct findings {
	struct finding *v;
	uint32_t n;
	uint32_t n_differs; /* files, not groups */
	uint32_t dropped;
};

/*
 * now: the host as it stands this moment, read for the purpose. a answers for the global request. -ENOMEM,
 * -errno of reading that.
 */
int verify_make(const struct plan *plan, const struct machine *now, const struct actuator *a,
		struct findings *ret);

/* One more: strings are copied. result: "ok", "differs". n CPUs differ. -ENOMEM. */
int findings_add(struct findings *f, const char *cpus, const char *result, const char *knob,
		 const char *detail, uint32_t n);
void findings_done(struct findings *f);

#endif
