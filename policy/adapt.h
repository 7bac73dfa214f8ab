/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_ADAPT_H
#define CPUIDLED_ADAPT_H

#include "counters.h"
#include "plan.h"
#include "spell.h"

/*
 * Adapt=: the shorter limit of a profile for the CPUs that wake up often, LatencyLimit= for all others. Each CPU is
 * judged by itself, by what it does: a load average or one busy neighbour say nothing about it. With AdaptScope=group
 * all CPUs that have it from one [Group] or [Workload] are judged as one: for work that moves among them. Those of
 * DefaultProfile= and of holds are nobody's group, and stay alone.
 *
 * What counts are entries of states above the shorter limit: each of them makes somebody wait for longer than that.
 * From ADAPT_WAKES a second on, in two looks in a row or four times as many in one, the CPU is busy; a group is when
 * one of its CPUs is, or when they have half of that on the average. While tasks wait for CPUs for
 * ADAPT_PRESSURE_PERCENT of the time or more, half of all that is enough. Busy is a spell (spell.h); its reason is gone
 * when all states together have fewer than half of ADAPT_WAKES entries a second, on each CPU of a group, and those a
 * quarter of it on the average. A CPU that computes without pause, or ticks along, never is busy.
 *
 * Pure, as the guard is (guard.h): counters by a function, time as a number. Made for a look a second.
 */
#define ADAPT_WAKES	       500U
#define ADAPT_PRESSURE_PERCENT 10U
#define ADAPT_PRESSURE_UNKNOWN UINT32_MAX

enum adapt_event {
	ADAPT_NOTHING,
	ADAPT_TIGHTENED,
	ADAPT_CALMED, /* LatencyLimit= again: the work has calmed down */
	ADAPT_TRIED, /* LatencyLimit= again: its time is over, to see what comes of that */
};

/* What is known of a CPU or group that was busy at least once. */
struct adapt_busy {
	struct spell spell;
	uint64_t wakes; /* a second, from states above the shorter limit, when it was found busy */
	uint64_t most; /* of one CPU; of a CPU alone the same */
	uint64_t entries; /* of all states while it had the shorter limit, the last time */
	uint64_t ns; /* how long that was, or has been so far */
	uint32_t pressure; /* percent, when it was found busy */
};

/* A CPU, and what it counts. */
struct adapt_cell {
	uint16_t cpu;
	uint16_t above; /* states above the shorter limit that the longer one allows, as bits */
	uint16_t within; /* states the shorter one allows */
	bool tight; /* what is counted: entries of within, not of above */
	bool known; /* there is a look to compare with */
	uint32_t unit; /* index of whom it is judged with */
	uint64_t at, entries; /* of the look to compare with */
};

/* Who is judged as one: a CPU, or those of a group. */
struct adapt_unit {
	uint32_t group; /* as plan_row.adapt_group; PLAN_ADAPT_ALONE: a CPU */
	char *name; /* "group web", owned; NULL: a CPU */
	uint16_t n; /* CPUs */
	bool tight;
	bool warm; /* the look before was over the mark */
	uint8_t event; /* enum adapt_event of the last look */
	uint64_t limit_ns; /* the shorter one, of its first CPU */
	struct adapt_busy *busy; /* owned; NULL: never was */
	/* Of the last look: CPUs with a rate, wake-ups a second of all and of one, entries, from when on. */
	uint16_t counted;
	uint64_t sum, most, more, before;
};

struct adapt {
	struct adapt_cell *cells; /* by CPU */
	uint32_t n;
	struct adapt_unit *units; /* by their first CPU */
	uint32_t n_units;
	uint64_t now;
	uint32_t n_events; /* units, of the last look */
	uint64_t spells; /* since the start */
	uint64_t within; /* wake-ups of CPUs while they had the shorter limit, since the start */
};

/*
 * Percent of the time since the last look in which a task waited for a CPU, or ADAPT_PRESSURE_UNKNOWN. group:
 * of that one's tasks alone, where this is known; PLAN_ADAPT_ALONE: of all.
 */
typedef uint32_t (*adapt_pressure)(void *data, uint32_t group);

/* What a look asks. */
struct adapt_source {
	counter_read read;
	void *read_data;
	adapt_pressure pressure; /* NULL: not known */
	void *pressure_data;
	uint32_t slot; /* the first one that is free for counters */
};

/* Files of a cell that stay open (struct counter): the states beyond are read at the price of an open each. */
#define ADAPT_SLOTS 4U

/*
 * Takes up the CPUs that a profile adapts, and forgets the rest. 1: the plan has a CPU as busy that is not any
 * more, and wants to be made anew. 0, -ENOMEM: nothing has changed.
 */
int adapt_follow(struct adapt *a, const struct policy *policy, const struct plan *plan,
		 const struct machine *machine);
void adapt_done(struct adapt *a);

/* One look at now, in ns, not 0. */
void adapt_look(struct adapt *a, uint64_t now, const struct adapt_source *source);

/* The limit of the CPUs of a row while they are not busy, ns. */
uint64_t adapt_ceiling(const struct policy *policy, const struct plan *plan,
		       const struct plan_row *row);

bool adapt_tight(const struct adapt *a, uint32_t cpu);
/* CPUs. */
uint32_t adapt_count_tight(const struct adapt *a);
/* Who a CPU is judged with; NULL: nobody looks at it. */
const struct adapt_unit *adapt_unit_of(const struct adapt *a, uint32_t cpu);
/* Entries a second of all states, of all its CPUs, while it had the shorter limit, the last time. */
uint64_t adapt_rate(const struct adapt_busy *b);

#endif
