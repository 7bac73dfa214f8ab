/* SPDX-License-Identifier: GPL-2.0-only */
/* enter - the idle path: what stands in a driver's ->enter while hooked */
#ifndef ENTER_H
#define ENTER_H

#include <linux/cpuidle.h>
#include <linux/jump_label.h>
#include <linux/percpu.h>
#include "table.h"

/* Our bit in states_usage[].disable; 0 and 1 are the user's and the driver's. */
#define ENTER_DISABLE BIT(16)

/* enter_cpu.own: why the short way through ->enter is not enough */
#define ENTER_VETO  BIT(0) /* veto bits must be looked at */
#define ENTER_COUNT BIT(1) /* entries into broadcast are counted */
#define ENTER_MWAIT BIT(2)
#define ENTER_C0    BIT(3)
#define ENTER_HALT  BIT(4) /* haltpoll, I/O port */

/*
 * row is written by control and read by the CPU. own is written by the CPU alone, in the IPI that
 * follows a new row; poke by control, to have veto bits asserted again without waking the CPU.
 * All the rest belongs to the CPU.
 */
struct enter_cpu {
	union table_row row;
	union {
		u16 slow;
		struct {
			u8 own;
			u8 poke;
		};
	};
	bool parked;	/* going offline: no veto bit may stay behind */
	u32 vetoed;	/* states that carry our bit */
	struct cpuidle_device *dev; /* that vetoed belongs to */
	u64 windows;	/* ways out: through a window, */
	u64 sti_mwaits; /* from our own STI;MWAIT, */
	u64 exits;	/* all others */
	u64 broadcasts;
	u64 c0_waits;
	u64 c0_rearms;
	u64 poll_ns; /* what poll_ticks were made of */
	u64 poll_ticks;
	u64 halt_ticks; /* haltpoll: how long to poll now */
	bool halt_polled; /* the entry before this one polled in vain */
	u64 poll_hits;
	u64 poll_misses;
	u64 ioports;
	u16 port[TABLE_STATES]; /* of a state entered by reading it, else 0; as row */
	u64 entries[TABLE_STATES];
};

DECLARE_PER_CPU_ALIGNED(struct enter_cpu, enter_cpu);
DECLARE_STATIC_KEY_FALSE(enter_key_broadcast);
extern u32 enter_clock_khz; /* of arch_clock(); written once */

typedef int (*enter_fn)(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index);

extern const enter_fn enter_table[TABLE_STATES]; /* ours, one per state */
extern enter_fn enter_lower[TABLE_STATES];	 /* the driver's; written by hook alone */

/* The lower ->enter of our own state, where insert.c has put it. */
int enter_c0(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index);

/* Is the CPU in our code? By its counters. */
bool enter_inside(const struct enter_cpu *cpu);

/* The ->enter of a polling state, for kernels that have none. */
int enter_spin(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index);

/* On the CPU itself, interrupts off: take notice of a new row. An IPI handler. */
void enter_refresh(void *unused);

#endif /* ENTER_H */
