/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_SELECTOR_H
#define CPUIDLED_SELECTOR_H

#include "machine.h"

/*
 * CPU selectors: which CPUs a group means, whatever host it lands on.
 *
 *   expr  := and ("|" and)*         union
 *   and   := unary ("&" unary)*     intersection, binds closer
 *   unary := "!" unary | "(" expr ")" | term
 *   term  := LIST                   0-3,8,10-14:2,0-31:2/8 (numbers the host does not have select nothing)
 *          | "all"                  every present CPU
 *          | "isolated" | "nohz_full"
 *          | "housekeeping"         present and neither isolated nor nohz_full
 *          | "online" | "offline"
 *          | KIND ":" LIST          KIND is package, die, core, node or llc; the numbers the kernel
 *                                   gives (die and core numbers repeat in each package)
 * Blanks may stand between tokens.
 */
#define SELECTOR_TEXT_MAX   160U
#define SELECTOR_TOKENS_MAX 64U
#define SELECTOR_DEPTH_MAX  16U

/* What of a machine has to be known to evaluate it. */
enum selector_needs {
	SELECTOR_NEEDS_TOPOLOGY = 1 << 0, /* package, die, core */
	SELECTOR_NEEDS_NODE = 1 << 1,
	SELECTOR_NEEDS_LLC = 1 << 2,
};

struct selector;

/*
 * Compiles text. -EINVAL: what is wrong and what would be right is in error (never longer than
 * error_size, always terminated). -ENOMEM.
 */
int selector_new(const char *text, struct selector **ret, char *error, size_t error_size);
void selector_free(struct selector *s);
DEFINE_CLEANUP(struct selector *, selector_freep, selector_free)

const char *selector_text(const struct selector *s);
unsigned selector_needs(const struct selector *s); /* or-ed enum selector_needs */

/* CPUs of m it means; ret is initialised here, with size m->n_cpus. Absent CPUs are never in it. */
int selector_eval(const struct selector *s, const struct machine *m, struct cpuset *ret);

#endif
