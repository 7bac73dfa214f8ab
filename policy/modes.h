/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_MODES_H
#define CPUIDLED_MODES_H

#include "buf.h"
#include "plan.h"

/*
 * What becomes of a profile's modes on the CPUs of one row: asked for, wanted by the rules, and in effect
 * with what the kernel has at hand. Limit and states of the row are decided already; its modes are
 * filled in here.
 */
void modes_decide(const struct machine *machine, const struct policy *policy,
		  const struct plan *plan, const struct settings *settings, struct plan_row *row);

/*
 * What of all that cpuidle_policy.ko keeps: the modes in effect, and states to be off that nobody else has
 * disabled, whose files are then left alone. What that takes of the whole host is noted in plan.
 */
void modes_module(const struct machine *machine, struct plan_row *row, struct plan *plan);

/* What a file of umwait_control holds once the plan stands. */
uint64_t modes_knob_stands(const struct machine *m, const struct plan *plan, enum host_knob which);

/* The state that C0=state puts in, as the kernel shows it; not in any table. */
void modes_own_state(const struct machine *m, enum c0_wait depth, struct idle_state *ret);

/* What of umwait_control the policy wants: for the host, and not where a file is left to others. */
void modes_knobs(const struct policy *policy, const struct machine *m, struct plan *plan);

/* The key a mode is asked for with: "C0", "C1Interrupts" ... */
const char *modes_key(enum plan_mode mode);

/*
 * How the kernel's own governor haltpoll polls, by its parameters (Documentation/virt/guest-halt-polling.rst) and
 * by what the plan sets of them.
 */
void modes_haltpoll_text(const struct machine *machine, const struct plan *plan, struct buf *b);

/* Why a mode is as it is, in a few words: "needs cpuidle_policy.ko, which is not in use". */
const char *modes_reason_text(enum mode_reason reason);

/* Is it worth a word why nothing is wanted, or who does it? */
bool modes_is_told(enum mode_reason reason);

/* The module's own words about it, "" where it has none. Borrowed from machine. */
const char *modes_module_words(const struct machine *machine, enum plan_mode mode,
			       enum mode_reason reason);

#endif
