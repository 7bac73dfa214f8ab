/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "failmem.h"
#include "hold-text.h"
#include "view.h"

#define US  NSEC_PER_USEC
#define SPR "POLL 0/0, C1 1/1 MWAIT 0x00, C1E 2/4 MWAIT 0x01, C6 290/800 MWAIT 0x20"

static struct holds h;
static struct hold_owner owner, other;

static void clean(void)
{
	holds_done(&h);
	owner = other = (struct hold_owner){.uid = 0};
}

static struct cpuset cpus_of(const char *list)
{
	struct cpuset set;

	ck_assert_int_eq(cpuset_init(&set, 64), 0);
	ck_assert_int_eq(cpuset_parse(&set, list), 0);
	return set;
}

static int try(const char *list, uint64_t ns, const char *profile, const struct settings *modes,
	       struct hold **ret, bool *changed)
{
	struct cpuset set = cpus_of(list);
	struct hold_spec spec = {
		.cpus = &set,
		.limit_ns = ns,
		.profile = profile,
		.modes = modes,
		.reason = "a test",
		.app = "test",
		.since_us = 1000000,
	};
	int r = holds_add(&h, &spec, &owner, ret, changed);

	cpuset_done(&set);
	return r;
}

static struct hold *take(const char *list, uint64_t ns, bool changes)
{
	struct hold *hold;
	bool changed;

	ck_assert_int_eq(try(list, ns, NULL, NULL, &hold, &changed), 0);
	ck_assert_msg(changed == changes, "%s: %d", list, changed);
	return hold;
}

static struct hold *take_ask(const char *list, const char *profile, const struct settings *modes,
			     bool changes)
{
	struct hold *hold;
	bool changed;

	ck_assert_int_eq(try(list, LATENCY_NONE, profile, modes, &hold, &changed), 0);
	ck_assert(changed == changes);
	return hold;
}

START_TEST(strictest_wins)
{
	struct hold *a = take("0-3", 50 * US, true), *b = take("2-5", 20 * US, true), *c;

	ck_assert(holds_limit(&h, 0) == 50 * US && holds_limit(&h, 2) == 20 * US);
	ck_assert(holds_limit(&h, 5) == 20 * US && holds_limit(&h, 6) == LATENCY_NONE);
	ck_assert(holds_limit(&h, 4096) == LATENCY_NONE && holds_limit(NULL, 0) == LATENCY_NONE);
	c = take("2-3", 30 * US, false);
	ck_assert(!holds_remove(&h, c));
	ck_assert(holds_remove(&h, b));
	ck_assert(holds_limit(&h, 2) == 50 * US && holds_limit(&h, 5) == LATENCY_NONE);
	ck_assert(holds_remove(&h, a));
	ck_assert_uint_eq(h.n, 0);
	ck_assert_ptr_null(h.limits);
	ck_assert_uint_eq(owner.n, 0);
	ck_assert_ptr_null(owner.first);
}
END_TEST

START_TEST(one_more_of_the_same_changes_nothing)
{
	struct hold *a = take("0-3", 10 * US, true), *b = take("0-3", 10 * US, false);

	ck_assert_uint_eq(h.n_scopes, 1);
	ck_assert(!holds_remove(&h, a));
	ck_assert(holds_limit(&h, 3) == 10 * US);
	ck_assert(holds_remove(&h, b));
}
END_TEST

START_TEST(zero_is_a_limit_and_none_is_none)
{
	struct hold *z = take("1", 0, true), *n = take("1", LATENCY_NONE, false);

	ck_assert(holds_limit(&h, 1) == 0);
	ck_assert(!holds_remove(&h, n));
	ck_assert(holds_remove(&h, z));
}
END_TEST

START_TEST(found_by_number)
{
	struct hold *a = take("0", 1 * US, true), *b = take("0", 2 * US, false), **v;
	uint32_t id = b->id;

	ck_assert_ptr_eq(holds_find(&h, a->id), a);
	ck_assert_ptr_eq(holds_find(&h, id), b);
	ck_assert_ptr_null(holds_find(&h, 77));
	v = holds_sorted(&h);
	ck_assert(v && v[0] == a && v[1] == b);
	free(v);
	(void)holds_remove(&h, a);
	(void)holds_remove(&h, b);
	ck_assert_ptr_null(holds_find(&h, id));
	/* A number is not given twice, even after the last one has gone. */
	ck_assert_uint_gt(take("0", 1 * US, true)->id, id);
}
END_TEST

