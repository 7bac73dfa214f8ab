/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "fragment.h"
#include "policy.h"

#define WORDS_OF_CASE 4

struct fragment_case {
	const char *cpus;
	const char *words[WORDS_OF_CASE];
	const char *result; /* NULL: refused with error */
	const char *error; /* part of it */
};

static const struct fragment_case cases[] = {
	{NULL, {"DefaultProfile=low-latency"}, "[Daemon]\nDefaultProfile=low-latency\n", NULL},
	{NULL,
	 {"DefaultProfile=a", "GlobalLatencyLimit=10us"},
	 "[Daemon]\nDefaultProfile=a\nGlobalLatencyLimit=10us\n",
	 NULL},
	{"0-3",
	 {"Profile=realtime"},
	 "[Group runtime-0-3]\nCPUs=0-3\nPriority=1000\nProfile=realtime\n",
	 NULL},
	{"0-3,8",
	 {"LatencyLimit=20us"},
	 "[Group runtime-0-3.8]\nCPUs=0-3,8\nPriority=1000\nProfile=runtime-0-3.8\n"
	 "[Profile runtime-0-3.8]\nLatencyLimit=20us\n",
	 NULL},
	{"all",
	 {"Profile=database", "Priority=7", "DisableStates=C6", "DisableStates=C1E"},
	 "[Group runtime-all]\nCPUs=all\nPriority=7\nProfile=runtime-all\n"
	 "[Profile runtime-all]\nBase=database\nDisableStates=C6\nDisableStates=C1E\n",
	 NULL},
	{"0",
	 {"Base=x"},
	 "[Group runtime-0]\nCPUs=0\nPriority=1000\nProfile=runtime-0\n"
	 "[Profile runtime-0]\nBase=x\n",
	 NULL},
	{"0",
	 {"LatencyLimit=a=b"},
	 "[Group runtime-0]\nCPUs=0\nPriority=1000\nProfile=runtime-0\n"
	 "[Profile runtime-0]\nLatencyLimit=a=b\n",
	 NULL},
	{NULL, {"LatencyLimit=20us"}, NULL, "--cpus"},
	{NULL, {"Profile=x"}, NULL, "--cpus"},
	{NULL, {"DefaultProfil=x"}, NULL, "did you mean DefaultProfile=?"},
	{NULL, {"Qqqqqqqqqqqq=x"}, NULL, "[Daemon]"},
	{NULL, {"DefaultProfile"}, NULL, "KEY=VALUE"},
	{NULL, {"=x"}, NULL, "KEY=VALUE"},
	{NULL, {""}, NULL, "KEY=VALUE"},
	{NULL, {"DefaultProfile=a\n[Group x]"}, NULL, "control character"},
	{NULL, {"DefaultProfile=a\x7f"}, NULL, "control character"},
	{"0", {"CPUs=1"}, NULL, "--cpus"},
	{"0", {"DefaultProfile=x"}, NULL, "leave --cpus out"},
	{"0", {"LatencyLimt=x"}, NULL, "did you mean LatencyLimit=?"},
	{"0", {"Profile=a", "Base=b"}, NULL, "one of them"},
	{"0-", {"Profile=a"}, NULL, "--cpus 0-"},
	{"node:", {"Profile=a"}, NULL, "--cpus node:"},
};

static int count(const struct fragment_case *c)
{
	int n = 0;

	while (n < WORDS_OF_CASE && c->words[n])
		n++;
	return n;
}

START_TEST(test_case)
{
	const struct fragment_case *c = &cases[_i];
	char error[256], *text = NULL;
	int r;

	r = fragment_make(c->cpus, c->words, count(c), NULL, &text, error, sizeof(error));
	if (c->result) {
		ck_assert_msg(r == 0, "%s: %s", c->words[0], error);
		ck_assert_str_eq(text, c->result);
		free(text);
	} else {
		ck_assert_int_eq(r, -EINVAL);
		ck_assert_ptr_null(text);
		ck_assert_msg(strstr(error, c->error) != NULL, "%s: %s", c->words[0], error);
	}
}
END_TEST

