/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_TEXT_H
#define CPUIDLED_TEXT_H

#include "diag.h"

/*
 * A guarded reader in front of inih: bytes of one policy file in, located assignments out.
 *
 * inih cuts long lines and section names, drops bytes after a NUL and text after "]", and glues an
 * indented line to the one before, all without a word. Here a line means the same wherever it stands, and
 * what cannot be meant is refused with file:line:
 *
 *   [Section name]    # a comment
 *   Key=value         ; a comment
 *
 * "#" and ";" begin a comment at the start of a line and behind a blank. Lines end with LF or CR LF; a
 * byte order mark at the beginning is skipped. A value stands on one line.
 */
#define TEXT_FILE_MAX	 (UINT32_C(1) << 20) /* bytes of one policy file */
#define TEXT_LINE_MAX	 190U /* bytes of one line without comment: inih as packaged holds 199 */
#define TEXT_SECTION_MAX 49U /* bytes between the brackets: as many as inih holds */

struct text_assignment {
	const char *file;
	uint32_t line;
	const char *section; /* "Profile low-latency" */
	uint32_t section_line; /* where that header stands */
	const char *key; /* NULL: this is the section header itself */
	const char *value; /* trimmed, "" when empty */
};

/* Called for each section header and each assignment, in file order. A negative result stops. */
typedef int (*text_handler)(const struct text_assignment *a, void *userdata);

/*
 * Feeds bytes (not NUL-terminated) to the handler. Malformed lines become diagnostics and reading goes
 * on behind them. Returns 0 (look at diags->n_errors), -ENOMEM, or what the handler returned.
 */
int text_parse(const char *file, const char *bytes, size_t n, text_handler handler, void *userdata,
	       struct diag_list *diags);

#endif
