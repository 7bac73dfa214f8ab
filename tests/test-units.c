/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "units.h"

START_TEST(test_bool)
{
	static const struct {
		const char *text;
		int r;
		bool value;
	} cases[] = {
		{"yes", 0, true},	  {"no", 0, false},	  {"TRUE", 0, true},
		{"False", 0, false},	  {"on", 0, true},	  {"oFF", 0, false},
		{"1", 0, true},		  {"0", 0, false},	  {"", -EINVAL, false},
		{"y", -EINVAL, false},	  {"2", -EINVAL, false},  {" yes", -EINVAL, false},
		{"yes ", -EINVAL, false}, {"00", -EINVAL, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool value = !cases[i].value;
		int r = units_parse_bool(cases[i].text, &value);

		ck_assert_msg(r == cases[i].r, "\"%s\" gave %d", cases[i].text, r);
		/* The result is written on success only. */
		ck_assert(value == (r == 0 ? cases[i].value : !cases[i].value));
	}
}
END_TEST

START_TEST(test_u64)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		int r;
		uint64_t value;
	} cases[] = {
		{"0", 0, UINT64_MAX, 0, 0},
		{"007", 0, 10, 0, 7},
		{"18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX},
		{"18446744073709551616", 0, UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999999999", 0, UINT64_MAX, -ERANGE, 0},
		{"99999999999999999999999999x", 0, UINT64_MAX, -EINVAL, 0},
		{"10", 0, 10, 0, 10},
		{"11", 0, 10, -ERANGE, 0},
		{"9", 10, 20, -ERANGE, 0},
		{"5", 0, 4, -ERANGE, 0},
		{"0", 0, 0, 0, 0},
		{"1", 0, 0, -ERANGE, 0},
		{"", 0, 10, -EINVAL, 0},
		{"-1", 0, 10, -EINVAL, 0},
		{"+1", 0, 10, -EINVAL, 0},
		{" 1", 0, 10, -EINVAL, 0},
		{"1 ", 0, 10, -EINVAL, 0},
		{"1\n", 0, 10, -EINVAL, 0},
		{"0x1", 0, 10, -EINVAL, 0},
		{"1.0", 0, 10, -EINVAL, 0},
		{"1e1", 0, 10, -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t value = 4711;
		int r = units_parse_u64(cases[i].text, cases[i].min, cases[i].max, &value);

		ck_assert_msg(r == cases[i].r, "\"%s\" gave %d", cases[i].text, r);
		ck_assert_uint_eq(value, r == 0 ? cases[i].value : 4711);
	}
}
END_TEST

START_TEST(test_i64)
{
	static const struct {
		const char *text;
		int r;
		int64_t value;
	} cases[] = {
		{"0", 0, 0},
		{"-0", 0, 0},
		{"-1000", 0, -1000},
		{"1000", 0, 1000},
		{"-1001", -ERANGE, 0},
		{"1001", -ERANGE, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"-99999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"-", -EINVAL, 0},
		{"--1", -EINVAL, 0},
		{"- 1", -EINVAL, 0},
		{"1-", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t value = 4711;
		int r = units_parse_i64(cases[i].text, -1000, 1000, &value);

		ck_assert_msg(r == cases[i].r, "\"%s\" gave %d", cases[i].text, r);
		ck_assert_int_eq(value, r == 0 ? cases[i].value : 4711);
	}
}
END_TEST

START_TEST(test_latency_good)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{"0", 0},
		{"0us", 0},
		{"0ns", 0},
		{"0.0s", 0},
		{"20", 20000},
		{"20us", 20000},
		{"20 us", 20000},
		{"20\tus", 20000},
		{"400ns", 400},
		{"0.4us", 400},
		{"0.4", 400},
		{"1.5us", 1500},
		{"1.500us", 1500},
		{"1.5000000000000000000000000us", 1500},
		{"1.0ns", 1},
		{"0.000001ms", 1},
		{"0.000000001s", 1},
		{"2ms", 2000000},
		{"1s", 1000000000},
		{"020us", 20000},
		{"2147483646", LATENCY_MAX_NS},
		{"2147.483646s", LATENCY_MAX_NS},
		{"none", LATENCY_NONE},
		{"infinity", LATENCY_NONE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = 4711;
		int r = units_parse_latency(cases[i].text, &ns);

		ck_assert_msg(r == 0, "\"%s\" gave %d", cases[i].text, r);
		ck_assert_msg(ns == cases[i].ns, "\"%s\" gave %" PRIu64, cases[i].text, ns);
	}
}
END_TEST

START_TEST(test_latency_bad)
{
	static const struct {
		const char *text;
		int r;
	} cases[] = {
		{"", -EINVAL},
		{"us", -EINVAL},
		{"-1", -EINVAL},
		{"+1", -EINVAL},
		{".5us", -EINVAL},
		{"5.us", -EINVAL},
		{"5.", -EINVAL},
		{"1.5.0", -EINVAL},
		{"1,5us", -EINVAL},
		{"20 ", -EINVAL},
		{"20us ", -EINVAL},
		{" 20us", -EINVAL},
		{"20 u s", -EINVAL},
		{"20US", -EINVAL},
		{"20µs", -EINVAL},
		{"20usec", -EINVAL},
		{"20m", -EINVAL},
		{"20min", -EINVAL},
		{"0x14", -EINVAL},
		{"1e3ns", -EINVAL},
		{"None", -EINVAL},
		{"none ", -EINVAL},
		{"unlimited", -EINVAL},
		/* Not a whole number of nanoseconds: never rounded, above all not to zero. */
		{"0.5ns", -EINVAL},
		{"1.0001us", -EINVAL},
		{"0.0004us", -EINVAL},
		{"2147483647", -ERANGE},
		{"2147483646000001ns", -ERANGE},
		{"2147.483646001s", -ERANGE},
		{"3000s", -ERANGE},
		{"18446744073709551617ns", -ERANGE},
		{"99999999999999999999999999999", -ERANGE},
		{"n/a", -ENOTSUP},
		{"N/A", -ENOTSUP},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = 4711;
		int r = units_parse_latency(cases[i].text, &ns);

		ck_assert_msg(r == cases[i].r, "\"%s\" gave %d", cases[i].text, r);
		ck_assert_uint_eq(ns, 4711);
	}
}
END_TEST

START_TEST(test_latency_format)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
		{0, "0"},
		{1, "1ns"},
		{400, "400ns"},
		{999, "999ns"},
		{1000, "1us"},
		{1500, "1.5us"},
		{1001, "1001ns"},
		{20000, "20us"},
		{133000, "133us"},
		{1234000, "1234us"},
		{1200000, "1.2ms"},
		{2000000, "2ms"},
		{1000000001, "1.000000001s"},
		{1000000000, "1s"},
		{LATENCY_MAX_NS, "2147.483646s"},
		{UINT64_MAX - 1, "18446744073.709551614s"},
		{LATENCY_NONE, "none"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char buf[LATENCY_TEXT_MAX];

		ck_assert_ptr_eq(units_format_latency(cases[i].ns, buf, sizeof(buf)), buf);
		ck_assert_str_eq(buf, cases[i].text);
	}
}
END_TEST

/* Whatever is printed is read back as the same number. */
START_TEST(test_latency_round_trip)
{
	uint64_t seed = 42;

	for (int i = 0; i < 20000; i++) {
		char buf[LATENCY_TEXT_MAX];
		uint64_t ns, back;

		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		ns = (seed >> 8) % (LATENCY_MAX_NS + 1) >> (seed % 50);
		ck_assert_int_eq(
			units_parse_latency(units_format_latency(ns, buf, sizeof(buf)), &back), 0);
		ck_assert_msg(back == ns, "%" PRIu64 " became %s", ns, buf);
	}
}
END_TEST

START_TEST(test_format_cut)
{
	char buf[3] = "xx";

	/* A buffer that is too small is cut, terminated and never overrun. */
	(void)units_format_latency(1500, buf, 2);
	ck_assert_str_eq(buf, "1");
	ck_assert_int_eq(buf[2], '\0');
}
END_TEST

START_TEST(test_scan)
{
	const char *s = "12,34";
	uint32_t v = 0;

	ck_assert_int_eq(units_scan_u32(&s, 100, &v), 0);
	ck_assert_uint_eq(v, 12);
	ck_assert_str_eq(s, ",34");
	ck_assert_int_eq(units_scan_u32(&s, 100, &v), -EINVAL);
	ck_assert_str_eq(s, ",34");
	s++;
	ck_assert_int_eq(units_scan_u32(&s, 33, &v), -ERANGE);
	ck_assert_str_eq(s, "");
	s = "4294967295";
	ck_assert_int_eq(units_scan_u32(&s, UINT32_MAX, &v), 0);
	ck_assert_uint_eq(v, UINT32_MAX);
	s = "4294967296";
	ck_assert_int_eq(units_scan_u32(&s, UINT32_MAX, &v), -ERANGE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("units");
	TCase *tc = tcase_create("units");

	tcase_add_test(tc, test_bool);
	tcase_add_test(tc, test_u64);
	tcase_add_test(tc, test_i64);
	tcase_add_test(tc, test_latency_good);
	tcase_add_test(tc, test_latency_bad);
	tcase_add_test(tc, test_latency_format);
	tcase_add_test(tc, test_latency_round_trip);
	tcase_add_test(tc, test_format_cut);
	tcase_add_test(tc, test_scan);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
