/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "buf.h"

/* Room for n more bytes and a NUL. */
static bool reserve(struct buf *b, size_t n)
{
	size_t cap = MAX_OF(b->cap, 256U);
	char *text;

	if (b->failed)
		return false;
	if (b->cap > b->n + n)
		return true;
	while (cap <= b->n + n)
		cap *= 2;
	text = realloc(b->text, cap);
	if (!text) {
		b->failed = true;
		return false;
	}
	b->text = text;
	b->cap = cap;
	return true;
}

void buf_add(struct buf *b, const char *text, size_t n)
{
	if (!reserve(b, n))
		return;
	memcpy(b->text + b->n, text, n);
	b->n += n;
	b->text[b->n] = '\0';
}

void buf_puts(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (n < 0 || !reserve(b, (size_t)n)) {
		b->failed = true;
		return;
	}
	va_start(args, fmt);
	(void)vsnprintf(b->text + b->n, (size_t)n + 1, fmt, args);
	va_end(args);
	b->n += (size_t)n;
}

char *buf_finish(struct buf *b)
{
	char *text;

	buf_add(b, "", 0);
	text = b->failed ? NULL : b->text;
	if (!text)
		free(b->text);
	*b = (struct buf){0};
	return text;
}
