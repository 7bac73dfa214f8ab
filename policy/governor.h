/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_GOVERNOR_H
#define CPUIDLED_GOVERNOR_H

#include "machine.h"

/*
 * How the kernel's governors choose a state, as far as a trace of idle periods can show it. Written after their
 * documentation (Documentation/admin-guide/pm/cpuidle.rst) and what 6.1 to 6.12 do. Utilisation and tasks that wait for
 * disks are left out, which a trace does not have.
 *
 *   menu   expects the smaller of two times: the next timer, scaled by how far idle periods with timers that far
 *          away were cut short before; and the typical one of the last eight periods, if they agree.
 *          Takes the deepest state whose target residency fits, and polls only if a timer is about to end it.
 *   teo    takes the deepest state that fits the next timer, unless in the recent past more periods ended early than
 *          lasted as long as that one wants; then the deepest one that would have fitted half of those.
 *
 * Both leave the tick running where they expect a period to be shorter than one, and choose anew when it comes. Both
 * take it, when that happens or when polling has lasted for governor_poll_ns(), that they were wrong: that the period
 * would have gone on up to the timer.
 */
enum governor_kind { GOVERNOR_MENU, GOVERNOR_TEO };

#define GOVERNOR_PERIODS 8U /* that menu looks back */
#define GOVERNOR_BUCKETS 6U
#define GOVERNOR_TICK_NS \
	(4 * NSEC_PER_MSEC) /* 250 a second, as distributions build kernels for servers */

/* One CPU's memory. Zero-initialised: nothing is known. */
struct governor {
	uint64_t periods[GOVERNOR_PERIODS]; /* menu */
	uint32_t n_periods, next;
	uint32_t factor[GOVERNOR_BUCKETS]; /* in 1/1024; 0: not known, 1024 */
	uint32_t hits[MACHINE_STATES_MAX], intercepts[MACHINE_STATES_MAX]; /* teo */
};

/*
 * States that may be entered as bits; state 0 when there is none else. timer_ns: next timer, UINT64_MAX: unknown.
 * *ret_brief: the period is expected to be shorter than a tick.
 */
uint32_t governor_select(const struct governor *g, enum governor_kind kind,
			 const struct idle_table *table, uint16_t allowed, uint64_t timer_ns,
			 bool *ret_brief);

/* What came of it: the period's length, or the timer's where the kernel ended it for a new choice. */
void governor_reflect(struct governor *g, enum governor_kind kind, const struct idle_table *table,
		      uint64_t timer_ns, uint64_t idle_ns);

/*
 * How long the kernel polls at a time, before the governor chooses once more: until the first state that pays after
 * 10 us or more would have, at most a sixteenth of a tick of 4 ms (drivers/cpuidle/cpuidle.c).
 */
uint64_t governor_poll_ns(const struct idle_table *table, uint16_t allowed);

#endif
