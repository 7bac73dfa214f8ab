/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_LAYERS_H
#define CPUIDLED_LAYERS_H

#include "view.h"

/* The holds of a row: all there are by id, and the row's CPUs. */
struct layers_holds {
	const struct holds *holds; /* NULL or empty: none */
	struct hold *const *sorted;
	const struct cpuset *cpus;
};

/*
 * Everything that decides about the CPUs of a row, from the driver's table to what is left, in the order in
 * which the choice gets narrower: what explain prints. Fills row->layers and row->n_layers; 0 or -ENOMEM,
 * with what was made so far left in the row.
 */
int layers_make(const struct policy *policy, const struct machine *machine, const struct plan *plan,
		const struct plan_row *from, const struct layers_holds *holds,
		struct view_row *row);

#endif
