/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_LISTING_H
#define CPUIDLED_LISTING_H

#include "policy.h"

/*
 * The profiles of a policy in words, for list-profiles: what the bus carries and what text and JSON are
 * made of. Strings are owned by the listing and never NULL.
 */
struct listing_key {
	char *key, *value; /* as policy text spells them */
};

struct listing_profile {
	char *name;
	char *description; /* "" when it has none */
	char *base; /* "": the built-in defaults */
	uint64_t limit_ns; /* resolved over its bases; LATENCY_NONE */
	struct listing_key *keys; /* the other keys of its own section */
	uint32_t n_keys;
};

struct listing {
	struct listing_profile *profiles;
	uint32_t n;
};

/* Every profile of a finished policy, ordered by name. -ENOMEM. */
int listing_make(const struct policy *policy, struct listing *ret);
void listing_done(struct listing *l);

#endif
