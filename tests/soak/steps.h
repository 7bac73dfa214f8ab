/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps - the random ones: each does something to the world and tells the model */
#ifndef STEPS_H
#define STEPS_H

#include <stdint.h>

#include "model.h"

#define TEXT_MAX 512

enum step_flag {
	STEP_ALIVE = 1 << 0, /* only while the daemon serves */
	STEP_DEAD = 1 << 1, /* only while it does not */
	STEP_QUICK = 1 << 2, /* may come in a burst, without a look in between */
};

struct step {
	const char *name;
	unsigned weight, flags;
	/* False: there is nothing to do it to. What was done comes into text. */
	bool (*run)(struct model *m, char *text);
};

extern const struct step steps[];
extern const unsigned n_steps;

/* Something that has to succeed did not: in words, NULL when all went well. Cleared by asking. */
const char *steps_failure(void);

void steps_seed(uint64_t seed);
unsigned steps_random(unsigned n); /* 0 .. n - 1 */

/* Picks one that can be done now, by weight. only: flags it must have. */
const struct step *steps_pick(const struct model *m, unsigned only);

/* Brings the daemon back; a step of its own, and the test's beginning. */
bool steps_start(struct model *m, char *text);

/* Module and daemon come. */
void steps_begin(struct model *m);

/* The end, in three parts, after each of which the world is looked at: daemon and module are there; others go; all goes. */
bool steps_end_govern(struct model *m);
void steps_end_others(struct model *m);
void steps_end_daemon(struct model *m);

#endif
