/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_CROWD_H
#define CPUIDLED_CROWD_H

#include "buf.h"
#include "plan.h"
#include "spell.h"

/*
 * HaltPoll= on a host that has too little for its guests: a CPU that polls looks busy and takes from other
 * guests, and from other CPUs of its own, what they wait for. Then polling is off on that CPU for a while.
 *
 * What speaks for it is stolen time: the CPU wanted to run and the host ran somebody else, CROWD_STEAL_PERCENT of
 * the time or more. While tasks of the guest wait for CPUs for CROWD_PRESSURE_PERCENT of the time, half of that is
 * enough; for CROWD_FULL_PERCENT, none is needed: a guest with that much to do has nothing to poll for. Off is a
 * spell (spell.h): ten seconds, twice as long each time, ten minutes at the most. Its reason is gone when less than
 * half of what began it is stolen.
 *
 * Pure, as the guard is (guard.h): counters by a function, time as a number. Made for a look a second; in guests
 * alone, since nobody steals from a host of its own.
 */
#define CROWD_STEAL_PERCENT    5U
#define CROWD_PRESSURE_PERCENT 10U
#define CROWD_FULL_PERCENT     60U
#define CROWD_UNKNOWN	       UINT32_MAX /* pressure: the kernel does not tell */

enum crowd_event {
	CROWD_NOTHING,
	CROWD_FOUND, /* off from now on */
	CROWD_CALMED, /* on again: less is stolen */
	CROWD_TRIED, /* on again: its time is over, to see what comes of that */
};

struct crowd_cell {
	uint16_t cpu;
	bool off;
	bool known; /* there is a look to compare with */
	uint8_t event; /* enum crowd_event of the last look */
	uint64_t at, steal_ns; /* of the look to compare with */
	struct spell spell;
	uint32_t percent, pressure; /* stolen, and waited, when it was found */
};

struct crowd {
	struct crowd_cell *cells; /* by CPU */
	uint32_t n;
	uint64_t now; /* of the last look */
	uint32_t n_events; /* of the last look */
	uint64_t spells; /* since the start */
};

/* Time stolen from a CPU since it came up, ns. -errno: not known. */
typedef int (*crowd_read)(void *data, uint32_t cpu, uint64_t *ret_ns);

/*
 * Takes up the CPUs on which HaltPoll= is in effect or would be, and forgets the rest. 1: the plan spares a CPU
 * that is forgotten, and wants to be made anew. 0, -ENOMEM: nothing has changed.
 */
int crowd_follow(struct crowd *c, const struct plan *plan, const struct machine *machine);
void crowd_done(struct crowd *c);

/* Are the CPUs of a row looked at? */
bool crowd_watches(const struct machine *machine, const struct plan_row *row);

/* One look at now (ns, any monotonic clock, not 0). pressure: percent of the time in which a task waited for a CPU. */
void crowd_look(struct crowd *c, uint64_t now, uint32_t pressure, crowd_read read, void *data);

bool crowd_is_off(const struct crowd *c, uint32_t cpu);

/* What is known of the CPUs of a row, for explain. */
void crowd_text(const struct machine *machine, const struct plan *plan, const struct plan_row *from,
		struct buf *b);

#endif
