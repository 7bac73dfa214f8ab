/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#define HSW                                                                          \
	"POLL 0/0, C1 2/2 MWAIT 0x00, C1E 10/20 MWAIT 0x01, C3! 33/100 MWAIT 0x10, " \
	"C6 133/400 MWAIT 0x20"
#define US NSEC_PER_USEC

#define STRICT                                                                \
	"[Daemon]\nDefaultProfile=p\nGlobalLatencyLimit=500us\n[Profile p]\n" \
	"LatencyLimit=5us\nDisableStates=C6\n"
#define LOOSE "[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=200us\nEnableStates=C3\n"
#define MIXED                                                                                \
	"[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=200us\n[Profile q]\n"         \
	"LatencyLimit=1us\n[Group g]\nCPUs=0-1\nProfile=q\n[Profile r]\nDisableStates=C1E\n" \
	"[Group h]\nCPUs=2\nProfile=r\n"

static struct scene s;
static uint64_t global_ns;

static void close_scene(void)
{
	scene_done(&s);
}

static struct machine *host(void)
{
	struct machine *m = scene_host(4, HSW);

	m->has_global = true;
	m->cpus[1].qos_ns = m->cpus[1].qos_prior_ns = 50 * US;
	m->cpus[3].disabled = m->cpus[3].disabled_prior = 1U << 4 | 1U << 3;
	global_ns = LATENCY_NONE;
	return m;
}

/* The longest exit latency that limits and disable files leave a CPU. */
static uint64_t deepest_ns(const struct machine *m, uint32_t cpu, uint64_t own_global_ns)
{
	const struct machine_cpu *c = &m->cpus[cpu];
	const struct idle_table *t = machine_table(m, cpu);
	uint64_t limit = MIN_OF(MIN_OF(c->qos_ns, own_global_ns), m->global_others_ns), deepest = 0;

	for (uint32_t i = 0; i < t->n; i++)
		if (!(c->disabled >> i & 1) && t->states[i].exit_latency_ns <= limit)
			deepest = MAX_OF(deepest, t->states[i].exit_latency_ns);
	return deepest;
}

/* From one plan to the other, write by write: no CPU is ever allowed more than both ends allow. */
static void go(const char *policy, uint32_t *ret_writes)
{
	struct policy *p = scene_policy(policy);
	struct plan *plan = NULL;
	struct changes c = {0};
	uint64_t before[4], after[4], global_after = global_ns;
	struct machine copy = *s.machine;
	struct machine_cpu cpus[4];

	ck_assert_int_eq(plan_resolve(p, s.machine, NULL, NULL, &plan), 0);
	ck_assert_int_eq(diff_make(plan, s.machine, global_ns, &c), 0);
	memcpy(cpus, s.machine->cpus, sizeof(cpus));
	copy.cpus = cpus;
	scene_apply(&copy, &c, &global_after);
	for (uint32_t i = 0; i < 4; i++) {
		before[i] = deepest_ns(s.machine, i, global_ns);
		after[i] = deepest_ns(&copy, i, global_after);
	}
	for (uint32_t w = 0; w < c.n; w++) {
		struct changes one = {.v = &c.v[w], .n = 1};

		ck_assert(change_loosens(&c.v[w]) == (w >= c.n_tighten));
		scene_apply(s.machine, &one, &global_ns);
		for (uint32_t i = 0; i < 4; i++)
			ck_assert(deepest_ns(s.machine, i, global_ns) <=
				  MAX_OF(before[i], after[i]));
	}
	*ret_writes = c.n;
	changes_done(&c);
	/* And then there is nothing left to be done. */
	ck_assert_int_eq(diff_make(plan, s.machine, global_ns, &c), 0);
	ck_assert_uint_eq(c.n, 0);
	ck_assert_ptr_null(c.v);
	changes_done(&c);
	plan_free(plan);
	policy_free(p);
}

START_TEST(no_moment_is_looser_than_both_ends)
{
	static const char *const policies[] = {STRICT, LOOSE, MIXED, STRICT, MIXED, LOOSE, STRICT};
	uint32_t writes, total = 0;

	s.machine = host();
	for (uint32_t i = 0; i < ARRAY_SIZE(policies); i++) {
		go(policies[i], &writes);
		total += writes;
	}
	ck_assert_uint_gt(total, 30);
}
END_TEST

