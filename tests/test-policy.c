/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "buf.h"
#include "policy.h"

/* Texts, in order, as files a, b, c ... up to a NULL; what came of them. */
struct made {
	struct policy *p;
	struct diag_list diags;
};

static struct made make(const char *const *texts)
{
	struct made m = {0};
	char name[2] = "a";

	ck_assert_int_eq(policy_new(&m.p), 0);
	for (; *texts; texts++, name[0]++)
		ck_assert_int_eq(policy_add_text(m.p, name, *texts, strlen(*texts), &m.diags), 0);
	ck_assert_int_eq(policy_finish(m.p, &m.diags), 0);
	return m;
}

static struct made make_good(const char *const *texts)
{
	struct made m = make(texts);

	ck_assert_uint_eq(m.diags.n_errors, 0);
	return m;
}

#define MAKE(...)      make((const char *const[]){__VA_ARGS__, NULL})
#define MAKE_GOOD(...) make_good((const char *const[]){__VA_ARGS__, NULL})

static void made_done(struct made *m)
{
	policy_free(m->p);
	diag_done(&m->diags);
}

#define _made_ _cleanup_(made_done) struct made

static const struct profile *profile_of(const struct made *m, const char *name)
{
	const struct profile *p = policy_profile(m->p, name);

	ck_assert_msg(p, "no profile %s", name);
	return p;
}

static void assert_words(const struct words *w, const char *expected)
{
	char text[512] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < w->n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 0 ? " " : "",
				      w->v[i]);
	ck_assert_str_eq(text, expected);
}

static void assert_told(const struct made *m, size_t i, const char *expected)
{
	char line[1024];

	ck_assert_uint_gt(m->diags.n, i);
	diag_format(&m->diags.items[i], line, sizeof(line));
	ck_assert_msg(strncmp(line, expected, strlen(expected)) == 0, "%s", line);
}

/* Nothing written: the neutral profile for everybody, which changes nothing. */
START_TEST(test_empty)
{
	_made_ m = MAKE_GOOD("");
	const struct profile *p = profile_of(&m, POLICY_NEUTRAL_PROFILE);

	ck_assert_uint_eq(m.diags.n, 0);
	ck_assert_str_eq(m.p->default_profile_name, POLICY_NEUTRAL_PROFILE);
	ck_assert_ptr_eq(&m.p->profiles[m.p->default_profile], p);
	ck_assert_uint_eq(m.p->on_foreign_write, FOREIGN_REASSERT);
	ck_assert_uint_eq(m.p->global_limit_ns, LATENCY_NONE);
	ck_assert_uint_eq(p->resolved.given, 0);
	ck_assert_uint_eq(p->resolved.latency_limit_ns, LATENCY_NONE);
	ck_assert_uint_eq(p->resolved.c0, C0_OFF);
	ck_assert_uint_eq(p->resolved.c1_interrupts, C1_NATIVE);
	ck_assert_uint_eq(p->resolved.haltpoll_ns, HALTPOLL_OFF);
	ck_assert_uint_eq(p->resolved.broadcast, BROADCAST_AUTO);
	ck_assert_uint_eq(p->resolved.ioport, IOPORT_NATIVE);
	ck_assert_uint_eq(p->at.line, 0);
	ck_assert_ptr_null(p->at.file);
}
END_TEST

START_TEST(test_later_wins)
{
	_made_ m = MAKE_GOOD(
		"[Profile x]\nLatencyLimit=1us\nC0=auto\n[Group g]\nCPUs=0\nProfile=x\n",
		"[Profile x]\nLatencyLimit=2us\n[Group g]\nPriority=7\n[Daemon]\nDefaultProfile=x\n",
		"[Group g]\nCPUs=1-2\n");
	const struct profile *x = profile_of(&m, "x");

	ck_assert_uint_eq(x->resolved.latency_limit_ns, 2000);
	ck_assert_uint_eq(x->resolved.c0, C0_AUTO);
	ck_assert_uint_eq(m.p->n_groups, 1);
	ck_assert_str_eq(selector_text(m.p->groups[0].cpus), "1-2");
	ck_assert_int_eq(m.p->groups[0].priority, 7);
	ck_assert_ptr_eq(&m.p->profiles[m.p->groups[0].profile], x);
	ck_assert_uint_eq(m.p->n_files, 3);
	/* Places follow what holds, file and line alike. */
	ck_assert_str_eq(x->at.file, "b");
	ck_assert_str_eq(x->limit_at.file, "b");
	ck_assert_uint_eq(x->limit_at.line, 2);
	ck_assert_str_eq(m.p->groups[0].at.file, "c");
	ck_assert_str_eq(m.p->groups[0].profile_at.file, "a");
	ck_assert_uint_eq(m.p->groups[0].profile_at.line, 6);
	ck_assert_uint_eq(m.p->default_profile_at.line, 6);
}
END_TEST

