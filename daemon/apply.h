/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_APPLY_H
#define CPUIDLED_APPLY_H

#include "actuator.h"

/*
 * Carries a list of changes out, in its order. On the first failure everything already written is put
 * back in reverse order: the host is either at the new values or where it was.
 */
struct apply_result {
	uint32_t n_written; /* of the way forward */
	uint32_t failed; /* index of the change that failed; UINT32_MAX: none */
	int error; /* its -errno */
	uint32_t n_not_rolled_back; /* writes of the way back that failed, too */
	uint32_t n_differs; /* apply_verify(): values that did not stick */
	uint32_t first_differs; /* index; UINT32_MAX: none */
	uint64_t found; /* what stood there instead */
};

/* 0, or the -errno of the failed change, rolled back. */
int apply_run(const struct actuator *a, const struct changes *c, struct apply_result *ret);

/*
 * Reads every changed knob back. 0 when all stand as written, -ESTALE when one differs, -errno of the
 * first one that cannot be read. Always looks at all of them; writes nothing, counts in ret go on from
 * what apply_run() left there.
 */
int apply_verify(const struct actuator *a, const struct changes *c, struct apply_result *ret);

/*
 * Undoes the first n of c in reverse order, trying every item. A knob that holds neither side of its change
 * has been written by somebody else since and is left to them. Returns how many could not be undone.
 */
uint32_t apply_rollback(const struct actuator *a, const struct changes *c, uint32_t n);

/*
 * Tries every item of c, whatever fails: for the way back to the host's own settings, where one bad
 * file must not keep the others. Returns the number of failures, the first one in ret. done (may be NULL)
 * has room for c->n and tells which ones took.
 */
uint32_t apply_all(const struct actuator *a, const struct changes *c, bool *done,
		   struct apply_result *ret);

#endif
