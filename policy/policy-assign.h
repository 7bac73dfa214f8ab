/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_POLICY_ASSIGN_H
#define CPUIDLED_POLICY_ASSIGN_H

#include "schema.h"
#include "text.h"

/*
 * One value into its field, by the type of its row. An empty value puts the default back and empties a
 * list. -EINVAL: the value is wrong, and a diagnostic says why. -ENOMEM.
 */
int policy_assign(const struct schema_row *row, void *field, const struct text_assignment *a,
		  struct diag_list *diags);

/* Every key of a profile at its default, into a zero-initialised s. -ENOMEM. */
int policy_assign_defaults(struct settings *s);

#endif
