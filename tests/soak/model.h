/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model - what every CPU's limit has to be, worked out anew
 *
 * Shares no code with the product and asks it nothing: it knows what this test did, what the manual
 * says that means, and which CPUs the kernel gives a control group. Times are whole microseconds, the kernel's unit.
 */
#ifndef MODEL_H
#define MODEL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define CPUS	  4
#define CPUS_MASK ((1U << CPUS) - 1)
#define NO_LIMIT  INT_MAX

#define N_GROUPS    3
#define N_WORKLOADS 2
#define N_SETTINGS  2
#define N_CGROUPS   4
#define N_REQUESTS  3
#define N_HOLDS	    24

/* What a profile asks for. */
struct demand {
	int us;
	bool off; /* DisableStates= of the deepest state */
};

struct group {
	unsigned cpus; /* 0: not there */
	struct demand demand;
};

struct workload {
	unsigned matches; /* control groups, by their number; 0: not there */
	bool all; /* CPUs=all */
	struct demand demand;
};

struct policy_text {
	struct demand fallback; /* DefaultProfile= */
	int global_us;
	struct group groups[N_GROUPS];
	struct workload workloads[N_WORKLOADS];
};

struct cgroup {
	bool exists;
	bool populated;
	unsigned cpus; /* cpuset.cpus as written, 0: empty */
	unsigned effective; /* as the kernel says */
};

struct hold {
	unsigned cpus; /* 0: none */
	int us;
};

struct model {
	bool alive; /* the daemon */
	bool module; /* is loaded */
	unsigned online;
	/* of each CPU: what others last wrote to its files, and what stands there while nobody governs */
	int foreign_us[CPUS], left_us[CPUS];
	bool foreign_off[CPUS], left_off[CPUS];
	int request_us
		[N_REQUESTS]; /* our own descriptors of /dev/cpu_dma_latency; NO_LIMIT: closed */
	struct cgroup cgroups[N_CGROUPS];
	struct policy_text policy;
	struct group settings[N_SETTINGS]; /* at run time */
	struct hold holds[N_HOLDS];
};

/* What the kernel has, or has to have. */
struct kernel {
	unsigned online;
	int global_us; /* cpu_dma_latency, all requests together */
	int limit_us[CPUS]; /* of each CPU, the global one included */
	int file_us[CPUS]; /* pm_qos_resume_latency_us */
	bool file_off[CPUS]; /* disable of the deepest state; of online CPUs */
	bool knows_off; /* else the next is not filled in */
	bool off[CPUS]; /* in whatever way; of online CPUs */
};

/* What has to be. */
void model_expect(const struct model *m, struct kernel *ret);

/* Does it hold, as far as k is known? The first difference in words, else. */
bool model_agrees(const struct model *m, const struct kernel *k, char *why, size_t size);

/* Everything held ends. */
void model_forget_holds(struct model *m);

/* Files that the daemon, or a restore in its place, has given back. */
void model_given_back(struct model *m);

void model_init(struct model *m);

#endif
