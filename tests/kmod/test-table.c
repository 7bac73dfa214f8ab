// SPDX-License-Identifier: GPL-2.0-only
/* Unit tests of kmod/table.c, compiled in user space. */
#include <check.h>
#include <stdlib.h>
#include "table.h"

#define R(x)   CPUIDLE_POLICY_RULE_##x
#define COUNTOF(x) (sizeof(x) / sizeof((x)[0]))

/* POLL, C1 by MWAIT, C2 whose timer stops, C3 that handles RCU, C4 coupled, C5 IBRS and xstate */
static const struct table_caps caps = {
	.states = 6,
	.polling = BIT(0),
	.mwait_c1 = BIT(1) | BIT(5),
	.timer_stop = BIT(2),
	.rcu_idle = BIT(3),
	.coupled = BIT(4),
	.ibrs = BIT(5),
	.timer_stops = true,
	.c0_reason = "no CPU has UMWAIT",
	.ioport_reason = "reads no port",
};
static const u32 waitpkg[2] = { 1, 0 };
static const struct table_caps plain = {
	.states = 3, .polling = BIT(0), .mwait_c1 = BIT(1), .c1 = BIT(1), .waitpkg = waitpkg,
};
static const struct table_caps guest = {
	.states = 3, .polling = BIT(0), .c1 = BIT(1), .waitpkg = waitpkg, .in_guest = true,
};
static const struct table_caps fixed = {
	.states = 2, .waitpkg = waitpkg, .row_reason = "by their place",
};
static const struct table_caps none = { .states = 0, .waitpkg = waitpkg, .row_reason = "no driver" };
static const struct table_caps all_stop = { .states = 2, .timer_stop = 3 };
static const struct table_caps bug = { .states = 2, .mwait_c1 = BIT(1), .monitor_bug = true };
static const struct table_caps xstate = { .states = 2, .mwait_c1 = BIT(1), .xstate = BIT(1),
					 .clock_bad = true };

struct field_case {
	const struct table_caps *caps;
	u32 attr, value;
	int err;
	const char *text; /* a part of it */
};

