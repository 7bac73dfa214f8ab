/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "selector.h"

/*
 * Two packages of 8 CPUs: CPU n and n + 8 are siblings on core n % 4 of their package, as Intel counts. Node is
 * package, two dies and two caches each. CPU 14 is offline, CPU 15 absent; 2-3 are isolated, 3-5 nohz_full.
 */
static struct machine *make_machine(void)
{
	struct machine *m = NULL;

	ck_assert_int_eq(machine_new(16, &m), 0);
	for (uint32_t cpu = 0; cpu < 16; cpu++) {
		struct machine_cpu *c = &m->cpus[cpu];

		c->present = cpu < 15;
		c->online = cpu < 14;
		c->package = (uint16_t)(cpu % 8 / 4);
		c->node = c->package;
		c->core = (uint16_t)(cpu % 4);
		c->die = (uint16_t)(cpu % 4 / 2);
		c->llc = (uint16_t)(cpu % 8 / 2);
	}
	m->cpus[0].node = MACHINE_NO_ID;
	m->cpus[7].package = 36000; /* arm64 firmware tables give numbers like this */
	ck_assert_int_eq(cpuset_parse(&m->isolated, "2-3"), 0);
	ck_assert_int_eq(cpuset_parse(&m->nohz_full, "3-5"), 0);
	return m;
}

static void assert_selects(const struct machine *m, const char *text, const char *cpus)
{
	struct selector *s = NULL;
	struct cpuset set;
	char error[256];
	char *found;
	int r = selector_new(text, &s, error, sizeof(error));

	ck_assert_msg(r == 0, "\"%s\": %s", text, error);
	ck_assert_str_eq(selector_text(s), text);
	ck_assert_int_eq(selector_eval(s, m, &set), 0);
	ck_assert_uint_eq(set.size, m->n_cpus);
	found = cpuset_to_string(&set);
	ck_assert_msg(streq(found, cpus), "\"%s\" is %s, should be %s", text, found, cpus);
	free(found);
	cpuset_done(&set);
	selector_free(s);
}

START_TEST(test_eval)
{
	static const struct {
		const char *text, *cpus;
	} cases[] = {
		{"0", "0"},
		{"0-3,8", "0-3,8"},
		{"10-14:2", "10,12,14"},
		{"0-31:2/8", "0-1,8-9"},
		{"12-8191", "12-14"}, /* 15 is absent, the rest is not there */
		{"100-200", ""},
		{"all", "0-14"},
		{"online", "0-13"},
		{"offline", "14"},
		{"isolated", "2-3"},
		{"nohz_full", "3-5"},
		{"housekeeping", "0-1,6-14"},
		{"package:0", "0-3,8-11"},
		{"package:1", "4-6,12-14"},
		{"package:36000", "7"},
		{"package:2", ""},
		{"package:0-1", "0-6,8-14"},
		{"node:0", "1-3,8-11"},
		{"core:3", "3,7,11"},
		{"core:0-3:2", "0,2,4,6,8,10,12,14"},
		{"die:1", "2-3,6-7,10-11,14"},
		{"llc:0,3", "0-1,6-9,14"},
		{"!0", "1-14"},
		{"!!0", "0"},
		{"!all", ""},
		{"!offline", "0-13"},
		{"0-5 & 3-9", "3-5"},
		{"0-1 | 3", "0-1,3"},
		{"isolated & !nohz_full", "2"},
		{"isolated&!nohz_full", "2"},
		{" isolated\t|\tnohz_full ", "2-5"},
		/* & binds closer than |, ! closer than both. */
		{"0 | 1 & 2", "0"},
		{"0 & 1 | 2", "2"},
		{"(0 | 1) & (1 | 2)", "1"},
		{"!0-7 & !8-11", "12-14"},
		{"!(0-7 | 8-11)", "12-14"},
		{"!(package:0 & housekeeping) & online", "2-7,12-13"},
		{"package: 0 & core : 1", "1,9"},
		{"((((all))))", "0-14"},
		{"node:0 & !housekeeping | 9", "2-3,9"},
	};
	struct machine *m = make_machine();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_selects(m, cases[i].text, cases[i].cpus);
	machine_free(m);
}
END_TEST

START_TEST(test_needs)
{
	static const struct {
		const char *text;
		unsigned needs;
	} cases[] = {
		{"0-3", 0},
		{"isolated & !nohz_full | housekeeping", 0},
		{"package:0", SELECTOR_NEEDS_TOPOLOGY},
		{"die:0", SELECTOR_NEEDS_TOPOLOGY},
		{"core:0", SELECTOR_NEEDS_TOPOLOGY},
		{"node:0", SELECTOR_NEEDS_NODE},
		{"llc:0", SELECTOR_NEEDS_LLC},
		{"0 | node:0 & !llc:1", SELECTOR_NEEDS_NODE | SELECTOR_NEEDS_LLC},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selector *s = NULL;
		char error[256];

		ck_assert_int_eq(selector_new(cases[i].text, &s, error, sizeof(error)), 0);
		ck_assert_msg(selector_needs(s) == cases[i].needs, "%s", cases[i].text);
		selector_free(s);
	}
}
END_TEST

