/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * round - one way of the only CPU into idle and back to the task that waits, with time stamps
 *
 * In the emulator a tick of the TSC is an instruction, so a difference of two stamps is a count of
 * what was executed between them, and of the time that was slept.
 */
#ifndef ROUND_H
#define ROUND_H

#include <linux/types.h>

enum round_kind {
	ROUND_STORE,  /* woken before the wait, by what a remote wake-up stores: nothing interrupts */
	ROUND_PENDED, /* the timer's interrupt is pending before the wait, which ends at once */
	ROUND_WAIT,   /* sleeps, and the timer ends it */
	ROUND_MWAIT,  /* not idle: MWAIT with interrupts off; when does the emulator end it? */
	ROUND_UMWAIT, /* the same with UMWAIT */
};

/* Stamps in the order of a native idle. 0: not passed. */
struct round {
	u64 in;	      /* the idle loop is about to call the driver (tracepoint cpu_idle) */
	u64 deadline; /* the timer's, as programmed */
	u64 vector;   /* first instruction of the interrupt's entry */
	u64 timer;    /* first instruction of the hrtimer's function */
	u64 task;     /* back in the task */
	unsigned int entries;	 /* into idle states */
	unsigned int interrupts; /* of the hrtimer */
	unsigned int state;
};

int round_init(void);
void round_exit(void);

/* One round of the calling task, which should be alone in the machine. Sleeps. */
void round_run(enum round_kind kind, struct round *ret_round);

#endif /* ROUND_H */
