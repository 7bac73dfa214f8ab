/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_GUARD_TEXT_H
#define CPUIDLED_GUARD_TEXT_H

#include "buf.h"
#include "guard.h"

/*
 * What the residency guard does and did on the CPUs of one guarded row of plan, in words; what it would look at,
 * where no guard is at work (machine->guard). table is the row's.
 */
void guard_text(const struct machine *machine, const struct plan *plan, const struct plan_row *from,
		const struct idle_table *table, struct buf *b);

#endif