START_TEST(test_reset)
{
	_made_ m = MAKE_GOOD("[Profile b]\nLatencyLimit=9us\nC0=state\n"
			     "[Profile x]\nBase=b\nLatencyLimit=1us\nC0=off\nDescription=d\n",
			     "[Profile x]\nLatencyLimit=\nC0=\nDescription=\n");
	const struct profile *x = profile_of(&m, "x");

	ck_assert_uint_eq(x->own.given, 0);
	ck_assert_uint_eq(x->resolved.latency_limit_ns, 9000);
	ck_assert_uint_eq(x->resolved.c0, C0_STATE);
	ck_assert_ptr_null(x->description);
	ck_assert_uint_eq(x->limit_at.line, 0);
}
END_TEST

START_TEST(test_bases)
{
	_made_ m = MAKE_GOOD("[Profile d]\nBase=c\nIoPort=direct\n"
			     "[Profile a]\nLatencyLimit=5us\nC0=auto\nDisableStates=C6\n"
			     "[Profile c]\nBase=b\nDisableStates=\nDisableStates=C8\n"
			     "[Profile b]\nBase=a\nLatencyLimit=0\nDisableStates=C7 c6\n");
	const struct settings *b = &profile_of(&m, "b")->resolved;
	const struct settings *c = &profile_of(&m, "c")->resolved;
	const struct settings *d = &profile_of(&m, "d")->resolved;

	ck_assert_uint_eq(b->latency_limit_ns, 0); /* zero is a value, not "not given" */
	ck_assert_uint_eq(b->c0, C0_AUTO);
	assert_words(&b->disable_states, "C6 C7");
	assert_words(&c->disable_states, "C8");
	ck_assert_uint_eq(d->latency_limit_ns, 0);
	ck_assert_uint_eq(d->ioport, IOPORT_DIRECT);
	assert_words(&d->disable_states, "C8");
	ck_assert(d->given & SETTING_C0);
}
END_TEST

/* Profiles in a row, each the base of the one before, as many as there can be. */
START_TEST(test_long_chain)
{
	struct buf b = {0};
	char *text;

	for (unsigned i = 1; i + 1 < POLICY_PROFILES_MAX; i++)
		buf_printf(&b, "[Profile p%u]\nBase=p%u\n", i, i + 1);
	buf_printf(&b, "[Profile p%u]\nBase=balanced\n", POLICY_PROFILES_MAX - 1);
	buf_puts(&b, "[Profile balanced]\nLatencyLimit=3us\n");
	text = buf_finish(&b);
	{
		_made_ m = MAKE_GOOD(text);

		ck_assert_uint_eq(m.p->n_profiles, POLICY_PROFILES_MAX);
		ck_assert_uint_eq(profile_of(&m, "p1")->resolved.latency_limit_ns, 3000);
	}
	free(text);
}
END_TEST

static void assert_cap(const char *kind, const char *keys, unsigned max)
{
	struct buf b = {0};
	char *text, told[128];

	for (unsigned i = 0; i < max; i++)
		buf_printf(&b, "[%s n%u]\n%s", kind, i, keys);
	text = buf_finish(&b);
	snprintf(told, sizeof(told), "b:1: error: too many sections [%s ...]; at most ", kind);
	{
		_made_ full = MAKE_GOOD(text);
		_made_ over = MAKE(text, keys[0] == 'C'	  ? "[Group over]\n"
					 : keys[0] == 'S' ? "[Workload over]\n"
							  : "[Profile over]\n");
		size_t last = 0;

		while (last + 1 < over.diags.n && over.diags.items[last].severity != DIAG_ERROR)
			last++;
		ck_assert_uint_eq(over.diags.n_errors, 1);
		assert_told(&over, last, told);
		ck_assert_uint_eq(full.diags.n_errors, 0);
	}
	free(text);
}

