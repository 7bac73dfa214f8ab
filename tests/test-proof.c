/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "found.h"
#include "proof.h"

/*
 * Two looks at counters that a test moves in between: what is told of a plan that is kept, of one that is not, and of
 * CPUs that prove nothing.
 */
#define STATES	"POLL 0/0, C1 2/2 MWAIT 0x00, C1E! 10/20 MWAIT 0x01, C6 133/600 MWAIT 0x20"
#define CPUS	4U
#define OWN	MACHINE_STATES_MAX /* place of the own row's counters */
#define PLANNED (100 * NSEC_PER_SEC) /* when the plan came */

enum { POLL, C1, C1E, C6 };

struct count {
	uint64_t usage, time_us;
};

static struct scene s;
static struct count counts[CPUS][MACHINE_STATES_MAX + 1];
static int errors[CPUS]; /* of reading, negative errno */
static uint32_t n_reads;
static struct proof proof;
static struct proof_clock now;

static int fake_read(void *data _unused_, const struct counter *c, uint64_t *ret)
{
	const struct count *at = &counts[c->cpu][c->state == COUNTER_OWN_ROW ? OWN : c->state];

	ck_assert_uint_eq(c->slot, COUNTER_ONCE);
	ck_assert_uint_lt(c->cpu, CPUS);
	n_reads++;
	if (errors[c->cpu])
		return errors[c->cpu];
	*ret = c->file == COUNTER_USAGE ? at->usage : at->time_us;
	return 0;
}

static void resolve(const char *policy, struct machine *m)
{
	scene_set(&s, m, policy);
}

/* CPUs 0-1 have a limit that leaves C1, the others what is not off by default. */
#define LIMITED "[Profile p]\nLatencyLimit=5us\n[Group g]\nCPUs=0-1\nProfile=p\n"

static void setup(void)
{
	memset(counts, 0, sizeof(counts));
	memset(errors, 0, sizeof(errors));
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		for (uint32_t i = 0; i <= OWN; i++)
			counts[cpu][i] = (struct count){.usage = 1000 + i, .time_us = 5000000};
	n_reads = 0;
	now = (struct proof_clock){.awake_ns = PLANNED + 60 * NSEC_PER_SEC};
	found = (struct findings){.n = 0};
}

static void teardown(void)
{
	findings_done(&found);
	proof_done(&proof);
	scene_done(&s);
}

static void begin(void)
{
	ck_assert_int_eq(proof_begin(&proof, s.plan, s.machine, &now, PLANNED, fake_read, NULL), 0);
}

static void end(void)
{
	now.awake_ns += NSEC_PER_SEC;
	ck_assert_int_eq(proof_end(&proof, s.plan, s.machine, &now, fake_read, NULL, &found), 0);
}

/* n sleeps of us each. */
static void sleeps(uint32_t cpu, uint32_t state, uint64_t n, uint64_t us)
{
	counts[cpu][state].usage += n;
	counts[cpu][state].time_us += n * us;
}

#define NO_PROOF "no idle period ended within 1.0s: no proof"

START_TEST(kept)
{
	resolve(LIMITED, scene_host(CPUS, STATES));
	begin();
	sleeps(0, C1, 7, 100);
	sleeps(1, POLL, 40, 1);
	sleeps(2, C6, 3, 1000);
	sleeps(3, C6, 4, 1000);
	end();
	assert_found("0-1", "ok", "usage",
		     "C1E, C6 not entered in 1.0s; 7 other idle periods or more each");
	assert_found("2-3", "ok", "usage",
		     "C1E not entered in 1.0s; 3 other idle periods or more each");
	ck_assert_uint_eq(found.n, 2);
	ck_assert_uint_eq(found.n_differs, 0);
}
END_TEST

START_TEST(entered_over_the_limit)
{
	resolve(LIMITED, scene_host(CPUS, STATES));
	begin();
	sleeps(0, C1, 7, 100);
	sleeps(0, C6, 2, 1000);
	sleeps(1, C6, 12, 1000);
	end();
	assert_found("0-1", "differs", "state3/usage",
		     "C6 entered up to 12 times in 1.0s, should be off: exit latency 133us > limit "
		     "5us");
	assert_found("2-3", "unsupported", "usage", NO_PROOF);
	ck_assert_uint_eq(found.n, 2);
	ck_assert_uint_eq(found.n_differs, 2);
}
END_TEST

