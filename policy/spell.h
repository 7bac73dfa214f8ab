/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_SPELL_H
#define CPUIDLED_SPELL_H

#include "units.h"

/*
 * How long something lasts that is done to a CPU because of what is seen there, and how often it can be done: what
 * the residency guard and Adapt= have in common.
 *
 * A spell lasts SPELL_NS, doubled with each one that begins within SPELL_FORGET_NS of the end of the one before,
 * up to SPELL_MAX_NS; each SPELL_FORGET_NS without one halves it again. It ends
 *  - before its time, when its reason has been gone for half of that time;
 *  - at its time, unless the reason goes on: then it is prolonged by the same time, up to SPELL_MAX_NS in all.
 *    Then it ends whatever happens, to see what comes of that.
 * So at most SPELL_PER_HOUR begin in any hour (tests/test-guard.c plays against it).
 */
#define SPELL_NS	(10 * NSEC_PER_SEC)
#define SPELL_MAX_NS	(600 * NSEC_PER_SEC)
#define SPELL_FORGET_NS (600 * NSEC_PER_SEC)
#define SPELL_PER_HOUR	17U

/* Zero-initialised: none so far. */
struct spell {
	uint8_t level; /* length: SPELL_NS << level */
	uint32_t n; /* so far */
	uint64_t since; /* begun, or over, since */
	uint64_t until; /* look whether it may end */
	uint64_t calm; /* its reason has been gone since; 0: has not */
};

enum spell_end {
	SPELL_LASTS,
	SPELL_CALMED, /* its reason is gone */
	SPELL_TRIED, /* its time is over */
};

void spell_begin(struct spell *s, uint64_t now);

/*
 * Is it over? on: its reason was there between before and now. If it is, since is its end from now on, and the caller
 * has looked at the old one.
 */
enum spell_end spell_look(struct spell *s, bool on, uint64_t before, uint64_t now);

/* How long it lasts as it stands, ns. */
uint64_t spell_ns(const struct spell *s);

#endif
