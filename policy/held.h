/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_HELD_H
#define CPUIDLED_HELD_H

#include "hold.h"

/*
 * Which profiles and modes holds ask of each CPU, in the order in which their word counts: of those for the
 * fewest CPUs first, then of the one that has stood longest, so that nobody loses what he was given to a later
 * hold of the same CPUs. CPUs with the same list share a set; set 0 is the empty one.
 */
struct held_ask {
	uint16_t ask; /* in holds.asks */
	uint32_t n_cpus; /* it is held for so many */
};

struct held_set {
	struct held_ask *v;
	uint32_t n;
};

struct held {
	const struct holds *holds;
	uint16_t *set_of; /* per CPU; NULL: holds ask for no mode at all */
	struct held_set *sets;
	uint32_t n_sets;
};

/* holds may be NULL. -ENOMEM; ret is then empty. */
int held_make(const struct holds *holds, uint32_t n_cpus, struct held *ret);
void held_done(struct held *held);

static inline uint16_t held_set_of(const struct held *held, uint32_t cpu)
{
	return held->set_of ? held->set_of[cpu] : 0;
}

/* The profile of place i of a set; NULL: it names none, or one that the policy does not have. */
const struct profile *held_profile(const struct held *held, const struct policy *policy,
				   uint16_t set, uint32_t i);

/* Lays a set over settings, which then borrows lists from the policy. */
void held_overlay(const struct held *held, const struct policy *policy, uint16_t set,
		  struct settings *settings);

/* Warns of holds that ask for a profile which a reload has dropped: they outlive it. holds may be NULL. */
void held_warn(const struct policy *policy, const struct holds *holds, struct diag_list *diags);

#endif
