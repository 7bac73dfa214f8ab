/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "overlay.h"

struct merge_case {
	const char *name, *base, *addition, *result;
};

static const struct merge_case cases[] = {
	{"nothing", "", "", ""},
	{"into nothing", "", "[Daemon]\nDefaultProfile=a\n", "[Daemon]\nDefaultProfile=a\n"},
	{"nothing into something", "[Daemon]\nA=1\n", "", "[Daemon]\nA=1\n"},
	{"another key stays", "[Daemon]\nA=1\n", "[Daemon]\nB=2\n", "[Daemon]\nA=1\nB=2\n"},
	{"the same key is replaced", "[Daemon]\nA=1\nB=2\n", "[Daemon]\nA=3\n",
	 "[Daemon]\nB=2\nA=3\n"},
	{"sections do not mix", "[Group x]\nA=1\n", "[Group y]\nA=2\n",
	 "[Group x]\nA=1\n[Group y]\nA=2\n"},
	{"a list within one call", "[P x]\nL=a\n", "[P x]\nL=b\nL=c\n", "[P x]\nL=b\nL=c\n"},
	{"an empty value is a value", "[P x]\nL=a\n", "[P x]\nL=\n", "[P x]\nL=\n"},
	{"a section given twice becomes one", "", "[A]\nK=1\n[B]\nK=2\n[A]\nM=3\n",
	 "[A]\nK=1\nM=3\n[B]\nK=2\n"},
	{"comments go", "", "# x\n[A]\n; y\nK=1\n", "[A]\nK=1\n"},
};

START_TEST(test_merge)
{
	const struct merge_case *c = &cases[_i];
	struct diag_list diags = {0};
	char *text = NULL;

	ck_assert_int_eq(overlay_merge("s", c->base, c->addition, 4096, &diags, &text), 0);
	ck_assert_msg(streq(text, c->result), "%s: '%s', not '%s'", c->name, text, c->result);
	ck_assert_uint_eq(diags.n, 0);
	free(text);
}
END_TEST

/* Merging the same call again changes nothing: the text cannot grow by repetition. */
START_TEST(test_idempotent)
{
	const struct merge_case *c = &cases[_i];
	char *once = NULL, *twice = NULL;

	ck_assert_int_eq(overlay_merge("s", c->base, c->addition, 4096, NULL, &once), 0);
	ck_assert_int_eq(overlay_merge("s", once, c->addition, 4096, NULL, &twice), 0);
	ck_assert_uint_eq(strlen(once), strlen(twice));
	free(once);
	free(twice);
}
END_TEST

static const char *const bad[] = {
	"[Daemon\nA=1\n",
	"A=1\n",
	"[Daemon]\nno assignment\n",
	"[]\nA=1\n",
};

START_TEST(test_bad)
{
	struct diag_list diags = {0};
	char *text = NULL;

	ck_assert_int_eq(overlay_merge("settings", "[X]\nA=1\n", bad[_i], 4096, &diags, &text),
			 -EBADMSG);
	ck_assert_ptr_null(text);
	ck_assert_uint_ge(diags.n_errors, 1);
	ck_assert_str_eq(diags.items[0].file, "settings");
	diag_done(&diags);
}
END_TEST

START_TEST(test_limit)
{
	char *text = NULL;

	ck_assert_int_eq(overlay_merge("s", "", "[A]\nK=12345\n", 12, NULL, &text), 0);
	ck_assert_uint_eq(strlen(text), 12);
	free(text);
	text = NULL;
	ck_assert_int_eq(overlay_merge("s", "", "[A]\nK=12345\n", 11, NULL, &text), -E2BIG);
	ck_assert_ptr_null(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("overlay");
	TCase *c = tcase_create("overlay");

	tcase_add_loop_test(c, test_merge, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(c, test_idempotent, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(c, test_bad, 0, ARRAY_SIZE(bad));
	tcase_add_test(c, test_limit);
	suite_add_tcase(s, c);
	return test_main(s);
}
