/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "cpuset.h"

/* A set of the given size holding a list. */
static struct cpuset make(uint32_t size, const char *list)
{
	struct cpuset set;

	ck_assert_int_eq(cpuset_init(&set, size), 0);
	ck_assert_msg(cpuset_parse(&set, list) == 0, "cannot parse \"%s\"", list);
	return set;
}

static void assert_set(const struct cpuset *set, const char *list)
{
	char *text = cpuset_to_string(set);

	ck_assert_ptr_nonnull(text);
	ck_assert_str_eq(text, list);
	free(text);
}

START_TEST(test_empty)
{
	struct cpuset set = {0};
	char buf[4] = "xxx";

	/* Zero-initialised is valid in every reading function. */
	ck_assert(!cpuset_has(&set, 0));
	ck_assert_uint_eq(cpuset_count(&set), 0);
	ck_assert_uint_eq(cpuset_next(&set, 0), UINT32_MAX);
	ck_assert_uint_eq(cpuset_format(&set, buf, sizeof(buf)), 0);
	ck_assert_str_eq(buf, "");
	cpuset_add(&set, 0);
	cpuset_fill(&set);
	cpuset_not(&set);
	cpuset_clear(&set);
	ck_assert_uint_eq(cpuset_count(&set), 0);
	ck_assert_int_eq(cpuset_parse(&set, ""), 0);
	ck_assert_int_eq(cpuset_parse(&set, "0"), -ERANGE);
	ck_assert_int_eq(cpuset_parse_kernel(&set, "0-3"), 0);
	cpuset_done(&set);
}
END_TEST

START_TEST(test_size)
{
	struct cpuset set;

	ck_assert_int_eq(cpuset_init(&set, CPU_MAX + 1), -ERANGE);
	ck_assert_int_eq(cpuset_init(&set, CPU_MAX), 0);
	cpuset_fill(&set);
	ck_assert_uint_eq(cpuset_count(&set), CPU_MAX);
	assert_set(&set, "0-8191");
	cpuset_done(&set);
}
END_TEST

START_TEST(test_members)
{
	static const uint32_t sizes[] = {1, 2, 63, 64, 65, 127, 128, 129, 448};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cpuset set = make(sizes[i], "");
		uint32_t last = sizes[i] - 1;

		cpuset_add(&set, last);
		cpuset_add(&set, sizes[i]); /* beyond: ignored */
		ck_assert(cpuset_has(&set, last));
		ck_assert(!cpuset_has(&set, sizes[i]));
		ck_assert_uint_eq(cpuset_next(&set, 0), last);
		ck_assert_uint_eq(cpuset_next(&set, last + 1), UINT32_MAX);
		cpuset_not(&set);
		ck_assert_uint_eq(cpuset_count(&set), last);
		cpuset_fill(&set);
		ck_assert_uint_eq(cpuset_count(&set), sizes[i]);
		cpuset_del(&set, last);
		cpuset_del(&set, sizes[i]);
		ck_assert_uint_eq(cpuset_count(&set), last);
		cpuset_clear(&set);
		ck_assert_uint_eq(cpuset_count(&set), 0);
		cpuset_done(&set);
	}
}
END_TEST

START_TEST(test_algebra)
{
	struct cpuset a = make(130, "0-9,64,129"), b = make(70, "5-20,64-69"), copy;
	uint32_t sum = 0;

	ck_assert_int_eq(cpuset_copy(&copy, &a), 0);
	ck_assert(cpuset_equal(&copy, &a));
	cpuset_and(&copy, &b);
	assert_set(&copy, "5-9,64");
	cpuset_or(&copy, &b);
	assert_set(&copy, "5-20,64-69");
	ck_assert(cpuset_equal(&copy, &b)); /* sizes differ, members do not */
	cpuset_or(&b, &a); /* 129 is beyond b */
	assert_set(&b, "0-20,64-69");
	cpuset_not(&b);
	assert_set(&b, "21-63");
	cpuset_for_each(cpu, &a)
		sum += cpu;
	ck_assert_uint_eq(sum, 45 + 64 + 129);
	ck_assert(!cpuset_equal(&a, &b));
	cpuset_done(&a);
	cpuset_done(&b);
	cpuset_done(&copy);
}
END_TEST

/* An `or` into a smaller set must not leave bits above its size in the last word. */
START_TEST(test_or_tail)
{
	struct cpuset a = make(3, ""), b = make(64, "0-63");

	cpuset_or(&a, &b);
	ck_assert_uint_eq(cpuset_count(&a), 3);
	cpuset_done(&a);
	cpuset_done(&b);
}
END_TEST

