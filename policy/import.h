/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_IMPORT_H
#define CPUIDLED_IMPORT_H

#include "buf.h"
#include "diag.h"

/*
 * Settings of other programs as policy text. What can be said the same way is; everything else becomes a comment
 * with its place and the reason, so that nothing is lost silently. Nothing is looked up on a host: a limit named by a
 * state is not kept, since its latency differs from host to host.
 *
 *  - tuned: a profile's tuned.conf. [cpu] force_latency= is GlobalLatencyLimit= (both hold /dev/cpu_dma_latency),
 *    pm_qos_resume_latency_us= a profile for all CPUs; of alternatives (a|b) the first number; ${x} of [variables].
 *  - saptune: a note. [cpu] force_latency=.
 *  - crio: any text with lines "cpu-c-states.crio.io: VALUE", such as a pod in YAML or JSON.
 *  - pepc: lines of a script, "pepc pmqos config --latency-limit 100us --cpus 0-3" and
 *    "pepc cstates config --disable C6 --cpus 0-3".
 */
enum import_format { IMPORT_TUNED, IMPORT_SAPTUNE, IMPORT_CRIO, IMPORT_PEPC, IMPORT_N };

const char *import_format_name(enum import_format format);
int import_format_from_name(const char *name, enum import_format *ret); /* -EINVAL */

/*
 * The policy text, owned by the caller. -EBADMSG: errors in diags; -ENOMEM. file is for words, bytes need no NUL.
 */
int import_text(enum import_format format, const char *file, const char *bytes, size_t n,
		struct diag_list *diags, char **ret);

/* For the readers of formats. ----------------------------------------------------------------------- */

struct importer {
	const char *file;
	struct diag_list *diags;
	struct buf daemon; /* what goes into [Daemon] */
	struct buf rest; /* sections of their own */
	uint32_t n; /* sections so far, for their names */
};

/* "# file:line: what: why" into b; what is not printable becomes "?". */
void import_comment(struct importer *im, struct buf *b, uint32_t line, const char *what,
		    const char *why);

int import_ini(struct importer *im, enum import_format format, const char *bytes, size_t n);
int import_lines(struct importer *im, enum import_format format, const char *bytes, size_t n);

#endif
