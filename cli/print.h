/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_PRINT_H
#define CPUIDLED_PRINT_H

#include "client.h"
#include "holders.h"

/* Answers as text for people on stdout; those that need no policy/render.h. */
void print_status(const struct client_status *s, const struct holders *holders);
void print_profiles(const struct listing *l);
void print_holds(const struct client_holds *h);
void print_findings(const struct client_findings *f, bool quiet);

/* Diagnostics, one a line, on stderr: answers and complaints do not mix. */
void print_diags(const struct diag_list *diags);

#endif
