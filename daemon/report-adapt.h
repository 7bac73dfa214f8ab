/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_REPORT_ADAPT_H
#define CPUIDLED_REPORT_ADAPT_H

#include "adapt.h"
#include "report.h"

/* What the last look decided: one line for all CPUs with the same decision, with the numbers behind it. */
void report_adapt(const struct report *to, const struct adapt *a);

/* "off", or "adapts 448 CPUs; 3 busy; 12 times so far, 81000 wake-ups within Adapt= meanwhile". Returns buf. */
const char *report_adapt_status(const struct adapt *a, char *buf, size_t size);

#endif
