/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_REPORT_GUARD_H
#define CPUIDLED_REPORT_GUARD_H

#include "guard.h"
#include "report.h"

/*
 * What the last look of the guard decided: one line for all CPUs with the same decision, with what was seen, for
 * how long, and what came of it.
 */
void report_guard(const struct report *to, const struct guard *g, const struct machine *machine,
		  const struct plan *plan);

/* "off", or "looks at 448 CPUs; 3 states off; 12 vetoes, about 5000000 early wake-ups avoided". Returns buf. */
const char *report_guard_status(const struct guard *g, char *buf, size_t size);

#endif
