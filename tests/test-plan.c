/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#define SKX "POLL 0/0, C1 2/2 MWAIT 0x00, C1E 10/20 MWAIT 0x01, C6 133/600 MWAIT 0x20"
#define HSW                                                                          \
	"POLL 0/0, C1 2/2 MWAIT 0x00, C1E 10/20 MWAIT 0x01, C3! 33/100 MWAIT 0x10, " \
	"C6 133/400 MWAIT 0x20"
#define US NSEC_PER_USEC

/* Profile p on CPUs 0-3, nothing on the rest. */
#define ON_SOME(settings)                                                       \
	"[Daemon]\nDefaultProfile=rest\n[Profile rest]\n[Profile p]\n" settings \
	"\n[Group g]\nCPUs=0-3\nProfile=p\n"

static struct scene s;

static void close_scene(void)
{
	scene_done(&s);
}

/* Limits ----------------------------------------------------------------------------------------- */

static const struct {
	const char *limit, *states;
} boundaries[] = {
	{"none", "POLL C1 C1E C6"},  {"133us", "POLL C1 C1E C6"},
	{"132999ns", "POLL C1 C1E"}, {"10us", "POLL C1 C1E"},
	{"9999ns", "POLL C1"},	     {"2us", "POLL C1"},
	{"1999ns", "POLL"},	     {"1us", "POLL"},
	{"400ns", "POLL"},	     {"0", "POLL"},
};

START_TEST(limit_keeps_states_up_to_it)
{
	char policy[256];

	snprintf(policy, sizeof(policy), ON_SOME("LatencyLimit=%s"), boundaries[_i].limit);
	scene_set(&s, scene_host(8, SKX), policy);
	ck_assert_str_eq(scene_states(&s, 0), boundaries[_i].states);
	ck_assert_str_eq(scene_states(&s, 4), "POLL C1 C1E C6");
}
END_TEST

START_TEST(limit_is_set_in_whole_us_downwards)
{
	scene_set(&s, scene_host(8, SKX), ON_SOME("LatencyLimit=2.5us"));
	ck_assert(scene_row(&s, 0)->sets_qos);
	ck_assert(scene_row(&s, 0)->qos_ns == 2 * US);
	ck_assert(scene_row(&s, 0)->limit_ns == 2500);
	ck_assert(!scene_row(&s, 4)->sets_qos);
	ck_assert(scene_row(&s, 4)->qos_ns == LATENCY_NONE);
}
END_TEST

START_TEST(below_one_us_is_zero_in_the_file)
{
	/* Another state claims no exit latency at all: zero leaves the first one alone all the same. */
	scene_set(&s, scene_host(8, "POLL 0/0, C1 0/0 MWAIT 0x00, C6 133/600"),
		  ON_SOME("LatencyLimit=400ns"));
	ck_assert(scene_row(&s, 0)->limit_ns == 400);
	ck_assert(scene_row(&s, 0)->sets_qos);
	ck_assert(scene_row(&s, 0)->qos_ns == 0);
	ck_assert_str_eq(scene_states(&s, 0), "POLL");
	ck_assert_uint_eq(scene_reason(&s, 0, "C1"), STATE_OFF_ZERO_LIMIT);
}
END_TEST

START_TEST(others_stricter_limit_stands)
{
	struct machine *m = scene_host(8, SKX);

	m->cpus[1].qos_ns = m->cpus[1].qos_prior_ns = 5 * US;
	m->cpus[2].qos_ns = m->cpus[2].qos_prior_ns = 5000 * US;
	m->cpus[3].qos_ns = m->cpus[3].qos_prior_ns = 0;
	scene_set(&s, m, ON_SOME("LatencyLimit=20us"));
	ck_assert(!scene_row(&s, 1)->sets_qos);
	ck_assert(scene_row(&s, 1)->qos_ns == 5 * US);
	ck_assert_uint_eq(scene_row(&s, 1)->limit_source, LIMIT_CPU_QOS);
	ck_assert_str_eq(scene_states(&s, 1), "POLL C1");
	ck_assert(scene_row(&s, 2)->sets_qos);
	ck_assert(scene_row(&s, 2)->limit_ns == 20 * US);
	ck_assert(scene_row(&s, 2)->policy_limit_ns == 20 * US);
	ck_assert(!scene_row(&s, 3)->sets_qos);
	ck_assert_str_eq(scene_states(&s, 3), "POLL");
	ck_assert(scene_says(&s, DIAG_INFO, "CPUs 1,3: the limit of 20us is looser"));
}
END_TEST