START_TEST(undo_brings_back_what_others_had)
{
	struct changes c = {0};
	struct machine *before = host();
	uint32_t writes;

	s.machine = host();
	go(STRICT, &writes);
	ck_assert_uint_gt(writes, 0);
	go(LOOSE, &writes);
	ck_assert_int_eq(diff_undo(s.machine, global_ns, &c), 0);
	scene_apply(s.machine, &c, &global_ns);
	changes_done(&c);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert(s.machine->cpus[i].qos_ns == before->cpus[i].qos_ns);
		ck_assert_uint_eq(s.machine->cpus[i].disabled, before->cpus[i].disabled);
	}
	ck_assert(global_ns == LATENCY_NONE);
	ck_assert_int_eq(diff_undo(s.machine, global_ns, &c), 0);
	ck_assert_uint_eq(c.n, 0);
	machine_free(before);
}
END_TEST

static struct machine *umwait_host(void)
{
	struct machine *m = host();

	m->knobs[HOST_UMWAIT_C02] = (struct machine_knob){.present = true, .now = 1, .prior = 1};
	m->knobs[HOST_UMWAIT_MAX] =
		(struct machine_knob){.present = true, .now = 100000, .prior = 100000};
	return m;
}

/* No limit of time is written as 0, and is the longest. */
START_TEST(umwait_is_set_and_given_back)
{
	static const struct {
		const char *keys;
		uint64_t c02, max;
		uint32_t writes;
	} steps[] = {
		{"UmwaitC02=keep\nUmwaitMaxTime=keep\n", 1, 100000, 0},
		{"UmwaitC02=off\nUmwaitMaxTime=0\n", 0, 0, 2},
		{"UmwaitC02=off\nUmwaitMaxTime=200000\n", 0, 200000, 1},
		{"UmwaitC02=on\nUmwaitMaxTime=4\n", 1, 4, 2},
		{"", 1, 100000, 1},
		{"UmwaitC02=on\nUmwaitMaxTime=100000\n", 1, 100000, 0},
		{"UmwaitC02=off\nUmwaitMaxTime=0\n", 0, 0, 2},
	};
	struct changes c = {0};
	uint32_t writes;
	char policy[128];

	s.machine = umwait_host();
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		snprintf(policy, sizeof(policy), "[Daemon]\n%s", steps[i].keys);
		go(policy, &writes);
		ck_assert_uint_eq(writes, steps[i].writes);
		ck_assert_uint_eq(s.machine->knobs[HOST_UMWAIT_C02].now, steps[i].c02);
		ck_assert_uint_eq(s.machine->knobs[HOST_UMWAIT_MAX].now, steps[i].max);
	}
	ck_assert_int_eq(diff_undo(s.machine, global_ns, &c), 0);
	ck_assert_uint_eq(c.n, 2);
	scene_apply(s.machine, &c, &global_ns);
	changes_done(&c);
	ck_assert_uint_eq(s.machine->knobs[HOST_UMWAIT_C02].now, 1);
	ck_assert_uint_eq(s.machine->knobs[HOST_UMWAIT_MAX].now, 100000);
}
END_TEST

START_TEST(umwait_left_to_others_is_not_written)
{
	uint32_t writes;

	s.machine = umwait_host();
	s.machine->knobs[HOST_UMWAIT_MAX].left = true;
	go("[Daemon]\nUmwaitC02=off\nUmwaitMaxTime=0\n", &writes);
	ck_assert_uint_eq(writes, 1);
	ck_assert_uint_eq(s.machine->knobs[HOST_UMWAIT_MAX].now, 100000);
}
END_TEST

START_TEST(umwait_without_its_file_is_told)
{
	scene_set(&s, host(), "[Daemon]\nUmwaitC02=on\nUmwaitMaxTime=0\n");
	ck_assert(scene_says(&s, DIAG_INFO, "UmwaitC02= has no effect: there is no"));
	ck_assert(scene_says(&s, DIAG_INFO, "UmwaitMaxTime= has no effect: there is no"));
	ck_assert(s.plan->knobs[HOST_UMWAIT_C02] == HOST_KEEP);
}
END_TEST

