/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "failmem.h"
#include "policy.h"
#include "schema.h"
#include "source.h"

/*
 * Every single allocation on the way from text to policy and back fails once. What comes out is then either
 * -ENOMEM or right, and nothing is left behind.
 */
static const char *const good[] = {
	"[Daemon]\nDefaultProfile=a\nOnForeignWrite=yield\nGlobalLatencyLimit=100us\n"
	"[Profile a]\nBase=b\nDescription=words\nLatencyLimit=20us\nDisableStates=C6 C7\n",
	"[Profile b]\nHaltPoll=auto\nDisableStates=C8 \"C 9\"\nEnableStates=C3\n[Profile c]\n[Profile d]\n"
	"[Group g]\nCPUs=isolated & !(node:1 | 0-3)\nProfile=b\nPriority=3\n[Group h]\nCPUs=0\nProfile=a\n"
	"[Workload w]\nUnit=a.service\nProfile=a\n",
	"[Profile a]\nDescription=others\nDisableStates=\nDisableStates=C1\n[Group g]\nCPUs=all\nProfile=a\n[cpu]\n",
};

static const char *const bad[] = {
	"junk\n[Profile a]\nBase=b\nLatencyLimit=x\nNonsense=1\n[Group g]\nCPUs=x\n[Profil x]\n",
	"[Profile b]\nBase=a\nDisableStates=C6\nEnableStates=C6\n[Workload w]\nUnit=a\nSlice=b.slice\n",
};

struct outcome {
	char *text;
	size_t n_errors, n_warnings, dropped;
};

static int make(struct policy **p, const char *const *texts, size_t n, struct diag_list *diags)
{
	int r = policy_new(p);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = policy_add_text(*p, "file", texts[i], strlen(texts[i]), diags);
	return r < 0 ? r : policy_finish(*p, diags);
}

/* The whole way. text stays NULL when there are errors. */
static int run(const char *const *texts, size_t n, struct outcome *ret)
{
	struct diag_list diags = {0};
	struct policy *p = NULL;
	int r = make(&p, texts, n, &diags);

	*ret = (struct outcome){NULL, diags.n_errors, diags.n_warnings, diags.dropped};
	if (r == 0 && diags.n_errors == 0) {
		ret->text = policy_format(p);
		r = ret->text ? 0 : -ENOMEM;
	}
	policy_free(p);
	diag_done(&diags);
	return r;
}

static void check_outcome(unsigned nth, int r, const struct outcome *o, const struct outcome *right)
{
	ck_assert_msg(r == 0 || r == -ENOMEM, "allocation %u: %d", nth, r);
	if (r < 0) {
		ck_assert_ptr_null(o->text);
		return;
	}
	/* A message may be lost, but it is counted, and the policy is refused as before. */
	ck_assert_uint_eq(o->n_errors, right->n_errors);
	ck_assert_uint_eq(o->n_warnings, right->n_warnings);
	if (right->text)
		ck_assert_str_eq(o->text, right->text);
	else
		ck_assert_ptr_null(o->text);
}

static void walk(const char *const *texts, size_t n)
{
	struct outcome right, o;
	unsigned nth = 0, n_failed = 0, n_lost = 0;
	bool hit;
	int r;

	ck_assert_int_eq(run(texts, n, &right), 0);
	do {
		failmem_start(++nth);
		r = run(texts, n, &o);
		hit = failmem_stop();
		check_outcome(nth, r, &o, &right);
		ck_assert_msg(failmem_live() == (o.text ? 1 : 0),
			      "allocation %u: %ld blocks are left", nth, failmem_live());
		ck_assert(hit || r == 0);
		n_failed += r < 0;
		n_lost += o.dropped > 0;
		free(o.text);
	} while (hit);
	/* The walk was one: most failures stop it, those of messages do not. */
	ck_assert_uint_gt(nth, 20);
	ck_assert_uint_gt(n_failed, 10);
	ck_assert_uint_gt(n_lost, 0);
	free(right.text);
}

