/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "diag.h"

static void assert_line(const struct diag *diag, const char *text)
{
	char buf[256];

	ck_assert_uint_eq(diag_format(diag, buf, sizeof(buf)), strlen(text));
	ck_assert_str_eq(buf, text);
}

START_TEST(test_add)
{
	struct diag_list list = {0};
	char name[] = "a.conf";

	diag_add(&list, DIAG_ERROR, name, 3, "\"%s\" is bad; use %d", "x", 20);
	name[0] = 'b'; /* the list keeps its own copy */
	diag_add(&list, DIAG_WARNING, "b.conf", 0, "odd");
	diag_add(&list, DIAG_INFO, NULL, 0, "host");
	diag_add(NULL, DIAG_ERROR, NULL, 0, "nobody wants to know");
	ck_assert_uint_eq(list.n, 3);
	ck_assert_uint_eq(list.n_errors, 1);
	ck_assert_uint_eq(list.n_warnings, 1);
	ck_assert_uint_eq(list.dropped, 0);
	assert_line(&list.items[0], "a.conf:3: error: \"x\" is bad; use 20");
	assert_line(&list.items[1], "b.conf: warning: odd");
	assert_line(&list.items[2], "info: host");
	diag_done(&list);
	ck_assert_uint_eq(list.n, 0);
	diag_done(&list);
}
END_TEST

START_TEST(test_format_cut)
{
	struct diag_list list = {0};
	char buf[8];

	diag_add(&list, DIAG_ERROR, "file", 12, "text");
	ck_assert_uint_eq(diag_format(&list.items[0], buf, sizeof(buf)),
			  strlen("file:12: error: text"));
	ck_assert_str_eq(buf, "file:12");
	diag_done(&list);
}
END_TEST

/* The list is bounded; what does not fit is still counted, so an error can never get lost. */
START_TEST(test_bound)
{
	struct diag_list list = {0};

	for (uint32_t i = 0; i < DIAG_MAX; i++)
		diag_add(&list, DIAG_WARNING, "f", i + 1, "w");
	diag_add(&list, DIAG_ERROR, "f", 1000, "e");
	ck_assert_uint_eq(list.n, DIAG_MAX);
	ck_assert_uint_eq(list.dropped, 1);
	ck_assert_uint_eq(list.n_errors, 1);
	ck_assert_uint_eq(list.n_warnings, DIAG_MAX);
	diag_done(&list);
}
END_TEST

START_TEST(test_move)
{
	struct diag_list a = {0}, b = {0};

	diag_add(&a, DIAG_ERROR, "a", 1, "first");
	diag_add(&b, DIAG_WARNING, "b", 1, "second");
	diag_add(&b, DIAG_ERROR, NULL, 0, "third");
	diag_move(&a, &b);
	ck_assert_uint_eq(b.n, 0);
	ck_assert_uint_eq(b.n_errors, 0);
	ck_assert_uint_eq(a.n, 3);
	ck_assert_uint_eq(a.n_errors, 2);
	ck_assert_uint_eq(a.n_warnings, 1);
	ck_assert_str_eq(a.items[1].text, "second");
	ck_assert_str_eq(a.items[2].text, "third");
	diag_move(&a, &b); /* of an empty list: nothing */
	ck_assert_uint_eq(a.n, 3);
	diag_done(&a);
	diag_done(&b);
}
END_TEST

START_TEST(test_move_bound)
{
	struct diag_list a = {0}, b = {0};

	for (uint32_t i = 0; i < DIAG_MAX - 1; i++)
		diag_add(&a, DIAG_INFO, NULL, 0, "a");
	for (uint32_t i = 0; i < 3; i++)
		diag_add(&b, DIAG_ERROR, "b", i + 1, "b");
	b.dropped = 5;
	diag_move(&a, &b);
	ck_assert_uint_eq(a.n, DIAG_MAX);
	ck_assert_uint_eq(a.dropped, 7);
	ck_assert_uint_eq(a.n_errors, 3);
	diag_done(&a);
	diag_done(&b);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("diag");
	TCase *tc = tcase_create("diag");

	tcase_add_test(tc, test_add);
	tcase_add_test(tc, test_format_cut);
	tcase_add_test(tc, test_bound);
	tcase_add_test(tc, test_move);
	tcase_add_test(tc, test_move_bound);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
