/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "import.h"
#include "policy.h"

static struct diag_list diags;
static char *text;

static void done(void)
{
	diag_done(&diags);
	free(text);
	text = NULL;
}

static int import(enum import_format format, const char *from)
{
	return import_text(format, "x", from, strlen(from), &diags, &text);
}

static void has(const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in\n%s", part, text);
}

/* What comes out is a policy, with whatever was put in. */
static void is_policy(void)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_(diag_done) struct diag_list found = {.n = 0};

	ck_assert_int_eq(policy_new(&p), 0);
	ck_assert_int_eq(policy_add_text(p, "x", text, strlen(text), &found), 0);
	ck_assert_int_eq(policy_finish(p, &found), 0);
	ck_assert_msg(found.n_errors == 0, "%s\n%s", found.items[0].text, text);
}

/* The values that tuned's own profiles and others' have. */
static const struct {
	const char *value, *line; /* NULL: only a comment */
} tuned[] = {
	{"99", "GlobalLatencyLimit=99us\n"},
	{"${max_power_state}", NULL},
	{"cstate.id_no_zero:1|3", "GlobalLatencyLimit=3us\n"},
	{"5", "GlobalLatencyLimit=5us\n"},
	{"1", "GlobalLatencyLimit=1us\n"},
	{"0", "GlobalLatencyLimit=0\n"},
	{"70", "GlobalLatencyLimit=70us\n"},
	{"cstate.id_no_zero:3|70", "GlobalLatencyLimit=70us\n"},
	{"cstate.id:1|3", "GlobalLatencyLimit=3us\n"},
	{"cstate.name:C6|cstate.id:4|10", "GlobalLatencyLimit=10us\n"},
	{"cstate.name:C6", NULL},
	{"none", "GlobalLatencyLimit=none\n"},
	{">70", NULL},
};

START_TEST(tuned_values)
{
	char from[256];

	snprintf(from, sizeof(from), "[main]\nsummary=x\n[cpu]\nforce_latency=%s\n",
		 tuned[_i].value);
	ck_assert_int_eq(import(IMPORT_TUNED, from), 0);
	is_policy();
	has("# x:4: force_latency=");
	has("# x:2: [main] summary=x: not kept");
	if (tuned[_i].line)
		has(tuned[_i].line);
	else
		ck_assert_ptr_null(strstr(text, "GlobalLatencyLimit"));
}
END_TEST

START_TEST(tuned_profile)
{
	ck_assert_int_eq(
		import(IMPORT_TUNED,
		       "[variables]\nmax_power_state=cstate.name:C6|cstate.id:4|10\n[cpu]\n"
		       "force_latency=${max_power_state}\ngovernor = performance\n"
		       "pm_qos_resume_latency_us=n/a\n[script]\nscript=${i:PROFILE_DIR}/x.sh\n"
		       "a line that is none\n[bootloader]\ncmdline=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"),
		0);
	is_policy();
	has("GlobalLatencyLimit=10us\n");
	has("# x:5: [cpu] governor=performance: not kept");
	has("DefaultProfile=tuned-1\n");
	has("[Profile tuned-1]\nLatencyLimit=0\n");
	has("# x:9: a line that is none: not kept");
	has("# x:11: cmdline=aaaa");
}
END_TEST

START_TEST(saptune_notes)
{
	ck_assert_int_eq(import(IMPORT_SAPTUNE, "[version]\nVERSION=5\n[cpu]\nforce_latency=70\n"
						"governor=performance\n[rpm]\nglibc 15 2.31\n"),
			 0);
	is_policy();
	has("GlobalLatencyLimit=70us\n");
	has("# x:7: glibc 15 2.31: not kept");
	done();
	ck_assert_int_eq(import(IMPORT_SAPTUNE, "[cpu]\nforce_latency=C1\n"), 0);
	is_policy();
	has("# x:2: force_latency=C1: not kept: a state's own latency");
}
END_TEST

