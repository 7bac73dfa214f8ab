/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_MODULE_H
#define CPUIDLED_MODULE_H

#include "plan.h"

/*
 * What cpuidle_policy.ko shall keep, apart from the plan it came from: what stands in the kernel outlives
 * the plan in whose name it was put there.
 */
struct module_rows {
	uint32_t n_cpus;
	uint16_t *row_of; /* per CPU; PLAN_NO_ROW: nothing is asked for */
	struct plan_module *rows; /* distinct */
	uint32_t n_rows;
	bool own_driver; /* the module's own driver is to stand */
	bool guest; /* C0.x is meant in a guest, too */
};

/* Of the plan; NULL: nothing at all. ret is initialised here. -ENOMEM. */
int module_rows_make(const struct plan *plan, struct module_rows *ret);
void module_rows_done(struct module_rows *rows); /* zero is valid: nothing is kept for anybody */

/* What is kept for a CPU; never NULL. */
const struct plan_module *module_row_of(const struct module_rows *rows, uint32_t cpu);

bool module_row_equal(const struct plan_module *a, const struct plan_module *b);
bool module_row_is_default(const struct plan_module *row); /* but for the limit */

/* How two of them differ. */
struct module_diff {
	uint32_t n_tighten, n_loosen; /* CPUs whose limit gets shorter, or longer */
	uint32_t n_modes; /* CPUs for which anything else changes */
	bool own_driver;
};

void module_compare(const struct module_rows *have, const struct module_rows *want,
		    struct module_diff *ret);

#endif
