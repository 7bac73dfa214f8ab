/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_NOTES_H
#define CPUIDLED_NOTES_H

#include "plan.h"

/*
 * Remarks about rows of a plan, told once for all CPUs they concern. Two rows with the same remark are
 * merged; the text of a diagnostic becomes "CPUs 0-3,8: TEXT".
 */
struct note {
	enum diag_severity severity;
	struct place at; /* zero: concerns no line of the policy */
	char *text; /* owned */
	uint64_t *rows; /* bit set over plan rows, owned; NULL: concerns the whole host */
};

struct notes {
	const struct plan *plan;
	struct note *v;
	uint32_t n, cap;
	uint32_t dropped; /* further ones after DIAG_MAX */
	bool failed; /* memory ran out */
};

/* at may be NULL, row NOTES_HOST for the whole host. */
#define NOTES_HOST UINT32_MAX
void notes_add(struct notes *notes, enum diag_severity severity, const struct place *at,
	       uint32_t row, const char *fmt, ...) _printf_(5, 6);

/* Makes diagnostics of them, in the order of their first row. 0 or -ENOMEM. */
int notes_tell(const struct notes *notes, struct diag_list *diags);

void notes_done(struct notes *notes);

#endif