START_TEST(test_good)
{
	walk(good, ARRAY_SIZE(good));
}
END_TEST

START_TEST(test_bad)
{
	walk(bad, ARRAY_SIZE(bad));
}
END_TEST

START_TEST(test_conf)
{
	char *right = schema_default_conf(), *text;
	unsigned nth = 0;
	bool hit;

	do {
		failmem_start(++nth);
		text = schema_default_conf();
		hit = failmem_stop();
		ck_assert((text == NULL) == hit);
		ck_assert_int_eq(failmem_live(), text ? 1 : 0);
		if (text)
			ck_assert_str_eq(text, right);
		free(text);
	} while (hit);
	free(right);
}
END_TEST

static int eval(const struct selector *s, const struct machine *m, bool *ret_hit)
{
	struct cpuset set = {0};
	int r = selector_eval(s, m, &set);

	*ret_hit = failmem_stop();
	if (r == 0)
		ck_assert_uint_eq(cpuset_count(&set), 2);
	free(set.words);
	return r;
}

START_TEST(test_selector)
{
	struct machine *m = NULL;
	struct selector *s = NULL;
	char error[64];
	unsigned nth = 0;
	bool hit;

	ck_assert_int_eq(machine_new(8, &m), 0);
	for (uint32_t i = 0; i < 8; i++)
		m->cpus[i].present = true;
	ck_assert_int_eq(selector_new("(0-3 | 5) & !(1 | 2 | 7) & !5", &s, error, sizeof(error)),
			 0);
	do {
		int r;

		failmem_start(++nth);
		r = eval(s, m, &hit);
		ck_assert_int_eq(r, hit ? -ENOMEM : 0);
		ck_assert_int_eq(failmem_live(), hit ? 0 : 1);
	} while (hit);
	ck_assert_uint_gt(nth, 6);
	selector_free(s);
	machine_free(m);
}
END_TEST

/* Number of sections that were read, or -errno. */
static int load(const struct source_options *o)
{
	struct diag_list diags = {0};
	struct policy *p = NULL;
	int r = source_load(o, &diags, &p);

	if (r == 0)
		r = (int)(p->n_profiles + p->n_groups + p->n_workloads);
	policy_free(p);
	diag_done(&diags);
	return r;
}

/* The same from files; what the C library allocates for itself (opendir) is not ours to fail. */
START_TEST(test_source)
{
	char root[512], vendor[1024];
	struct source_options o = {
		.root = root, .vendor_dir = vendor, .extra = "[Profile s]\nC0=auto\n"};
	unsigned nth = 0;
	bool hit;

	snprintf(root, sizeof(root), "%s", test_tmpdir());
	snprintf(vendor, sizeof(vendor), "%s/vendor", root);
	test_write(vendor, "profiles/s.conf", "[Profile s]\nLatencyLimit=20us\n");
	test_write(root, "etc/cpuidled/cpuidled.conf", "[Daemon]\nDefaultProfile=s\n");
	test_write(root, "run/cpuidled/cpuidled.conf.d/a.conf", "[Group g]\nCPUs=0\nProfile=s\n");
	test_write(root, "etc/cpuidled/cpuidled.conf.d/b.conf",
		   "[Workload w]\nUnit=w.scope\nProfile=s\n");
	do {
		int r;

		failmem_start(++nth);
		r = load(&o);
		hit = failmem_stop();
		ck_assert_msg(r == 4 || (hit && r == -ENOMEM), "allocation %u: %d", nth, r);
		ck_assert_int_eq(failmem_live(), 0);
	} while (hit);
	ck_assert_uint_gt(nth, 30);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("oom");
	TCase *tc = tcase_create("oom");

	tcase_add_test(tc, test_good);
	tcase_add_test(tc, test_bad);
	tcase_add_test(tc, test_conf);
	tcase_add_test(tc, test_selector);
	tcase_add_test(tc, test_source);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
