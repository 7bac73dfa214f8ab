/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "offline.h"
#include "out.h"
#include "print.h"
#include "simulate.h"

typedef int (*line_fn)(void *data, const char *line, const char **why);

/* Hands each line of a file on, without its end. An exit code, after a message with the place. */
static int each_line(const char *path, line_fn take, void *data)
{
	FILE *file = streq(path, "-") ? stdin : fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	const char *why = "";
	uint32_t n = 0;
	size_t size = 0;
	int r = 0;

	if (!file)
		return fail(EXIT_FAILED, "cannot read %s: %s", path, strerror(errno));
	errno = 0;
	while (r >= 0 && getline(&line, &size, file) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		n++;
		r = take(data, line, &why);
	}
	if (r >= 0 && ferror(file))
		r = fail(EXIT_FAILED, "cannot read %s: %s", path, strerror(errno));
	else if (r == -E2BIG)
		r = fail(EXIT_FAILED, "%s:%u: more than %u idle periods", path, n,
			 IDLETRACE_PERIODS_MAX);
	else if (r == -EINVAL || r == -ERANGE)
		r = fail(EXIT_NOT_AS_ASKED, "%s:%u: error: '%.60s' %s", path, n, line, why);
	else if (r < 0)
		r = fail_errno(r, path);
	if (file != stdin)
		(void)fclose(file);
	return r;
}

/* --convert -------------------------------------------------------------------------------------- */

/* Periods end in another order than they begin: all are kept, and sorted. */
struct converter {
	struct idletrace_perf perf;
	struct idle_period *v;
	uint32_t n, cap;
};