/* Each way a plan has a state off, entered twice on CPU 3. */
static const struct {
	const char *policy;
	uint32_t state;
	const char *knob, *detail;
} offs[] = {
	{"[Daemon]\nDefaultProfile=p\n[Profile p]\nDisableStates=C6\n", C6, "state3/usage",
	 "C6 entered 2 times in 1.0s, should be off: DisableStates="},
	{"[Daemon]\nDefaultProfile=p\n[Profile p]\nDisableStates=C1\n", C1, "state1/usage",
	 "C1 entered 2 times in 1.0s, should be off: DisableStates="},
	{"[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=0\n", C1, "state1/usage",
	 "C1 entered 2 times in 1.0s, should be off: the limit leaves the first state alone"},
	{"[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=400ns\n", C1, "state1/usage",
	 "C1 entered 2 times in 1.0s, should be off: the limit leaves the first state alone"},
	{"[Daemon]\nGlobalLatencyLimit=5us\n", C6, "state3/usage",
	 "C6 entered 2 times in 1.0s, should be off: exit latency 133us > limit 5us"},
	{"", C1E, "state2/usage",
	 "C1E entered 2 times in 1.0s, should be off: off by default, not named by EnableStates="},
};

START_TEST(entered_though_off)
{
	struct machine *m = scene_host(CPUS, STATES);

	m->has_global = true;
	m->global_ns = m->global_others_ns = LATENCY_NONE;
	resolve(offs[_i].policy, m);
	begin();
	sleeps(3, offs[_i].state, 2, 300);
	end();
	assert_found("3", "differs", offs[_i].knob, offs[_i].detail);
	ck_assert_uint_eq(found.n_differs, 1);
}
END_TEST

/* The residency guard's veto, and a CPU without a file for its limit. */
START_TEST(entered_though_off_by_bits)
{
	struct machine *m = scene_host(CPUS, STATES);

	m->cpus[0].vetoed = 1U << C6;
	m->cpus[1].has_qos = false;
	resolve("[Daemon]\nDefaultProfile=p\n[Profile p]\nResidencyGuard=auto\n[Profile q]\n"
		"LatencyLimit=5us\n[Group g]\nCPUs=1\nProfile=q\n",
		m);
	begin();
	sleeps(0, C6, 3, 300);
	sleeps(1, C6, 3, 300);
	end();
	assert_found("0", "differs", "state3/usage",
		     "C6 entered 3 times in 1.0s, should be off: residency guard");
	assert_found("1", "differs", "state3/usage",
		     "C6 entered 3 times in 1.0s, should be off: exit latency 133us > limit 5us");
}
END_TEST

/* What others took away they may give back, and what is left to them is theirs. */
START_TEST(what_is_of_others_is_not_judged)
{
	struct machine *m = scene_host(CPUS, "POLL 0/0, C1 2/2 MWAIT 0x00, C6 133/600 MWAIT 0x20");

	m->has_global = true;
	m->global_ns = m->global_others_ns = 0;
	m->cpus[1].disabled = m->cpus[1].disabled_prior = 1U << 2;
	m->cpus[2].left = 1U << MACHINE_BIT_QOS;
	m->cpus[3].left = 1U << 2;
	resolve("[Profile p]\nLatencyLimit=20us\n[Profile q]\nDisableStates=C6\n"
		"[Group g]\nCPUs=2\nProfile=p\n[Group h]\nCPUs=3\nProfile=q\n",
		m);
	begin();
	ck_assert_uint_eq(n_reads, 0);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		sleeps(cpu, 2, 5, 1000);
	end();
	ck_assert_uint_eq(found.n, 0);
	ck_assert_uint_eq(n_reads, 0);
}
END_TEST

/* A stricter limit of others does not hide ours. */
START_TEST(own_limit_beside_others)
{
	struct machine *m = scene_host(CPUS, STATES);

	m->has_global = true;
	m->global_ns = m->global_others_ns = 0;
	resolve("[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=5us\n", m);
	begin();
	sleeps(0, C1, 5, 10); /* theirs would forbid it, ours does not */
	sleeps(1, C6, 5, 1000);
	end();
	assert_found("0", "ok", "usage", "C1E, C6 not entered in 1.0s; 5 other idle periods");
	assert_found("1", "differs", "state3/usage",
		     "C6 entered 5 times in 1.0s, should be off: the limit leaves the first state "
		     "alone");
}
END_TEST

/*
 * The plan came span seconds before the first look; one entry of C6, that long. It may be older than the plan if it
 * was as long as that, or the plan is so young that nobody can tell.
 */