static const struct field_case fields[] = {
	/* refused first: there are more ways to be wrong */
	{ &caps, R(IRQ_WINDOW), BIT(0), -EOPNOTSUPP, "polling" },
	{ &caps, R(IRQ_WINDOW), BIT(1) | BIT(2), -EOPNOTSUPP, "timer" },
	{ &caps, R(IRQ_WINDOW), BIT(3), -EOPNOTSUPP, "RCU" },
	{ &caps, R(IRQ_WINDOW), BIT(4), -EOPNOTSUPP, "together" },
	{ &caps, R(IRQ_WINDOW), BIT(6), -EINVAL, "no such state" },
	{ &caps, R(IRQ_WINDOW), 0xffffffff, -EINVAL, "no such state" },
	{ &caps, R(STI_MWAIT), BIT(0), -EOPNOTSUPP, "only for C1" },
	{ &caps, R(STI_MWAIT), BIT(2), -EOPNOTSUPP, "only for C1" },
	{ &caps, R(STI_MWAIT), BIT(5), -EOPNOTSUPP, "IBRS" },
	{ &caps, R(STI_MWAIT), BIT(10), -EINVAL, "no such state" },
	{ &bug, R(STI_MWAIT), BIT(1), -EOPNOTSUPP, "MONITOR" },
	{ &xstate, R(STI_MWAIT), BIT(1), -EOPNOTSUPP, "extended state" },
	{ &caps, R(STATES_OFF), BIT(31), -EINVAL, "no such state" },
	{ &caps, R(STATES_OFF), 0x3f, -EINVAL, "no state at all" },
	{ &caps, R(BROADCAST), 3, -EINVAL, "unknown" },
	{ &caps, R(BROADCAST), 0xffffffff, -EINVAL, "unknown" },
	{ &caps, R(BROADCAST), CPUIDLE_POLICY_BROADCAST_OFF, -EOPNOTSUPP, "C3STOP" },
	{ &all_stop, R(BROADCAST), CPUIDLE_POLICY_BROADCAST_OFF, -EOPNOTSUPP, "C3STOP" },
	{ &all_stop, R(BROADCAST), CPUIDLE_POLICY_BROADCAST_AVOID, -EINVAL, "no state at all" },
	{ &caps, R(COUNT), 2, -EINVAL, "0 or 1" },
	{ &caps, R(POLL_BACKEND), CPUIDLE_POLICY_POLL_C02, -EOPNOTSUPP, "no CPU has UMWAIT" },
	{ &caps, R(POLL_BACKEND), __CPUIDLE_POLICY_POLL_END, -EINVAL, "unknown" },
	{ &guest, R(POLL_BACKEND), CPUIDLE_POLICY_POLL_C01, -EOPNOTSUPP, "GUEST" },
	{ &guest, R(C0_ROW), CPUIDLE_POLICY_ROW_C01, -EOPNOTSUPP, "GUEST" },
	{ &fixed, R(POLL_BACKEND), CPUIDLE_POLICY_POLL_C01, -EOPNOTSUPP, "no polling" },
	{ &fixed, R(C1_BACKEND), CPUIDLE_POLICY_C1_C01, -EOPNOTSUPP, "no plain C1" },
	{ &fixed, R(C0_ROW), CPUIDLE_POLICY_ROW_C02, -EOPNOTSUPP, "by their place" },
	{ &none, R(C0_ROW), CPUIDLE_POLICY_ROW_C02, -EOPNOTSUPP, "no driver" },
	{ &caps, R(C1_BACKEND), CPUIDLE_POLICY_C1_C01, -EOPNOTSUPP, "no CPU has UMWAIT" },
	{ &caps, R(C1_BACKEND), 77, -EINVAL, "unknown" },
	{ &caps, R(C0_ROW), CPUIDLE_POLICY_ROW_C02, -EOPNOTSUPP, "no CPU has UMWAIT" },
	{ &caps, R(C0_ROW), 3, -EINVAL, "unknown" },
	{ &caps, R(HALTPOLL_NS), 999, -ERANGE, "1000 to 10000000" },
	{ &caps, R(HALTPOLL_NS), 10000001, -ERANGE, "1000 to 10000000" },
	{ &caps, R(HALTPOLL_NS), 0xffffffff, -ERANGE, "1000 to 10000000" },
	{ &fixed, R(HALTPOLL_NS), 200000, -EOPNOTSUPP, "no polling state" },
	{ &xstate, R(HALTPOLL_NS), 200000, -EOPNOTSUPP, "no clock" },
	{ &caps, R(IOPORT), 2, -EINVAL, "unknown" },
	{ &caps, R(IOPORT), CPUIDLE_POLICY_IOPORT_DIRECT, -EOPNOTSUPP, "reads no port" },
	{ &none, R(HALTPOLL_NS), 200000, -ENODEV, "OWN_DRIVER" },
	{ &none, R(IRQ_WINDOW), 1, -ENODEV, "OWN_DRIVER" },
	{ &none, R(STATES_OFF), 1, -ENODEV, "OWN_DRIVER" },
	{ &none, R(COUNT), 1, -ENODEV, "OWN_DRIVER" },
	/* taken */
	{ &caps, R(IRQ_WINDOW), BIT(1), 0, NULL },
	{ &caps, R(STI_MWAIT), BIT(1), 0, NULL },
	{ &caps, R(STATES_OFF), 0x3e, 0, NULL },
	{ &caps, R(STATES_OFF), 0x1f, 0, NULL },
	{ &caps, R(BROADCAST), CPUIDLE_POLICY_BROADCAST_AVOID, 0, NULL },
	{ &plain, R(BROADCAST), CPUIDLE_POLICY_BROADCAST_OFF, 0, NULL },
	{ &caps, R(COUNT), 1, 0, NULL },
	{ &caps, R(POLL_BACKEND), 0, 0, NULL },
	{ &guest, R(C1_BACKEND), 0, 0, NULL },
	{ &caps, R(HALTPOLL_NS), 1000, 0, NULL },
	{ &caps, R(HALTPOLL_NS), 10000000, 0, NULL },
	{ &caps, R(IOPORT), 0, 0, NULL },
	{ &plain, R(IOPORT), CPUIDLE_POLICY_IOPORT_DIRECT, 0, NULL },
	{ &plain, R(POLL_BACKEND), CPUIDLE_POLICY_POLL_C02, 0, NULL },
	{ &plain, R(C1_BACKEND), CPUIDLE_POLICY_C1_C01, 0, NULL },
	{ &plain, R(C0_ROW), CPUIDLE_POLICY_ROW_C02, 0, NULL },
	{ &none, R(IRQ_WINDOW), 0, 0, NULL },
	{ &none, R(BROADCAST), 0, 0, NULL },
};