START_TEST(bounded)
{
	struct hold *hold;
	char list[32];
	bool changed;

	for (uint32_t i = 0; i < HOLDS_MAX; i++)
		(void)take("0-7", (1 + HOLDS_MAX - i) * US, true);
	ck_assert_int_eq(try("0-7", 1, NULL, NULL, &hold, &changed), -ENOSPC);
	ck_assert_uint_eq(h.n, HOLDS_MAX);
	clean();
	for (uint32_t i = 0; i < HOLD_SCOPES_MAX; i++) {
		snprintf(list, sizeof(list), "%u,%u", i % 32, 32 + i / 32);
		(void)take(list, 10 * US,
			   holds_limit(&h, i % 32) > 10 * US ||
				   holds_limit(&h, 32 + i / 32) > 10 * US);
	}
	ck_assert_int_eq(try("0-63", 1, NULL, NULL, &hold, &changed), -ENOSPC);
	/* A set of CPUs that is known takes more, and a place that is free is used again. */
	(void)take("0,32", 10 * US, false);
	(void)holds_remove(&h, holds_find(&h, owner.first->after->id));
	ck_assert_int_eq(try("0-63", 1, NULL, NULL, &hold, &changed), 0);
}
END_TEST

START_TEST(memory_of_each)
{
	/* What 10 000 of them take with all that is about them, as malloc hands it out. */
	enum { N = 10000 };
	struct cpuset set = cpus_of("0-63");
	struct hold_spec spec = {.cpus = &set,
				 .limit_ns = 10 * US,
				 .reason = "trading session open",
				 .app = "matching-engine"};
	struct hold *hold;
	size_t bytes = 0;
	bool changed;

	for (uint32_t i = 0; i < N; i++) {
		ck_assert_int_eq(holds_add(&h, &spec, &owner, &hold, &changed), 0);
		/* Rounded up to 16 with 8 of the allocator's own. */
		bytes += (sizeof(*hold) + strlen(hold_reason(hold)) + strlen(hold_app(hold)) + 2 +
			  8 + 15) /
			 16 * 16;
	}
	bytes += h.n_buckets * sizeof(void *) + h.scopes[0].cap_heap * sizeof(void *);
	ck_assert_uint_eq(h.n_scopes, 1);
	ck_assert_msg(bytes <= (size_t)200 * N, "%zu bytes each", bytes / N);
	cpuset_done(&set);
}
END_TEST

/* Another way to the same answer: all holds, looked at one by one. */
static uint64_t model_limit(struct hold *const *v, uint32_t n, uint32_t cpu)
{
	uint64_t ns = LATENCY_NONE;

	for (uint32_t i = 0; i < n; i++)
		if (cpuset_has(hold_cpus(&h, v[i]), cpu))
			ns = MIN_OF(ns, v[i]->limit_ns);
	return ns;
}

static void model_all(struct hold *const *v, uint32_t n, uint64_t *limits)
{
	for (uint32_t cpu = 0; cpu < 64; cpu++)
		limits[cpu] = model_limit(v, n, cpu);
}

START_TEST(random_steps_against_a_model)
{
	static const char *const lists[] = {"0-63", "0-7", "4-11", "8", "0,2,4,6", "63", "5-40:5"};
	struct hold *v[128] = {NULL};
	uint64_t before[64], after[64];
	uint32_t n = 0, seed = 4711;

	model_all(v, n, before);
	for (uint32_t step = 0; step < 6000; step++) {
		bool changed;

		seed = seed * 1103515245 + 12345;
		if (n < ARRAY_SIZE(v) && (n == 0 || seed >> 16 & 1)) {
			uint64_t ns = seed >> 20 & 7 ? (seed >> 24 & 31) * US : LATENCY_NONE;

			ck_assert_int_eq(try(lists[(seed >> 8) % ARRAY_SIZE(lists)], ns, NULL, NULL,
					     &v[n], &changed),
					 0);
			n++;
		} else {
			uint32_t at = (seed >> 17) % n;

			changed = holds_remove(&h, v[at]);
			v[at] = v[--n];
		}
		model_all(v, n, after);
		for (uint32_t cpu = 0; cpu < 64; cpu++)
			ck_assert_msg(holds_limit(&h, cpu) == after[cpu], "step %u CPU %u", step,
				      cpu);
		ck_assert(changed == (memcmp(before, after, sizeof(before)) != 0));
		memcpy(before, after, sizeof(before));
		ck_assert_uint_eq(owner.n, n);
	}
}
END_TEST