START_TEST(test_parse_good)
{
	static const struct {
		const char *text, *list;
	} cases[] = {
		{"", ""},
		{"\n", ""},
		{"0", "0"},
		{"0\n", "0"},
		{"0-3,8", "0-3,8"},
		{"8,0-3", "0-3,8"},
		{"3-3", "3"},
		{"1,2,3", "1-3"},
		{"0-9,5-12", "0-12"},
		{"10-14:2", "10,12,14"},
		{"10-15:2", "10,12,14"},
		{"0-31:2/8", "0-1,8-9,16-17,24-25"},
		{"0-31:8/8", "0-31"},
		{"0-199:100", "0,100"},
		{"60-70", "60-70"},
		{"0-199", "0-199"},
		{"63,64", "63-64"},
		{"0-3:9", "0"},
		{"6-9:3/4", "6-8"},
		{"007", "7"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cpuset set = make(200, cases[i].text);

		assert_set(&set, cases[i].list);
		cpuset_done(&set);
	}
}
END_TEST

START_TEST(test_parse_bad)
{
	static const struct {
		const char *text;
		int r;
	} cases[] = {
		{",", -EINVAL},
		{"0,", -EINVAL},
		{",0", -EINVAL},
		{"0,,1", -EINVAL},
		{"a", -EINVAL},
		{"0-", -EINVAL},
		{"-3", -EINVAL},
		{"3-1", -EINVAL},
		{"0-3:", -EINVAL},
		{"0-3:0", -EINVAL},
		{"0-3:0/2", -EINVAL},
		{"0-3:3/2", -EINVAL},
		{"0-3:1/", -EINVAL},
		{"0-3:1/0", -EINVAL},
		{"0:2", -EINVAL},
		{"0-3/2", -EINVAL},
		{"0 ", -EINVAL},
		{" 0", -EINVAL},
		{"0, 1", -EINVAL},
		{"0-3 ", -EINVAL},
		{"0\n\n", -EINVAL},
		{"0\n1", -EINVAL},
		{"0x1", -EINVAL},
		{"0-3-5", -EINVAL},
		{"200", -ERANGE},
		{"0-200", -ERANGE},
		{"4294967295", -ERANGE},
		{"4294967296", -ERANGE},
		{"0-4294967295", -ERANGE},
		{"all", -EINVAL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cpuset set;
		int r;

		ck_assert_int_eq(cpuset_init(&set, 200), 0);
		r = cpuset_parse(&set, cases[i].text);
		ck_assert_msg(r == cases[i].r, "\"%s\" gave %d", cases[i].text, r);
		cpuset_done(&set);
	}
}
END_TEST

/* The kernel's files may name CPUs this host cannot have: possible is often larger than real. */
START_TEST(test_parse_kernel)
{
	static const struct {
		const char *text, *list;
	} cases[] = {
		{"0-8191\n", "0-3"},	 {"2,9,3\n", "2-3"},	    {"4-7\n", ""},
		{"0-4294967295", "0-3"}, {"0-4294967295:2", "0,2"}, {"3-4294967295:2/3", "3"},
	};
	struct cpuset set;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_int_eq(cpuset_init(&set, 4), 0);
		ck_assert_int_eq(cpuset_parse_kernel(&set, cases[i].text), 0);
		assert_set(&set, cases[i].list);
		cpuset_done(&set);
	}
	ck_assert_int_eq(cpuset_init(&set, 4), 0);
	ck_assert_int_eq(cpuset_parse_kernel(&set, "0-x"), -EINVAL);
	ck_assert_int_eq(cpuset_parse_kernel(&set, "(null)"), -EINVAL);
	cpuset_done(&set);
}
END_TEST

START_TEST(test_list_max)
{
	uint32_t max = 0;

	ck_assert_int_eq(cpuset_list_max("0-3,8\n", &max), 0);
	ck_assert_uint_eq(max, 8);
	ck_assert_int_eq(cpuset_list_max("8,0-3", &max), 0);
	ck_assert_uint_eq(max, 8);
	ck_assert_int_eq(cpuset_list_max("0-4294967295", &max), 0);
	ck_assert_uint_eq(max, UINT32_MAX);
	ck_assert_int_eq(cpuset_list_max("\n", &max), -ENODATA);
	ck_assert_int_eq(cpuset_list_max("", &max), -ENODATA);
	ck_assert_int_eq(cpuset_list_max("0-3,", &max), -EINVAL);
	ck_assert_uint_eq(max, UINT32_MAX);
}
END_TEST

START_TEST(test_format_cut)
{
	struct cpuset set = make(200, "0-3,100-120,199");
	char buf[32];

	for (size_t size = 0; size < sizeof(buf); size++) {
		memset(buf, '~', sizeof(buf));
		ck_assert_uint_eq(cpuset_format(&set, buf, size), strlen("0-3,100-120,199"));
		if (size > 0) {
			size_t kept = MIN_OF(size - 1, strlen("0-3,100-120,199"));

			ck_assert(strncmp(buf, "0-3,100-120,199", kept) == 0);
			ck_assert_int_eq(buf[kept], '\0');
		}
		ck_assert_int_eq(buf[size], '~');
	}
	cpuset_done(&set);
}
END_TEST

/* format and parse are each other's inverse. */
START_TEST(test_round_trip)
{
	uint32_t seed = 1;

	for (int i = 0; i < 300; i++) {
		struct cpuset a = make(300, ""), b;
		char *text;

		for (uint32_t cpu = 0; cpu < 300; cpu++) {
			seed = seed * 1664525 + 1013904223;
			if (seed >> 31)
				cpuset_add(&a, cpu);
		}
		text = cpuset_to_string(&a);
		b = make(300, text);
		ck_assert(cpuset_equal(&a, &b));
		free(text);
		cpuset_done(&a);
		cpuset_done(&b);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cpuset");
	TCase *tc = tcase_create("cpuset");

	tcase_add_test(tc, test_empty);
	tcase_add_test(tc, test_size);
	tcase_add_test(tc, test_members);
	tcase_add_test(tc, test_algebra);
	tcase_add_test(tc, test_or_tail);
	tcase_add_test(tc, test_parse_good);
	tcase_add_test(tc, test_parse_bad);
	tcase_add_test(tc, test_parse_kernel);
	tcase_add_test(tc, test_list_max);
	tcase_add_test(tc, test_format_cut);
	tcase_add_test(tc, test_round_trip);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