static const struct {
	double span, sleep;
	uint64_t n;
	bool older;
} sleeps_before[] = {
	{60, 60.2, 1, true},   {60, 59.5, 1, true},  {60, 58.5, 1, false}, {60, 0.001, 1, false},
	{0.5, 0.001, 1, true}, {2, 0.001, 1, false}, {60, 60.2, 2, false}, {0.5, 0.001, 2, false},
};

START_TEST(sleep_under_way)
{
	resolve(LIMITED, scene_host(CPUS, STATES));
	now.awake_ns = PLANNED + (uint64_t)(sleeps_before[_i].span * 1e9);
	begin();
	sleeps(0, C1, 4, 10);
	counts[0][C6].usage += sleeps_before[_i].n;
	counts[0][C6].time_us += (uint64_t)(sleeps_before[_i].sleep * 1e6);
	end();
	if (sleeps_before[_i].older)
		assert_found("0", "ok", "usage",
			     "C1E, C6 not entered in 1.0s but for one sleep that may be older than "
			     "the plan; 4 other idle periods");
	ck_assert_uint_eq(found.n_differs, !sleeps_before[_i].older);
}
END_TEST

/* One for each CPU, not for each state. */
START_TEST(one_sleep_is_under_way_at_a_time)
{
	resolve(LIMITED, scene_host(CPUS, STATES));
	begin();
	sleeps(0, C6, 1, 70000000);
	sleeps(0, C1E, 1, 70000000);
	sleeps(1, C6, 1, 70000000);
	end();
	assert_found("0", "differs", "state3/usage",
		     "C6 entered 1 time in 1.0s, should be off: exit latency 133us > limit 5us");
	assert_found("0", "differs", "state2/usage",
		     "C1E entered 1 time in 1.0s, should be off: off by default, not named by "
		     "EnableStates=");
	/* Its only sleep was the old one. */
	assert_found("1-3", "unsupported", "usage", NO_PROOF);
}
END_TEST

START_TEST(unreadable)
{
	resolve(LIMITED, scene_host(CPUS, STATES));
	errors[0] = -EACCES;
	begin();
	errors[0] = 0;
	errors[1] = -EIO;
	end();
	assert_found("0", "unsupported", "usage", "the counters cannot be read: Permission denied");
	assert_found("1", "unsupported", "usage",
		     "the counters cannot be read: Input/output error");
}
END_TEST

START_TEST(offline)
{
	struct machine *m = scene_host(CPUS, STATES);

	m->cpus[1].online = false;
	m->cpus[1].table = MACHINE_NO_TABLE;
	m->cpus[3].online = false;
	m->cpus[3].table = MACHINE_NO_TABLE;
	resolve(LIMITED, m);
	begin();
	s.machine->cpus[0].online = false;
	end();
	/* Of CPU 3 nothing is asked. */
	assert_found("0-1", "unsupported", "usage", "offline: no proof");
	assert_found("2", "unsupported", "usage", NO_PROOF);
	ck_assert_uint_eq(found.n, 2);
}
END_TEST

/* The kernel forgets the counts of a CPU that was away. */
START_TEST(counters_begin_anew)
{
	resolve(LIMITED, scene_host(CPUS, STATES));
	begin();
	for (uint32_t i = 0; i <= C6; i++)
		counts[0][i] = counts[1][i] = (struct count){.usage = 0};
	counts[1][C6].usage = 2000;
	end();
	assert_found("0-1", "unsupported", "usage", "the counters began anew meanwhile: no proof");
	ck_assert_uint_eq(found.n_differs, 0);
}
END_TEST

static void replan(const char *policy)
{
	struct policy *p = scene_policy(policy);

	policy_free(s.policy);
	plan_free(s.plan);
	s.policy = p;
	ck_assert_int_eq(plan_resolve(p, s.machine, NULL, NULL, &s.plan), 0);
	proof_follow(&proof, s.plan, s.machine);
}

START_TEST(plan_changes_meanwhile)
{
	resolve("[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=5us\nEnableStates=C1E\n",
		scene_host(CPUS, STATES));
	begin();
	/* CPU 0 may all for a while; the others may C1E, but never C6. */
	replan("[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=20us\nEnableStates=C1E\n"
	       "[Profile q]\nEnableStates=C1E\n[Group g]\nCPUs=0\nProfile=q\n");
	replan("[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=5us\n");
	sleeps(0, C6, 9, 1000);
	sleeps(1, C1E, 9, 1000);
	sleeps(2, C6, 9, 1000);
	end();
	assert_found("0", "unsupported", "usage",
		     "the plan changed, nothing was off all the time: no proof");
	assert_found("2", "differs", "state3/usage",
		     "C6 entered 9 times in 1.0s, should be off: exit latency 133us > limit 5us");
	assert_found("1,3", "unsupported", "usage", NO_PROOF);
}
END_TEST

