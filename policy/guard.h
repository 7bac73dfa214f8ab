/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_GUARD_H
#define CPUIDLED_GUARD_H

#include "counters.h"
#include "plan.h"
#include "spell.h"

/*
 * The residency guard: finds CPUs that are caught in a deep state which does not pay, and keeps that state off
 * there for a while. The vicious circle it looks for: work alternates quickly with waiting, the deep state is
 * entered almost always too early, and each time costs more than it saves; what delays the way out makes the idle
 * time look longer than it is, so that the kernel's governor chooses the deep state again.
 *
 * Pure: counters come in by a function, time as a number, vetoes go out as bits. Who looks, and when, is the
 * caller's; GUARD_LOOK_NS is what the numbers below are made for.
 *
 * A deep state is one of class core-off or package-off with a state on below it in which the CPU halts: that is
 * the one entered instead, and the last state that is not POLL is never taken away.
 *
 * Caught is a state that, since the look before,
 *  - was entered too early GUARD_EARLY_RATE times a second or more, and
 *  - these times its exit latency are GUARD_WASTE_PERCENT of the time or more, and
 *  - they are GUARD_EARLY_PERCENT of all its entries or more.
 * Too early says the kernel's counter "above", or a refused entry. Where there is no "above", the mean time in the
 * state speaks: if it is below a quarter of the target residency, then at least three in four entries were too
 * early (Markov's inequality). That wants one more look.
 *
 * A veto is a spell (spell.h): at least ten seconds, twice as long each time, ten minutes at the most. Its reason is
 * gone when the state entered instead has fewer than GUARD_STILL_RATE entries a second, or such as last as long as
 * the target residency of what is off.
 */
#define GUARD_LOOK_NS	    NSEC_PER_SEC
#define GUARD_EARLY_RATE    1000U
#define GUARD_WASTE_PERCENT 10U
#define GUARD_EARLY_PERCENT 75U
#define GUARD_STILL_RATE    500U

/*
 * A quiet machine is read less: after GUARD_QUIET_LOOKS looks in which no deep state was entered
 * GUARD_QUIET_RATE times a second too early, each look reads one CPU in GUARD_SHARE. One that is over that rate,
 * and all are read in the same look.
 */
#define GUARD_QUIET_RATE  100U
#define GUARD_QUIET_LOOKS 8U
#define GUARD_SHARE	  4U

/* Counters that are only compared with when a state is hot are read again every so many looks. */
#define GUARD_REFRESH 8U

enum guard_event {
	GUARD_NOTHING,
	GUARD_CAUGHT, /* off from now on */
	GUARD_CALMED, /* on again: the work has calmed down */
	GUARD_TRIED, /* on again: its time is over */
};

/* What was seen of a state. */
struct guard_sight {
	uint64_t early; /* too early (all entries, where nobody counts those) ... */
	uint64_t span_ns; /* ... in this time */
	uint64_t early_rate; /* the same, a second */
	uint32_t early_percent; /* of all entries, at least */
	uint32_t
		waste_percent; /* early entries times exit latency, of the time; over 100 the table exaggerates */
};

/* What is known of a state that was taken away at least once. */
struct guard_veto {
	struct spell spell;
	struct guard_sight seen; /* when it was caught */
	uint64_t instead_entries; /* of the other state while this one was off, the last time */
	uint64_t off_ns; /* how long that was, or has been so far */
};

/* One deep state of one CPU. Large machines have many: kept small. */
struct guard_cell {
	uint16_t cpu;
	uint8_t state;
	uint8_t instead; /* the state entered while this one is off */
	bool off;
	bool uncounted; /* no counter "above" */
	bool known; /* there is a look to compare with */
	uint8_t event; /* enum guard_event of the last look */
	uint8_t reads; /* since usage was read */
	uint32_t rejected;
	uint32_t exit_ns, target_ns; /* of the state */
	uint64_t at; /* of the look to compare with */
	uint64_t early; /* the counter that is read in each look */
	uint64_t usage, time_us; /* of the state while it is on, of the other one while it is off */
	struct guard_veto *veto; /* owned; NULL: was never off */
};

struct guard {
	struct guard_cell *cells; /* by CPU and state */
	uint32_t n;
	uint64_t now; /* of the last look */
	uint32_t looks, quiet; /* looks; those in a row that were quiet */
	uint32_t n_events; /* of the last look */
	uint32_t n_uncounted; /* cells without the counter "above" */
	uint64_t vetoes; /* since the start */
	uint64_t avoided; /* early entries that did not happen, had they gone on as before */
};

/* Slots that counters of a guard with n cells use (struct counter). */
#define GUARD_SLOTS(n) (2 * (n))

/*
 * Takes up the states of the CPUs whose row in plan is guarded, and forgets the rest with their vetoes; what is
 * known of those that stay is kept. g is zero at first. 1: the plan still has a veto that was forgotten, and wants
 * to be made anew. 0, -ENOMEM: nothing has changed.
 */
int guard_follow(struct guard *g, const struct plan *plan, const struct machine *machine);
void guard_done(struct guard *g);

/* Is this state of a guarded row one to look at? Then *ret_instead is the one entered in its place. */
bool guard_watches(const struct plan_row *row, const struct idle_table *table, uint32_t state,
		   uint8_t *ret_instead);

/* One look at now (ns, any monotonic clock, not 0). Afterwards each cell's event tells what was decided. */
void guard_look(struct guard *g, uint64_t now, counter_read read, void *data);

/* The states that are to be off on a CPU, as bits. */
uint16_t guard_vetoed(const struct guard *g, uint32_t cpu);

/* Entries a second of the state entered instead, the last time. */
uint64_t guard_instead_rate(const struct guard_veto *v);

/* g->avoided with what the vetoes that still last add to it. */
uint64_t guard_avoided(const struct guard *g);

/* How many cells are off. */
uint32_t guard_count_off(const struct guard *g);

#endif
