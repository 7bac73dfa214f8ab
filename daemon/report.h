/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_REPORT_H
#define CPUIDLED_REPORT_H

#include "foreign.h"
#include "log.h"
#include "transition.h"

/*
 * The manager's words about what reached the CPUs: equal changes of many CPUs make one line. Each line goes
 * to the log and to told, if there is one (signal Changed).
 */
#define REPORT_LINES_MAX 24U /* per event; the rest is counted in one more */

struct report {
	void (*told)(void *data, const char *what, const char *detail); /* may be NULL */
	void *data;
};

/* "CPUs 0-3: pm_qos_resume_latency_us none -> 20us (profile low-latency)" */
void report_applied(const struct report *to, const struct policy *policy, const struct plan *plan,
		    const struct changes *c);

/* What cpuidle_policy.ko keeps from now on: "CPUs 0-3: limit 20us (profile low-latency), window on C1" */
void report_module(const struct report *to, const struct policy *policy, const struct plan *plan);

/* The same for the way back. */
void report_restored(const struct report *to, const struct changes *c);

/* verdicts has c->n: "CPUs 3: somebody set pm_qos_resume_latency_us from 20us to none; looser than ours ..." */
void report_foreign(const struct report *to, const struct changes *c, const uint8_t *verdicts);

/* One line for buf: which file, which error, what follows from it. Returns buf. */
const char *report_failure(const struct transition_result *r, char *buf, size_t size);

/* Every diagnostic, with its place. Returns the number of errors. */
size_t report_diags(const struct diag_list *diags);

/* A knob's value as the policy would spell it; buf has LATENCY_TEXT_MAX. Returns buf. */
const char *report_value(uint8_t kind, uint64_t value, char *buf);

#endif