START_TEST(table_changes_meanwhile)
{
	resolve(LIMITED, scene_host(CPUS, STATES));
	begin();
	snprintf(s.machine->driver, sizeof(s.machine->driver), "acpi_idle");
	sleeps(0, C6, 9, 1000);
	end();
	assert_found("0-3", "unsupported", "usage",
		     "the driver's table of states changed meanwhile: no proof");
}
END_TEST

START_TEST(suspended_meanwhile)
{
	resolve(LIMITED, scene_host(CPUS, STATES));
	begin();
	now.asleep_ns += 5 * NSEC_PER_SEC;
	sleeps(0, C6, 9, 1000);
	end();
	assert_found("0-3", "unsupported", "usage", "the system was suspended meanwhile: no proof");
}
END_TEST

/* The state that the module puts in stands in the table of CPUs that did not ask for it, too. */
START_TEST(own_row)
{
	struct machine *m = scene_host(CPUS, STATES);

	m->own_row = 1;
	snprintf(m->own_state.name, sizeof(m->own_state.name), "C0.2");
	resolve("", m);
	s.plan->rows[0].module.row = C0_WAIT_NONE;
	begin();
	sleeps(0, OWN, 2, 10);
	sleeps(1, C6, 2, 1000);
	/* In its own name, behind the row, is what was state 2. */
	sleeps(2, C1E, 2, 1000);
	end();
	assert_found("0", "differs", "state1/usage",
		     "C0.2 entered 2 times in 1.0s, should be off: not asked for on this CPU");
	assert_found("1", "ok", "usage", "C1E, C0.2 not entered in 1.0s; 2 other idle periods");
	assert_found("2", "differs", "state3/usage",
		     "C1E entered 2 times in 1.0s, should be off: off by default, not named by "
		     "EnableStates=");
}
END_TEST

/* Where it is asked for it is a state like any other. */
START_TEST(own_row_in_use)
{
	struct machine *m = scene_host(CPUS, STATES);

	m->own_row = 1;
	snprintf(m->own_state.name, sizeof(m->own_state.name), "C0.2");
	resolve("", m);
	s.plan->rows[0].module.row = C0_WAIT_2;
	begin();
	sleeps(0, OWN, 2, 10);
	end();
	assert_found("0", "ok", "usage", "C1E not entered in 1.0s; 2 other idle periods");
	ck_assert_uint_eq(found.n_differs, 0);
}
END_TEST

/* More kinds of CPUs than can be told: nothing is lost without a word. */
START_TEST(more_than_can_be_told)
{
	struct findings f = {.n_differs = 3, .dropped = 7};

	ck_assert_int_eq(findings_close(&f), 0);
	ck_assert_uint_eq(f.n, 1);
	ck_assert_str_eq(f.v[0].result, "differs");
	ck_assert_str_eq(f.v[0].detail,
			 "7 more answers than can be told, differences among all of them");
	ck_assert_int_eq(findings_close(&f), 0);
	ck_assert_uint_eq(f.n, 1);
	findings_done(&f);
	f = (struct findings){.dropped = 7};
	ck_assert_int_eq(findings_close(&f), 0);
	ck_assert_str_eq(f.v[0].result, "ok");
	findings_done(&f);
}
END_TEST

static Suite *suite(void)
{
	Suite *su = suite_create("proof");
	TCase *t = tcase_create("proof");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, kept);
	tcase_add_test(t, entered_over_the_limit);
	tcase_add_loop_test(t, entered_though_off, 0, (int)ARRAY_SIZE(offs));
	tcase_add_test(t, entered_though_off_by_bits);
	tcase_add_test(t, what_is_of_others_is_not_judged);
	tcase_add_test(t, own_limit_beside_others);
	tcase_add_loop_test(t, sleep_under_way, 0, (int)ARRAY_SIZE(sleeps_before));
	tcase_add_test(t, one_sleep_is_under_way_at_a_time);
	tcase_add_test(t, unreadable);
	tcase_add_test(t, offline);
	tcase_add_test(t, counters_begin_anew);
	tcase_add_test(t, plan_changes_meanwhile);
	tcase_add_test(t, table_changes_meanwhile);
	tcase_add_test(t, suspended_meanwhile);
	tcase_add_test(t, own_row);
	tcase_add_test(t, own_row_in_use);
	tcase_add_test(t, more_than_can_be_told);
	suite_add_tcase(su, t);
	return su;
}

int main(void)
{
	return test_main(suite());
}
