/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include <dirent.h>
#include <fnmatch.h>

#include "governor.h"
#include "simulate.h"
#include "spell.h"

#define SPR  "POLL 0/0, C1 1/1 MWAIT 0x00, C1E 2/4 MWAIT 0x01, C6 290/800 MWAIT 0x20"
#define ICX  "POLL 0/0, C1 1/1 MWAIT 0x00, C1E 4/4 MWAIT 0x01, C6 170/600 MWAIT 0x20"
#define ZEN3 "POLL 0/0, C1 1/2 MWAIT 0x0, C2 30/60 IOPORT 0x414"
#define GNR \
	"POLL 0/0, C1 1/1 MWAIT 0x00, C1E 4/4 MWAIT 0x01, C6 170/650 MWAIT 0x20, C6P 210/1000 MWAIT 0x21"

static struct scene s;
static struct idletrace trace;

static void close_scene(void)
{
	idletrace_done(&trace);
	scene_done(&s);
}

static void load(const char *name)
{
	char path[64], *text, *line, *save = NULL;
	const char *why;

	snprintf(path, sizeof(path), "data/idle/%s.trace", name);
	text = test_read(TEST_SOURCE_DIR, path);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		ck_assert_msg(idletrace_add(&trace, line, &why) == 0, "%s: %s %s", name, line, why);
	free(text);
}

static struct simulation run_policy(const char *states, const char *governor, const char *policy)
{
	struct machine *m = scene_host(16, states);
	struct simulation sim;
	uint32_t cpu;

	snprintf(m->governor, sizeof(m->governor), "%s", governor);
	scene_set(&s, m, policy);
	ck_assert_int_eq(simulate_run(s.policy, s.machine, &trace, &sim, &cpu), 0);
	return sim;
}

static struct simulation run(const char *name, const char *states, const char *governor,
			     const char *settings)
{
	char policy[512];

	snprintf(policy, sizeof(policy), "[Daemon]\nDefaultProfile=p\n[Profile p]\n%s\n", settings);
	load(name);
	return run_policy(states, governor, policy);
}

/* The policy's quality ------------------------------------------------------------------------------- */

static const char *const tables[] = {SPR, ICX, ZEN3, GNR};
static const char *const governors[] = {"menu", "teo"};

#define TRACES_MAX 32
#define HOSTS	   ((int)ARRAY_SIZE(tables))

/*
 * Sanitizers are slow, and other machines are emulated: of each trace one host is played then, and the page is not
 * looked at, whose last digits are this machine's.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOW 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || !defined(__x86_64__)
#define SLOW 1
#endif
#ifndef SLOW
#define SLOW 0
#endif

/* All that are shipped. */
static char traces[TRACES_MAX][64];
static int n_traces;

static int is_trace(const struct dirent *e)
{
	return fnmatch("*.trace", e->d_name, 0) == 0;
}

static void list_traces(void)
{
	struct dirent **found;
	int n = scandir(TEST_SOURCE_DIR "/data/idle", &found, is_trace, alphasort);

	for (int i = 0; i < n; i++) {
		if (i < TRACES_MAX)
			snprintf(traces[n_traces++], sizeof(traces[0]), "%.*s",
				 (int)(strlen(found[i]->d_name) - strlen(".trace")),
				 found[i]->d_name);
		free(found[i]);
	}
	free(n >= 0 ? found : NULL);
}

/* The policy in which everybody has one of the shipped profiles. */
static char *shipped(const char *profile)
{
	static char text[8192];
	char path[96], *base = test_read(TEST_SOURCE_DIR, "../etc/profiles/balanced.conf"), *own;

	snprintf(path, sizeof(path), "../etc/profiles/%s.conf", profile);
	own = test_read(TEST_SOURCE_DIR, path);
	snprintf(text, sizeof(text), "[Daemon]\nDefaultProfile=%s\n%s\n%s", profile, base, own);
	free(base);
	free(own);
	return text;
}

/* Of the oracle's energy. */
static double near(const struct simulation *sim, double energy_us)
{
	return energy_us / sim->who[SIMULATE_ORACLE].energy_us;
}

