/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_NEAREST_H
#define CPUIDLED_NEAREST_H

#include "base.h"

/* "Did you mean": offer every known word, then look at found. */
struct nearest {
	const char *word; /* what was written */
	const char *found; /* the nearest of all offered so far, NULL when none is near enough */
	unsigned distance;
};

/* Takes candidate over (borrowed) if it is nearer than what was offered before; case is free. */
void nearest_offer(struct nearest *n, const char *candidate);

#endif
