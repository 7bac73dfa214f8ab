/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_SIMULATE_H
#define CPUIDLED_SIMULATE_H

#include "idletrace.h"
#include "plan.h"

/*
 * Plays idle periods against a policy on a host, and against others who choose states:
 *
 *   menu, teo   a governor like the kernel's without any policy (governor.h)
 *   policy      the host's governor, with the limits and states that the plan leaves it; ResidencyGuard= and Adapt=
 *               look once a second of the trace at what they would count
 *   oracle      knows how long each period will be, and takes the state within the limit that needs the least
 *               energy: the plan's limit at that moment; what the residency guard takes away is not taken from it
 *   ceiling     the same within LatencyLimit=, whatever Adapt= says: what the shorter limit costs
 *
 * All are judged by the limit that the plan has for the CPU at that moment.
 *
 * Energy is that of idle periods, in microseconds of a polling CPU, by this model: a state of class poll needs 1 each
 * microsecond, c0x 0.6, halt 0.4, core-off 0.1, package-off 0.05; each further state of a class 0.8 of the one before.
 * To enter and leave a state costs as much as makes its target residency the time from which on it
 * saves energy against the one before, which is what target residency means. Where the kernel wakes up within a
 * period to choose anew (governor.h), each choice has its price.
 */
enum simulate_who {
	SIMULATE_MENU,
	SIMULATE_TEO,
	SIMULATE_POLICY,
	SIMULATE_ORACLE,
	SIMULATE_CEILING,
	SIMULATE_N,
};

struct simulate_result {
	uint64_t wakes;
	uint64_t over_limit; /* wakes from a state whose exit latency is above the limit */
	uint64_t
		too_deep; /* period shorter than the target residency, with a shallower state allowed */
	uint64_t too_shallow; /* period long enough for a deeper state that is allowed */
	uint64_t longest_ns, p99_ns; /* exit latency of the wakes */
	double energy_us;
};

struct simulation {
	struct simulate_result who[SIMULATE_N];
	uint64_t span_ns, idle_ns; /* of the trace, all times it is played; idle: all CPUs */
	uint32_t n_cpus; /* that it is about */
	bool teo; /* the host's governor is like teo, not like menu */
	/*
	 * Energy of the best that could be had without foresight: for each class of periods, by the length of the one
	 * before on that CPU (to a power of two) and the next timer (to a quarter of that), the one state within the
	 * limit that turns out best for all of them. Where periods depend on no more than that, nobody can do better
	 * who does not know their ends.
	 */
	double causal_us;
	/*
	 * Wake-ups of the policy from states above Adapt= in the two looks that found their CPU busy: what came
	 * before it was noticed. They are within the limit of that moment, LatencyLimit=.
	 */
	uint64_t late;
	uint64_t vetoes, spells; /* of the guard; of Adapt= */
	uint64_t changes; /* plans that replaced the one before */
};

/*
 * machine is changed while it runs and as before afterwards. -ENODEV: *ret_cpu of the trace has no idle states on this
 * host; -ENOMEM.
 */
int simulate_run(const struct policy *policy, struct machine *machine,
		 const struct idletrace *trace, struct simulation *ret, uint32_t *ret_cpu);

const char *simulate_name(enum simulate_who who); /* "menu" ... */

/* Microseconds of a polling CPU that an idle period costs in a state of the table. */
double simulate_energy(const struct idle_table *table, uint32_t state, uint64_t idle_ns);

#endif
