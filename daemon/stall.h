/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_STALL_H
#define CPUIDLED_STALL_H

#include "adapt.h"
#include "workload.h"

/*
 * For how much of the time tasks wait for CPUs, as the kernel's pressure stall information counts it
 * (Documentation/accounting/psi.rst, "some ... total=US"): of the whole machine, and of a control group. Each file that
 * is asked for in a look costs an open, a read and a close; what nobody asks for any more is forgotten.
 */
#define STALL_FILES_MAX 64U

struct stall_file {
	char *path; /* below the root directory */
	uint64_t us, at; /* waited so far, and when that was so; 0: not known */
	uint32_t percent; /* of the time since the look before; ADAPT_PRESSURE_UNKNOWN */
	bool asked; /* in this look */
};

struct stall {
	struct stall_file files[STALL_FILES_MAX];
	uint32_t n;
	uint64_t now; /* of this look, ns */
	/* For whom it is; borrowed. */
	int root_fd;
	const struct policy *policy;
	const struct machine *machine;
};

/* A look begins, at now (ns, not 0): what was not asked for in the one before is forgotten. */
void stall_begin(struct stall *s, int root_fd, const struct policy *policy,
		 const struct machine *machine, uint64_t now);
void stall_done(struct stall *s);

/*
 * An adapt_pressure; data is the stall. A workload's is that of its control groups, the most of them; of a machine
 * whose control groups have none, and of [Group]s, it is the machine's.
 */
uint32_t stall_percent(void *data, uint32_t group);

#endif
