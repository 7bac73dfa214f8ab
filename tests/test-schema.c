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
		[C0_OFF] = "off",   [C0_POLL] = "poll", [C0_STATE] = "state",
		[C0_AUTO] = "auto", [C0_C1] = "c1",	NULL,
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

/*
 * The shipped file is the schema's own text: neither can change without the other. CPUIDLED_GOLDEN=write
 * writes it anew.
 */
START_TEST(test_shipped_conf)
{
	const char *mode = getenv("CPUIDLED_GOLDEN");
	char *made = schema_default_conf(), *shipped;

	ck_assert_ptr_nonnull(made);
	if (mode && streq(mode, "write"))
		test_write(TEST_SOURCE_DIR "/..", "etc/cpuidled.conf", made);
	shipped = test_read(TEST_SOURCE_DIR "/..", "etc/cpuidled.conf");
	ck_assert_str_eq(shipped, made);
	free(shipped);
	free(made);
}
END_TEST

/* Takes the "#" off every key and section: what the file says are the defaults. */
static void uncomment(char *conf)
{
	for (char *at = conf; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
		if (at[0] == '#' && at[1] != ' ' && at[1] != '\n')
			at[0] = ' ';
	}
}

START_TEST(test_uncommented_conf)
{
	char *conf = schema_default_conf();
	struct diag_list diags = {0};
	struct policy *p = NULL;
	const struct profile *profile;

	ck_assert_int_eq(policy_new(&p), 0);
	ck_assert_int_eq(policy_add_text(p, "f", conf, strlen(conf), &diags), 0);
	ck_assert_uint_eq(p->n_profiles, 1); /* as shipped it says nothing */
	uncomment(conf);
	ck_assert_int_eq(policy_add_text(p, "f", conf, strlen(conf), &diags), 0);
	ck_assert_uint_eq(diags.n, 0);
	ck_assert_uint_eq(p->n_profiles + p->n_groups + p->n_workloads, 4);
	ck_assert_int_eq(policy_finish(p, &diags), 0);
	/* CPUs= and Profile= of the group, match and Profile= of the workload have no default. */
	ck_assert_uint_eq(diags.n_errors, 4);
	ck_assert_uint_eq(diags.n_warnings, 0);
	profile = policy_profile(p, "NAME");
	ck_assert_ptr_nonnull(profile);
	ck_assert_uint_eq(profile->own.given &
				  ~(SETTING_DISABLE_STATES_RESET | SETTING_ENABLE_STATES_RESET),
			  SETTING_LATENCY_LIMIT | SETTING_C0 | SETTING_C0_DEPTH |
				  SETTING_ZERO_LATENCY | SETTING_C1_INTERRUPTS | SETTING_HALTPOLL |
				  SETTING_BROADCAST | SETTING_IOPORT | SETTING_RESIDENCY_GUARD |
				  SETTING_ADAPT | SETTING_ADAPT_SCOPE);
	ck_assert_uint_eq(profile->resolved.latency_limit_ns, LATENCY_NONE);
	ck_assert_uint_eq(profile->resolved.c0, C0_OFF);
	policy_free(p);
	diag_done(&diags);
	free(conf);
}
END_TEST

/* The manual without the marks of roff that stand in the middle of words. */
static char *read_manual(void)
{
	char *text = test_read(TEST_SOURCE_DIR "/..", "man/cpuidled.conf.5"), *to = text;

	for (const char *from = text; *from != '\0'; from++) {
		if (*from != '\\' || from[1] != '-')
			*to++ = *from;
	}
	*to = '\0';
	return text;
}

/* The text between a mark and the next line that begins with one of two others; caller frees. */
static char *cut(const char *text, const char *mark, const char *end, const char *other_end)
{
	const char *at = strstr(text, mark), *stop, *other_stop;

	ck_assert_msg(at, "the manual has no \"%s\"", mark);
	at += strlen(mark);
	stop = strstr(at, end);
	other_stop = strstr(at, other_end);
	if (!stop || (other_stop && other_stop < stop))
		stop = other_stop;
	ck_assert_ptr_nonnull(stop);
	return strndup(at, (size_t)(stop - at));
}

static void check_paragraph(const struct schema_row *row, const char *paragraph)
{
	char word[64];

	if (row->def) {
		snprintf(word, sizeof(word), "Default: %s.\n", row->def[0] ? row->def : "empty");
		ck_assert_msg(strstr(paragraph, word), "%s=: no \"%s\" in the manual", row->key,
			      word);
	}
	for (unsigned i = 0; row->choices && schema_choice_name(row, i, word, sizeof(word)) == 0;
	     i++)
		ck_assert_msg(strstr(paragraph, word), "%s=: no \"%s\" in the manual", row->key,
			      word);
}

