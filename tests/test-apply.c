/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "apply.h"

/*
 * A host of knobs in memory whose writes and reads can be told to fail. Time is the count of calls.
 */
#define N_CPUS 6U

struct fake {
	uint64_t qos[N_CPUS];
	uint64_t disable[N_CPUS][MACHINE_STATES_MAX];
	uint64_t global;
	uint32_t n_set, n_get; /* calls so far */
	uint32_t fail_set, fail_get; /* the call that fails, UINT32_MAX: none */
	int error;
	bool stays_broken; /* every later one fails, too */
	bool empties; /* a failing write leaves the knob unreadable, as a truncated file is */
	bool unreadable;
	uint32_t drop; /* this write is taken and does not stick */
};

static uint64_t *knob(struct fake *f, const struct change *c)
{
	switch ((enum knob_kind)c->kind) {
	case KNOB_QOS:
		return &f->qos[c->cpu];
	case KNOB_DISABLE:
		return &f->disable[c->cpu][c->state];
	case KNOB_GLOBAL:
		return &f->global;
	case KNOB_HOST:
		break;
	}
	ck_abort();
}

static bool hits(uint32_t call, uint32_t at, bool onwards)
{
	return call == at || (onwards && call > at);
}

static int fake_set(void *data, const struct change *c, uint64_t value)
{
	struct fake *f = data;
	uint32_t call = f->n_set++;

	if (hits(call, f->fail_set, f->stays_broken)) {
		f->unreadable = f->empties;
		return f->error;
	}
	f->unreadable = false;
	if (call != f->drop)
		*knob(f, c) = value;
	return 0;
}

static int fake_get(void *data, const struct change *c, uint64_t *ret)
{
	struct fake *f = data;

	if (hits(f->n_get++, f->fail_get, false))
		return f->error;
	if (f->unreadable)
		return -EBADMSG;
	*ret = *knob(f, c);
	return 0;
}

static const struct actuator_ops fake_ops = {.set = fake_set, .get = fake_get};

static void fake_init(struct fake *f)
{
	*f = (struct fake){
		.global = LATENCY_NONE,
		.fail_set = UINT32_MAX,
		.fail_get = UINT32_MAX,
		.drop = UINT32_MAX,
	};
	for (uint32_t i = 0; i < N_CPUS; i++)
		f->qos[i] = i % 2 ? LATENCY_NONE : 5 * NSEC_PER_USEC;
}

/* Every kind of knob, in both directions. */
static struct change list[] = {
	{LATENCY_NONE, 20000, 1, 0, KNOB_QOS, 0},
	{LATENCY_NONE, 0, 3, 0, KNOB_QOS, 0},
	{0, 1, 4, 2, KNOB_DISABLE, 0},
	{0, 1, 4, 3, KNOB_DISABLE, 0},
	{LATENCY_NONE, 50000, 0, 0, KNOB_GLOBAL, 0},
	{5000, LATENCY_NONE, 2, 0, KNOB_QOS, 0},
	{5000, 7000, 4, 0, KNOB_QOS, 0},
};
static const struct changes all = {.v = list, .n = ARRAY_SIZE(list), .n_tighten = 5};

static bool same(const struct fake *a, const struct fake *b)
{
	return memcmp(a->qos, b->qos, sizeof(a->qos)) == 0 && a->global == b->global &&
	       memcmp(a->disable, b->disable, sizeof(a->disable)) == 0;
}

static struct actuator over(struct fake *f)
{
	return (struct actuator){.ops = &fake_ops, .data = f};
}

START_TEST(writes_each_once_in_order)
{
	struct apply_result result;
	struct fake f;
	struct actuator a;

	fake_init(&f);
	a = over(&f);
	ck_assert_int_eq(apply_run(&a, &all, &result), 0);
	ck_assert_uint_eq(result.n_written, all.n);
	ck_assert_uint_eq(result.failed, UINT32_MAX);
	ck_assert_uint_eq(f.n_set, all.n);
	ck_assert_uint_eq(f.n_get, 0);
	for (uint32_t i = 0; i < all.n; i++)
		ck_assert_uint_eq(*knob(&f, &list[i]), list[i].to);
	ck_assert_int_eq(apply_verify(&a, &all, &result), 0);
	ck_assert_uint_eq(f.n_get, all.n);
	ck_assert_uint_eq(f.n_set, all.n);
}
END_TEST

static const int errors[] = {-EIO, -EINVAL, -ENOENT, -EACCES, -ENOSPC, -EROFS, -EBUSY, -ENODEV};

/* _i walks every write times every errno. */
START_TEST(failure_of_any_write_goes_back_exactly)
{
	uint32_t at = (uint32_t)_i % all.n;
	struct apply_result result;
	struct fake f, before;
	struct actuator a;

	fake_init(&f);
	before = f;
	f.fail_set = at;
	f.error = errors[(uint32_t)_i / all.n];
	f.empties = _i % 2;
	a = over(&f);
	ck_assert_int_eq(apply_run(&a, &all, &result), f.error);
	ck_assert_uint_eq(result.failed, at);
	ck_assert_int_eq(result.error, f.error);
	ck_assert_uint_eq(result.n_written, at);
	ck_assert_uint_eq(result.n_not_rolled_back, 0);
	ck_assert(same(&f, &before));
	/* Nothing behind the failed one was tried. */
	ck_assert_uint_le(f.n_set, 2 * at + 2);
}
END_TEST

