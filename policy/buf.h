/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_BUF_H
#define CPUIDLED_BUF_H

#include "base.h"

/* Text that grows. Zero-initialised is empty; memory trouble is remembered and reported once, at the end. */
struct buf {
	char *text;
	size_t n, cap;
	bool failed;
};

void buf_add(struct buf *b, const char *text, size_t n);
void buf_puts(struct buf *b, const char *text);
void buf_printf(struct buf *b, const char *fmt, ...) _printf_(2, 3);

/* The text, owned by the caller; NULL when memory ran out. b is empty afterwards. */
char *buf_finish(struct buf *b);

#endif
