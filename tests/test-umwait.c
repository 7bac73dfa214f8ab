/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "fake-module.h"
#include "kernel.h"

/* C0.x, haltpoll, entry by port as the daemon asks for them: what goes to the module, what it says of itself. */
struct world {
	struct fake_module fake;
	struct kernel *kernel;
	struct plan plan;
	struct plan_row rows[4];
	uint16_t row_of[4];
};

static void take(struct world *w, bool c0, const char *row_reason)
{
	memset(w, 0, sizeof(*w));
	for (uint16_t i = 0; i < 4; i++) {
		w->rows[i].module = (struct plan_module){.limit_ns = LATENCY_NONE};
		w->row_of[i] = i;
	}
	w->plan = (struct plan){.n_cpus = 4, .row_of = w->row_of, .rows = w->rows, .n_rows = 4};
	fake_start(&w->fake);
	w->fake.c0 = c0;
	w->fake.row_reason = row_reason;
	ck_assert_int_eq(kernel_new_on(w->fake.requests_fd, w->fake.events_fd, &w->kernel), 0);
	ck_assert_int_eq(kernel_take(w->kernel), 0);
}

static void drop(struct world *w)
{
	kernel_free(w->kernel);
	fake_stop(&w->fake);
}

static int set(struct world *w)
{
	_cleanup_(module_rows_done) struct module_rows want = {.n_cpus = 0};

	ck_assert_int_eq(module_rows_make(&w->plan, &want), 0);
	return kernel_set(w->kernel, &want);
}

START_TEST(says_what_it_can)
{
	struct machine_module m;
	struct world w;

	take(&w, true, NULL);
	kernel_describe(w.kernel, &m);
	ck_assert(m.c0x && m.c0_row);
	ck_assert_uint_eq(m.c1_states, 1U << 1);
	ck_assert(machine_module_c0(&m, 31) && !machine_module_c0(&m, 32));
	ck_assert_str_eq(m.c0_reason, "");
	drop(&w);
	take(&w, true, "only intel_idle takes one state more");
	kernel_describe(w.kernel, &m);
	ck_assert(m.c0x && !m.c0_row);
	ck_assert_str_eq(m.c0_row_reason, "only intel_idle takes one state more");
	drop(&w);
	take(&w, false, NULL);
	kernel_describe(w.kernel, &m);
	ck_assert(!m.c0x && !machine_module_c0(&m, 0));
	drop(&w);
}
END_TEST

START_TEST(asks_as_planned)
{
	uint32_t differs, first;
	struct world w;

	take(&w, true, NULL);
	w.rows[0].module.poll = C0_WAIT_2;
	w.rows[1].module.poll = w.rows[1].module.c1 = C0_WAIT_1;
	w.rows[2].module.row = C0_WAIT_2;
	w.plan.guest = true;
	ck_assert_int_eq(set(&w), 1);
	ck_assert_uint_eq(w.fake.rows[0].poll, 2);
	ck_assert_uint_eq(w.fake.rows[1].poll, 1);
	ck_assert_uint_eq(w.fake.rows[1].c1, 1);
	ck_assert_uint_eq(w.fake.rows[2].row, 2);
	ck_assert_uint_eq(w.fake.rows[3].poll + w.fake.rows[3].c1 + w.fake.rows[3].row, 0);
	ck_assert(w.fake.guest);
	ck_assert_int_eq(set(&w), 0); /* stands already */
	fake_verify(w.kernel, &differs, &first);
	ck_assert_uint_eq(differs, 0);
	w.fake.rows[1].c1 = 0;
	fake_verify(w.kernel, &differs, &first);
	ck_assert_uint_eq(differs, 1);
	ck_assert_uint_eq(first, 1);
	w.plan.guest = false;
	w.rows[0].module.poll = C0_WAIT_NONE;
	ck_assert_int_eq(set(&w), 1);
	ck_assert_uint_eq(w.fake.rows[0].poll, 0);
	ck_assert(!w.fake.guest);
	drop(&w);
}
END_TEST

