/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_DIFF_H
#define CPUIDLED_DIFF_H

#include "plan.h"

/*
 * want (plan) against have (machine as it stands): the ordered list of writes. Every write that takes
 * states away comes before any that gives some back, so no moment of the way is looser than both
 * ends. Empty means equal: nothing is to be done.
 */
enum knob_kind {
	KNOB_QOS, /* cpuN/power/pm_qos_resume_latency_us, ns; LATENCY_NONE */
	KNOB_DISABLE, /* cpuN/cpuidle/stateS/disable, 0 or 1 */
	KNOB_GLOBAL, /* our request on /dev/cpu_dma_latency, ns; LATENCY_NONE: not held */
	KNOB_HOST, /* a file of the host, as it is written; state: enum host_knob */
};

struct change {
	uint64_t from, to;
	uint16_t cpu;
	uint8_t state;
	uint8_t kind; /* enum knob_kind */
	uint8_t own_row; /* KNOB_DISABLE: machine.own_row, for the file's name */
};

struct changes {
	struct change *v;
	uint32_t n;
	uint32_t n_tighten; /* the first n_tighten take away, the rest give back */
};

/* have_global_ns: what our own held request stands at, LATENCY_NONE when we hold none. -ENOMEM. */
int diff_make(const struct plan *want, const struct machine *have, uint64_t have_global_ns,
	      struct changes *ret);

/* The way back to what others had before us: for SIGTERM and for --restore. -ENOMEM. */
int diff_undo(const struct machine *have, uint64_t have_global_ns, struct changes *ret);

void changes_done(struct changes *c);

/* Does this write allow deeper sleep than before? */
bool change_loosens(const struct change *c);

/* Does such a knob belong to one CPU, or to the host? */
bool knob_is_of_cpu(enum knob_kind kind);

#endif
