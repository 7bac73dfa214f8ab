/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "foreign.h"

#define US    NSEC_PER_USEC
#define LIMIT (20 * US)

static struct machine_cpu cpus[4];
static struct machine machine;
static struct foreign foreign;

static void setup(void)
{
	machine = (struct machine){.n_cpus = ARRAY_SIZE(cpus), .cpus = cpus};
	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct machine_cpu){.qos_ns = LIMIT,
					       .qos_prior_ns = LATENCY_NONE,
					       .present = true,
					       .has_qos = true};
	foreign = (struct foreign){.n_cpus = 0};
}

static void teardown(void)
{
	foreign_done(&foreign);
}

static enum foreign_verdict judge(enum foreign_write answer, uint8_t kind, uint8_t state,
				  uint32_t cpu, uint64_t found, uint64_t now_ns)
{
	struct change c = {.kind = kind, .state = state, .cpu = (uint16_t)cpu};

	return foreign_judge(&foreign, answer, &machine, &c, found, LIMIT, now_ns);
}

/* Ours is 20us over none, or theirs of 5us stands; what a written value is taken for, and whether it is left. */
static const struct {
	uint64_t now, prior, found;
	enum foreign_verdict yield, reassert, alert;
	bool left; /* with yield and alert */
} qos_cases[] = {
	{LIMIT, LATENCY_NONE, LIMIT, VERDICT_SAME, VERDICT_SAME, VERDICT_SAME, false},
	{LIMIT, LATENCY_NONE, LATENCY_NONE, VERDICT_YIELDED, VERDICT_REASSERT, VERDICT_ALERT, true},
	{LIMIT, LATENCY_NONE, 50 * US, VERDICT_YIELDED, VERDICT_REASSERT, VERDICT_ALERT, true},
	{LIMIT, LATENCY_NONE, 21 * US, VERDICT_YIELDED, VERDICT_REASSERT, VERDICT_ALERT, true},
	{LIMIT, LATENCY_NONE, 19 * US, VERDICT_ADOPTED, VERDICT_ADOPTED, VERDICT_ADOPTED, false},
	{LIMIT, LATENCY_NONE, 0, VERDICT_ADOPTED, VERDICT_ADOPTED, VERDICT_ADOPTED, false},
	{0, LATENCY_NONE, LATENCY_NONE, VERDICT_YIELDED, VERDICT_REASSERT, VERDICT_ALERT, true},
	{0, LATENCY_NONE, 1 * US, VERDICT_YIELDED, VERDICT_REASSERT, VERDICT_ALERT, true},
	{5 * US, 5 * US, LATENCY_NONE, VERDICT_ADOPTED, VERDICT_ADOPTED, VERDICT_ADOPTED, false},
	{5 * US, 5 * US, 3 * US, VERDICT_ADOPTED, VERDICT_ADOPTED, VERDICT_ADOPTED, false},
};

START_TEST(values_of_the_limit_file)
{
	for (enum foreign_write answer = FOREIGN_YIELD; answer <= FOREIGN_ALERT; answer++) {
		const enum foreign_verdict right[] = {
			[FOREIGN_YIELD] = qos_cases[_i].yield,
			[FOREIGN_REASSERT] = qos_cases[_i].reassert,
			[FOREIGN_ALERT] = qos_cases[_i].alert,
		};

		cpus[1].qos_ns = qos_cases[_i].now;
		cpus[1].qos_prior_ns = qos_cases[_i].prior;
		cpus[1].left = 0;
		ck_assert_int_eq(judge(answer, KNOB_QOS, 0, 1, qos_cases[_i].found, 0),
				 right[answer]);
		/* Theirs is what stands and what will be put back. */
		ck_assert_uint_eq(cpus[1].qos_ns, qos_cases[_i].found);
		if (right[answer] != VERDICT_SAME)
			ck_assert_uint_eq(cpus[1].qos_prior_ns, qos_cases[_i].found);
		ck_assert_int_eq(cpus[1].left != 0,
				 qos_cases[_i].left && answer != FOREIGN_REASSERT);
	}
}
END_TEST

START_TEST(states_switched_by_others)
{
	cpus[0].disabled = 1U << 3; /* ours */
	ck_assert_int_eq(judge(FOREIGN_REASSERT, KNOB_DISABLE, 3, 0, 0, 0), VERDICT_REASSERT);
	ck_assert_uint_eq(cpus[0].disabled | cpus[0].disabled_prior | cpus[0].left, 0);
	/* A state of nobody: off by others is theirs. */
	ck_assert_int_eq(judge(FOREIGN_YIELD, KNOB_DISABLE, 2, 0, 1, 0), VERDICT_ADOPTED);
	ck_assert_uint_eq(cpus[0].disabled & cpus[0].disabled_prior, 1U << 2);
	/* Off by default, switched on by us, switched off by somebody: it stays off. */
	cpus[1].disabled_prior = 1U << 1;
	ck_assert_int_eq(judge(FOREIGN_REASSERT, KNOB_DISABLE, 1, 1, 1, 0), VERDICT_ADOPTED);
	ck_assert_uint_eq(cpus[1].left, 1U << 1);
	ck_assert_uint_eq(cpus[1].disabled, 1U << 1);
}
END_TEST