START_TEST(others_global_limit_stands)
{
	struct machine *m = scene_host(8, SKX);

	m->has_global = true;
	m->global_ns = m->global_others_ns = 2 * US;
	scene_set(&s, m, ON_SOME("LatencyLimit=20us"));
	ck_assert_uint_eq(scene_row(&s, 0)->limit_source, LIMIT_GLOBAL_OTHERS);
	ck_assert_str_eq(scene_states(&s, 7), "POLL C1");
	/* They may go at any time, so ours is set all the same. */
	ck_assert(scene_row(&s, 0)->sets_qos);
}
END_TEST

START_TEST(global_limit_is_held_or_set_on_each_cpu)
{
	struct machine *m = scene_host(8, SKX);
	const char *policy = "[Daemon]\nDefaultProfile=a\nGlobalLatencyLimit=50us\n[Profile a]\n"
			     "[Profile b]\nLatencyLimit=20us\n[Profile c]\nLatencyLimit=100us\n"
			     "[Group b]\nCPUs=1\nProfile=b\n[Group c]\nCPUs=2\nProfile=c\n";

	m->has_global = true;
	scene_set(&s, m, policy);
	ck_assert(s.plan->sets_global);
	ck_assert(s.plan->global_ns == 50 * US);
	ck_assert(!scene_row(&s, 0)->sets_qos);
	ck_assert_uint_eq(scene_row(&s, 0)->limit_source, LIMIT_GLOBAL_POLICY);
	ck_assert(scene_row(&s, 1)->sets_qos);
	ck_assert(!scene_row(&s, 2)->sets_qos);
	ck_assert(scene_row(&s, 2)->limit_ns == 50 * US);
	scene_done(&s);

	scene_set(&s, scene_host(8, SKX), policy);
	ck_assert(!s.plan->sets_global);
	ck_assert(s.plan->global_ns == LATENCY_NONE);
	ck_assert(scene_row(&s, 0)->qos_ns == 50 * US);
	ck_assert(scene_row(&s, 1)->qos_ns == 20 * US);
	ck_assert(scene_row(&s, 2)->qos_ns == 50 * US);
}
END_TEST

START_TEST(without_qos_file_states_are_disabled)
{
	struct machine *m = scene_host(8, SKX);

	m->cpus[0].has_qos = false;
	m->cpus[4].has_qos = false;
	scene_set(&s, m, ON_SOME("LatencyLimit=10us"));
	ck_assert_uint_eq(scene_row(&s, 0)->disable_mask, 1U << 3);
	ck_assert_uint_eq(scene_row(&s, 0)->disable_care, 1U << 3);
	ck_assert(!scene_row(&s, 0)->sets_qos);
	ck_assert_uint_eq(scene_row(&s, 1)->disable_care, 0);
	ck_assert_uint_eq(scene_row(&s, 4)->disable_care, 0);
	ck_assert_str_eq(scene_states(&s, 0), scene_states(&s, 1));
	ck_assert(scene_says(&s, DIAG_INFO, "CPU 0: there is no power/pm_qos_resume_latency_us"));
}
END_TEST

START_TEST(without_qos_file_zero_disables_all_but_the_first)
{
	struct machine *m = scene_host(1, "POLL 0/0, C1 0/0 MWAIT 0x00, C6 133/600");

	m->cpus[0].has_qos = false;
	scene_set(&s, m, ON_SOME("LatencyLimit=0"));
	ck_assert_uint_eq(scene_row(&s, 0)->disable_mask, 6);
	ck_assert_str_eq(scene_states(&s, 0), "POLL");
}
END_TEST

/* States ------------------------------------------------------------------------------------------ */

