/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_POLICY_H
#define CPUIDLED_POLICY_H

#include "diag.h"
#include "selector.h"
#include "units.h"
#include "words.h"

/*
 * What the operator wrote, typed. Built from any number of texts in order (policy_add_text), then
 * finished once (policy_finish: bases resolved, references checked). Const from there on.
 * schema.c has the row of every key; nothing else spells one.
 */
#define POLICY_NAME_MAX	     40U
#define POLICY_PROFILES_MAX  128U
#define POLICY_GROUPS_MAX    128U
#define POLICY_WORKLOADS_MAX 256U

enum c0_mode { C0_OFF, C0_POLL, C0_STATE, C0_AUTO, C0_C1 };
enum c0_depth { C0_DEPTH_1, C0_DEPTH_2 };
enum zero_latency { ZERO_LATENCY_POLL, ZERO_LATENCY_C0 };
enum c1_interrupts { C1_NATIVE, C1_WINDOW, C1_STI_MWAIT, C1_AUTO };
enum broadcast_mode { BROADCAST_AUTO, BROADCAST_AVOID, BROADCAST_OFF };
enum ioport_mode { IOPORT_NATIVE, IOPORT_DIRECT, IOPORT_AUTO };
enum adapt_scope { ADAPT_CPU, ADAPT_GROUP };
enum guard_mode { GUARD_OFF, GUARD_AUTO };
enum foreign_write { FOREIGN_YIELD, FOREIGN_REASSERT, FOREIGN_ALERT };
enum workload_cpus { WORKLOAD_CPUS_CPUSET, WORKLOAD_CPUS_ALL };
enum umwait_c02 { UMWAIT_C02_KEEP, UMWAIT_C02_ON, UMWAIT_C02_OFF };

/* UmwaitMaxTime=keep: what stands in max_time is nobody's business of ours. */
#define HOST_KEEP UINT64_MAX

/* HaltPoll= : HALTPOLL_OFF, HALTPOLL_AUTO or a ceiling in ns. */
#define HALTPOLL_OFF  UINT64_C(0)
#define HALTPOLL_AUTO UINT64_MAX

/* Where something was written; file is borrowed from the policy. All zero: nowhere, it is built in. */
struct place {
	const char *file;
	uint32_t line;
};

/* Which keys a profile's own section gives; in settings.given. */
enum setting {
	SETTING_LATENCY_LIMIT = 1 << 0,
	SETTING_C0 = 1 << 1,
	SETTING_C0_DEPTH = 1 << 2,
	SETTING_ZERO_LATENCY = 1 << 3,
	SETTING_C1_INTERRUPTS = 1 << 4,
	SETTING_HALTPOLL = 1 << 5,
	SETTING_BROADCAST = 1 << 6,
	SETTING_IOPORT = 1 << 7,
	SETTING_DISABLE_STATES = 1 << 8,
	SETTING_ENABLE_STATES = 1 << 9,
	/* An empty value stood before the list: what Base= brings is dropped. */
	SETTING_DISABLE_STATES_RESET = 1 << 10,
	SETTING_ENABLE_STATES_RESET = 1 << 11,
	SETTING_RESIDENCY_GUARD = 1 << 12,
	SETTING_ADAPT = 1 << 13,
	SETTING_ADAPT_SCOPE = 1 << 14,
};

/* The keys of a profile. "Was it given?" is a bit (schema_row.bit), never a magic value. */
struct settings {
	uint32_t given; /* or-ed enum setting */
	uint64_t latency_limit_ns;
	uint64_t adapt_ns; /* Adapt=: the limit while the CPU is busy; LATENCY_NONE: no other */
	uint64_t haltpoll_ns;
	uint8_t c0; /* enum c0_mode */
	uint8_t c0_depth; /* enum c0_depth */
	uint8_t zero_latency; /* enum zero_latency */
	uint8_t c1_interrupts; /* enum c1_interrupts */
	uint8_t broadcast; /* enum broadcast_mode */
	uint8_t ioport; /* enum ioport_mode */
	uint8_t residency_guard; /* enum guard_mode */
	uint8_t adapt_scope; /* enum adapt_scope */
	struct words disable_states;
	struct words enable_states;
};

