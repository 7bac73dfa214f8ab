/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "adapt.h"
#include "failmem.h"
#include "render.h"

/*
 * Every single allocation from resolving to text fails once: what comes out is -ENOMEM, or the same as
 * without the failure where only a diagnostic was lost, and nothing is left behind.
 */
#define HYBRID_A "POLL 0/0, C1 2/2 MWAIT 0x00, C1E 10/20 MWAIT 0x01, C3! 33/100, C6 133/400"
#define HYBRID_B "POLL 0/0, C1E 2/4 MWAIT 0x01, C6 170/500 MWAIT 0x20, C10 230/700 MWAIT 0x60"

static const char policy_text[] =
	"[Daemon]\nDefaultProfile=rest\nGlobalLatencyLimit=500us\n[Profile rest]\nDisableStates=C7\n"
	"[Profile a]\nLatencyLimit=1us\nC0=auto\nC1Interrupts=auto\nEnableStates=C3\n"
	"[Profile b]\nLatencyLimit=100us\nDisableStates=C10\nBroadcast=off\n"
	"[Group a]\nCPUs=0-3\nProfile=a\n[Group b]\nCPUs=all & !4\nProfile=b\n[Group c]\nCPUs=2-5\n"
	"Profile=a\nPriority=4\n";

struct work {
	struct policy *policy;
	struct machine *machine;
};

static struct machine *host(uint32_t n)
{
	struct machine *m = scene_host(n, HYBRID_A);

	scene_table(m, 4, n - 1, HYBRID_B);
	m->cpus[1].qos_ns = m->cpus[1].qos_prior_ns = 0;
	m->cpus[2].has_qos = false;
	m->cpus[3].disabled = m->cpus[3].disabled_prior = 0;
	m->cpus[5].online = false;
	m->has_global = true;
	m->arat = false;
	snprintf(m->governor, sizeof(m->governor), "ladder");
	m->cmdline = strdup("intel_idle.max_cstate=3 idle=poll");
	return m;
}

/* Everything there is to be done with a plan; the text of all of it, or NULL with -ENOMEM. */
static int run(const struct work *w, char **ret)
{
	struct diag_list diags = {0};
	struct plan *plan = NULL;
	struct changes changes = {0};
	struct view view = {0};
	struct render render = {0};
	int r = plan_resolve(w->policy, w->machine, NULL, &diags, &plan);

	if (r == 0)
		r = diff_make(plan, w->machine, LATENCY_NONE, &changes);
	if (r == 0)
		r = view_make(w->policy, w->machine, plan, NULL, NULL, VIEW_LAYERS, &view);
	if (r == 0) {
		render_plan(&render, &view);
		render_explain(&render, &view);
		render_changes(&render, w->machine, &changes);
		*ret = render_finish(&render);
		r = *ret ? 0 : -ENOMEM;
	}
	view_done(&view);
	changes_done(&changes);
	plan_free(plan);
	diag_done(&diags);
	return r;
}

START_TEST(every_allocation_may_fail)
{
	struct work w = {scene_policy(policy_text), host(8)};
	char *right = NULL, *text;
	unsigned nth = 0;
	bool failed;

	ck_assert_int_eq(run(&w, &right), 0);
	do {
		int r;

		text = NULL;
		failmem_start(++nth);
		r = run(&w, &text);
		failed = failmem_stop();
		ck_assert_msg(failmem_live() == (text ? 1 : 0), "allocation %u: %ld blocks left",
			      nth, failmem_live());
		if (r == 0)
			ck_assert_str_eq(text, right);
		else
			ck_assert_int_eq(r, -ENOMEM);
		free(text);
	} while (failed);
	ck_assert_uint_gt(nth, 100);
	free(right);
	machine_free(w.machine);
	policy_free(w.policy);
}
END_TEST

static int read_busy(void *data _unused_, const struct counter *c, uint64_t *ret)
{
	static uint64_t n;

	n += 100000;
	*ret = n + c->cpu;
	return 0;
}

static const char adapted[] =
	"[Daemon]\nDefaultProfile=p\n[Profile p]\nAdapt=5us\n[Profile g]\nBase=p\nAdaptScope=group\n"
	"[Group pool]\nCPUs=0-3\nProfile=g\n";

/* What is known of the CPUs stays as it was when there is no memory for the next plan's. */
START_TEST(adaptation_keeps_what_it_has)
{
	struct work w = {scene_policy(adapted), host(8)};
	struct adapt_source source = {.read = read_busy};
	struct adapt a = {.n = 0};
	struct plan *plan;
	unsigned nth = 0;
	bool failed;
	int r;

	ck_assert_int_eq(plan_resolve(w.policy, w.machine, NULL, NULL, &plan), 0);
	ck_assert_int_eq(adapt_follow(&a, w.policy, plan, w.machine), 0);
	for (uint64_t s = 1; s < 4; s++)
		adapt_look(&a, s * NSEC_PER_SEC, &source);
	ck_assert_uint_eq(adapt_count_tight(&a), a.n);
	ck_assert_uint_ge(a.n, 6);
	do {
		long before, after;

		failmem_start(++nth);
		before = failmem_live();
		r = adapt_follow(&a, w.policy, plan, w.machine);
		after = failmem_live();
		failed = failmem_stop();
		ck_assert_int_eq(after, before);
		ck_assert_int_eq(r, failed ? -ENOMEM : 1);
		ck_assert_uint_eq(adapt_count_tight(&a), a.n);
		ck_assert_str_eq(adapt_unit_of(&a, 0)->name, "group pool");
	} while (failed);
	ck_assert_uint_ge(nth, 3);
	adapt_done(&a);
	plan_free(plan);
	machine_free(w.machine);
	policy_free(w.policy);
}
END_TEST

/* How many allocations resolving takes. */
static unsigned count(const struct work *w)
{
	for (unsigned nth = 1;; nth++) {
		struct plan *plan = NULL;
		bool failed;

		failmem_start(nth);
		(void)plan_resolve(w->policy, w->machine, NULL, NULL, &plan);
		failed = failmem_stop();
		plan_free(plan);
		if (!failed)
			return nth - 1;
	}
}

START_TEST(no_allocation_per_cpu)
{
	struct work small = {scene_policy(policy_text), host(8)};
	struct work large = {scene_policy(policy_text), host(CPU_MAX)};

	ck_assert_uint_eq(count(&small), count(&large));
	machine_free(small.machine);
	policy_free(small.policy);
	machine_free(large.machine);
	policy_free(large.policy);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("planoom");
	TCase *tc = tcase_create("planoom");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, every_allocation_may_fail);
	tcase_add_test(tc, adaptation_keeps_what_it_has);
	tcase_add_test(tc, no_allocation_per_cpu);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