START_TEST(default_off_needs_a_name)
{
	scene_set(&s, scene_host(8, HSW), ON_SOME("LatencyLimit=100us"));
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E");
	ck_assert_uint_eq(scene_reason(&s, 0, "C3"), STATE_OFF_BY_DEFAULT);
	ck_assert_uint_eq(scene_row(&s, 0)->disable_mask, 1U << 3);
	scene_done(&s);
	scene_set(&s, scene_host(8, HSW), ON_SOME("LatencyLimit=100us\nEnableStates=c3"));
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E C3");
	ck_assert_uint_eq(scene_reason(&s, 0, "C3"), STATE_ON_NAMED);
	ck_assert_uint_eq(scene_row(&s, 0)->disable_mask, 0);
	ck_assert_uint_eq(scene_row(&s, 0)->disable_care, 1U << 3);
	ck_assert_uint_eq(scene_reason(&s, 4, "C3"), STATE_OFF_BY_DEFAULT);
	scene_done(&s);
	scene_set(&s, scene_host(8, HSW), ON_SOME("EnableStates=core-off"));
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E C3 C6");
}
END_TEST

START_TEST(name_does_not_beat_the_limit)
{
	scene_set(&s, scene_host(8, HSW), ON_SOME("LatencyLimit=20us\nEnableStates=C3"));
	ck_assert_uint_eq(scene_reason(&s, 0, "C3"), STATE_OFF_OVER_LIMIT);
	ck_assert_uint_eq(scene_row(&s, 0)->disable_mask, 1U << 3);
}
END_TEST

START_TEST(default_off_by_hand_on_is_switched_off_and_told)
{
	struct machine *m = scene_host(4, HSW);

	m->cpus[2].disabled = m->cpus[2].disabled_prior = 0;
	scene_set(&s, m, "[Profile balanced]\n");
	ck_assert_uint_eq(scene_row(&s, 2)->disable_mask, 1U << 3);
	ck_assert(
		scene_says(&s, DIAG_WARNING,
			   "CPU 2: C3 is off by default on this host and was switched on by hand"));
	ck_assert(scene_says(&s, DIAG_WARNING, "EnableStates=C3 keeps it on"));
	ck_assert_uint_eq(s.diags.n, 1);
}
END_TEST

START_TEST(what_others_disabled_stays_disabled)
{
	struct machine *m = scene_host(4, SKX);

	m->cpus[1].disabled = m->cpus[1].disabled_prior = 1U << 3;
	scene_set(&s, m, ON_SOME("EnableStates=C6"));
	ck_assert_uint_eq(scene_reason(&s, 1, "C6"), STATE_OFF_BY_OTHERS);
	ck_assert_uint_eq(scene_row(&s, 1)->disable_care, 0);
	ck_assert_uint_eq(scene_reason(&s, 0, "C6"), STATE_ON_NO_LIMIT);
}
END_TEST

START_TEST(disabled_states_add_up)
{
	scene_set(&s, scene_host(4, SKX),
		  "[Profile a]\nDisableStates=C1E\n[Profile b]\nDisableStates=core-off\n"
		  "[Group a]\nCPUs=0-1\nProfile=a\n[Group b]\nCPUs=1-2\nProfile=b\n");
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C6");
	ck_assert_str_eq(scene_states(&s, 1), "POLL C1");
	ck_assert_str_eq(scene_states(&s, 2), "POLL C1 C1E");
	ck_assert_str_eq(scene_states(&s, 3), "POLL C1 C1E C6");
	ck_assert_uint_eq(scene_row(&s, 1)->disable_mask, 0xc);
}
END_TEST

START_TEST(first_state_is_never_disabled)
{
	scene_set(&s, scene_host(4, SKX), ON_SOME("DisableStates=poll"));
	ck_assert_uint_eq(scene_row(&s, 0)->disable_mask, 0);
	ck_assert_uint_eq(scene_row(&s, 0)->disable_care, 0);
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E C6");
	ck_assert(scene_says(&s, DIAG_WARNING, "means POLL, the first state, which stays on"));
}
END_TEST

START_TEST(poll_disabled_by_others)
{
	struct machine *m = scene_host(4, SKX);

	for (uint32_t i = 0; i < 4; i++)
		m->cpus[i].disabled = m->cpus[i].disabled_prior = 1;
	scene_set(&s, m, "[Profile p]\nLatencyLimit=1us\n[Group g]\nCPUs=0\nProfile=p\n");
	ck_assert_str_eq(scene_states(&s, 1), "C1 C1E C6");
	ck_assert_str_eq(scene_states(&s, 0), "POLL");
	ck_assert(scene_says(&s, DIAG_WARNING, "CPU 0: others disabled POLL"));
}
END_TEST

