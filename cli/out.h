/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_OUT_H
#define CPUIDLED_OUT_H

#include "client.h"
#include "diff.h"
#include "holders.h"
#include "simulate.h"

/*
 * Answers as JSON on stdout: one object, one schema per verb (etc/schemas/VERB.json). Latencies are ns, or
 * null for none. Each returns an exit code, EXIT_FAILED with a message when memory ran out.
 */
int out_status(const struct client_status *s, const struct holders *holders);
int out_policy(const char *text, const struct diag_list *diags);
int out_profiles(const struct listing *l, const struct diag_list *diags);
int out_findings(const struct client_findings *f, bool ok);

/* verb is "set" or "reload". */
int out_change(const char *verb, bool applied, const struct diag_list *diags);

/* verb is "plan" or "explain"; changes may be NULL. */
int out_view(const char *verb, const struct view *view, const struct diag_list *diags,
	     const struct changes *changes);

/* What a simulation came to. */
int out_simulation(const struct simulation *s, const struct diag_list *diags);

/* One judged text of check. */
struct out_checked {
	const char *file; /* NULL: the search path */
	bool ok;
	struct diag_list diags;
};

/* text is NULL where there were errors. */
int out_import(const char *text, const struct diag_list *diags);
int out_checked(const struct out_checked *v, uint32_t n, bool ok);

int out_hold(uint32_t id);
int out_released(uint32_t id);
int out_holds(const struct client_holds *h);

/* One line, flushed. realtime_us: microseconds since 1970. */
int out_event(uint64_t realtime_us, const char *what, const char *detail, const char *why);

#endif