START_TEST(test_bad)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"", "a term is missing at the end; write "},
		{"  ", "a term is missing at the end; write "},
		{"0 &", "a term is missing at the end; write "},
		{"0 | | 1", "\"|\" is no term; write "},
		{"& 0", "\"&\" is no term; write "},
		{"!", "a term is missing at the end; write "},
		{"()", "\")\" is no term; write "},
		{"(0", "a \"(\" is never closed; write the \")\""},
		{"0)", "\")\" is left over; join terms with & (both) or | (either)"},
		{"0 1", "\"1\" is left over; join terms with & (both) or | (either)"},
		{"0, 1",
		 "\"0,\" is no list of numbers; write one such as 0-3,8 or 10-14:2, without blanks"},
		{"0-3 8", "\"8\" is left over; "},
		{"3-1", "\"3-1\" is no list of numbers; "},
		{"1-", "\"1-\" is no list of numbers; "},
		{"0-3:0", "\"0-3:0\" is no list of numbers; "},
		{"8192", "\"8192\" has a CPU number that no host has; they end at 8191"},
		{"0-4294967295", "\"0-4294967295\" has a CPU number that no host has; "},
		{"99999999999", "\"99999999999\" is no list of numbers; "},
		{"isolatd", "\"isolatd\" is no term; did you mean isolated?"},
		{"ALL", "\"ALL\" is no term; did you mean all?"},
		{"nohz-full", "\"nohz\" is no term; "},
		{"everything",
		 "\"everything\" is no term; write a list such as 0-3,8, all, isolated"},
		{"node", "\"node\" needs a list; write one such as node:0"},
		{"node 0", "\"node\" needs a list; write one such as node:0"},
		{"node:", "\"\" is no list of numbers; "},
		{"node:x", "\"\" is no list of numbers; "},
		{"node:0:1", "\"0:1\" is no list of numbers; "},
		{"all:0", "\":0\" is left over; "},
		{"-1", "\"-\" is no term; "},
		{"$", "\"$\" is no term; "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selector *s = NULL;
		char error[256] = "";

		ck_assert_msg(selector_new(cases[i].text, &s, error, sizeof(error)) == -EINVAL,
			      "\"%s\" was taken", cases[i].text);
		ck_assert_msg(strncmp(error, cases[i].error, strlen(cases[i].error)) == 0,
			      "\"%s\": %s", cases[i].text, error);
		ck_assert_ptr_null(s);
	}
}
END_TEST

/* n times piece, then last; is that taken? */
static bool takes(const char *piece, size_t n, const char *last, char *error, size_t size)
{
	char text[1024] = "";
	struct selector *s = NULL;
	size_t at = 0;
	int r;

	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", piece);
	snprintf(text + at, sizeof(text) - at, "%s", last);
	r = selector_new(text, &s, error, size);
	ck_assert(r == 0 || r == -EINVAL);
	selector_free(s);
	return r == 0;
}

START_TEST(test_bounds)
{
	char error[256], tiny[4];

	/* Tokens: 32 terms and 31 operators are 63. */
	ck_assert(takes("0|", 31, "0", error, sizeof(error)));
	ck_assert(!takes("0|", 32, "0", error, sizeof(error)));
	ck_assert_str_eq(error, "more than 64 terms and operators; use several groups");
	/* Depth: the term itself is one. */
	ck_assert(takes("!", SELECTOR_DEPTH_MAX - 1, "0", error, sizeof(error)));
	ck_assert(!takes("!", SELECTOR_DEPTH_MAX, "0", error, sizeof(error)));
	ck_assert(!takes("(", 100, "0", error, sizeof(error)));
	ck_assert(strncmp(error, "more than 16 \"(\" and \"!\" within each other; ", 40) == 0);
	/* Length. */
	ck_assert(takes(" ", SELECTOR_TEXT_MAX - 1, "0", error, sizeof(error)));
	ck_assert(!takes(" ", SELECTOR_TEXT_MAX, "0", error, sizeof(error)));
	ck_assert_str_eq(error, "selector has 161 bytes; at most 160 can be read");
	ck_assert(takes("0,", (SELECTOR_TEXT_MAX - 1) / 2, "10", error, sizeof(error)));
	/* A short buffer for the message is cut and terminated. */
	ck_assert(!takes("", 0, "x", tiny, sizeof(tiny)));
	ck_assert_str_eq(tiny, "\"x\"");
}
END_TEST

/* The largest host, every CPU on a core of its own. */
START_TEST(test_large)
{
	struct machine *m = NULL;

	ck_assert_int_eq(machine_new(CPU_MAX, &m), 0);
	for (uint32_t cpu = 0; cpu < CPU_MAX; cpu++) {
		m->cpus[cpu].present = true;
		m->cpus[cpu].core = (uint16_t)cpu;
	}
	assert_selects(m, "core:0-8190:4095 | 8191", "0,4095,8190-8191");
	assert_selects(m, "!core:1-8191", "0");
	machine_free(m);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("selector");
	TCase *tc = tcase_create("selector");

	tcase_add_test(tc, test_eval);
	tcase_add_test(tc, test_needs);
	tcase_add_test(tc, test_bad);
	tcase_add_test(tc, test_bounds);
	tcase_add_test(tc, test_large);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
