/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fuzz.h"

#include "idletrace.h"

/* What was understood is understood again, and the same. */
static void check_again(const struct idle_period *p)
{
	struct idletrace again = {.n = 0};
	char text[IDLETRACE_LINE_MAX];
	const char *why = NULL;

	memset(text, 'x', sizeof(text));
	fuzz_assert(idletrace_add(&again, idletrace_format(p, text), &why) == 0);
	fuzz_assert(again.n == 1 && again.v[0].cpu == p->cpu && again.v[0].at_ns == p->at_ns &&
		    again.v[0].idle_ns == p->idle_ns && again.v[0].timer_ns == p->timer_ns);
	idletrace_done(&again);
}

static void take_line(struct idletrace *t, struct idletrace_perf *perf, const char *line)
{
	struct idle_period p;
	const char *why = NULL;
	uint32_t n = t->n;
	int r = idletrace_add(t, line, &why);

	fuzz_assert(r == 0 || ((r == -EINVAL || r == -ERANGE) && why));
	if (t->n > n)
		check_again(&t->v[n]);
	r = idletrace_perf_line(perf, line, &p);
	fuzz_assert(r == 0 || r == 1 || r == -EINVAL);
	if (r == 1 && p.at_ns <= IDLETRACE_MAX_NS && p.idle_ns <= IDLETRACE_MAX_NS)
		check_again(&p);
}

/* Any text, line by line, as a trace and as what perf prints. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct idletrace_perf perf = {.begun = false};
	struct idletrace trace = {.n = 0};
	char text[1024];

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		take_line(&trace, &perf, line);
	}
	idletrace_done(&trace);
	idletrace_perf_done(&perf);
	return 0;
}
