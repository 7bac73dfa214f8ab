/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "policy-assign.h"
#include "schema.h"

/* A row that breaks one of these would make a message, a manual or a default wrong. */
START_TEST(test_rows)
{
	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];

		ck_assert_ptr_eq(schema_find(row->section, row->key), row);
		ck_assert_ptr_nonnull(row->help);
		ck_assert_msg(row->help[strlen(row->help) - 1] == '.', "%s: %s", row->key,
			      row->help);
		ck_assert_msg(strlen(row->help) < 98, "%s: help is too long", row->key);
		ck_assert_ptr_nonnull(row->values);
		ck_assert_msg(row->values[strlen(row->values) - 1] != '.', "%s", row->key);
		ck_assert((row->type == TYPE_CHOICE) == (row->choices != NULL));
		if (row->choices)
			ck_assert(schema_choice_index(row, row->def) >= 0);
		ck_assert(row->bit == 0 || row->section == SECTION_PROFILE);
		for (size_t j = 0; j < i; j++)
			ck_assert(row->bit == 0 || row->bit != schema_rows[j].bit);
	}
}
END_TEST

/* Every default is a value that the parser itself takes, and what is put there for an empty one. */
START_TEST(test_defaults)
{
	struct settings s = {.latency_limit_ns = 1, .haltpoll_ns = 1, .c0 = 9, .broadcast = 9};

	ck_assert_int_eq(policy_assign_defaults(&s), 0);
	ck_assert_uint_eq(s.latency_limit_ns, LATENCY_NONE);
	ck_assert_uint_eq(s.haltpoll_ns, HALTPOLL_OFF);
	ck_assert_uint_eq(s.c0, C0_OFF);
	ck_assert_uint_eq(s.c0_depth, C0_DEPTH_2);
	ck_assert_uint_eq(s.zero_latency, ZERO_LATENCY_POLL);
	ck_assert_uint_eq(s.c1_interrupts, C1_NATIVE);
	ck_assert_uint_eq(s.broadcast, BROADCAST_AUTO);
	ck_assert_uint_eq(s.ioport, IOPORT_NATIVE);
	ck_assert_uint_eq(s.disable_states.n, 0);
	settings_done(&s);
}
END_TEST

static void assert_choices(enum schema_section section, const char *key, const char *const *names)
{
	const struct schema_row *row = schema_find(section, key);
	char buf[32];
	unsigned i = 0;

	ck_assert_ptr_nonnull(row);
	for (; names[i]; i++) {
		ck_assert_int_eq(schema_choice_name(row, i, buf, sizeof(buf)), 0);
		ck_assert_str_eq(buf, names[i]);
		ck_assert_int_eq(schema_choice_index(row, names[i]), (int)i);
	}
	ck_assert_int_eq(schema_choice_name(row, i, buf, sizeof(buf)), -EINVAL);
	ck_assert_int_eq(schema_choice_name(row, 0, buf, strlen(names[0])), -ENOBUFS);
	ck_assert_int_eq(schema_choice_index(row, ""), -EINVAL);
	ck_assert_int_eq(schema_choice_index(row, "x"), -EINVAL);
	ck_assert_int_eq(schema_choice_index(row, row->choices), -EINVAL);
}

/* Words are stored as their index: they must follow the enums of policy.h. */
START_TEST(test_choices)
{
	static const char *const c0[] = {
		[C0_OFF] = "off",
		[C0_POLL] = "poll",
		[C0_STATE] = "state",
		[C0_AUTO] = "auto",
		NULL,
	};
	static const char *const depth[] = {[C0_DEPTH_1] = "C0.1", [C0_DEPTH_2] = "C0.2", NULL};
	static const char *const zero[] = {
		[ZERO_LATENCY_POLL] = "poll", [ZERO_LATENCY_C0] = "c0", NULL};
	static const char *const c1[] = {
		[C1_NATIVE] = "native",
		[C1_WINDOW] = "window",
		[C1_STI_MWAIT] = "sti-mwait",
		[C1_AUTO] = "auto",
		NULL,
	};
	static const char *const broadcast[] = {
		[BROADCAST_AUTO] = "auto",
		[BROADCAST_AVOID] = "avoid",
		[BROADCAST_OFF] = "off",
		NULL,
	};
	static const char *const ioport[] = {
		[IOPORT_NATIVE] = "native",
		[IOPORT_DIRECT] = "direct",
		[IOPORT_AUTO] = "auto",
		NULL,
	};
	static const char *const foreign[] = {
		[FOREIGN_YIELD] = "yield",
		[FOREIGN_REASSERT] = "reassert",
		[FOREIGN_ALERT] = "alert",
		NULL,
	};

	assert_choices(SECTION_PROFILE, "C0", c0);
	assert_choices(SECTION_PROFILE, "C0Depth", depth);
	assert_choices(SECTION_PROFILE, "ZeroLatency", zero);
	assert_choices(SECTION_PROFILE, "C1Interrupts", c1);
	assert_choices(SECTION_PROFILE, "Broadcast", broadcast);
	assert_choices(SECTION_PROFILE, "IoPort", ioport);
	assert_choices(SECTION_DAEMON, "OnForeignWrite", foreign);
}
END_TEST

