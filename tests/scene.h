/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_SCENE_H
#define CPUIDLED_SCENE_H

#include "testlib.h"

#include "diff.h"
#include "plan.h"

/*
 * A policy on a host and what comes of it. Hosts are made in memory from a line of states, or read from a
 * tree; everything is freed by scene_done().
 */
struct scene {
	struct policy *policy;
	struct machine *machine;
	struct plan *plan;
	struct diag_list diags; /* of resolving; the policy itself has to be free of errors */
};

/*
 * A host whose CPUs all have these states: "POLL 0/0, C1 1/1 MWAIT 0x00, C3! 33/100 MWAIT 0x10": name,
 * exit latency and target residency in us, desc. "!" behind a name: off by default, and disabled as
 * the kernel does. An x86 server with menu, ARAT and per-CPU PM QoS, but without a module.
 */
struct machine *scene_host(uint32_t n_cpus, const char *states);

/* Gives CPUs first..last another table. */
void scene_table(struct machine *m, uint32_t first, uint32_t last, const char *states);

/* Reads a tree; what is wrong with it is added to diags (may be NULL). Aborts when it cannot be read. */
struct machine *scene_read(const char *root, unsigned needs, struct diag_list *diags);

/* Resolves; takes machine over. Aborts when the policy has errors. */
void scene_set(struct scene *s, struct machine *machine, const char *policy);
void scene_done(struct scene *s);

/* A finished policy from text; aborts when it has errors. */
struct policy *scene_policy(const char *text);

const struct plan_row *scene_row(const struct scene *s, uint32_t cpu);

/* Names of the states that are on, "POLL C1 C6", in a static buffer. */
const char *scene_states(const struct scene *s, uint32_t cpu);
/* The last of them. */
const char *scene_deepest(const struct scene *s, uint32_t cpu);
/* Reason of a state by name. */
enum state_reason scene_reason(const struct scene *s, uint32_t cpu, const char *state);

/* Is there a diagnostic of this severity with this text in it? */
bool scene_says(const struct scene *s, enum diag_severity severity, const char *part);

/* Carries changes out in memory: the machine then stands as the host would. */
void scene_apply(struct machine *m, const struct changes *c, uint64_t *global_ns);

#endif