START_TEST(test_caps)
{
	assert_cap("Profile", "", POLICY_PROFILES_MAX - 1); /* balanced is there already */
	assert_cap("Group", "CPUs=0\nProfile=balanced\n", POLICY_GROUPS_MAX);
	assert_cap("Workload", "Slice=a.slice\nProfile=balanced\n", POLICY_WORKLOADS_MAX);
}
END_TEST

/* A list may be full by itself, or by what Base= adds. */
START_TEST(test_long_lists)
{
	const char *a = "[Profile a]\nDisableStates=a b c d e f g h i j k l m n o p q r s t\n";
	_made_ m = MAKE_GOOD(a, "[Profile a]\nDisableStates=0 1 2 3 4 5 6 7 8 9 u v\n");
	_made_ own = MAKE(a, "[Profile a]\nDisableStates=0 1 2 3 4 5 6 7 8 9 u v w\n");
	_made_ base = MAKE(a, "[Profile b]\nBase=a\nDisableStates=0 1 2 3 4 5 6 7 8 9 u v w\n");

	ck_assert_uint_eq(profile_of(&m, "a")->resolved.disable_states.n, WORDS_MAX);
	ck_assert_uint_eq(own.diags.n_errors, 1);
	assert_told(
		&own, 0,
		"b:2: error: DisableStates=0 1 2 3 4 5 6 7 8 9 u v w makes a list of more than 32");
	ck_assert_uint_eq(base.diags.n_errors, 1);
	assert_told(
		&base, 0,
		"b:1: error: [Profile b] has more than 32 states in a list, with those of its Base=;");
}
END_TEST

/* Lists too long for a line are formatted over several, and read again as they were. */
START_TEST(test_format_long)
{
	_made_ m = MAKE_GOOD(
		"[Profile a]\nEnableStates=C111111111111111111111111111111 C222222222222222222222222222222\n"
		"EnableStates=C333333333333333333333333333333 C444444444444444444444444444444 \"a b\"\n"
		"EnableStates=C555555555555555555555555555555 C666666666666666666666666666666 \"c,d\"\n");
	char *text = policy_format(m.p);
	_made_ again = MAKE_GOOD(text);

	ck_assert(policy_equal(m.p, again.p));
	ck_assert_uint_eq(profile_of(&again, "a")->own.enable_states.n, 8);
	ck_assert_str_eq(profile_of(&again, "a")->own.enable_states.v[4], "a b");
	free(text);
}
END_TEST

START_TEST(test_equal)
{
	static const char base[] =
		"[Profile x]\nLatencyLimit=20us\nDisableStates=C6 C3\n[Group g]\nCPUs=0-3\n"
		"Profile=x\n[Workload w]\nUnit=a.service\nProfile=x\n";
	static const struct {
		const char *text;
		bool equal;
	} cases[] = {
		{"", true},
		{"[Profile x]\nDescription=words\n", true},
		{"[Profile x]\nLatencyLimit=20000ns\n", true},
		{"[Profile x]\nDisableStates=\nDisableStates=c3 c6\n", true},
		{"[Profile x]\nBase=balanced\n", true}, /* the same settings in the end */
		{"[Profile balanced]\nC0=off\n", true},
		{"[Profile x]\nLatencyLimit=21us\n", false},
		{"[Profile x]\nC0=auto\n", false},
		{"[Profile x]\nC0Depth=C0.1\n", false},
		{"[Profile x]\nZeroLatency=c0\n", false},
		{"[Profile x]\nC1Interrupts=window\n", false},
		{"[Profile x]\nHaltPoll=auto\n", false},
		{"[Profile x]\nBroadcast=avoid\n", false},
		{"[Profile x]\nIoPort=direct\n", false},
		{"[Profile x]\nDisableStates=C1\n", false},
		{"[Profile x]\nEnableStates=C1\n", false},
		{"[Profile y]\n", false},
		{"[Group g]\nCPUs=0-4\n", false},
		{"[Group g]\nProfile=balanced\n", false},
		{"[Group g]\nPriority=1\n", false},
		{"[Group h]\nCPUs=0\nProfile=x\n", false},
		{"[Workload w]\nUnit=b.service\n", false},
		{"[Workload w]\nUnit=\nSlice=a.slice\n", false},
		{"[Workload w]\nPriority=1\n", false},
		{"[Workload w]\nCPUs=all\n", false},
		{"[Workload w]\nProfile=balanced\n", false},
		{"[Workload v]\nUnit=a.service\nProfile=x\n", false},
		{"[Daemon]\nDefaultProfile=x\n", false},
		{"[Daemon]\nOnForeignWrite=yield\n", false},
		{"[Daemon]\nGlobalLatencyLimit=1us\n", false},
		{"[Daemon]\nUmwaitC02=off\n", false},
		{"[Daemon]\nUmwaitMaxTime=0\n", false},
	};
	_made_ one = MAKE_GOOD(base);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_made_ other = MAKE_GOOD(base, cases[i].text);

		ck_assert_msg(policy_equal(one.p, other.p) == cases[i].equal, "%s", cases[i].text);
		ck_assert_msg(policy_equal(other.p, one.p) == cases[i].equal, "%s", cases[i].text);
	}
}
END_TEST

