/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_VIEW_H
#define CPUIDLED_VIEW_H

#include "plan.h"

/*
 * A plan in words and numbers: what the bus carries and what text and JSON are made of, so that the answer
 * of a running daemon and of an offline run cannot differ. Every string is owned by the view.
 */
struct view_state {
	uint32_t index;
	char *name;
	uint64_t exit_latency_ns, target_residency_ns;
	char *class; /* "poll", "halt" ... */
	bool enabled;
	char *reason; /* one short sentence: "exit latency 133us > limit 70us" */
};

struct view_mode {
	char *name, *requested, *effective, *reason;
};

/* One layer that decides about these CPUs, in the order in which they narrow the choice. */
struct view_layer {
	char *name; /* "driver", "boot parameter", "group isolated", "default profile", "hold 12",
		     * "cpu_dma_latency", "pm_qos_resume_latency_us", "governor", "hardware",
		     * "cpuidle_policy": what the module does here, and what it does not and why */
	char *text;
};

struct view_row {
	bool online; /* false: this holds the moment the CPUs come up */
	char *cpus; /* "0-3,8" */
	char *profile;
	char *limit_source; /* "profile low-latency (20us)", "hold 12 of fio (10us)", "no limit" */
	uint64_t limit_ns; /* effective; LATENCY_NONE */
	uint64_t policy_limit_ns; /* the strictest of policy and holds */
	uint64_t others_limit_ns; /* the stricter of both files' foreign limits */
	struct view_state *states;
	uint32_t n_states;
	struct view_mode *modes;
	uint32_t n_modes;
	struct view_layer *layers; /* only with VIEW_LAYERS */
	uint32_t n_layers;
};

struct view {
	struct view_row *rows;
	uint32_t n;
};

enum view_flags {
	VIEW_LAYERS = 1 << 0, /* every layer of explain */
};

/* Holds that are told one by one with each row of explain. */
#define VIEW_HOLDS_MAX 64U

/*
 * Makes the rows of plan, which was made with holds (may be NULL), narrowed to cpus (NULL: all), ordered by first CPU. Without layers, rows that read the
 * same are one. -ENOMEM.
 */
int view_make(const struct policy *policy, const struct machine *machine, const struct plan *plan,
	      const struct holds *holds, const struct cpuset *cpus, unsigned flags,
	      struct view *ret);
void view_done(struct view *v);

#endif