START_TEST(relenting_ends_an_alert_but_not_a_yield)
{
	for (enum foreign_write answer = FOREIGN_YIELD; answer <= FOREIGN_ALERT; answer += 2) {
		cpus[2].qos_ns = LIMIT;
		cpus[2].qos_prior_ns = LATENCY_NONE;
		cpus[2].left = 0;
		(void)judge(answer, KNOB_QOS, 0, 2, LATENCY_NONE, 0);
		ck_assert_uint_eq(cpus[2].left, 1U << MACHINE_BIT_QOS);
		ck_assert_int_eq(judge(answer, KNOB_QOS, 0, 2, 40 * US, 0), VERDICT_ADOPTED);
		ck_assert_uint_eq(cpus[2].left, 1U << MACHINE_BIT_QOS);
		ck_assert_int_eq(judge(answer, KNOB_QOS, 0, 2, LIMIT, 0), VERDICT_ADOPTED);
		ck_assert_int_eq(cpus[2].left != 0, answer == FOREIGN_YIELD);
	}
	cpus[3].left = 1U << 4;
	ck_assert_uint_eq(foreign_forget(&machine), 1);
	ck_assert_uint_eq(cpus[3].left, 0);
}
END_TEST

/* Ours is 0 over 100000: any other value is theirs, longer or shorter. */
START_TEST(umwait_written_by_others)
{
	struct machine_knob *k = &machine.knobs[HOST_UMWAIT_MAX];
	const enum foreign_verdict right[] = {
		[FOREIGN_YIELD] = VERDICT_YIELDED,
		[FOREIGN_REASSERT] = VERDICT_REASSERT,
		[FOREIGN_ALERT] = VERDICT_ALERT,
	};
	const struct plan plan = {.n_cpus = 0};

	for (enum foreign_write answer = FOREIGN_YIELD; answer <= FOREIGN_ALERT; answer++) {
		*k = (struct machine_knob){.present = true, .now = 0, .prior = 100000};
		ck_assert_int_eq(judge(answer, KNOB_HOST, HOST_UMWAIT_MAX, 0, 0, 0), VERDICT_SAME);
		ck_assert_int_eq(judge(answer, KNOB_HOST, HOST_UMWAIT_MAX, 0, 8, 0), right[answer]);
		ck_assert_uint_eq(k->now, 8);
		ck_assert_uint_eq(k->prior, 8);
		ck_assert_int_eq(k->left, answer != FOREIGN_REASSERT);
		ck_assert_uint_eq(foreign_count_looser(&machine, &plan), k->left);
		/* Who puts ours back ends an alarm. */
		if (answer == FOREIGN_REASSERT)
			continue;
		ck_assert_int_eq(judge(answer, KNOB_HOST, HOST_UMWAIT_MAX, 0, 0, 0),
				 VERDICT_ADOPTED);
		ck_assert_int_eq(k->left, answer == FOREIGN_YIELD);
	}
	k->left = true;
	ck_assert_uint_eq(foreign_forget(&machine), 1);
	ck_assert(!k->left);
}
END_TEST

static enum foreign_verdict insist(uint64_t now_ns)
{
	cpus[0].qos_ns = LIMIT; /* as if put back */
	cpus[0].qos_prior_ns = LATENCY_NONE;
	cpus[0].left = 0;
	return judge(FOREIGN_REASSERT, KNOB_QOS, 0, 0, LATENCY_NONE, now_ns);
}

START_TEST(reasserting_has_an_end_and_a_new_beginning)
{
	uint64_t start = 5 * NSEC_PER_SEC;

	for (uint32_t i = 0; i < FOREIGN_REASSERTS_MAX; i++)
		ck_assert_int_eq(insist(start + i), VERDICT_REASSERT);
	ck_assert_int_eq(insist(start + FOREIGN_WINDOW_NS - 1), VERDICT_TOO_OFTEN);
	ck_assert_uint_eq(cpus[0].left, 1U << MACHINE_BIT_QOS);
	/* Another CPU has its own share. */
	ck_assert_int_eq(judge(FOREIGN_REASSERT, KNOB_QOS, 0, 1, LATENCY_NONE, start + 1),
			 VERDICT_REASSERT);
	ck_assert_int_eq(insist(start + FOREIGN_WINDOW_NS), VERDICT_REASSERT);
}
END_TEST

START_TEST(looser_files_are_counted)
{
	struct plan_row row = {.policy_limit_ns = LIMIT};
	uint16_t row_of[] = {0, 0, 0, PLAN_NO_ROW};
	const struct plan plan = {.n_cpus = 4, .row_of = row_of, .rows = &row, .n_rows = 1};

	ck_assert_uint_eq(foreign_count_looser(&machine, &plan), 0);
	cpus[0].left = 1U << MACHINE_BIT_QOS; /* at the limit */
	cpus[1].left = 1U << MACHINE_BIT_QOS | 1U << 2;
	cpus[1].qos_ns = LATENCY_NONE;
	cpus[2].left = 1U << 2;
	cpus[2].disabled = 1U << 2; /* off, as wanted */
	cpus[3].left = 1U << MACHINE_BIT_QOS; /* no CPU of the plan */
	cpus[3].qos_ns = LATENCY_NONE;
	ck_assert_uint_eq(foreign_count_looser(&machine, &plan), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("foreign");
	TCase *tc = tcase_create("foreign");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, values_of_the_limit_file, 0, (int)ARRAY_SIZE(qos_cases));
	tcase_add_test(tc, umwait_written_by_others);
	tcase_add_test(tc, states_switched_by_others);
	tcase_add_test(tc, relenting_ends_an_alert_but_not_a_yield);
	tcase_add_test(tc, reasserting_has_an_end_and_a_new_beginning);
	tcase_add_test(tc, looser_files_are_counted);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
