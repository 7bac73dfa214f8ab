/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_ADAPT_TEXT_H
#define CPUIDLED_ADAPT_TEXT_H

#include "adapt.h"
#include "buf.h"

/* What Adapt= does and did on the CPUs of one row of plan, in words; where nobody looks (machine->adapt), what it would. */
void adapt_text(const struct machine *machine, const struct plan *plan, const struct plan_row *from,
		struct buf *b);

#endif
