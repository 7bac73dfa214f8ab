/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_FOREIGN_H
#define CPUIDLED_FOREIGN_H

#include "diff.h"

/*
 * What to make of a value somebody else wrote. Theirs is always what others ask for from then on: it is
 * what a restore puts back, and a stricter one is never loosened. The question is only whether ours is
 * added to it again. Decides and notes in the machine; writes nothing.
 */
#define FOREIGN_REASSERTS_MAX \
	10U /* per CPU in FOREIGN_WINDOW_NS: who insists more often is left alone */
#define FOREIGN_WINDOW_NS (60 * NSEC_PER_SEC)

enum foreign_verdict {
	VERDICT_SAME, /* the value is the one we know */
	VERDICT_ADOPTED, /* stricter than ours, or in a file that held nothing of ours: nothing is lost */
	VERDICT_REASSERT, /* looser than ours, which the next plan writes again */
	VERDICT_YIELDED, /* looser, and left standing until a reload: OnForeignWrite=yield */
	VERDICT_ALERT, /* looser, left standing and complained about: OnForeignWrite=alert */
	VERDICT_TOO_OFTEN, /* looser, reasserted too often of late, left standing for now */
	VERDICT_N,
};

/* How often ours was put back lately. Zero-initialised is valid. */
struct foreign {
	uint8_t *reasserted; /* per CPU, in this window; owned */
	uint32_t n_cpus;
	uint64_t window_ns; /* when the window began */
};

void foreign_done(struct foreign *f);

/*
 * Judges value found in the file of c (all but KNOB_GLOBAL), whose from and to are filled in: what
 * we knew and what was found. limit_ns: the policy's limit for that CPU. now_ns is any steady clock. Without memory for counting VERDICT_REASSERT becomes VERDICT_TOO_OFTEN.
 */
enum foreign_verdict foreign_judge(struct foreign *f, enum foreign_write answer, struct machine *m,
				   struct change *c, uint64_t found, uint64_t limit_ns,
				   uint64_t now_ns);

/* Forgets what was left to others: a reload starts afresh. Returns how many files that were. */
uint32_t foreign_forget(struct machine *m);

/* How many of the files left to others are looser than plan would have them. */
uint32_t foreign_count_looser(const struct machine *m, const struct plan *plan);

/* What was done about it, for the log: "yielded to it until the next reload". */
const char *foreign_verdict_text(enum foreign_verdict verdict);

#endif
