/* SPDX-License-Identifier: GPL-2.0-only */
/* tap - one line per assertion */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>

extern int tap_count, tap_failed;

/* Says "ok N - text" or "not ok N - text"; returns @good. */
bool tap_ok(bool good, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* TAP_H */