/* Demands ----------------------------------------------------------------------------------------- */

START_TEST(strictest_limit_wins_whatever_the_order)
{
	static const char *const orders[] = {
		"[Group a]\nCPUs=all\nProfile=loose\nPriority=9\n[Group b]\nCPUs=1\nProfile=strict\n",
		"[Group b]\nCPUs=1\nProfile=strict\n[Group a]\nCPUs=all\nProfile=loose\nPriority=9\n",
	};
	char policy[512];

	snprintf(
		policy, sizeof(policy),
		"[Profile loose]\nLatencyLimit=100us\nC0=poll\n[Profile strict]\nLatencyLimit=5us\n%s",
		orders[_i]);
	scene_set(&s, scene_host(2, SKX), policy);
	ck_assert(scene_row(&s, 1)->limit_ns == 5 * US);
	ck_assert_str_eq(s.policy->profiles[scene_row(&s, 1)->limit_profile].name, "strict");
	/* Modes and the row's name follow the priority. */
	ck_assert_str_eq(s.policy->profiles[scene_row(&s, 1)->profile].name, "loose");
	ck_assert_uint_eq(scene_row(&s, 1)->n_demands, 2);
	ck_assert_uint_eq(scene_row(&s, 1)->modes[MODE_C0].requested, MODE_C0_POLL_2);
	ck_assert(scene_row(&s, 0)->limit_ns == 100 * US);
}
END_TEST

START_TEST(fewer_cpus_then_name_decide_modes)
{
	scene_set(&s, scene_host(4, SKX),
		  "[Profile a]\nC0=poll\n[Profile b]\nC0=state\n[Group big]\nCPUs=all\nProfile=a\n"
		  "[Group small]\nCPUs=1-2\nProfile=b\n[Group also]\nCPUs=2-3\nProfile=a\n");
	ck_assert_str_eq(s.policy->profiles[scene_row(&s, 1)->profile].name, "b");
	/* also and small have two CPUs each; the name decides and that is told. */
	ck_assert_str_eq(s.policy->profiles[scene_row(&s, 2)->profile].name, "a");
	ck_assert(scene_says(&s, DIAG_WARNING,
			     "CPU 2: group also and group small have the same Priority="));
	ck_assert(!scene_says(&s, DIAG_WARNING, "groups big"));
}
END_TEST

START_TEST(equal_modes_make_no_tie)
{
	scene_set(&s, scene_host(4, SKX),
		  "[Profile a]\nLatencyLimit=5us\n[Profile b]\nLatencyLimit=6us\n"
		  "[Group x]\nCPUs=0\nProfile=a\n[Group y]\nCPUs=0\nProfile=b\n");
	ck_assert(!scene_says(&s, DIAG_WARNING, "same Priority="));
}
END_TEST

START_TEST(default_profile_speaks_for_the_rest_only)
{
	scene_set(&s, scene_host(2, SKX),
		  "[Daemon]\nDefaultProfile=d\n[Profile d]\nLatencyLimit=2us\nDisableStates=C1E\n"
		  "[Profile p]\nLatencyLimit=20us\n[Group g]\nCPUs=0\nProfile=p\n");
	ck_assert(scene_row(&s, 0)->limit_ns == 20 * US);
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E");
	ck_assert(scene_row(&s, 1)->limit_ns == 2 * US);
	ck_assert_uint_eq(s.plan->demands[scene_row(&s, 1)->demands].group, UINT32_MAX);
}
END_TEST

/* Odd hosts --------------------------------------------------------------------------------------- */

START_TEST(each_cpu_has_its_own_table)
{
	struct machine *m = scene_host(4, SKX);

	scene_table(m, 2, 3, "POLL 0/0, C1E 2/4 MWAIT 0x01, C6 8/500 MWAIT 0x20");
	scene_set(&s, m, ON_SOME("LatencyLimit=9us\nDisableStates=C1"));
	ck_assert_str_eq(scene_states(&s, 0), "POLL");
	ck_assert_str_eq(scene_states(&s, 2), "POLL C1E C6");
	ck_assert_uint_eq(s.plan->n_rows, 2);
	/* C1 is there on some of them: not unknown. */
	ck_assert(!scene_says(&s, DIAG_WARNING, "no such state"));
}
END_TEST

