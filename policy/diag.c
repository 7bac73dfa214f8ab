/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diag.h"

static void item_done(struct diag *d)
{
	free(d->file);
	free(d->text);
}

void diag_done(struct diag_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		item_done(&list->items[i]);
	free(list->items);
	*list = (struct diag_list){0};
}

/* Makes room for one more. The array doubles, so its size follows from n. */
static int reserve(struct diag_list *list)
{
	struct diag *items;

	if (list->n > 0 && (list->n & (list->n - 1)) != 0)
		return 0;
	items = realloc(list->items, MAX_OF(list->n * 2, 1U) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	list->items = items;
	return 0;
}

/* Takes the item over if there is room; otherwise it stays the caller's. */
static bool append(struct diag_list *list, const struct diag *d)
{
	if (list->n >= DIAG_MAX || reserve(list) < 0)
		return false;
	list->items[list->n++] = *d;
	return true;
}

static void count(struct diag_list *list, enum diag_severity severity)
{
	switch (severity) {
	case DIAG_ERROR:
		list->n_errors++;
		break;
	case DIAG_WARNING:
		list->n_warnings++;
		break;
	case DIAG_INFO:
		break;
	}
}

void diag_add(struct diag_list *list, enum diag_severity severity, const char *file, uint32_t line,
	      const char *fmt, ...)
{
	struct diag d = {.severity = severity, .line = line};
	va_list args;

	if (!list)
		return;
	count(list, severity);
	if (list->n >= DIAG_MAX) {
		list->dropped++;
		return;
	}
	va_start(args, fmt);
	if (vasprintf(&d.text, fmt, args) < 0)
		d.text = NULL;
	va_end(args);
	d.file = file ? strdup(file) : NULL;
	if (!d.text || (file && !d.file) || !append(list, &d)) {
		list->dropped++;
		item_done(&d);
	}
}

const char *diag_severity_name(enum diag_severity severity)
{
	switch (severity) {
	case DIAG_ERROR:
		return "error";
	case DIAG_WARNING:
		return "warning";
	case DIAG_INFO:
		return "info";
	}
	return "?";
}

size_t diag_format(const struct diag *diag, char *buf, size_t size)
{
	const char *severity = diag_severity_name(diag->severity);
	int n;

	if (!diag->file)
		n = snprintf(buf, size, "%s: %s", severity, diag->text);
	else if (diag->line == 0)
		n = snprintf(buf, size, "%s: %s: %s", diag->file, severity, diag->text);
	else
		n = snprintf(buf, size, "%s:%" PRIu32 ": %s: %s", diag->file, diag->line, severity,
			     diag->text);
	return n < 0 ? 0 : (size_t)n;
}

void diag_move(struct diag_list *dst, struct diag_list *src)
{
	for (size_t i = 0; i < src->n; i++) {
		if (append(dst, &src->items[i]))
			continue;
		item_done(&src->items[i]);
		dst->dropped++;
	}
	dst->dropped += src->dropped;
	dst->n_errors += src->n_errors;
	dst->n_warnings += src->n_warnings;
	free(src->items);
	*src = (struct diag_list){0};
}