START_TEST(policies_of_equal_effect_write_nothing)
{
	uint32_t writes;

	s.machine = host();
	go("[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=20us\n", &writes);
	ck_assert_uint_gt(writes, 0);
	go("[Daemon]\nDefaultProfile=other\n[Profile other]\nLatencyLimit=20000ns\nC0=auto\n"
	   "[Group g]\nCPUs=0-3\nProfile=other\n",
	   &writes);
	ck_assert_uint_eq(writes, 0);
}
END_TEST

START_TEST(each_write_is_named)
{
	struct changes c = {0};

	scene_set(&s, host(), STRICT);
	ck_assert_int_eq(diff_make(s.plan, s.machine, LATENCY_NONE, &c), 0);
	/* One global, four limits, C6 on the three that others have not disabled it on. */
	ck_assert_uint_eq(c.n, 8);
	ck_assert_uint_eq(c.n_tighten, 8);
	ck_assert_uint_eq(c.v[0].kind, KNOB_GLOBAL);
	ck_assert(c.v[0].to == 500 * US);
	ck_assert_uint_eq(c.v[1].kind, KNOB_QOS);
	ck_assert(c.v[1].from == LATENCY_NONE && c.v[1].to == 5 * US);
	ck_assert_uint_eq(c.v[2].kind, KNOB_DISABLE);
	ck_assert_uint_eq(c.v[2].state, 4);
	ck_assert(c.v[2].from == 0 && c.v[2].to == 1);
	changes_done(&c);
}
END_TEST

START_TEST(empty_files_are_written_whatever_they_should_hold)
{
	struct changes c = {0};
	struct machine *m = scene_host(2, HSW);

	m->cpus[0].cut = 1U << MACHINE_BIT_QOS | 1U << 2;
	scene_set(&s, m, "[Profile balanced]\n");
	ck_assert_int_eq(diff_make(s.plan, s.machine, LATENCY_NONE, &c), 0);
	ck_assert_uint_eq(c.n, 2);
	ck_assert_uint_eq(c.v[0].kind, KNOB_QOS);
	ck_assert(c.v[0].to == LATENCY_NONE);
	ck_assert_uint_eq(c.v[1].kind, KNOB_DISABLE);
	ck_assert_uint_eq(c.v[1].state, 2);
	ck_assert(c.v[1].to == 0);
	changes_done(&c);
}
END_TEST

START_TEST(offline_and_absent_cpus)
{
	struct changes c = {0};
	struct machine *m = scene_host(3, HSW);

	m->cpus[1].online = false;
	m->cpus[1].table = MACHINE_NO_TABLE;
	m->cpus[1].disabled = m->cpus[1].disabled_prior = 0;
	m->cpus[2].present = false;
	scene_set(&s, m,
		  "[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=2us\nDisableStates=C1\n");
	ck_assert_int_eq(diff_make(s.plan, s.machine, LATENCY_NONE, &c), 0);
	ck_assert_uint_eq(c.n, 3);
	ck_assert_uint_eq(c.v[2].cpu, 1);
	ck_assert_uint_eq(c.v[2].kind, KNOB_QOS);
	changes_done(&c);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("diff");
	TCase *tc = tcase_create("diff");

	tcase_add_checked_fixture(tc, NULL, close_scene);
	tcase_add_test(tc, no_moment_is_looser_than_both_ends);
	tcase_add_test(tc, undo_brings_back_what_others_had);
	tcase_add_test(tc, umwait_is_set_and_given_back);
	tcase_add_test(tc, umwait_left_to_others_is_not_written);
	tcase_add_test(tc, umwait_without_its_file_is_told);
	tcase_add_test(tc, policies_of_equal_effect_write_nothing);
	tcase_add_test(tc, each_write_is_named);
	tcase_add_test(tc, empty_files_are_written_whatever_they_should_hold);
	tcase_add_test(tc, offline_and_absent_cpus);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
