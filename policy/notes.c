/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "notes.h"

static void note_done(struct note *n)
{
	free(n->text);
	free(n->rows);
}

void notes_done(struct notes *notes)
{
	for (uint32_t i = 0; i < notes->n; i++)
		note_done(&notes->v[i]);
	free(notes->v);
	*notes = (struct notes){};
}

static bool same_note(const struct note *a, const struct note *b)
{
	return a->severity == b->severity && a->at.file == b->at.file && a->at.line == b->at.line &&
	       !a->rows == !b->rows && streq(a->text, b->text);
}

static struct note *find(struct notes *notes, const struct note *like)
{
	for (uint32_t i = 0; i < notes->n; i++)
		if (same_note(&notes->v[i], like))
			return &notes->v[i];
	return NULL;
}

/* Takes over what n owns, also when it fails. */
static int append(struct notes *notes, struct note *n)
{
	if (notes->n == notes->cap) {
		uint32_t cap = notes->cap * 2 + 8;
		struct note *v = reallocarray(notes->v, cap, sizeof(*v));

		if (!v) {
			note_done(n);
			return -ENOMEM;
		}
		notes->v = v;
		notes->cap = cap;
	}
	notes->v[notes->n++] = *n;
	return 0;
}

static int add(struct notes *notes, struct note *n, uint32_t row)
{
	struct note *known;

	if (row != NOTES_HOST) {
		n->rows = calloc((notes->plan->n_rows + 63) / 64, sizeof(*n->rows));
		if (!n->rows) {
			note_done(n);
			return -ENOMEM;
		}
	}
	known = find(notes, n);
	if (!known && notes->n == DIAG_MAX) {
		/* No list of diagnostics keeps more. */
		note_done(n);
		notes->dropped++;
		return 0;
	}
	if (!known) {
		if (append(notes, n) < 0)
			return -ENOMEM;
		known = &notes->v[notes->n - 1];
	} else {
		note_done(n);
	}
	if (row != NOTES_HOST)
		known->rows[row / 64] |= UINT64_C(1) << row % 64;
	return 0;
}

void notes_add(struct notes *notes, enum diag_severity severity, const struct place *at,
	       uint32_t row, const char *fmt, ...)
{
	struct note n = {.severity = severity};
	va_list args;
	int len;

	if (at)
		n.at = *at;
	va_start(args, fmt);
	len = vasprintf(&n.text, fmt, args);
	va_end(args);
	if (len < 0 || add(notes, &n, row) < 0)
		notes->failed = true;
}

static int tell(const struct notes *notes, const struct note *n, struct diag_list *diags)
{
	_cleanup_(cpuset_done) struct cpuset cpus = {};
	_cleanup_free_ char *list = NULL;
	const struct plan *plan = notes->plan;
	int r;

	if (!n->rows) {
		diag_add(diags, n->severity, n->at.file, n->at.line, "%s", n->text);
		return 0;
	}
	r = cpuset_init(&cpus, plan->n_cpus);
	if (r < 0)
		return r;
	for (uint32_t cpu = 0; cpu < plan->n_cpus; cpu++) {
		uint16_t row = plan->row_of[cpu];

		if (row != PLAN_NO_ROW && n->rows[row / 64] & UINT64_C(1) << row % 64)
			cpuset_add(&cpus, cpu);
	}
	list = cpuset_to_string(&cpus);
	if (!list)
		return -ENOMEM;
	diag_add(diags, n->severity, n->at.file, n->at.line, "CPU%s %s: %s",
		 cpuset_count(&cpus) == 1 ? "" : "s", list, n->text);
	return 0;
}

int notes_tell(const struct notes *notes, struct diag_list *diags)
{
	int r = notes->failed ? -ENOMEM : 0;

	for (uint32_t i = 0; r >= 0 && i < notes->n; i++)
		r = tell(notes, &notes->v[i], diags);
	if (diags)
		diags->dropped += notes->dropped;
	return r;
}