/* A state more: where it stands, what the others' numbers are, and that our own doing is no news. */
START_TEST(own_row_comes_and_goes)
{
	struct machine_module without, with;
	struct kernel_news news;
	struct world w;

	take(&w, true, NULL);
	kernel_describe(w.kernel, &without);
	ck_assert_int_eq(kernel_own_row(w.kernel), 0);
	w.rows[0].module.row = C0_WAIT_2;
	w.rows[0].module.irq_window = 1U << 1;
	ck_assert_int_eq(set(&w), 1);
	ck_assert_int_eq(kernel_own_row(w.kernel), 1);
	kernel_describe(w.kernel, &with);
	ck_assert_uint_eq(with.window_states, without.window_states);
	ck_assert_uint_eq(with.c1_states, without.c1_states);
	ck_assert_uint_eq(w.fake.rows[0].window, 1U << 1);
	fake_tell(&w.fake, FAKE_DRIVER);
	ck_assert(!kernel_collect(w.kernel, &news));
	/* Gone by itself, as when the table is put back: news. */
	w.fake.rows[0].row = 0;
	fake_tell(&w.fake, FAKE_DRIVER);
	ck_assert(kernel_collect(w.kernel, &news) && news.host);
	ck_assert_int_eq(kernel_own_row(w.kernel), 0);
	ck_assert_int_eq(kernel_back(w.kernel), 1);
	ck_assert_int_eq(kernel_own_row(w.kernel), 0);
	drop(&w);
}
END_TEST

/* Whoever does it: files of states are named otherwise by then. */
START_TEST(another_owners_row_is_news)
{
	struct kernel_news news;
	struct world w;

	take(&w, true, NULL);
	kernel_drop(w.kernel);
	w.fake.rows[5].row = 1;
	fake_tell(&w.fake, FAKE_DRIVER);
	ck_assert(kernel_collect(w.kernel, &news) && news.host);
	ck_assert_int_eq(kernel_own_row(w.kernel), -1);
	drop(&w);
}
END_TEST

START_TEST(refusal_leaves_what_stood)
{
	struct world w;

	take(&w, true, NULL);
	w.rows[0].module.poll = C0_WAIT_2;
	ck_assert_int_eq(set(&w), 1);
	w.rows[0].module.poll = C0_WAIT_NONE;
	w.rows[0].module.row = C0_WAIT_2;
	w.fake.fail_cmd = 5; /* CONFIG_SET */
	w.fake.fail_error = -EOPNOTSUPP;
	w.fake.fail_text = "somebody else has eleven states";
	ck_assert_int_eq(set(&w), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(kernel_text(w.kernel), "somebody else has eleven states"));
	ck_assert_int_eq(kernel_standing(w.kernel), KERNEL_OURS);
	ck_assert_uint_eq(w.fake.rows[0].poll, 2);
	drop(&w);
}
END_TEST

START_TEST(halts_as_planned)
{
	struct machine_module m;
	uint32_t differs, first;
	struct world w;

	take(&w, false, NULL);
	kernel_describe(w.kernel, &m);
	ck_assert(!m.haltpoll && !m.host_poll && !m.ioport && !m.dummy_wait && !m.ioport_states);
	/* Measured while the lease is taken: asked for again after it. */
	kernel_drop(w.kernel);
	w.fake.leased = false;
	w.fake.halts = w.fake.dummy_wait = true;
	w.fake.n_states = 3;
	ck_assert_int_eq(kernel_take(w.kernel), 0);
	kernel_describe(w.kernel, &m);
	ck_assert(m.haltpoll && m.host_poll && m.ioport && m.dummy_wait);
	ck_assert_uint_eq(m.ioport_states, 1U << 2);
	w.rows[0].module.haltpoll_us = 200;
	w.rows[1].module.ioport_direct = true;
	ck_assert_int_eq(set(&w), 1);
	ck_assert_uint_eq(w.fake.rows[0].haltpoll_ns, 200000);
	ck_assert_uint_eq(w.fake.rows[0].ioport, 0);
	ck_assert_uint_eq(w.fake.rows[1].ioport, 1);
	ck_assert_uint_eq(w.fake.rows[1].haltpoll_ns + w.fake.rows[2].haltpoll_ns, 0);
	ck_assert_int_eq(set(&w), 0);
	fake_verify(w.kernel, &differs, &first);
	ck_assert_uint_eq(differs, 0);
	w.fake.rows[0].haltpoll_ns = 100000;
	w.fake.rows[1].ioport = 0;
	fake_verify(w.kernel, &differs, &first);
	ck_assert_uint_eq(differs, 2);
	ck_assert_uint_eq(first, 0);
	w.rows[0].module.haltpoll_us = 0;
	ck_assert_int_eq(set(&w), 1);
	ck_assert_uint_eq(w.fake.rows[0].haltpoll_ns, 0);
	drop(&w);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("umwait");
	TCase *tc = tcase_create("umwait");

	tcase_add_test(tc, says_what_it_can);
	tcase_add_test(tc, asks_as_planned);
	tcase_add_test(tc, own_row_comes_and_goes);
	tcase_add_test(tc, another_owners_row_is_news);
	tcase_add_test(tc, refusal_leaves_what_stood);
	tcase_add_test(tc, halts_as_planned);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