START_TEST(crio_annotations)
{
	ck_assert_int_eq(import(IMPORT_CRIO, "metadata:\n  annotations:\n"
					     "    cpu-c-states.crio.io: \"enable\"\n"
					     "    cpu-c-states.crio.io: disable\n"
					     "{\"cpu-c-states.crio.io\": \"max_latency:10\"}\n"
					     "    cpu-load-balancing.crio.io: \"disable\"\n"),
			 0);
	is_policy();
	has("[Profile crio-1]\nLatencyLimit=none\n");
	has("[Profile crio-2]\nLatencyLimit=0\n");
	has("[Profile crio-3]\nLatencyLimit=10us\n#");
	has("#[Workload crio-3]\n#Container=ID\n#Profile=crio-3\n");
	has("# x:6: cpu-load-balancing.crio.io: \"disable\": not kept");
}
END_TEST

START_TEST(pepc_scripts)
{
	ck_assert_int_eq(
		import(IMPORT_PEPC,
		       "#!/bin/sh\n\npepc pmqos config --latency-limit 100us --cpus 0-3,8\n"
		       "sudo pepc cstates config --disable=C6,C1E\n"
		       "pepc pmqos config --latency-limit 0us --cpus all\n"
		       "pepc cstates config --disable C6 --packages 0\n"
		       "pepc cstates config --disable all\n"
		       "pepc pstates config --governor performance; reboot\n"),
		0);
	is_policy();
	has("[Profile pepc-1]\nLatencyLimit=100us\n[Group pepc-1]\nCPUs=0-3,8\nProfile=pepc-1\n");
	has("[Profile pepc-2]\nDisableStates=C6 C1E\n[Group pepc-2]\nCPUs=all\n");
	has("[Profile pepc-3]\nLatencyLimit=none\n");
	has("# x:6: pepc cstates config --disable C6 --packages 0: not kept");
	has("# x:7: pepc cstates config --disable all: not kept");
	has("# x:8: pepc pstates");
	ck_assert_ptr_null(strstr(text, "pepc-4"));
}
END_TEST

static const struct {
	enum import_format format;
	const char *from, *says;
	uint32_t line;
} bad[] = {
	{IMPORT_TUNED, "[cpu]\nforce_latency=soon\n", "force_latency=soon is no latency", 2},
	{IMPORT_TUNED, "[cpu]\nforce_latency=-1\n", "is no latency", 2},
	{IMPORT_TUNED, "\n[cpu\nx=1\n", "", 2},
	{IMPORT_SAPTUNE, "[cpu]\nforce_latency=fast\n", "is no latency", 2},
	{IMPORT_CRIO, "cpu-c-states.crio.io: \"max_latency:0\"\n", "'max_latency:0'; CRI-O knows",
	 1},
	{IMPORT_CRIO, "\ncpu-c-states.crio.io: maybe\n", "'maybe'; CRI-O knows", 2},
	{IMPORT_PEPC, "pepc pmqos config --latency-limit soon\n", "soon is no latency", 1},
	{IMPORT_PEPC, "\n\npepc pmqos config --latency-limit 5 --cpus 3-1\n", "--cpus 3-1: ", 3},
};

START_TEST(errors)
{
	ck_assert_int_eq(import(bad[_i].format, bad[_i].from), -EBADMSG);
	ck_assert_ptr_null(text);
	ck_assert_uint_ge(diags.n_errors, 1);
	ck_assert_str_eq(diags.items[0].file, "x");
	ck_assert_uint_eq(diags.items[0].line, bad[_i].line);
	ck_assert_msg(strstr(diags.items[0].text, bad[_i].says) != NULL, "%s", diags.items[0].text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("import");
	TCase *c = tcase_create("import");

	tcase_add_checked_fixture(c, NULL, done);
	tcase_add_loop_test(c, tuned_values, 0, (int)ARRAY_SIZE(tuned));
	tcase_add_test(c, tuned_profile);
	tcase_add_test(c, saptune_notes);
	tcase_add_test(c, crio_annotations);
	tcase_add_test(c, pepc_scripts);
	tcase_add_loop_test(c, errors, 0, (int)ARRAY_SIZE(bad));
	suite_add_tcase(suite, c);
	return test_main(suite);
}