START_TEST(test_fields)
{
	const struct field_case *c = &fields[_i];
	struct table_refusal refusal = { 0 };
	union table_row rows[1] = { { .w = 0 } };
	u32 mask = 1;
	struct table_rule rule = { .given = BIT(c->attr), .mask = &mask, .words = 1 };
	int ret;

	rule.value[c->attr] = c->value;
	ret = table_rule_check(c->caps, &rule, &refusal);
	if (!ret)
		ret = table_rule_apply(c->caps, &rule, rows, 1, &refusal);
	ck_assert_int_eq(ret, c->err);
	if (!c->err)
		return;
	ck_assert_int_eq(refusal.err, c->err);
	ck_assert_uint_eq(refusal.attr, c->attr);
	ck_assert_ptr_nonnull(strstr(refusal.text, c->text));
}
END_TEST

struct mask_case {
	u32 words, mask[4];
	u32 nr, possible[4];
	int err;
};

static const struct mask_case masks[] = {
	{ 0, { 0 }, 4, { 0xf }, -EINVAL },
	{ 1, { 0 }, 4, { 0xf }, -EINVAL },
	{ 1, { 0x10 }, 4, { 0xf }, -ERANGE },
	{ 1, { 0x2 }, 4, { 0xd }, -ERANGE }, /* a hole */
	{ 2, { 1, 1 }, 32, { 0xffffffff }, -ERANGE },
	{ 4, { 1, 0, 0, 0x80000000 }, 33, { 0xffffffff, 1 }, -ERANGE },
	{ 1, { 0xf }, 4, { 0xf }, 0 },
	{ 4, { 0xf }, 4, { 0xf }, 0 },
	{ 1, { 0xf }, 100, { 0xffffffff, 0xffffffff, 0xffffffff, 0xf }, 0 }, /* short */
	{ 2, { 0, 1 }, 33, { 0xffffffff, 1 }, 0 },
};

START_TEST(test_masks)
{
	const struct mask_case *c = &masks[_i];
	struct table_refusal refusal = { 0 };
	int ret = table_mask_check(c->mask, c->words, c->possible, c->nr, &refusal);

	ck_assert_int_eq(ret, c->err);
	if (ret)
		ck_assert_uint_eq(refusal.attr, R(CPUMASK));
}
END_TEST

START_TEST(test_row_is_one_word)
{
	union table_row row = { .w = 0 };

	ck_assert_uint_eq(sizeof(row), 8);
	row.irq_window = 0x3ff;
	row.sti_mwait = 0x3ff;
	row.states_off = 0x3ff;
	row.broadcast = 3;
	row.count = 1;
	row.poll = 3;
	row.c1 = 3;
	row.c0 = 3;
	row.haltpoll_us = CPUIDLE_POLICY_HALTPOLL_MAX / 1000;
	ck_assert_uint_eq(row.haltpoll_us, CPUIDLE_POLICY_HALTPOLL_MAX / 1000);
	row.haltpoll_us = 0x3fff;
	row.ioport = 1;
	ck_assert_uint_eq(row.w, (1ULL << 54) - 1);
}
END_TEST

START_TEST(test_missing_field_keeps)
{
	union table_row rows[40] = { 0 };
	u32 mask[2] = { 0x3, 0x80 };
	struct table_rule rule = { .given = BIT(R(IRQ_WINDOW)), .mask = mask, .words = 2 };
	struct table_refusal refusal;
	u32 cpu;

	rule.value[R(IRQ_WINDOW)] = BIT(1);
	ck_assert_int_eq(table_rule_apply(&plain, &rule, rows, 40, &refusal), 0);
	rule.given = BIT(R(STATES_OFF));
	rule.value[R(STATES_OFF)] = BIT(2);
	mask[0] = 0x2;
	ck_assert_int_eq(table_rule_apply(&plain, &rule, rows, 40, &refusal), 0);
	ck_assert_uint_eq(rows[0].irq_window, BIT(1));
	ck_assert_uint_eq(rows[0].states_off, 0);
	ck_assert_uint_eq(rows[1].irq_window, BIT(1));
	ck_assert_uint_eq(rows[1].states_off, BIT(2));
	ck_assert_uint_eq(rows[39].states_off, BIT(2));
	for (cpu = 2; cpu < 39; cpu++)
		ck_assert_uint_eq(rows[cpu].w, 0);
}
END_TEST