START_TEST(way_back_tries_every_item)
{
	uint32_t at = (uint32_t)_i;
	struct apply_result result;
	struct fake f;
	struct actuator a;

	fake_init(&f);
	f.fail_set = at;
	f.error = -EIO;
	f.stays_broken = true;
	a = over(&f);
	ck_assert_int_eq(apply_run(&a, &all, &result), -EIO);
	ck_assert_uint_eq(result.n_not_rolled_back, at);
	ck_assert_uint_eq(f.n_set, 2 * at + 1);
}
END_TEST

START_TEST(verify_finds_what_did_not_stick)
{
	uint32_t at = (uint32_t)_i;
	struct apply_result result;
	struct fake f;
	struct actuator a;

	fake_init(&f);
	f.drop = at;
	a = over(&f);
	ck_assert_int_eq(apply_run(&a, &all, &result), 0);
	ck_assert_int_eq(apply_verify(&a, &all, &result), -ESTALE);
	ck_assert_uint_eq(result.n_differs, 1);
	ck_assert_uint_eq(result.first_differs, at);
	ck_assert_uint_eq(result.found, list[at].from);
}
END_TEST

START_TEST(verify_reports_the_read_that_failed)
{
	uint32_t at = (uint32_t)_i % all.n;
	struct apply_result result;
	struct fake f, before;
	struct actuator a;

	fake_init(&f);
	before = f;
	f.fail_get = at;
	f.error = errors[(uint32_t)_i / all.n];
	a = over(&f);
	ck_assert_int_eq(apply_run(&a, &all, &result), 0);
	ck_assert_int_eq(apply_verify(&a, &all, &result), f.error);
	ck_assert_uint_eq(result.failed, at);
	ck_assert_uint_eq(f.n_get, all.n);
	ck_assert_uint_eq(apply_rollback(&a, &all, all.n), 0);
	ck_assert(same(&f, &before));
}
END_TEST

START_TEST(rollback_leaves_foreign_values_alone)
{
	struct apply_result result;
	struct fake f, before;
	struct actuator a;

	fake_init(&f);
	before = f;
	a = over(&f);
	ck_assert_int_eq(apply_run(&a, &all, &result), 0);
	f.qos[1] = before.qos[1] = 3000;
	ck_assert_uint_eq(apply_rollback(&a, &all, all.n), 0);
	ck_assert(same(&f, &before));
}
END_TEST

START_TEST(apply_all_goes_on_behind_a_failure)
{
	bool done[ARRAY_SIZE(list)];
	struct apply_result result;
	uint32_t at = (uint32_t)_i;
	struct fake f;
	struct actuator a;

	fake_init(&f);
	f.fail_set = at;
	f.error = -EIO;
	a = over(&f);
	ck_assert_uint_eq(apply_all(&a, &all, done, &result), 1);
	ck_assert_uint_eq(result.failed, at);
	ck_assert_uint_eq(result.n_written, all.n - 1);
	for (uint32_t i = 0; i < all.n; i++) {
		ck_assert_int_eq(done[i], i != at);
		ck_assert_uint_eq(*knob(&f, &list[i]), i == at ? list[i].from : list[i].to);
	}
}
END_TEST

START_TEST(nothing_to_do_calls_nothing)
{
	const struct changes none = {.n = 0};
	struct apply_result result;
	struct fake f;
	struct actuator a;

	fake_init(&f);
	a = over(&f);
	ck_assert_int_eq(apply_run(&a, &none, &result), 0);
	ck_assert_int_eq(apply_verify(&a, &none, &result), 0);
	ck_assert_uint_eq(apply_all(&a, &none, NULL, &result), 0);
	ck_assert_uint_eq(f.n_set + f.n_get, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("apply");
	TCase *tc = tcase_create("apply");
	int n = (int)all.n;

	tcase_add_test(tc, writes_each_once_in_order);
	tcase_add_loop_test(tc, failure_of_any_write_goes_back_exactly, 0,
			    n * (int)ARRAY_SIZE(errors));
	tcase_add_loop_test(tc, way_back_tries_every_item, 0, n);
	tcase_add_loop_test(tc, verify_finds_what_did_not_stick, 0, n);
	tcase_add_loop_test(tc, verify_reports_the_read_that_failed, 0,
			    n * (int)ARRAY_SIZE(errors));
	tcase_add_test(tc, rollback_leaves_foreign_values_alone);
	tcase_add_loop_test(tc, apply_all_goes_on_behind_a_failure, 0, n);
	tcase_add_test(tc, nothing_to_do_calls_nothing);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