static void check_run(const char *name, const struct simulation *sim)
{
	const struct simulate_result *p = &sim->who[SIMULATE_POLICY];

	ck_assert_uint_gt(p->wakes, 4000);
	ck_assert_uint_ge(sim->span_ns, 8 * NSEC_PER_SEC);
	ck_assert_uint_eq(sim->who[SIMULATE_ORACLE].over_limit, 0);
	ck_assert_msg(p->over_limit * 10000 <= p->wakes,
		      "%s: %" PRIu64 " of %" PRIu64 " over the limit", name, p->over_limit,
		      p->wakes);
	ck_assert_msg(near(sim, p->energy_us) >= 1 - 1e-9, "%s: better than the best", name);
	ck_assert_msg(near(sim, sim->causal_us) >= 1 - 1e-9, "%s: foresight does harm", name);
	ck_assert(near(sim, sim->who[SIMULATE_CEILING].energy_us) <= 1 + 1e-9);
}

static void assert_documented(const char *row)
{
	char *text;

	if (SLOW)
		return;
	text = test_read(TEST_SOURCE_DIR, "../docs/SIMULATION.md");
	ck_assert_msg(strstr(text, row), "docs/SIMULATION.md does not have this row:\n%s", row);
	free(text);
}

/*
 * Each shipped trace with the profile that it names: the limit is met in 99.99 % of the wake-ups or more, whoever
 * governs; and with the better of both governors the energy is within 10 % of the oracle's. Where nobody without
 * foresight can be that near, it is within 2 % of what that one could do.
 */
START_TEST(target_is_met_and_energy_is_near_the_oracle)
{
	const char *name = traces[_i];
	char row[512];
	int n;

	load(name);
	n = snprintf(row, sizeof(row), "| %s | %s |", name, trace.profile);
	for (int host = 0; host < HOSTS; host++) {
		double ratios[2], bounds[2], ratio, bound;
		int best;

		if (SLOW && host != _i % HOSTS)
			continue;
		for (int g = 0; g < 2; g++) {
			struct simulation sim =
				run_policy(tables[host], governors[g], shipped(trace.profile));

			check_run(name, &sim);
			ck_assert_int_eq(sim.teo, g);
			ratios[g] = near(&sim, sim.who[SIMULATE_POLICY].energy_us);
			bounds[g] = near(&sim, sim.causal_us);
			scene_done(&s);
		}
		best = ratios[1] < ratios[0];
		ratio = ratios[best];
		bound = bounds[best];
		ck_assert_msg(
			ratio <= MAX_OF(1.10, bound * 1.02),
			"%s on host %d, %s: %.3f times the oracle's energy; without foresight "
			"%.3f can be had",
			name, host, governors[best], ratio, bound);
		n += snprintf(row + n, sizeof(row) - (size_t)n, " %.3f / %.3f / %.3f |", ratios[0],
			      ratios[1], bound);
	}
	assert_documented(row);
}
END_TEST

static double percent(uint64_t part, uint64_t whole)
{
	return 100.0 * (double)part / (double)whole;
}

/* What the profile is good for: a host with it, and without any policy. */
START_TEST(what_the_profile_changes)
{
	char row[512], before[LATENCY_TEXT_MAX], after[LATENCY_TEXT_MAX];
	struct simulation sim;
	const struct simulate_result *menu = &sim.who[SIMULATE_MENU],
				     *policy = &sim.who[SIMULATE_POLICY];

	load(traces[_i]);
	if (SLOW)
		trace.repeat = 2;
	sim = run_policy(ZEN3, "menu", shipped(trace.profile));
	snprintf(row, sizeof(row), "| %s | %s | %.1f %% | %.1f %% | %.1f %% | %s | %s | %.2f |",
		 traces[_i], trace.profile, percent(menu->over_limit, menu->wakes),
		 percent(policy->over_limit, policy->wakes), percent(sim.late, policy->wakes),
		 units_format_latency(menu->p99_ns, before, sizeof(before)),
		 units_format_latency(policy->p99_ns, after, sizeof(after)),
		 policy->energy_us / menu->energy_us);
	ck_assert(policy->p99_ns <= menu->p99_ns);
	/* An hour of such a load: no flapping (spell.h). */
	ck_assert_uint_le(sim.spells, (uint64_t)SPELL_PER_HOUR * sim.n_cpus);
	assert_documented(row);
}
END_TEST

static const char *const limits[] = {"LatencyLimit=0", "LatencyLimit=2us", "LatencyLimit=20us",
				     "LatencyLimit=200us"};