START_TEST(every_allocation_may_fail)
{
	const struct settings window = {.given = SETTING_C1_INTERRUPTS, .c1_interrupts = C1_WINDOW};
	struct cpuset set = cpus_of("0-3"), wide = cpus_of("0-9");
	struct hold_spec spec = {.cpus = &set, .limit_ns = 5, .reason = "r", .app = "a"};
	unsigned nth = 1;

	for (bool failed = true; failed; nth++) {
		struct hold_owner o = {.uid = 0};
		struct hold *hold;
		bool changed;
		int r[3];

		failmem_start(nth);
		spec.profile = NULL;
		spec.modes = NULL;
		spec.cpus = &set;
		r[0] = holds_add(&h, &spec, &o, &hold, &changed);
		spec.profile = "fast";
		spec.modes = &window;
		r[1] = holds_add(&h, &spec, &o, &hold, &changed);
		spec.cpus = &wide;
		r[2] = holds_add(&h, &spec, &o, &hold, &changed);
		while (o.first)
			(void)holds_remove(&h, o.first);
		failed = failmem_stop();
		for (unsigned i = 0; i < 3; i++)
			ck_assert(r[i] == 0 || (failed && r[i] == -ENOMEM));
		ck_assert_int_eq(failmem_live(), 0);
		ck_assert_uint_eq(h.n, 0);
	}
	ck_assert_uint_gt(nth, 10);
	cpuset_done(&set);
	cpuset_done(&wide);
}
END_TEST

/* ---- what a plan makes of them ---- */

static struct scene s;

static const char policy_text[] = "[Profile fast]\nLatencyLimit=15us\nC1Interrupts=window\n"
				  "DisableStates=C1E\n"
				  "[Profile slow]\nHaltPoll=300us\n"
				  "[Profile group]\nLatencyLimit=100us\nC1Interrupts=sti-mwait\n"
				  "[Group g]\nCPUs=0-3\nProfile=group\nPriority=99\n";

static void resolve(void)
{
	plan_free(s.plan);
	s.plan = NULL;
	diag_done(&s.diags);
	ck_assert_int_eq(plan_resolve(s.policy, s.machine, &h, &s.diags, &s.plan), 0);
}

static void open_scene(void)
{
	scene_set(&s, scene_host(8, SPR), policy_text);
}

static void close_scene(void)
{
	scene_done(&s);
	clean();
}

START_TEST(a_limit_reaches_the_plan)
{
	struct hold *hold = take("2-5", 10 * US, true);

	resolve();
	ck_assert_str_eq(scene_deepest(&s, 2), "C1E");
	ck_assert_str_eq(scene_deepest(&s, 5), "C1E");
	ck_assert_str_eq(scene_deepest(&s, 6), "C6");
	ck_assert(scene_row(&s, 2)->limit_source == LIMIT_HOLD);
	ck_assert(scene_row(&s, 2)->sets_qos && scene_row(&s, 2)->qos_ns == 10 * US);
	ck_assert(scene_row(&s, 2)->policy_limit_ns == 10 * US);
	ck_assert(scene_row(&s, 0)->limit_source == LIMIT_POLICY);
	(void)holds_remove(&h, hold);
	resolve();
	ck_assert(scene_row(&s, 5)->limit_ns == LATENCY_NONE);
	ck_assert(scene_row(&s, 2)->limit_ns == 100 * US);
}
END_TEST

START_TEST(a_looser_one_than_the_policy_changes_nothing)
{
	(void)take("0", 200 * US, true);
	resolve();
	ck_assert(scene_row(&s, 0)->limit_ns == 100 * US);
	ck_assert(scene_row(&s, 0)->limit_source == LIMIT_POLICY);
	ck_assert(scene_row(&s, 0)->hold_limit_ns == 200 * US);
}
END_TEST

