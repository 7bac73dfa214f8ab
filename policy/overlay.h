/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_OVERLAY_H
#define CPUIDLED_OVERLAY_H

#include "diag.h"

/*
 * Run-time settings are policy text on top of all files. Several calls add up: a key given again in a
 * section replaces what earlier calls said for it there, so that the text stays as small as its variety;
 * a list key repeated within one call appends, as in a file.
 */

/*
 * Merges addition into base (either may be ""), both policy text named name for diagnostics. Malformed
 * lines of addition become errors in diags. ret is owned by the caller. 0, -EBADMSG (errors were added),
 * -E2BIG when the result would be longer than max, -ENOMEM.
 */
int overlay_merge(const char *name, const char *base, const char *addition, size_t max,
		  struct diag_list *diags, char **ret);

#endif