START_TEST(offline_cpus_get_their_limit_in_advance)
{
	struct machine *m = scene_host(8, SKX);

	m->cpus[1].online = false;
	m->cpus[5].online = false;
	m->cpus[6].present = false;
	scene_set(&s, m, ON_SOME("LatencyLimit=10us\nC0=poll\nDisableStates=C6"));
	ck_assert(!scene_row(&s, 1)->online);
	ck_assert(scene_row(&s, 1)->sets_qos);
	ck_assert_uint_eq(scene_row(&s, 1)->table, MACHINE_NO_TABLE);
	ck_assert_uint_eq(scene_row(&s, 1)->disable_care, 0);
	ck_assert(!scene_row(&s, 1)->only_poll);
	ck_assert_uint_eq(scene_row(&s, 1)->modes[MODE_C0].reason, MODE_OFFLINE);
	ck_assert(!scene_row(&s, 5)->sets_qos);
	ck_assert_ptr_null(plan_row_of(s.plan, 6));
	ck_assert_ptr_null(plan_row_of(s.plan, 8));
}
END_TEST

START_TEST(files_left_to_others_are_not_touched)
{
	struct machine *m = scene_host(4, HSW);

	m->cpus[1].left = 1U << MACHINE_BIT_QOS | 1U << 3 | 1U << 4;
	m->cpus[1].qos_ns = m->cpus[1].qos_prior_ns = 500 * US;
	m->cpus[1].disabled = m->cpus[1].disabled_prior = 1U << 4;
	scene_set(&s, m, ON_SOME("LatencyLimit=20us\nDisableStates=C6"));
	ck_assert(!scene_row(&s, 1)->sets_qos);
	ck_assert(scene_row(&s, 1)->qos_ns == 500 * US);
	ck_assert(scene_row(&s, 1)->limit_ns == 500 * US);
	ck_assert_uint_eq(scene_row(&s, 1)->disable_care, 0);
	ck_assert_str_eq(scene_states(&s, 1), "POLL C1 C1E C3");
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E");
}
END_TEST

START_TEST(non_monotonic_latencies_are_judged_one_by_one)
{
	scene_set(&s, scene_host(4, "POLL 0/0, C1 30/30, C2 5/90, C3 40/400"),
		  ON_SOME("LatencyLimit=10us"));
	ck_assert_str_eq(scene_states(&s, 0), "POLL C2");
}
END_TEST

START_TEST(duplicate_names_are_told_apart)
{
	scene_set(&s, scene_host(4, "POLL 0/0, C1 1/1, C1 9/9, C1! 50/90"),
		  ON_SOME("LatencyLimit=2us"));
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1");
	scene_done(&s);
	scene_set(&s, scene_host(4, "POLL 0/0, C1 1/1, C1 9/9, C1! 50/90"),
		  ON_SOME("DisableStates=C1"));
	ck_assert_str_eq(scene_states(&s, 0), "POLL");
	ck_assert_uint_eq(scene_row(&s, 0)->disable_mask, 0xe);
}
END_TEST

START_TEST(ten_states)
{
	scene_set(&s,
		  scene_host(1, "POLL 0/0, A 1/1, B 2/2, C 3/3, D 4/4, E 5/5, F 6/6, G 7/7, H 8/8, "
				"I 9/9"),
		  ON_SOME("LatencyLimit=8us\nDisableStates=I B"));
	ck_assert_str_eq(scene_states(&s, 0), "POLL A C D E F G H");
	ck_assert_uint_eq(scene_row(&s, 0)->disable_mask, 1U << 9 | 1U << 2);
}
END_TEST

START_TEST(no_cpuidle_still_gets_the_limit)
{
	scene_set(&s, scene_host(8, ""), ON_SOME("LatencyLimit=10us\nDisableStates=C6"));
	ck_assert(scene_row(&s, 0)->sets_qos);
	ck_assert_str_eq(scene_states(&s, 0), "");
	ck_assert(!scene_row(&s, 0)->only_poll);
	ck_assert_uint_eq(s.diags.n, 1);
	ck_assert(scene_says(&s, DIAG_INFO, "CPUs 0-3: no idle states to choose from"));
}
END_TEST