#define LIMITS ((int)ARRAY_SIZE(limits))

/* Any limit, on any load. */
START_TEST(limit_is_met)
{
	struct simulation sim;
	char policy[128];

	snprintf(policy, sizeof(policy), "[Daemon]\nDefaultProfile=p\n[Profile p]\n%s\n",
		 limits[_i % LIMITS]);
	load(traces[_i / LIMITS]);
	trace.repeat = 1;
	for (int host = 0; host < HOSTS; host++) {
		if (SLOW && host != _i % HOSTS)
			continue;
		sim = run_policy(tables[host], governors[host % 2], policy);
		ck_assert_uint_eq(sim.who[SIMULATE_POLICY].over_limit, 0);
		ck_assert_uint_eq(sim.who[SIMULATE_POLICY].wakes, trace.n);
		scene_done(&s);
	}
}
END_TEST

/* Without a policy the limit is not met: what the numbers above are worth. */
START_TEST(without_a_policy_it_is_not_met)
{
	struct simulation sim = run("quiet", SPR, "menu", "LatencyLimit=20us");

	for (int who = SIMULATE_MENU; who <= SIMULATE_TEO; who++)
		ck_assert_uint_gt(sim.who[who].over_limit * 2, sim.who[who].wakes);
	ck_assert(sim.who[SIMULATE_MENU].p99_ns == 290 * NSEC_PER_USEC);
	ck_assert(sim.who[SIMULATE_POLICY].p99_ns == 2 * NSEC_PER_USEC);
	ck_assert(sim.who[SIMULATE_POLICY].longest_ns == 2 * NSEC_PER_USEC);
	/* And what it costs. */
	ck_assert(sim.who[SIMULATE_POLICY].energy_us > 2 * sim.who[SIMULATE_MENU].energy_us);
}
END_TEST

/* The oracle is not to be bound by what the policy takes away beyond the limit. */
START_TEST(oracle_is_not_weakened)
{
	struct simulation free_of, bound;

	/* What the guard takes away is still the oracle's, and Adapt='s limit not the ceiling's. */
	free_of = run("onebusy", ICX, "menu", "LatencyLimit=none");
	close_scene();
	bound = run("onebusy", ICX, "menu", "Adapt=20us\nResidencyGuard=auto");
	ck_assert_uint_ge(bound.spells, 1);
	ck_assert(bound.who[SIMULATE_CEILING].energy_us == free_of.who[SIMULATE_ORACLE].energy_us);
	ck_assert(bound.who[SIMULATE_ORACLE].energy_us > free_of.who[SIMULATE_ORACLE].energy_us);
}
END_TEST

START_TEST(adapt_costs_less_than_a_limit_for_all)
{
	struct simulation limit = run("onebusy", ICX, "menu", "LatencyLimit=20us"), adapt;

	close_scene();
	adapt = run("onebusy", ICX, "menu", "Adapt=20us");
	/* Two looks with a wake-up a millisecond, each time. */
	ck_assert_uint_ge(adapt.late, 1000);
	ck_assert_uint_le(adapt.late, 4000);
	ck_assert_uint_eq(limit.late, 0);
	/* Played twice: one CPU, one spell of work each time. */
	ck_assert_uint_eq(adapt.spells, 2);
	ck_assert_uint_ge(adapt.changes, 2);
	ck_assert_uint_le(adapt.changes, 4);
	ck_assert(adapt.who[SIMULATE_POLICY].energy_us * 2 < limit.who[SIMULATE_POLICY].energy_us);
	/* The machine is as before. */
	for (uint32_t cpu = 0; cpu < s.machine->n_cpus; cpu++)
		ck_assert(!s.machine->cpus[cpu].tight && !s.machine->cpus[cpu].vetoed);
}
END_TEST

START_TEST(cpu_that_the_host_lacks)
{
	struct machine *m = scene_host(4, SPR);
	struct simulation sim;
	uint32_t cpu = 0;

	load("onebusy");
	scene_set(&s, m, "[Profile p]\n");
	ck_assert_int_eq(simulate_run(s.policy, s.machine, &trace, &sim, &cpu), -ENODEV);
	ck_assert_uint_ge(cpu, 4);
}
END_TEST

