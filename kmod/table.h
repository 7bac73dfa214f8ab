/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * table - rows of configuration, one u64 per CPU, and the rules that make them
 *
 * Pure: no kernel state, no allocation, no locks. It compiles in user space as well, where the
 * unit tests are.
 */
#ifndef TABLE_H
#define TABLE_H

#ifdef __KERNEL__
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
typedef uint32_t u32;
typedef uint64_t u64;
#define BIT(n)	      (1UL << (n))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif

#include "uapi/cpuidle_policy.h"

#define TABLE_STATES 10 /* CPUIDLE_STATE_MAX of every kernel we build on; asserted in hook.c */

/*
 * All that the idle path knows about a CPU's policy. One word, so that it is written and read
 * whole, without a lock and without RCU, which does not watch there. 0: the host's own settings.
 *
 * Control keeps rows plain: sets of states are numbered as if our own state were not in the table.
 * table_row_live() makes what the idle path reads.
 */
union table_row {
	u64 w;
	struct {
		u64 irq_window : TABLE_STATES;
		u64 sti_mwait : TABLE_STATES;
		u64 states_off : TABLE_STATES;
		u64 broadcast : 2;
		u64 count : 1;
		u64 poll : 2;
		u64 c1 : 2;
		u64 c0 : 2;
		u64 haltpoll_us : 14;
		u64 ioport : 1;
		u64 c1_at : 4; /* of what the idle path reads only: the state c1 is about */
	};
};

/* What the driver's table allows. Sets of states, plain. */
struct table_caps {
	u32 states; /* how many; 0: no driver */
	u32 polling;
	u32 timer_stop;
	u32 rcu_idle;
	u32 coupled;
	u32 mwait_c1; /* C1 by MWAIT, hint 0 */
	u32 ibrs;     /* entered with kernel IBRS taken off by the driver */
	u32 xstate;   /* entered after the driver has put the extended state away */
	u32 c1;	      /* the first state that halts */
	bool timer_stops; /* the local timer may stop: no ARAT */
	bool monitor_bug; /* MONITOR misses stores on this CPU */
	bool in_guest;	  /* and nobody said that C0.x is meant there, too */
	const u32 *waitpkg;	/* set of CPUs that have UMWAIT */
	const char *c0_reason;	/* why none can use it; NULL when one can */
	u32 ioport;		   /* states entered by reading a port */
	const char *ioport_reason; /* why none of them can be entered directly */
	bool clock_bad;		   /* no clock that runs through idle */
	const char *row_reason; /* why there can be no state of our own for it */
};

/* One RULE, decoded. value[] and the bits of given are numbered by the rule's attributes. */
struct table_rule {
	u32 given;
	u32 value[CPUIDLE_POLICY_RULE_MAX + 1];
	const u32 *mask;
	u32 words;
};

struct table_refusal {
	int err;	  /* negative errno */
	u32 attr;	  /* attribute of the rule, 0: the whole message */
	const char *text; /* static */
};

static inline u32 table_words(u32 nr_cpus)
{
	return (nr_cpus + 31) / 32;
}

static inline bool table_mask_test(const u32 *mask, u32 cpu)
{
	return mask[cpu / 32] & (1u << (cpu % 32));
}

/* Is every CPU of @mask, of any length, one of @possible, which has @nr bits? */
int table_mask_check(const u32 *mask, u32 words, const u32 *possible, u32 nr,
		     struct table_refusal *refusal);

/* Judge the fields of a rule by themselves. 0, or a negative errno with @refusal filled. */
int table_rule_check(const struct table_caps *caps, const struct table_rule *rule,
		     struct table_refusal *refusal);

/* Write a checked rule into the staged @rows, judging each result. */
int table_rule_apply(const struct table_caps *caps, const struct table_rule *rule,
		     union table_row *rows, u32 nr, struct table_refusal *refusal);

/* Judge whole rows: what single rules cannot see. */
int table_row_check(const struct table_caps *caps, union table_row row,
		    struct table_refusal *refusal);
int table_rows_check(const struct table_caps *caps, const union table_row *rows, u32 nr,
		     struct table_refusal *refusal);

/* The row with all that @caps does not allow taken out. */
union table_row table_row_fit(const struct table_caps *caps, union table_row row);

/*
 * A set, or a row, as the idle path has it, with our own state at index @at; negative: there is
 * none.
 */
u32 table_set_live(u32 set, int at);
u32 table_set_plain(u32 set, int at);
union table_row table_row_live(const struct table_caps *caps, union table_row row, int at);

/* States a row takes from a CPU. */
u32 table_row_veto(union table_row row, u32 timer_stop);

/* Union of all rows: which modes are in use anywhere. */
union table_row table_rows_any(const union table_row *rows, u32 nr);

/* Set @mask to the CPUs whose rows differ; returns how many. */
u32 table_rows_diff(const union table_row *old, const union table_row *new, u32 nr, u32 *mask);

/*
 * The next group of equal rows among @todo (consumed): fills @mask, returns its first CPU, @nr when
 * none is left. Quadratic in distinct rows, of which there are few.
 */
u32 table_rows_group(const union table_row *rows, u32 nr, u32 *todo, u32 *mask);

#endif /* TABLE_H */