START_TEST(same_inputs_same_plan)
{
	struct plan *again = NULL;

	scene_set(&s, scene_host(64, SKX), ON_SOME("LatencyLimit=10us"));
	ck_assert_int_eq(plan_resolve(s.policy, s.machine, NULL, NULL, &again), 0);
	ck_assert_uint_eq(again->n_rows, s.plan->n_rows);
	ck_assert_mem_eq(again->row_of, s.plan->row_of, 64 * sizeof(*again->row_of));
	ck_assert_mem_eq(again->rows, s.plan->rows, again->n_rows * sizeof(*again->rows));
	plan_free(again);
}
END_TEST

START_TEST(as_many_rows_as_cpus)
{
	struct machine *m = scene_host(CPU_MAX, SKX);

	for (uint32_t i = 0; i < CPU_MAX; i++)
		m->cpus[i].qos_ns = m->cpus[i].qos_prior_ns = (i + 1) * US;
	scene_set(&s, m, ON_SOME("LatencyLimit=2us"));
	ck_assert_uint_eq(s.plan->n_rows, CPU_MAX);
	for (uint32_t i = 0; i < CPU_MAX; i++) {
		ck_assert_uint_eq(s.plan->row_of[i], i);
		ck_assert(s.plan->rows[i].cpu_others_ns == (i + 1) * US);
		ck_assert_uint_eq(s.plan->rows[i].n_cpus, 1);
	}
}
END_TEST

START_TEST(row_cpus_are_all_of_them)
{
	struct cpuset cpus;
	char text[32];

	scene_set(&s, scene_host(8, SKX), ON_SOME("LatencyLimit=2us"));
	ck_assert_int_eq(plan_row_cpus(s.plan, s.plan->row_of[7], &cpus), 0);
	cpuset_format(&cpus, text, sizeof(text));
	ck_assert_str_eq(text, "4-7");
	ck_assert_uint_eq(scene_row(&s, 7)->n_cpus, 4);
	cpuset_done(&cpus);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan");
	TCase *tc = tcase_create("plan");

	tcase_add_checked_fixture(tc, NULL, close_scene);
	tcase_add_loop_test(tc, limit_keeps_states_up_to_it, 0, ARRAY_SIZE(boundaries));
	tcase_add_test(tc, limit_is_set_in_whole_us_downwards);
	tcase_add_test(tc, below_one_us_is_zero_in_the_file);
	tcase_add_test(tc, others_stricter_limit_stands);
	tcase_add_test(tc, others_global_limit_stands);
	tcase_add_test(tc, global_limit_is_held_or_set_on_each_cpu);
	tcase_add_test(tc, without_qos_file_states_are_disabled);
	tcase_add_test(tc, without_qos_file_zero_disables_all_but_the_first);
	tcase_add_test(tc, default_off_needs_a_name);
	tcase_add_test(tc, name_does_not_beat_the_limit);
	tcase_add_test(tc, default_off_by_hand_on_is_switched_off_and_told);
	tcase_add_test(tc, what_others_disabled_stays_disabled);
	tcase_add_test(tc, disabled_states_add_up);
	tcase_add_test(tc, first_state_is_never_disabled);
	tcase_add_test(tc, poll_disabled_by_others);
	tcase_add_loop_test(tc, strictest_limit_wins_whatever_the_order, 0, 2);
	tcase_add_test(tc, fewer_cpus_then_name_decide_modes);
	tcase_add_test(tc, equal_modes_make_no_tie);
	tcase_add_test(tc, default_profile_speaks_for_the_rest_only);
	tcase_add_test(tc, each_cpu_has_its_own_table);
	tcase_add_test(tc, offline_cpus_get_their_limit_in_advance);
	tcase_add_test(tc, files_left_to_others_are_not_touched);
	tcase_add_test(tc, non_monotonic_latencies_are_judged_one_by_one);
	tcase_add_test(tc, duplicate_names_are_told_apart);
	tcase_add_test(tc, ten_states);
	tcase_add_test(tc, no_cpuidle_still_gets_the_limit);
	tcase_add_test(tc, same_inputs_same_plan);
	tcase_add_test(tc, as_many_rows_as_cpus);
	tcase_add_test(tc, row_cpus_are_all_of_them);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