/* Any selector gives a name that the policy takes, the same one each time, and another for another. */
START_TEST(test_names)
{
	static const char *const selectors[] = {
		"isolated & !node:1",
		"isolated & !node:2",
		"(package:0 | package:1) & !isolated & !nohz_full & !0-3",
		"0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36",
		"node:0",
	};
	const char *word = "Profile=p";
	char *texts[ARRAY_SIZE(selectors)] = {NULL}, *again, error[256];
	struct diag_list diags = {0};
	struct policy *p;

	ck_assert_int_eq(policy_new(&p), 0);
	ck_assert_int_eq(policy_add_text(p, "p", "[Profile p]\n", 12, &diags), 0);
	for (size_t i = 0; i < ARRAY_SIZE(selectors); i++) {
		ck_assert_int_eq(fragment_make(selectors[i], &word, 1, NULL, &texts[i], error,
					       sizeof(error)),
				 0);
		ck_assert_int_eq(fragment_make(selectors[i], &word, 1, NULL, &again, error,
					       sizeof(error)),
				 0);
		ck_assert_str_eq(texts[i], again);
		free(again);
		ck_assert_int_eq(policy_add_text(p, "t", texts[i], strlen(texts[i]), &diags), 0);
	}
	ck_assert_int_eq(policy_finish(p, &diags), 0);
	ck_assert_uint_eq(diags.n_errors, 0);
	ck_assert_uint_eq(p->n_groups, ARRAY_SIZE(selectors));
	for (size_t i = 0; i < ARRAY_SIZE(selectors); i++)
		free(texts[i]);
	policy_free(p);
	diag_done(&diags);
}
END_TEST

/* What new keys are laid upon, where nobody says: asked for only then. */
START_TEST(base_of_what_stands)
{
	static const struct {
		const char *cpus, *words[2];
		const char *name; /* of the profile that wants a base, NULL: none does */
		const char *result; /* with base "app" */
	} bases[] = {
		{"0-3",
		 {"C0=auto"},
		 "runtime-0-3",
		 "[Group runtime-0-3]\nCPUs=0-3\nPriority=1000\nProfile=runtime-0-3\n"
		 "[Profile runtime-0-3]\nBase=app\nC0=auto\n"},
		{"0",
		 {"C0=auto", "Profile=x"},
		 NULL,
		 "[Group runtime-0]\nCPUs=0\nPriority=1000\nProfile=runtime-0\n"
		 "[Profile runtime-0]\nBase=x\nC0=auto\n"},
		{"0",
		 {"C0=auto", "Base=x"},
		 NULL,
		 "[Group runtime-0]\nCPUs=0\nPriority=1000\nProfile=runtime-0\n"
		 "[Profile runtime-0]\nC0=auto\nBase=x\n"},
		{"0", {"Profile=x"}, NULL, "[Group runtime-0]\nCPUs=0\nPriority=1000\nProfile=x\n"},
		{NULL, {"DefaultProfile=x"}, NULL, "[Daemon]\nDefaultProfile=x\n"},
		{"0", {"Nothing=x"}, NULL, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		char name[POLICY_NAME_MAX + 1] = "", error[256];
		int n = bases[i].words[1] ? 2 : 1;
		char *text = NULL;

		ck_assert_int_eq(fragment_wants_base(bases[i].cpus, bases[i].words, n, name),
				 bases[i].name != NULL);
		ck_assert_str_eq(name, bases[i].name ? bases[i].name : "");
		ck_assert_int_eq(fragment_make(bases[i].cpus, bases[i].words, n, "app", &text,
					       error, sizeof(error)) == 0,
				 bases[i].result != NULL);
		if (bases[i].result)
			ck_assert_str_eq(text, bases[i].result);
		free(text);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fragment");
	TCase *c = tcase_create("fragment");

	tcase_add_test(c, base_of_what_stands);
	tcase_add_loop_test(c, test_case, 0, ARRAY_SIZE(cases));
	tcase_add_test(c, test_names);
	suite_add_tcase(s, c);
	return test_main(s);
}