/* Each key has its paragraph in its section of the manual, with default and choices; there are no others. */
START_TEST(test_manual)
{
	char *manual = read_manual();
	size_t n = 0;

	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];
		bool named = schema_section_has_name(row->section);
		char *section, *paragraph, mark[64];

		snprintf(mark, sizeof(mark), "\n.SS [%s%s]", schema_section_name(row->section),
			 named ? " NAME" : "");
		section = cut(manual, mark, "\n.SS ", "\n.SH ");
		section = realloc(section, strlen(section) + 8);
		memcpy(section + strlen(section), "\n.TP\n", 6);
		snprintf(mark, sizeof(mark), "\n.TP\n.B %s=\n", row->key);
		paragraph = cut(section, mark, "\n.TP\n", "\n.PP\n");
		paragraph = realloc(paragraph, strlen(paragraph) + 2);
		memcpy(paragraph + strlen(paragraph), "\n", 2);
		check_paragraph(row, paragraph);
		free(paragraph);
		free(section);
	}
	for (const char *at = manual; (at = strstr(at, "\n.TP\n.B ")); at++)
		n += at[9 + strcspn(at + 9, "=\n")] == '=';
	ck_assert_uint_eq(n, schema_n_rows);
	free(manual);
}
END_TEST

/* Every profile that is shipped is in the manual, and the bounds it gives are those of the headers. */
START_TEST(test_manual_facts)
{
	static const char *const facts[] = {
		"balanced", "powersave", "low-latency",	   "database", "sap-hana",
		"dpdk",	    "realtime",	 "guest-haltpoll", "adaptive",
	};
	char *manual = read_manual(), text[128];

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		snprintf(text, sizeof(text), "\n.TP\n.B %s\n", facts[i]);
		ck_assert_msg(strstr(manual, text), "no paragraph of %s", facts[i]);
	}
	snprintf(text, sizeof(text), "There can be %u profiles, %u groups and %u workloads.",
		 POLICY_PROFILES_MAX, POLICY_GROUPS_MAX, POLICY_WORKLOADS_MAX);
	ck_assert_ptr_nonnull(strstr(manual, text));
	snprintf(text, sizeof(text), "have up to %u letters", POLICY_NAME_MAX);
	ck_assert_ptr_nonnull(strstr(manual, text));
	snprintf(text, sizeof(text), "at most %u bytes without their comment", TEXT_LINE_MAX);
	ck_assert_ptr_nonnull(strstr(manual, text));
	snprintf(text, sizeof(text), "at most %u bytes, %u terms and operators, and %u parentheses",
		 SELECTOR_TEXT_MAX, SELECTOR_TOKENS_MAX, SELECTOR_DEPTH_MAX);
	ck_assert_ptr_nonnull(strstr(manual, text));
	snprintf(text, sizeof(text), "The largest is %" PRIu64 "us.",
		 LATENCY_MAX_NS / NSEC_PER_USEC);
	ck_assert_ptr_nonnull(strstr(manual, text));
	snprintf(text, sizeof(text), "At most %u.\n", WORDS_MAX);
	ck_assert_ptr_nonnull(strstr(manual, text));
	free(manual);
}
END_TEST

/* The examples are good policies, beside the shipped profiles. */
START_TEST(test_manual_examples)
{
	static const char shipped[] = "[Profile low-latency]\n";
	char *manual = read_manual(),
	     *examples = cut(manual, "\n.SH EXAMPLES\n", "\n.SH ", "\n.SH ");
	unsigned n = 0;

	for (const char *at = examples; (at = strstr(at, "\n.RS\n")); n++) {
		struct diag_list diags = {0};
		struct policy *p = NULL;
		char *text = cut(at, "\n.RS\n", "\n.RE\n", "\n.RE\n");

		ck_assert_int_eq(policy_new(&p), 0);
		ck_assert_int_eq(policy_add_text(p, "shipped", shipped, strlen(shipped), &diags),
				 0);
		ck_assert_int_eq(policy_add_text(p, "example", text, strlen(text), &diags), 0);
		ck_assert_int_eq(policy_finish(p, &diags), 0);
		ck_assert_msg(diags.n == 0, "%s\n%s", text, diags.n ? diags.items[0].text : "");
		policy_free(p);
		free(text);
		at++;
	}
	ck_assert_uint_eq(n, 3);
	free(examples);
	free(manual);
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
	tcase_add_test(tc, test_uncommented_conf);
	tcase_add_test(tc, test_manual);
	tcase_add_test(tc, test_manual_facts);
	tcase_add_test(tc, test_manual_examples);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
