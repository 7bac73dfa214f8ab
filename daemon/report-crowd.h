/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_REPORT_CROWD_H
#define CPUIDLED_REPORT_CROWD_H

#include "crowd.h"
#include "report.h"

/* What the last look decided: one line for all CPUs with the same decision, with the most that was stolen. */
void report_crowd(const struct report *to, const struct crowd *c);

#endif