static int convert_line(void *data, const char *line, const char **why)
{
	struct converter *c = data;
	struct idle_period p;
	int r = idletrace_perf_line(&c->perf, line, &p);

	*why = "is no event power:cpu_idle as perf script prints it, with a time, state= and cpu_id=";
	if (r <= 0)
		return r;
	if (c->n == IDLETRACE_PERIODS_MAX)
		return -E2BIG;
	if (c->n == c->cap) {
		uint32_t cap = c->cap * 2 + 1024;
		struct idle_period *v = reallocarray(c->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		c->v = v;
		c->cap = cap;
	}
	c->v[c->n++] = p;
	return 0;
}

static int compare_begin(const void *a, const void *b)
{
	const struct idle_period *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static int convert(const char *path)
{
	struct converter c = {.n = 0};
	char line[IDLETRACE_LINE_MAX];
	int r = each_line(path, convert_line, &c);

	if (r == EXIT_OK && c.n == 0)
		r = fail(
			EXIT_NOT_AS_ASKED,
			"%s has no idle period; record with 'perf record -a -e power:cpu_idle' and print "
			"with 'perf script'",
			path);
	if (c.n > 0)
		qsort(c.v, c.n, sizeof(*c.v), compare_begin);
	if (r == EXIT_OK)
		puts("# CPU AT IDLE TIMER, in us; from power:cpu_idle, which does not tell the timer");
	for (uint32_t i = 0; r == EXIT_OK && i < c.n; i++)
		puts(idletrace_format(&c.v[i], line));
	idletrace_perf_done(&c.perf);
	free(c.v);
	return r;
}

/* --trace ---------------------------------------------------------------------------------------- */

static int trace_line(void *data, const char *line, const char **why)
{
	return idletrace_add(data, line, why);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_result(const struct simulation *s, enum simulate_who who)
{
	const struct simulate_result *r = &s->who[who];
	double best = s->who[SIMULATE_ORACLE].energy_us;
	char p99[LATENCY_TEXT_MAX], longest[LATENCY_TEXT_MAX];

	printf("%-8s %9.4f %% %12" PRIu64 " %9.2f %% %9.2f %% %9s %9s %14.0f %8.3f\n",
	       simulate_name(who), 100 - share(r->over_limit, r->wakes), r->over_limit,
	       share(r->too_deep, r->wakes), share(r->too_shallow, r->wakes),
	       units_format_latency(r->p99_ns, p99, sizeof(p99)),
	       units_format_latency(r->longest_ns, longest, sizeof(longest)), r->energy_us,
	       best > 0 ? r->energy_us / best : 1);
}

static void print_simulation(const struct simulation *s, const struct machine *m,
			     const struct idletrace *trace)
{
	double best = s->who[SIMULATE_ORACLE].energy_us;

	printf("%u CPUs, %" PRIu64
	       " idle periods in %.3f s, idle %.1f %% of the time; driver %s, governor %s\n",
	       s->n_cpus, s->who[0].wakes, (double)s->span_ns / 1e9,
	       share(s->idle_ns, s->span_ns * MAX_OF(s->n_cpus, 1U)), m->driver, m->governor);
	printf("Adapt= %" PRIu64 " times, noticed after %" PRIu64
	       " wake-ups, residency guard %" PRIu64 " vetoes, %" PRIu64 " changes of the plan\n%s",
	       s->spells, s->late, s->vetoes, s->changes, trace->profile[0] ? "" : "\n");
	if (trace->profile[0])
		printf("the trace is meant for profile %s\n\n", trace->profile);
	printf("%-8s %11s %12s %11s %11s %9s %9s %14s %8s\n", "", "limit met", "over limit",
	       "too deep", "too shallow", "p99", "longest", "energy/us", "/oracle");
	for (int who = 0; who < SIMULATE_N; who++)
		print_result(s, (enum simulate_who)who);
	printf("without foresight nobody needs less than %.3f times what the oracle does\n",
	       best > 0 ? s->causal_us / best : 1);
}

static int play(const struct options *o, struct offline *f, const struct idletrace *trace)
{
	struct simulation s;
	uint32_t cpu = 0;
	int r = simulate_run(f->policy, f->machine, trace, &s, &cpu);

	if (r == -ENODEV)
		return fail(
			EXIT_FAILED,
			"%s: CPU %u has no idle states on this host, which has CPUs 0-%u; --root "
			"names another one",
			o->trace, cpu, f->machine->n_cpus - 1);
	if (r < 0)
		return fail_errno(r, "simulate");
	if (option_given(o, OPTION_JSON))
		return out_simulation(&s, &f->diags);
	print_diags(&f->diags);
	print_simulation(&s, f->machine, trace);
	return EXIT_OK;
}

static int simulate(const struct options *o)
{
	_cleanup_(offline_done) struct offline f = {0};
	_cleanup_(idletrace_done) struct idletrace trace = {.n = 0};
	int r = each_line(o->trace, trace_line, &trace);

	if (r == EXIT_OK && trace.n == 0)
		return fail(
			EXIT_NOT_AS_ASKED,
			"%s has no idle period; a line is CPU AT IDLE [TIMER], see cpuidlectl(1)",
			o->trace);
	if (r == EXIT_OK)
		r = offline_plan(o, NULL, &f);
	if (r != EXIT_OK)
		return r;
	if (!f.plan) {
		print_diags(&f.diags);
		return EXIT_NOT_AS_ASKED;
	}
	return play(o, &f, &trace);
}

int cmd_simulate(const struct options *o, _unused_ char **args, _unused_ int n)
{
	bool trace = option_given(o, OPTION_TRACE), perf = option_given(o, OPTION_CONVERT);

	if (trace == perf)
		return fail(EXIT_USAGE,
			    "'simulate' wants either --trace or --convert; see 'cpuidlectl "
			    "simulate --help'");
	if (perf && (o->given & (OPTION_ROOT | OPTION_POLICY | OPTION_JSON)))
		return fail(EXIT_USAGE,
			    "--convert turns one file into another; it does not go with --root, "
			    "--policy or --json");
	return perf ? convert(o->convert) : simulate(o);
}