/* From its target residency on a state needs less than the one before it: that is the model. */
START_TEST(energy_breaks_even_at_the_target_residency)
{
	struct machine *m = scene_host(1, tables[_i]);
	const struct idle_table *t = &m->tables[0];

	for (uint32_t i = 1; i < t->n; i++) {
		uint64_t ns = t->states[i].target_residency_ns;
		double before = simulate_energy(t, i - 1, ns), after = simulate_energy(t, i, ns);

		ck_assert_msg(after - before < 1e-6 && before - after < 1e-6, "%s: %f %f",
			      t->states[i].name, before, after);
		ck_assert(simulate_energy(t, i, ns + 1000) < simulate_energy(t, i - 1, ns + 1000));
		ck_assert(ns < 1000 ||
			  simulate_energy(t, i, ns - 1000) > simulate_energy(t, i - 1, ns - 1000));
	}
	machine_free(m);
}
END_TEST

/* Governors ------------------------------------------------------------------------------------------ */

static bool show_brief; /* what after() has seen */

static uint32_t after(enum governor_kind kind, const uint64_t *idle_us, uint32_t n,
		      uint64_t timer_us)
{
	struct machine *m = scene_host(1, SPR);
	struct governor g = {.n_periods = 0};
	uint32_t state;
	bool brief;

	for (uint32_t i = 0; i < n; i++)
		governor_reflect(&g, kind, &m->tables[0], timer_us * NSEC_PER_USEC,
				 idle_us[i] * NSEC_PER_USEC);
	state = governor_select(&g, kind, &m->tables[0], 15, timer_us * NSEC_PER_USEC, &brief);
	show_brief = brief;
	machine_free(m);
	return state;
}

START_TEST(governors_learn)
{
	static const uint64_t brief[16] = {5, 6, 5, 7, 5, 6, 5, 6, 5, 6, 5, 7, 5, 6, 5, 6};
	static const uint64_t full[16] = {4000, 4000, 4000, 4000, 4000, 4000, 4000, 4000,
					  4000, 4000, 4000, 4000, 4000, 4000, 4000, 4000};
	enum governor_kind kind = _i ? GOVERNOR_TEO : GOVERNOR_MENU;

	ck_assert_uint_eq(after(kind, brief, 0, 4000), 3); /* nothing known: the timer */
	ck_assert(!show_brief);
	ck_assert_uint_eq(after(kind, brief, 0, 3), 1);
	ck_assert(show_brief);
	ck_assert_uint_eq(after(kind, brief, 16, 4000), 2); /* cut short again and again */
	ck_assert(show_brief); /* so the tick goes on */
	ck_assert_uint_eq(after(kind, full, 16, 4000), 3);
}
END_TEST

/* Traces --------------------------------------------------------------------------------------------- */

static const struct {
	const char *line;
	int r;
	const char *why;
} lines[] = {
	{"0 1 2 3", 0, NULL},
	{"  7 1250.5 87.25 4000 # with words", 0, NULL},
	{"8191 0 0 -", 0, NULL},
	{"3 1.123 0.001", 0, NULL},
	{"", 0, NULL},
	{"# 1 2", 0, NULL},
	{"8192 0 0 -", -EINVAL, "no CPU number"},
	{"x", -EINVAL, "no CPU number"},
	{"0", -EINVAL, "no time in the second place"},
	{"0 -1 2", -EINVAL, "no time in the second place"},
	{"0 1", -EINVAL, "no idle time"},
	{"0 1 2.1234", -EINVAL, "no idle time"},
	{"0 1 2 x", -EINVAL, "no time to the next timer"},
	{"0 1 2 3 4", -EINVAL, "goes on"},
	{"0 99999999999999999999 2", -EINVAL, "second place"},
	{"0 2592000000000 2", 0, NULL},
	{"0 2592000000001 2", -ERANGE, "30 days"},
	{"0 0 2592000000001", -ERANGE, "30 days"},
	{"repeat 10000 # times", 0, NULL},
	{"repeat 0", -EINVAL, "no number of times"},
	{"repeat 10001", -EINVAL, "no number of times"},
	{"repeat 2 3", -EINVAL, "no number of times"},
	{"profile low-latency", 0, NULL},
	{"profile  x # y", 0, NULL},
	{"profile ", -EINVAL, "names no profile"},
	{"profile a b", -EINVAL, "names no profile"},
	{"repeat", -EINVAL, "no CPU number"},
};

