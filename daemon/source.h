/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_SOURCE_H
#define CPUIDLED_SOURCE_H

#include "policy.h"

/*
 * Finds and reads the policy's texts, safely: regular files only, at most TEXT_FILE_MAX bytes each.
 *
 * Without a named file, in this order, later ones winning key by key:
 *   VENDOR/profiles/x.conf                       the shipped profiles
 *   cpuidled.conf                                 from the first of etc, run, VENDOR that has it
 *   cpuidled.conf.d/x.conf of etc, run, VENDOR    by file name; the same name in an earlier place of
 *                                                 this list replaces, a link to /dev/null masks
 * where etc is ROOT/etc/cpuidled, run is ROOT/run/cpuidled and VENDOR is lib/cpuidled beside the program's
 * own directory (/usr/lib/cpuidled when it is /usr/sbin/cpuidled), so that a build tree works as it
 * stands. With a named file: the shipped profiles, then that file alone.
 */
struct source_options {
	const char *root; /* NULL or "/": this host */
	const char *policy; /* named file, may be NULL */
	const char *vendor_dir; /* NULL: found from /proc/self/exe */
	const char *extra_name; /* a text on top of all, for run-time settings; NULL: none */
	const char *extra;
};

/*
 * Reads all texts into a new, finished policy. Unreadable files and bad lines are diagnostics; the
 * policy is returned only when there was no error. 0, -EBADMSG with n_errors > 0, or -ENOMEM.
 */
int source_load(const struct source_options *o, struct diag_list *diags, struct policy **ret);

#endif
