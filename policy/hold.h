/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_HOLD_H
#define CPUIDLED_HOLD_H

#include "policy.h"

/*
 * Holds: what programs ask for at run time, each gone with its owner. Any number may stand on a CPU; the
 * strictest limit wins and is kept ready per CPU, so that one more hold costs the same whether there are ten or
 * ten thousand, and whoever changes nothing is told so.
 *
 * Holds of the same CPUs share one scope; those that also ask for the same profile and modes share one ask. Pure:
 * clocks, descriptors and names on a bus are the caller's.
 */
#define HOLDS_MAX	16384U
#define HOLD_SCOPES_MAX 1024U /* different sets of CPUs at a time */
#define HOLD_ASKS_MAX \
	64U /* different profiles with modes at a time, and of these on one set of CPUs */
#define HOLD_REASON_MAX 128U /* bytes with the NUL; what is longer is refused */
#define HOLD_APP_MAX	64U /* the same, of the owner's name */
#define HOLD_UNIT_MAX	128U
#define HOLD_NO_ASK	UINT16_MAX
#define HOLD_MODE_SETTINGS                                                                         \
	((uint32_t)(SETTING_C0 | SETTING_C0_DEPTH | SETTING_ZERO_LATENCY | SETTING_C1_INTERRUPTS | \
		    SETTING_HALTPOLL | SETTING_BROADCAST | SETTING_IOPORT))

/* Who has holds: a connection, a process, or nobody any more (only time). Kept by the caller, zeroed. */
struct hold_owner {
	uint32_t uid, pid; /* pid 0: not known */
	const char *unit; /* systemd unit of the process, "" for none; the caller's */
	struct hold *first; /* its holds; none: the owner can go */
	uint32_t n;
};

/* One hold. Strings lie behind it: reason, NUL, app. */
struct hold {
	uint32_t id; /* from 1, never used twice */
	uint16_t scope, ask; /* HOLD_NO_ASK: a limit alone */
	struct hold *next; /* with the same hash */
	struct hold *before, *after; /* of the same owner */
	struct hold_owner *owner;
	uint64_t limit_ns; /* LATENCY_NONE: asks for no limit of its own */
	uint64_t since_us; /* since 1970 */
	uint64_t until_us; /* of the caller's clock; 0: no end by time */
	uint32_t at; /* in the scope's heap */
	char text[];
};

/* CPUs that at least one hold is for. */
struct hold_scope {
	struct cpuset cpus;
	uint32_t n_cpus;
	uint32_t n; /* holds; 0: a free place */
	struct hold **heap; /* those with a limit, the strictest first */
	uint32_t n_heap, cap_heap;
	struct hold_claim {
		uint16_t ask;
		uint32_t n; /* holds */
		uint32_t oldest; /* id of the first one that made it stand */
	} * claims;
	uint32_t n_claims;
};

/* A profile, modes, or both; given again by whoever asks for the same. */
struct hold_ask {
	char *profile; /* NULL: none */
	struct settings modes; /* given says which; no lists */
	uint32_t n; /* holds; 0: a free place */
};

/* Zero-initialised is valid: no holds, and no memory. */
struct holds {
	struct hold **buckets;
	uint32_t n, n_buckets, last_id;
	struct hold_scope *scopes;
	uint32_t n_scopes;
	struct hold_ask *asks;
	uint32_t n_asks;
	uint32_t n_claims; /* of all scopes: 0 means that holds change no modes */
	uint64_t *limits; /* per CPU the strictest limit of all scopes, LATENCY_NONE */
	uint32_t n_cpus;
};

struct hold_spec {
	const struct cpuset *cpus; /* not empty */
	uint64_t limit_ns;
	const char *profile; /* NULL: none */
	const struct settings *modes; /* of HOLD_MODE_SETTINGS; NULL: none */
	const char *reason, *app; /* within their bounds */
	uint64_t since_us, until_us;
};

void holds_done(struct holds *h); /* the owners stay the caller's */

/*
 * Adds one for owner. ret_changed: some CPU's limit or modes are others now, so a plan has to be made. -ENOMEM,
 * -ENOSPC (a bound above is reached); nothing has changed then.
 */
int holds_add(struct holds *h, const struct hold_spec *spec, struct hold_owner *owner,
	      struct hold **ret, bool *ret_changed);

/* Removes and frees one; never fails. True: a plan has to be made. */
bool holds_remove(struct holds *h, struct hold *hold);

struct hold *holds_find(const struct holds *h, uint32_t id); /* NULL: no such hold */

/* All holds by id; owned by the caller, n of them. NULL: out of memory, or there are none. */
struct hold **holds_sorted(const struct holds *h);

/* The strictest limit of a CPU, LATENCY_NONE. h may be NULL. */
static inline uint64_t holds_limit(const struct holds *h, uint32_t cpu)
{
	return h && cpu < h->n_cpus ? h->limits[cpu] : LATENCY_NONE;
}

static inline const struct cpuset *hold_cpus(const struct holds *h, const struct hold *hold)
{
	return &h->scopes[hold->scope].cpus;
}

/* NULL: it asks for a limit alone. */
static inline const struct hold_ask *hold_ask(const struct holds *h, const struct hold *hold)
{
	return hold->ask == HOLD_NO_ASK ? NULL : &h->asks[hold->ask];
}

static inline const char *hold_reason(const struct hold *hold)
{
	return hold->text;
}

static inline const char *hold_app(const struct hold *hold)
{
	return hold->text + strlen(hold->text) + 1;
}

#endif