struct profile {
	char *name;
	char *description; /* Description=, may be NULL */
	char *base; /* Base=, NULL: the built-in defaults */
	struct settings own; /* what its section says */
	struct settings resolved; /* own over base over defaults; filled by policy_finish() */
	struct place at; /* its section header, the last one */
	struct place base_at, limit_at, adapt_at, adapt_scope_at, disable_at,
		enable_at; /* of these keys, the last ones */
};

struct group {
	char *name;
	struct selector *cpus; /* CPUs= */
	char *profile_name; /* Profile= */
	int32_t priority; /* Priority=, higher wins modes */
	struct place at, cpus_at, profile_at;
	uint32_t profile; /* index, filled by policy_finish() */
};

enum workload_kind {
	WORKLOAD_UNIT,
	WORKLOAD_SLICE,
	WORKLOAD_CGROUP,
	WORKLOAD_CONTAINER,
	WORKLOAD_KINDS,
};

struct workload {
	char *name;
	char *matches[WORKLOAD_KINDS]; /* Unit= Slice= Cgroup= Container= as given, owned */
	char *profile_name;
	int32_t priority;
	uint8_t cpus; /* CPUs=, enum workload_cpus */
	struct place at, match_at, profile_at;
	/* Filled by policy_finish(): the one match that was given, and the profile's index. */
	enum workload_kind kind;
	const char *match; /* unit or slice name, cgroup glob, container id */
	uint32_t profile;
};

struct policy {
	char *default_profile_name; /* [Daemon] DefaultProfile= */
	struct place default_profile_at, global_limit_at;
	uint32_t default_profile; /* index, filled by policy_finish() */
	uint8_t on_foreign_write; /* [Daemon] OnForeignWrite=, enum foreign_write */
	uint64_t global_limit_ns; /* [Daemon] GlobalLatencyLimit=: held on /dev/cpu_dma_latency */
	uint8_t umwait_c02; /* [Daemon] UmwaitC02=, enum umwait_c02 */
	uint64_t umwait_max_time; /* [Daemon] UmwaitMaxTime=, TSC cycles; HOST_KEEP */

	struct profile *profiles;
	uint32_t n_profiles;
	struct group *groups;
	uint32_t n_groups;
	struct workload *workloads;
	uint32_t n_workloads;

	char **files; /* names of the texts it was built from, in order; owned */
	uint32_t n_files;
};

/* The profile that is always there: it changes nothing unless somebody writes a [Profile balanced]. */
#define POLICY_NEUTRAL_PROFILE "balanced"

/* An empty policy at the schema's defaults, with the neutral profile. -ENOMEM. */
int policy_new(struct policy **ret);
void policy_free(struct policy *p);
DEFINE_CLEANUP(struct policy *, policy_freep, policy_free)

/*
 * Adds one text. Later texts win key by key; list keys append, an empty value resets. Everything wrong
 * becomes a diagnostic. Returns 0 or -ENOMEM; the policy may only be used if no error was found.
 */
int policy_add_text(struct policy *p, const char *file, const char *bytes, size_t n,
		    struct diag_list *diags);

/* Resolves bases and references, finds contradictions that need no machine. Returns 0 or -ENOMEM. */
int policy_finish(struct policy *p, struct diag_list *diags);

/* Finds by name; NULL when there is none. */
const struct profile *policy_profile(const struct policy *p, const char *name);

/* What of a machine its selectors look at: or-ed enum selector_needs. */
unsigned policy_needs(const struct policy *p);

/*
 * Are both finished policies the same for a CPU (names, resolved settings, groups, workloads)? Places,
 * descriptions and the order of sections do not count.
 */
bool policy_equal(const struct policy *a, const struct policy *b);

/* Back to text that policy_add_text() reads into an equal policy. NULL when out of memory; owned. */
char *policy_format(const struct policy *p);

void settings_done(struct settings *s);

#endif