START_TEST(under_a_module_and_without_a_file)
{
	(void)take("0-7", 10 * US, true);
	s.machine->module.loaded = s.machine->module.limits = true;
	s.machine->cpus[7].has_qos = false;
	resolve();
	ck_assert(scene_row(&s, 5)->module.limit_ns == 10 * US && !scene_row(&s, 5)->sets_qos);
	s.machine->module = (struct machine_module){.loaded = false};
	resolve();
	ck_assert_uint_eq(scene_row(&s, 7)->disable_mask, 1U << 3);
}
END_TEST

START_TEST(below_what_the_device_holds)
{
	plan_free(s.plan);
	policy_free(s.policy);
	s.plan = NULL;
	s.policy = scene_policy("[Daemon]\nGlobalLatencyLimit=50us\n");
	s.machine->has_global = true;
	s.machine->global_others_ns = LATENCY_NONE;
	(void)take("0", 10 * US, true);
	(void)take("1", 80 * US, true);
	resolve();
	ck_assert(scene_row(&s, 0)->sets_qos && scene_row(&s, 0)->qos_ns == 10 * US);
	ck_assert(!scene_row(&s, 1)->sets_qos && scene_row(&s, 1)->limit_ns == 50 * US);
}
END_TEST

START_TEST(a_profile_comes_before_groups)
{
	struct hold *hold = take_ask("0-1,6", "fast", NULL, true);
	const struct plan_row *row;

	resolve();
	row = scene_row(&s, 0);
	ck_assert(row->limit_ns == 15 * US && row->limit_source == LIMIT_HOLD);
	ck_assert(row->modes[MODE_C1_INTERRUPTS].requested == MODE_WINDOW);
	ck_assert_str_eq(s.policy->profiles[row->profile].name, "fast");
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1");
	ck_assert(scene_row(&s, 2)->modes[MODE_C1_INTERRUPTS].requested == MODE_STI_MWAIT);
	/* Where no group is, the default profile is still a demand, and loses. */
	ck_assert_uint_eq(scene_row(&s, 6)->n_demands, 2);
	(void)holds_remove(&h, hold);
	resolve();
	ck_assert(scene_row(&s, 0)->modes[MODE_C1_INTERRUPTS].requested == MODE_STI_MWAIT);
}
END_TEST

START_TEST(single_modes_lie_over_profiles)
{
	const struct settings native = {.given = SETTING_C1_INTERRUPTS, .c1_interrupts = C1_NATIVE};
	const struct settings poll = {.given = SETTING_HALTPOLL, .haltpoll_ns = 50 * US};

	(void)take_ask("0-3", NULL, &native, true);
	(void)take_ask("0-3", NULL, &native, false);
	(void)take_ask("3", NULL, &poll, true);
	resolve();
	ck_assert(scene_row(&s, 0)->modes[MODE_C1_INTERRUPTS].requested == MODE_NATIVE);
	ck_assert(scene_row(&s, 0)->haltpoll_ns == HALTPOLL_OFF);
	ck_assert(scene_row(&s, 3)->modes[MODE_C1_INTERRUPTS].requested == MODE_NATIVE);
	ck_assert(scene_row(&s, 3)->haltpoll_ns == 50 * US);
	ck_assert(scene_row(&s, 3)->limit_ns == 100 * US);
}
END_TEST

START_TEST(fewer_cpus_then_the_older)
{
	const struct settings window = {.given = SETTING_C1_INTERRUPTS, .c1_interrupts = C1_WINDOW};
	const struct settings native = {.given = SETTING_C1_INTERRUPTS, .c1_interrupts = C1_NATIVE};
	struct hold *first = take_ask("4-7", NULL, &window, true);

	(void)take_ask("4-7", NULL, &native, true);
	(void)take_ask("4", NULL, &native, true);
	resolve();
	ck_assert(scene_row(&s, 5)->modes[MODE_C1_INTERRUPTS].requested == MODE_WINDOW);
	ck_assert(scene_row(&s, 4)->modes[MODE_C1_INTERRUPTS].requested == MODE_NATIVE);
	ck_assert(holds_remove(&h, first));
	resolve();
	ck_assert(scene_row(&s, 5)->modes[MODE_C1_INTERRUPTS].requested == MODE_NATIVE);
}
END_TEST

