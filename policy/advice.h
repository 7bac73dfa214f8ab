/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_ADVICE_H
#define CPUIDLED_ADVICE_H

#include "plan.h"

/*
 * What an operator should know about a plan on this host: CPUs that will spin, names that mean nothing here,
 * kernel settings that stand in the way. Each becomes one diagnostic with the CPUs it concerns and what
 * can be done. Part of plan_resolve(). 0 or -ENOMEM.
 */
int advice_give(const struct policy *policy, const struct machine *machine, const struct plan *plan,
		struct diag_list *diags);

#endif