/* The order of sections is no difference. */
START_TEST(test_equal_order)
{
	_made_ a = MAKE_GOOD(
		"[Profile x]\n[Profile y]\nC0=auto\n[Group g]\nCPUs=0\nProfile=x\n[Group h]\nCPUs=1\nProfile=y\n");
	_made_ b = MAKE_GOOD(
		"[Group h]\nCPUs=1\nProfile=y\n[Profile y]\nC0=auto\n[Group g]\nCPUs=0\nProfile=x\n[Profile x]\n");

	ck_assert(policy_equal(a.p, b.p));
}
END_TEST

START_TEST(test_needs)
{
	_made_ none = MAKE_GOOD("[Group g]\nCPUs=isolated\nProfile=balanced\n");
	_made_ some = MAKE_GOOD(
		"[Group g]\nCPUs=llc:0\nProfile=balanced\n[Group h]\nCPUs=core:1\nProfile=balanced\n");

	ck_assert_uint_eq(policy_needs(none.p), 0);
	ck_assert_uint_eq(policy_needs(some.p), SELECTOR_NEEDS_LLC | SELECTOR_NEEDS_TOPOLOGY);
}
END_TEST

/* An unfinished or wrong policy can be formatted and freed all the same. */
START_TEST(test_incomplete)
{
	_made_ m = MAKE("[Group g]\n[Workload w]\n[Profile a]\nBase=a\n");
	char *text = policy_format(m.p);

	ck_assert_uint_eq(m.diags.n_errors, 5);
	ck_assert_ptr_nonnull(strstr(text, "[Group g]\nPriority=0\n"));
	free(text);
	policy_free(NULL);
}
END_TEST

/* policy_finish() may be called again: nothing adds up. */
START_TEST(test_finish_twice)
{
	_made_ m =
		MAKE_GOOD("[Profile a]\nDisableStates=C6\n[Profile b]\nBase=a\nDisableStates=C7\n");

	ck_assert_int_eq(policy_finish(m.p, &m.diags), 0);
	assert_words(&profile_of(&m, "b")->resolved.disable_states, "C6 C7");
	ck_assert_uint_eq(m.diags.n, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy");
	TCase *tc = tcase_create("policy");

	tcase_add_test(tc, test_empty);
	tcase_add_test(tc, test_later_wins);
	tcase_add_test(tc, test_reset);
	tcase_add_test(tc, test_bases);
	tcase_add_test(tc, test_long_chain);
	tcase_add_test(tc, test_caps);
	tcase_add_test(tc, test_long_lists);
	tcase_add_test(tc, test_format_long);
	tcase_add_test(tc, test_equal);
	tcase_add_test(tc, test_equal_order);
	tcase_add_test(tc, test_needs);
	tcase_add_test(tc, test_incomplete);
	tcase_add_test(tc, test_finish_twice);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