START_TEST(test_sections)
{
	for (int i = 0; i < SECTION_N; i++) {
		enum schema_section section = SECTION_N;
		const char *name = schema_section_name((enum schema_section)i);

		ck_assert_int_eq(schema_section_from_name(name, &section), 0);
		ck_assert_int_eq((int)section, i);
		ck_assert_int_eq(schema_section_has_name((enum schema_section)i),
				 !streq(name, "Daemon"));
	}
}
END_TEST

START_TEST(test_find)
{
	enum schema_section section;

	ck_assert_ptr_null(schema_find(SECTION_PROFILE, "latencylimit"));
	ck_assert_ptr_null(schema_find(SECTION_DAEMON, "LatencyLimit"));
	ck_assert_ptr_null(schema_find(SECTION_PROFILE, ""));
	ck_assert_int_eq(schema_section_from_name("daemon", &section), -EINVAL);
	ck_assert_int_eq(schema_section_from_name("Profile x", &section), -EINVAL);
}
END_TEST

START_TEST(test_nearest)
{
	static const struct {
		enum schema_section section;
		const char *written, *meant;
	} cases[] = {
		{SECTION_PROFILE, "LatencyLimt", "LatencyLimit"},
		{SECTION_PROFILE, "latencylimit", "LatencyLimit"},
		{SECTION_PROFILE, "LATENCYLIMIT", "LatencyLimit"},
		{SECTION_PROFILE, "Latency_Limit", "LatencyLimit"},
		{SECTION_PROFILE, "DisableState", "DisableStates"},
		{SECTION_PROFILE, "IOPort", "IoPort"},
		{SECTION_GROUP, "CPU", "CPUs"},
		{SECTION_GROUP, "Cpus", "CPUs"},
		{SECTION_GROUP, "Prio", NULL},
		{SECTION_GROUP, "force_latency", NULL},
		{SECTION_GROUP, "", NULL},
		{SECTION_PROFILE,
		 "AVeryLongKeyThatIsFarBeyondAnythingThatCouldEverBeAKeyOfThisProgram", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *found = schema_nearest_key(cases[i].section, cases[i].written);

		if (cases[i].meant)
			ck_assert_str_eq(found ? found : "(none)", cases[i].meant);
		else
			ck_assert_msg(!found, "\"%s\" gave %s", cases[i].written, found);
	}
	ck_assert_str_eq(schema_nearest_section("profile"), "Profile");
	ck_assert_str_eq(schema_nearest_section("Grup"), "Group");
	ck_assert_ptr_null(schema_nearest_section("cstates"));
}
END_TEST

START_TEST(test_names)
{
	static const char *const good[] = {"a", "low-latency", "a.b_c-9",
					   "0123456789012345678901234567890123456789"};
	static const char *const bad[] = {
		"", "a b", "a/b", "a:b", "ä", "a\tb", "01234567890123456789012345678901234567890",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ck_assert_msg(schema_name_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_msg(!schema_name_valid(bad[i]), "%s", bad[i]);
}
END_TEST

/* The shipped file is the schema's own text: neither can change without the other. */
START_TEST(test_shipped_conf)
{
	char *shipped = test_read(TEST_SOURCE_DIR "/..", "etc/cpuidled.conf");
	char *made = schema_default_conf();

	ck_assert_ptr_nonnull(made);
	ck_assert_str_eq(shipped, made);
	free(shipped);
	free(made);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schema");
	TCase *tc = tcase_create("schema");

	tcase_add_test(tc, test_rows);
	tcase_add_test(tc, test_defaults);
	tcase_add_test(tc, test_choices);
	tcase_add_test(tc, test_sections);
	tcase_add_test(tc, test_find);
	tcase_add_test(tc, test_nearest);
	tcase_add_test(tc, test_names);
	tcase_add_test(tc, test_shipped_conf);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
