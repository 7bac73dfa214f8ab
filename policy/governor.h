/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_GOVERNOR_H
#define CPUIDLED_GOVERNOR_H

#include "machine.h"

/*
 * How the kernel's governors choose a state, as far as a trace of idle periods can show it. Written after their
 * documentation (Documentation/admin-guide/pm/cpuidle.rst); the tick, utilisation and load are left out, which
 * a trace does not have.
 *
 *   menu   expects the smaller of two times: the next timer, scaled by how far idle periods with timers that far
 *          away were cut short before; and the typical one of the last eight periods, if they agree.
 *          Takes the deepest state whose target residency fits and whose exit latency the limit allows.
 *   teo    takes the deepest state that fits the next timer, unless in the recent past most periods with such a
 *          timer ended early enough for a shallower one.
 */
enum governor_kind { GOVERNOR_MENU, GOVERNOR_TEO };

#define GOVERNOR_PERIODS 8U /* that menu looks back */
#define GOVERNOR_BUCKETS 12U

/* One CPU's memory. Zero-initialised: nothing is known. */
struct governor {
	uint64_t periods[GOVERNOR_PERIODS]; /* menu */
	uint32_t n_periods, next;
	uint32_t factor[GOVERNOR_BUCKETS]; /* in 1/1024; 0: not known, 1024 */
	uint32_t hits[MACHINE_STATES_MAX], intercepts[MACHINE_STATES_MAX]; /* teo */
};

/* States that may be entered as bits; state 0 when there is none else. timer_ns: next timer, UINT64_MAX: unknown. */
uint32_t governor_select(const struct governor *g, enum governor_kind kind,
			 const struct idle_table *table, uint16_t allowed, uint64_t timer_ns);

/* What came of it. */
void governor_reflect(struct governor *g, enum governor_kind kind, const struct idle_table *table,
		      uint64_t timer_ns, uint64_t idle_ns);

#endif
