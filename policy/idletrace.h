/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_IDLETRACE_H
#define CPUIDLED_IDLETRACE_H

#include "units.h"

/*
 * When CPUs had nothing to do, and for how long. Text, one idle period a line, in the order of their beginning:
 *
 *   CPU AT IDLE [TIMER]
 *   3 1250.5 87.25 4000     CPU 3 went idle 1250.5 us after the beginning, for 87.25 us; the next timer it
 *                           knew of was 4000 us away
 *   3 1400 900 -            the same with a timer nobody knows
 *
 * Microseconds, with up to three decimals. "#" begins a comment, empty lines mean nothing. Before the first period
 * may stand
 *
 *   repeat 300              played so many times, one after the other: a piece of a load that goes on like that
 *   profile database        the profile that is meant for such a load
 */
#define IDLETRACE_PERIODS_MAX (UINT32_C(1) << 22)
#define IDLETRACE_NO_TIMER    UINT64_MAX
#define IDLETRACE_MAX_NS      (UINT64_C(30) * 86400 * NSEC_PER_SEC)
#define IDLETRACE_REPEAT_MAX  10000U
#define IDLETRACE_PROFILE_MAX 64U /* with the zero byte */

struct idle_period {
	uint64_t at_ns, idle_ns, timer_ns;
	uint16_t cpu;
};

struct idletrace {
	struct idle_period *v;
	uint32_t n, cap;
	uint32_t n_cpus; /* highest CPU number + 1 */
	uint64_t end_ns; /* of one time */
	uint32_t repeat; /* 0: nothing said, once */
	char profile[IDLETRACE_PROFILE_MAX]; /* "": nothing said */
};

/*
 * Takes one line. 0; -EINVAL or -ERANGE with *why: what is wrong and what would be right; -E2BIG: too many; -ENOMEM.
 */
int idletrace_add(struct idletrace *t, const char *line, const char **why);
void idletrace_done(struct idletrace *t);

/*
 * From what "perf script" prints of the event power:cpu_idle, line by line:
 *
 *   swapper     0 [003]  5012.345678: power:cpu_idle: state=2 cpu_id=3
 *
 * state is the one entered, or 4294967295 when the CPU leaves idle. The times become those from the first event on,
 * the next timer is not in there. Zero-initialised at first.
 */
struct idletrace_perf {
	uint64_t first_ns;
	bool begun;
	uint64_t *since; /* per CPU: idle since, ns + 1; 0: is not; owned */
};

/* 1: *ret is a period that has ended; 0: none has, or the line is of something else; -EINVAL: junk; -ENOMEM. */
int idletrace_perf_line(struct idletrace_perf *p, const char *line, struct idle_period *ret);
void idletrace_perf_done(struct idletrace_perf *p);

/* The line of a period, as idletrace_add() takes it; buf has IDLETRACE_LINE_MAX. Returns buf. */
#define IDLETRACE_LINE_MAX 96U
const char *idletrace_format(const struct idle_period *p, char *buf);

#endif