START_TEST(test_fields_together)
{
	union table_row rows[1] = { { .irq_window = BIT(1) } };
	u32 mask = 1;
	struct table_rule rule = { .given = BIT(R(STI_MWAIT)), .mask = &mask, .words = 1 };
	struct table_refusal refusal;

	rule.value[R(STI_MWAIT)] = BIT(1);
	ck_assert_int_eq(table_rule_apply(&plain, &rule, rows, 1, &refusal), -EINVAL);
	ck_assert_uint_eq(refusal.attr, R(STI_MWAIT));

	rows[0] = (union table_row){ .sti_mwait = BIT(1), .c1 = 1 };
	ck_assert_int_eq(table_row_check(&plain, rows[0], &refusal), -EINVAL);
	ck_assert_uint_eq(refusal.attr, R(C1_BACKEND));

	/* our own state is one to be left with, as long as it is there */
	rows[0] = (union table_row){ .states_off = 7, .c0 = 1 };
	ck_assert_int_eq(table_row_check(&plain, rows[0], &refusal), 0);
	rows[0].c0 = 0;
	ck_assert_int_eq(table_row_check(&plain, rows[0], &refusal), -EINVAL);

	/* states off and broadcast avoid are each fine, but not together */
	rows[0].w = 0;
	rows[0].states_off = 0x3b;
	ck_assert_int_eq(table_row_check(&caps, rows[0], &refusal), 0);
	rows[0].broadcast = CPUIDLE_POLICY_BROADCAST_AVOID;
	ck_assert_int_eq(table_row_check(&caps, rows[0], &refusal), -EINVAL);
}
END_TEST

/* Hybrid parts: CPU 0 has UMWAIT, CPU 1 has not. */
START_TEST(test_waitpkg_per_cpu)
{
	union table_row rows[2] = { 0 };
	u32 mask = 3;
	struct table_rule rule = { .given = BIT(R(C0_ROW)), .mask = &mask, .words = 1 };
	struct table_refusal refusal;

	rule.value[R(C0_ROW)] = CPUIDLE_POLICY_ROW_C02;
	ck_assert_int_eq(table_rule_check(&plain, &rule, &refusal), 0);
	ck_assert_int_eq(table_rule_apply(&plain, &rule, rows, 2, &refusal), -EOPNOTSUPP);
	ck_assert_uint_eq(refusal.attr, R(C0_ROW));
	mask = 1;
	ck_assert_int_eq(table_rule_apply(&plain, &rule, rows, 2, &refusal), 0);
	ck_assert_uint_eq(rows[0].c0, CPUIDLE_POLICY_ROW_C02);
}
END_TEST

START_TEST(test_live)
{
	union table_row row = { .irq_window = 0x6, .states_off = 0x5, .sti_mwait = BIT(8), .c1 = 1 }, live;
	u32 set, at;

	live = table_row_live(&plain, row, -1);
	ck_assert_uint_eq(live.irq_window, 0x6);
	ck_assert_uint_eq(live.states_off, 0x5);
	ck_assert_uint_eq(live.c1_at, 1);
	live = table_row_live(&plain, row, 1);
	ck_assert_uint_eq(live.irq_window, 0xc);
	ck_assert_uint_eq(live.sti_mwait, BIT(9));
	ck_assert_uint_eq(live.states_off, 0xb); /* and ours, which nobody asked for */
	ck_assert_uint_eq(live.c1_at, 2);
	row.c0 = CPUIDLE_POLICY_ROW_C02;
	ck_assert_uint_eq(table_row_live(&plain, row, 1).states_off, 0x9);
	row.w = 0;
	ck_assert_uint_eq(table_row_live(&plain, row, -1).w, 0);
	for (at = 0; at < TABLE_STATES; at++) {
		for (set = 0; set < BIT(TABLE_STATES - 1); set++) {
			ck_assert_uint_eq(table_set_live(set, at) & BIT(at), 0);
			ck_assert_uint_eq(table_set_plain(table_set_live(set, at), at), set);
			/* our own state is nobody's */
			ck_assert_uint_eq(table_set_plain(table_set_live(set, at) | BIT(at), at), set);
		}
	}
}
END_TEST

