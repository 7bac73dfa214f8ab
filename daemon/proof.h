/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_PROOF_H
#define CPUIDLED_PROOF_H

#include "counters.h"
#include "plan.h"
#include "verify.h"

/*
 * What the kernel's own counters prove of a plan: a state that the plan has off is not entered while somebody
 * looks. Settings say what was asked for; the counters say what came of it, whatever governor, driver or program is
 * in between. Only what the plan itself has off is judged: what others took away they may give back.
 *
 * The kernel counts an entry when it ends. So one that is counted may have begun before the plan took the state
 * away, one at most for each CPU, which can only be in one sleep at a time. It is told from a new one by its
 * length: a sleep from before the plan's last change that ends after the first look is at least as long as the
 * time between these two. Any second entry, and any shorter one, has begun under the plan.
 *
 * A CPU that ended no sleep at all proves nothing, and that is said. Reading the counters wakes no CPU
 * (policy/counters.h).
 */

/* A change takes effect within that: a CPU may have chosen a state before, and be held up on its way into it. */
#define PROOF_SLACK_NS NSEC_PER_SEC

/* Suspended for less than that, and it may as well be the clocks' way to be read. */
#define PROOF_SUSPENDED_NS (100 * NSEC_PER_MSEC)

/* Bit of the state that cpuidle_policy.ko puts in (machine.own_row), among the states. */
#define PROOF_OWN_BIT 15U

struct proof_clock {
	uint64_t awake_ns; /* CLOCK_MONOTONIC: stands still while the system is suspended */
	uint64_t asleep_ns; /* how long the system has been suspended since it was booted */
};

/* Of one state. */
struct proof_count {
	uint64_t usage, time_us;
};

struct proof_cpu {
	uint64_t others; /* entries of all states that are not off */
	uint32_t first; /* in counts: one for each bit of off, in their order */
	uint16_t off; /* states that the plan had off at the beginning; 0: nothing to prove */
	uint16_t still; /* those that every plan since has off */
	bool seen; /* the first look found all it wanted */
	int error; /* or this, negative errno */
};

struct proof {
	uint32_t n_cpus;
	struct proof_cpu *cpus;
	struct proof_count *counts;
	uint8_t own_row;
	char driver[MACHINE_NAME_MAX];
	struct proof_clock begun;
	uint64_t planned_ns; /* awake_ns of the last change of the plan */
};

/*
 * First look. planned_ns: awake_ns when the plan last changed. read: of counters with COUNTER_ONCE, their state also
 * COUNTER_OWN_ROW. -ENOMEM; what cannot be read is no error here.
 */
int proof_begin(struct proof *p, const struct plan *plan, const struct machine *machine,
		const struct proof_clock *now, uint64_t planned_ns, counter_read read, void *data);

/* There is another plan: what it has on is not judged any more. */
void proof_follow(struct proof *p, const struct plan *plan, const struct machine *machine);

/* Second look, by the plan and the machine of now, of which proof_follow() knows. Adds what it found. -ENOMEM. */
int proof_end(const struct proof *p, const struct plan *plan, const struct machine *machine,
	      const struct proof_clock *now, counter_read read, void *data, struct findings *f);

void proof_done(struct proof *p);

#endif
