/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_DIAG_H
#define CPUIDLED_DIAG_H

#include "base.h"

/*
 * Located diagnostics, collected and never printed by the code that finds them. The text of an error
 * has two halves joined by "; ": what was found, and what would be right.
 */
#define DIAG_MAX 256U /* kept per list; further ones are only counted */

enum diag_severity {
	DIAG_ERROR, /* the policy cannot be used */
	DIAG_WARNING, /* it can, but somebody should look */
	DIAG_INFO,
};

struct diag {
	enum diag_severity severity;
	uint32_t line; /* 0: concerns no line */
	char *file; /* NULL: concerns no file (a fact of the host) */
	char *text;
};

/* Zero-initialised is a valid empty list. */
struct diag_list {
	struct diag *items;
	size_t n;
	size_t dropped; /* found after DIAG_MAX, or lost for lack of memory */
	size_t n_errors;
	size_t n_warnings;
};

void diag_done(struct diag_list *list);

/* Adds one. list may be NULL (the caller does not want to know). Never fails: see dropped. */
void diag_add(struct diag_list *list, enum diag_severity severity, const char *file, uint32_t line,
	      const char *fmt, ...) _printf_(5, 6);

/* "file:line: error: text", without what is unknown. Returns the whole length like snprintf. */
size_t diag_format(const struct diag *diag, char *buf, size_t size);

/* "error", "warning" or "info". */
const char *diag_severity_name(enum diag_severity severity);

/* Moves all of src to the end of dst and leaves src empty. */
void diag_move(struct diag_list *dst, struct diag_list *src);

#endif