START_TEST(lines_of_a_trace)
{
	const char *why = NULL;

	ck_assert_int_eq(idletrace_add(&trace, lines[_i].line, &why), lines[_i].r);
	if (lines[_i].r < 0)
		ck_assert_msg(strstr(why, lines[_i].why), "%s", why);
}
END_TEST

START_TEST(periods_in_order)
{
	const char *why;

	ck_assert_int_eq(idletrace_add(&trace, "0 10 5 -", &why), 0);
	ck_assert_int_eq(idletrace_add(&trace, "1 10 5 20", &why), 0);
	ck_assert_int_eq(idletrace_add(&trace, "2 9.999 5 20", &why), -ERANGE);
	ck_assert_ptr_nonnull(strstr(why, "before the period"));
	ck_assert_uint_eq(trace.n, 2);
	ck_assert_uint_eq(trace.n_cpus, 2);
	ck_assert_int_eq(idletrace_add(&trace, "repeat 2", &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "behind the first period"));
	ck_assert(trace.v[0].timer_ns == IDLETRACE_NO_TIMER && trace.v[1].timer_ns == 20000);
}
END_TEST

START_TEST(perf_script_becomes_a_trace)
{
	static const struct {
		const char *line;
		int r;
		const char *period;
	} cases[] = {
		{"# captured on: Mon", 0, NULL},
		{"          swapper     0 [003]  5012.345678: power:cpu_idle: state=2 cpu_id=3", 0,
		 NULL},
		{" swapper     0 [001]  5012.345700000: power:cpu_idle: state=1 cpu_id=1", 0, NULL},
		{" swapper     0 [003]  5012.345778: power:cpu_idle: state=4294967295 cpu_id=3", 1,
		 "3 0.000 100.000 -"},
		{" swapper     0 [001]  5012.345712345: power:cpu_idle: state=4294967295 cpu_id=1",
		 1, "1 22.000 12.345 -"},
		/* left without having come: the trace began in between */
		{" swapper     0 [002]  5012.346: power:cpu_idle: state=4294967295 cpu_id=2", 0,
		 NULL},
		{" swapper     0 [002]  5012.346: sched:sched_wakeup: comm=x", 0, NULL},
		{" swapper     0 [002]  nonsense: power:cpu_idle: state=1 cpu_id=2", -EINVAL, NULL},
		{" swapper     0 [002]  5012.347: power:cpu_idle: state=1", -EINVAL, NULL},
		{" swapper     0 [002]  5012.347: power:cpu_idle: state=1 cpu_id=9000", -EINVAL,
		 NULL},
	};
	_cleanup_(idletrace_perf_done) struct idletrace_perf perf = {.begun = false};
	char text[IDLETRACE_LINE_MAX];
	struct idle_period p;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_msg(idletrace_perf_line(&perf, cases[i].line, &p) == cases[i].r, "%s",
			      cases[i].line);
		if (cases[i].period)
			ck_assert_str_eq(idletrace_format(&p, text), cases[i].period);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("simulate");
	TCase *t = tcase_create("simulate");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, NULL, close_scene);
	list_traces();
	tcase_add_loop_test(t, target_is_met_and_energy_is_near_the_oracle, 0, MAX_OF(n_traces, 8));
	tcase_add_loop_test(t, what_the_profile_changes, 0, n_traces);
	tcase_add_loop_test(t, limit_is_met, 0, n_traces * LIMITS);
	tcase_add_test(t, oracle_is_not_weakened);
	tcase_add_test(t, without_a_policy_it_is_not_met);
	tcase_add_test(t, adapt_costs_less_than_a_limit_for_all);
	tcase_add_test(t, cpu_that_the_host_lacks);
	tcase_add_loop_test(t, energy_breaks_even_at_the_target_residency, 0,
			    (int)ARRAY_SIZE(tables));
	tcase_add_loop_test(t, governors_learn, 0, 2);
	tcase_add_loop_test(t, lines_of_a_trace, 0, (int)ARRAY_SIZE(lines));
	tcase_add_test(t, periods_in_order);
	tcase_add_test(t, perf_script_becomes_a_trace);
	suite_add_tcase(suite, t);
	return suite;
}

int main(void)
{
	return test_main(suite());
}