START_TEST(a_profile_that_went_is_waited_for)
{
	(void)take_ask("0", "nightly", NULL, true);
	resolve();
	ck_assert(scene_says(&s, DIAG_WARNING, "1 holds ask for profile nightly"));
	ck_assert(scene_row(&s, 0)->limit_ns == 100 * US);
}
END_TEST

static const char *layer(const struct view_row *row, const char *name)
{
	for (uint32_t i = 0; i < row->n_layers; i++)
		if (streq(row->layers[i].name, name))
			return row->layers[i].text;
	ck_abort_msg("no layer %s", name);
}

START_TEST(explain_names_every_one)
{
	const struct settings window = {.given = SETTING_C1_INTERRUPTS | SETTING_HALTPOLL,
					.c1_interrupts = C1_WINDOW,
					.haltpoll_ns = HALTPOLL_AUTO};
	struct cpuset set = cpus_of("6");
	struct view v;

	owner = (struct hold_owner){.uid = 1000, .pid = 42, .unit = "db.service"};
	(void)take("4-6", 10 * US, true);
	(void)take_ask("6", "fast", &window, true);
	resolve();
	ck_assert_int_eq(view_make(s.policy, s.machine, s.plan, &h, &set, VIEW_LAYERS, &v), 0);
	ck_assert_uint_eq(v.n, 1);
	ck_assert_str_eq(v.rows[0].limit_source, "hold 1 of test (10us)");
	ck_assert_str_eq(layer(v.rows, "hold 1"),
			 "latency limit 10us for 4-6; test (pid 42, uid 1000, db.service): a test; "
			 "since 1970-01-01T00:00:01Z");
	ck_assert_str_eq(layer(v.rows, "hold 2"),
			 "profile fast, C1Interrupts=window HaltPoll=auto for 6; test (pid 42, uid "
			 "1000, db.service): a test; since 1970-01-01T00:00:01Z");
	ck_assert_ptr_nonnull(strstr(layer(v.rows, "default profile"), "profile fast is held"));
	ck_assert_ptr_nonnull(strstr(layer(v.rows, "held profile"), "its modes hold"));
	view_done(&v);
	cpuset_done(&set);
}
END_TEST

START_TEST(explain_is_bounded)
{
	struct cpuset set = cpus_of("6");
	struct view v;

	for (unsigned i = 0; i < 100; i++)
		(void)take("6", (200 - i) * US, true);
	resolve();
	ck_assert_int_eq(view_make(s.policy, s.machine, s.plan, &h, &set, VIEW_LAYERS, &v), 0);
	ck_assert_str_eq(v.rows[0].limit_source, "hold 100 of test (101us)");
	ck_assert_str_eq(layer(v.rows, "holds"), "36 more, the strictest limit of all is 101us; "
						 "'cpuidlectl list-holds' tells each");
	view_done(&v);
	cpuset_done(&set);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hold");
	TCase *alone = tcase_create("alone"), *planned = tcase_create("planned");

	tcase_set_timeout(alone, 120);
	tcase_add_checked_fixture(alone, NULL, clean);
	tcase_add_test(alone, strictest_wins);
	tcase_add_test(alone, one_more_of_the_same_changes_nothing);
	tcase_add_test(alone, zero_is_a_limit_and_none_is_none);
	tcase_add_test(alone, found_by_number);
	tcase_add_test(alone, bounded);
	tcase_add_test(alone, memory_of_each);
	tcase_add_test(alone, random_steps_against_a_model);
	tcase_add_test(alone, every_allocation_may_fail);
	suite_add_tcase(suite, alone);
	tcase_add_checked_fixture(planned, open_scene, close_scene);
	tcase_add_test(planned, a_limit_reaches_the_plan);
	tcase_add_test(planned, a_looser_one_than_the_policy_changes_nothing);
	tcase_add_test(planned, under_a_module_and_without_a_file);
	tcase_add_test(planned, below_what_the_device_holds);
	tcase_add_test(planned, a_profile_comes_before_groups);
	tcase_add_test(planned, single_modes_lie_over_profiles);
	tcase_add_test(planned, fewer_cpus_then_the_older);
	tcase_add_test(planned, a_profile_that_went_is_waited_for);
	tcase_add_test(planned, explain_names_every_one);
	tcase_add_test(planned, explain_is_bounded);
	suite_add_tcase(suite, planned);
	return test_main(suite);
}