START_TEST(test_driver_goes)
{
	union table_row rows[3] = { 0 };
	struct table_refusal refusal;

	ck_assert_int_eq(table_rows_check(&none, rows, 3, &refusal), 0);
	rows[2].count = 1;
	ck_assert_int_eq(table_rows_check(&none, rows, 3, &refusal), -EBUSY);
	ck_assert_uint_eq(table_row_fit(&none, rows[2]).w, 0);
}
END_TEST

/* What fits must pass, whatever the row was. */
START_TEST(test_fit_passes_check)
{
	const struct table_caps *tables[] = { &caps, &plain, &none, &all_stop, &bug, &xstate,
					      &guest, &fixed };
	struct table_refusal refusal;
	union table_row row;
	u32 i, n;

	srandom(1);
	for (n = 0; n < 10000; n++) {
		for (i = 0; i < COUNTOF(tables); i++) {
			row.w = ((u64)random() << 31 | (u64)random()) & ((1ULL << 54) - 1);
			row.broadcast = row.broadcast % __CPUIDLE_POLICY_BROADCAST_END;
			row.sti_mwait &= (u32)~row.irq_window;
			row = table_row_fit(tables[i], row);
			ck_assert_int_eq(table_row_check(tables[i], row, &refusal), 0);
		}
	}
}
END_TEST

START_TEST(test_veto)
{
	union table_row row = { .states_off = BIT(3) };

	ck_assert_uint_eq(table_row_veto(row, BIT(2)), BIT(3));
	row.broadcast = CPUIDLE_POLICY_BROADCAST_OFF;
	ck_assert_uint_eq(table_row_veto(row, BIT(2)), BIT(3));
	row.broadcast = CPUIDLE_POLICY_BROADCAST_AVOID;
	ck_assert_uint_eq(table_row_veto(row, BIT(2)), BIT(2) | BIT(3));
}
END_TEST

START_TEST(test_groups)
{
	union table_row rows[70] = { 0 };
	u32 todo[3] = { 0xffffffff, 0xffffffff, 0x3e }, mask[3], cpu, seen = 0;

	rows[1].w = 5;
	rows[64].w = 5; /* not in todo */
	rows[69].w = 5;
	rows[33].w = 9;
	cpu = table_rows_group(rows, 70, todo, mask);
	ck_assert_uint_eq(cpu, 0);
	ck_assert_uint_eq(mask[0], 0xfffffffd);
	ck_assert_uint_eq(mask[1], 0xfffffffd);
	ck_assert_uint_eq(mask[2], 0x1e);
	cpu = table_rows_group(rows, 70, todo, mask);
	ck_assert_uint_eq(cpu, 1);
	ck_assert_uint_eq(mask[0], 2);
	ck_assert_uint_eq(mask[2], 0x20);
	cpu = table_rows_group(rows, 70, todo, mask);
	ck_assert_uint_eq(cpu, 33);
	ck_assert_uint_eq(table_rows_group(rows, 70, todo, mask), 70);
	for (cpu = 0; cpu < 3; cpu++)
		seen |= todo[cpu];
	ck_assert_uint_eq(seen, 0);
}
END_TEST

START_TEST(test_diff_and_any)
{
	union table_row old[40] = { 0 }, new[40] = { 0 };
	u32 mask[2];

	ck_assert_uint_eq(table_rows_diff(old, new, 40, mask), 0);
	new[0].count = 1;
	new[39].irq_window = 2;
	ck_assert_uint_eq(table_rows_diff(old, new, 40, mask), 2);
	ck_assert_uint_eq(mask[0], 1);
	ck_assert_uint_eq(mask[1], 0x80);
	ck_assert_uint_eq(table_rows_any(new, 40).count, 1);
	ck_assert_uint_eq(table_rows_any(new, 40).irq_window, 2);
	ck_assert_uint_eq(table_rows_any(old, 40).w, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("table");
	TCase *tc = tcase_create("table");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_fields, 0, COUNTOF(fields));
	tcase_add_loop_test(tc, test_masks, 0, COUNTOF(masks));
	tcase_add_test(tc, test_row_is_one_word);
	tcase_add_test(tc, test_missing_field_keeps);
	tcase_add_test(tc, test_fields_together);
	tcase_add_test(tc, test_waitpkg_per_cpu);
	tcase_add_test(tc, test_live);
	tcase_add_test(tc, test_driver_goes);
	tcase_add_test(tc, test_fit_passes_check);
	tcase_add_test(tc, test_veto);
	tcase_add_test(tc, test_groups);
	tcase_add_test(tc, test_diff_and_any);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
