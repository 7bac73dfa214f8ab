/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/socket.h>
#include <sys/time.h>

#include "testlib.h"

#include "cpuidle_policy.h"
#include "fake-module.h"
#include "kernel.h"

#define US NSEC_PER_USEC

/* A plan of four CPUs with a row of its own each. */
struct world {
	struct fake_module fake;
	struct kernel *kernel;
	struct plan plan;
	struct plan_row rows[4];
	uint16_t row_of[4];
};

static void none(struct world *w)
{
	for (uint16_t i = 0; i < 4; i++) {
		w->rows[i].module = (struct plan_module){.limit_ns = LATENCY_NONE};
		w->row_of[i] = i;
	}
	w->plan = (struct plan){.n_cpus = 4, .row_of = w->row_of, .rows = w->rows, .n_rows = 4};
}

static void open_world(struct world *w)
{
	memset(w, 0, sizeof(*w));
	none(w);
	fake_start(&w->fake);
	ck_assert_int_eq(kernel_new_on(w->fake.requests_fd, w->fake.events_fd, &w->kernel), 0);
}

static void take(struct world *w)
{
	open_world(w);
	ck_assert_int_eq(kernel_take(w->kernel), 0);
	ck_assert_int_eq(kernel_standing(w->kernel), KERNEL_OURS);
}

static void close_world(struct world *w)
{
	kernel_free(w->kernel);
	fake_stop(&w->fake);
}

static int set(struct world *w)
{
	struct module_rows want;
	int r;

	ck_assert_int_eq(module_rows_make(&w->plan, &want), 0);
	r = kernel_set(w->kernel, &want);
	module_rows_done(&want);
	return r > 0 ? 0 : r;
}

static struct plan_module *row(struct world *w, uint32_t cpu)
{
	return &w->rows[cpu].module;
}

/* ---- the handshake ---- */

START_TEST(handshake)
{
	struct machine_module m;
	struct world w;

	take(&w);
	kernel_describe(w.kernel, &m);
	ck_assert(m.loaded && m.limits && m.states_off && m.irq_window && m.broadcast);
	ck_assert(!m.sti_mwait && !m.c0x && !m.haltpoll && !m.own_driver);
	ck_assert_uint_eq(m.window_states, 1U << 1);
	ck_assert_uint_eq(m.sti_mwait_states, 0);
	ck_assert_str_eq(kernel_text(w.kernel), "cpuidle_policy 1 on fake_idle");
	ck_assert(w.fake.leased);
	close_world(&w);
}
END_TEST

START_TEST(absent)
{
	struct machine_module m;
	struct world w;

	open_world(&w);
	w.fake.absent = true;
	ck_assert_int_eq(kernel_take(w.kernel), -ENOENT);
	ck_assert_int_eq(kernel_standing(w.kernel), KERNEL_ABSENT);
	kernel_describe(w.kernel, &m);
	ck_assert(!m.loaded && !m.limits);
	/* Nothing to keep is no trouble without it, something is. */
	ck_assert_int_eq(set(&w), 0);
	row(&w, 0)->limit_ns = 20 * US;
	ck_assert_int_eq(set(&w), -ENOLCK);
	close_world(&w);
}
END_TEST

START_TEST(other_version)
{
	struct world w;

	open_world(&w);
	w.fake.version = 2;
	ck_assert_int_eq(kernel_take(w.kernel), -EPROTO);
	ck_assert_int_eq(kernel_standing(w.kernel), KERNEL_MISMATCH);
	ck_assert_str_eq(kernel_text(w.kernel),
			 "the loaded cpuidle_policy speaks version 2 of its contract; "
			 "this daemon speaks version 1");
	ck_assert(!w.fake.leased);
	close_world(&w);
}
END_TEST

START_TEST(other_owner)
{
	struct world w;

	open_world(&w);
	w.fake.owner = "somebody";
	ck_assert_int_eq(kernel_take(w.kernel), -EBUSY);
	ck_assert_int_eq(kernel_standing(w.kernel), KERNEL_TAKEN);
	ck_assert_ptr_nonnull(
		strstr(kernel_text(w.kernel), "the lease is held by somebody (pid 77)"));
	/* He is gone: it is ours at the next try. */
	w.fake.owner = NULL;
	ck_assert_int_eq(kernel_take(w.kernel), 0);
	close_world(&w);
}
END_TEST

START_TEST(no_hook)
{
	struct world w;

	open_world(&w);
	w.fake.reason = "idle=poll on the kernel's command line";
	ck_assert_int_eq(kernel_take(w.kernel), 0);
	ck_assert_ptr_nonnull(
		strstr(kernel_text(w.kernel), "idle=poll on the kernel's command line"));
	close_world(&w);
}
END_TEST

/* ---- setting ---- */

START_TEST(rows_arrive)
{
	struct world w;

	take(&w);
	row(&w, 0)->limit_ns = 20 * US;
	row(&w, 1)->irq_window = 1U << 1;
	row(&w, 1)->states_off = 1U << 3;
	row(&w, 2)->limit_ns = 0;
	row(&w, 3)->broadcast = BROADCAST_AVOID;
	ck_assert_int_eq(set(&w), 0);
	ck_assert_uint_eq(w.fake.rows[0].limit_ns, 20 * US);
	ck_assert_uint_eq(w.fake.rows[0].window, 0);
	ck_assert_uint_eq(w.fake.rows[1].limit_ns, UINT64_MAX);
	ck_assert_uint_eq(w.fake.rows[1].window, 1U << 1);
	ck_assert_uint_eq(w.fake.rows[1].off, 1U << 3);
	ck_assert_uint_eq(w.fake.rows[2].limit_ns, 0);
	ck_assert_uint_eq(w.fake.rows[3].broadcast, CPUIDLE_POLICY_BROADCAST_AVOID);
	none(&w);
	ck_assert_int_eq(set(&w), 0);
	for (int i = 0; i < 4; i++) {
		ck_assert_uint_eq(w.fake.rows[i].limit_ns, UINT64_MAX);
		ck_assert_uint_eq(w.fake.rows[i].window + w.fake.rows[i].off, 0);
		ck_assert_uint_eq(w.fake.rows[i].broadcast, 0);
	}
	close_world(&w);
}
END_TEST

/* One datagram is one system call: at most two out and two back, and none for what stands already. */
START_TEST(few_calls)
{
	struct world w;
	uint32_t before;

	take(&w);
	before = w.fake.n_datagrams + w.fake.n_answers;
	row(&w, 0)->limit_ns = 20 * US;
	row(&w, 1)->limit_ns = 50 * US;
	row(&w, 1)->states_off = 1U << 3;
	ck_assert_int_eq(set(&w), 0);
	ck_assert_uint_eq(w.fake.n_datagrams + w.fake.n_answers - before, 2);

	/* All three at once: shorter, longer, and something else. */
	before = w.fake.n_datagrams + w.fake.n_answers;
	row(&w, 0)->limit_ns = 70 * US;
	row(&w, 1)->limit_ns = 10 * US;
	row(&w, 1)->states_off = 1U << 2;
	ck_assert_int_eq(set(&w), 0);
	ck_assert_uint_eq(w.fake.n_datagrams + w.fake.n_answers - before, 4);

	before = w.fake.n_datagrams + w.fake.n_answers;
	ck_assert_int_eq(set(&w), 0);
	ck_assert_uint_eq(w.fake.n_datagrams + w.fake.n_answers - before, 0);
	close_world(&w);
}
END_TEST

/* States of four with exit latencies 0, 2, 50, 200 us that a row leaves. */
static uint32_t allowed(uint64_t limit_ns, uint32_t off)
{
	static const uint64_t exit_us[] = {0, 2, 50, 200};
	uint32_t set_of = 1;

	for (uint32_t i = 1; i < ARRAY_SIZE(exit_us); i++)
		if (exit_us[i] * US <= limit_ns && !(off & 1U << i))
			set_of |= 1U << i;
	return set_of;
}

struct between {
	struct plan_module from, to;
	uint32_t n;
};

static void never_looser(const struct fake_module *f, void *data)
{
	struct between *b = data;
	uint32_t now = allowed(f->rows[0].limit_ns, f->rows[0].off);

	b->n++;
	ck_assert_uint_eq(now & ~(allowed(b->from.limit_ns, b->from.states_off) |
				  allowed(b->to.limit_ns, b->to.states_off)),
			  0);
}

/* Every pair of limit and states: no moment allows a state that neither end allows. */
START_TEST(never_looser_in_between)
{
	static const uint64_t limits[] = {0, 2 * US, 50 * US, LATENCY_NONE};
	struct between b;
	struct world w;

	take(&w);
	w.fake.changed = never_looser;
	w.fake.data = &b;
	for (uint32_t i = 0; i < 4 * 8 * 4 * 8; i++) {
		b = (struct between){
			.from = {.limit_ns = limits[i % 4],
				 .states_off = (uint16_t)(i / 4 % 8 << 1)},
			.to = {.limit_ns = limits[i / 32 % 4],
			       .states_off = (uint16_t)(i / 128 % 8 << 1)},
		};
		w.fake.changed = NULL;
		*row(&w, 0) = b.from;
		ck_assert_int_eq(set(&w), 0);
		w.fake.changed = never_looser;
		*row(&w, 0) = b.to;
		ck_assert_int_eq(set(&w), 0);
		ck_assert(b.n > 0 || module_row_equal(&b.from, &b.to));
		ck_assert_uint_eq(w.fake.rows[0].limit_ns, b.to.limit_ns);
		ck_assert_uint_eq(w.fake.rows[0].off, b.to.states_off);
	}
	close_world(&w);
}
END_TEST

/* Whatever of the three is refused: all is as before, and the words are the kernel's. */
START_TEST(refused)
{
	static const struct {
		int cmd;
		uint32_t after;
	} cases[] = {
		{CPUIDLE_POLICY_CMD_QOS_SET, 0}, /* shorter */
		{CPUIDLE_POLICY_CMD_CONFIG_SET, 0},
		{CPUIDLE_POLICY_CMD_QOS_SET, 1}, /* longer */
	};
	const struct fake_row *rows;
	struct world w;

	take(&w);
	rows = w.fake.rows;
	row(&w, 0)->limit_ns = 20 * US;
	row(&w, 1)->limit_ns = 50 * US;
	row(&w, 1)->states_off = 1U << 3;
	ck_assert_int_eq(set(&w), 0);

	row(&w, 0)->limit_ns = 70 * US;
	row(&w, 1)->limit_ns = 10 * US;
	row(&w, 1)->states_off = 1U << 2;
	w.fake.fail_cmd = cases[_i].cmd;
	w.fake.fail_after = cases[_i].after;
	w.fake.fail_error = -EOPNOTSUPP;
	w.fake.fail_text = "the state's timer stops: no window";
	ck_assert_int_eq(set(&w), -EOPNOTSUPP);
	ck_assert_int_eq(kernel_standing(w.kernel), KERNEL_OURS);
	ck_assert_ptr_nonnull(strstr(kernel_text(w.kernel), "the state's timer stops: no window"));
	ck_assert_uint_eq(rows[0].limit_ns, 20 * US);
	ck_assert_uint_eq(rows[1].limit_ns, 50 * US);
	ck_assert_uint_eq(rows[1].off, 1U << 3);

	ck_assert_int_eq(set(&w), 0);
	ck_assert_uint_eq(rows[0].limit_ns, 70 * US);
	ck_assert_uint_eq(rows[1].limit_ns, 10 * US);
	ck_assert_uint_eq(rows[1].off, 1U << 2);
	close_world(&w);
}
END_TEST

/* The generation moved but the table did not: once more, and nobody needs to know. */
START_TEST(stale_generation)
{
	struct world w;

	take(&w);
	w.fake.generation += 3;
	row(&w, 0)->states_off = 1U << 2;
	row(&w, 1)->limit_ns = 20 * US;
	ck_assert_int_eq(set(&w), 0);
	ck_assert_uint_eq(w.fake.rows[0].off, 1U << 2);
	ck_assert_uint_eq(w.fake.rows[1].limit_ns, 20 * US);
	close_world(&w);
}
END_TEST

/* The table did: state 2 may be another one now, so nothing is set until the plan was made anew. */
START_TEST(stale_table)
{
	struct machine_module m;
	struct world w;

	take(&w);
	w.fake.generation++;
	w.fake.n_states = 3;
	row(&w, 0)->states_off = 1U << 2;
	row(&w, 1)->limit_ns = 20 * US;
	ck_assert_int_eq(set(&w), -ESTALE);
	ck_assert_uint_eq(w.fake.rows[0].off, 0);
	ck_assert_uint_eq(w.fake.rows[1].limit_ns, UINT64_MAX);
	kernel_describe(w.kernel, &m);
	ck_assert(m.loaded);
	ck_assert_int_eq(set(&w), 0);
	ck_assert_uint_eq(w.fake.rows[0].off, 1U << 2);
	close_world(&w);
}
END_TEST

START_TEST(goes_back)
{
	struct world w;

	take(&w);
	row(&w, 0)->limit_ns = 20 * US;
	ck_assert_int_eq(set(&w), 0);
	row(&w, 0)->limit_ns = LATENCY_NONE;
	row(&w, 1)->states_off = 1U << 2;
	ck_assert_int_eq(set(&w), 0);
	ck_assert_int_eq(kernel_back(w.kernel), 1);
	ck_assert_uint_eq(w.fake.rows[0].limit_ns, 20 * US);
	ck_assert_uint_eq(w.fake.rows[1].off, 0);
	close_world(&w);
}
END_TEST

START_TEST(own_driver)
{
	struct world w;

	take(&w);
	w.plan.own_driver = true;
	ck_assert_int_eq(set(&w), 0);
	ck_assert(w.fake.own_driver);
	w.plan.own_driver = false;
	ck_assert_int_eq(set(&w), 0);
	ck_assert(!w.fake.own_driver);
	close_world(&w);
}
END_TEST

/* Nobody answers: what the kernel did is not known, so everything of ours is let go when it answers again. */
START_TEST(no_answer)
{
	struct timeval soon = {.tv_usec = 50000};
	struct machine_module m;
	struct world w;

	take(&w);
	ck_assert_int_eq(
		setsockopt(w.fake.requests_fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)), 0);
	w.fake.mute = true;
	row(&w, 0)->limit_ns = 20 * US;
	ck_assert_int_eq(set(&w), -ETIMEDOUT);
	ck_assert_int_ne(kernel_standing(w.kernel), KERNEL_OURS);
	kernel_describe(w.kernel, &m);
	ck_assert(!m.loaded);
	ck_assert_uint_eq(w.fake.rows[0].limit_ns, 20 * US);
	w.fake.mute = false;
	none(&w);
	ck_assert_int_eq(set(&w), 0);
	ck_assert_uint_eq(w.fake.rows[0].limit_ns, UINT64_MAX);
	ck_assert(!w.fake.leased);
	close_world(&w);
}
END_TEST

/* ---- lease and news ---- */

START_TEST(renews_and_drops)
{
	struct world w;

	take(&w);
	ck_assert_int_eq(kernel_renew(w.kernel), 0);
	ck_assert_uint_eq(w.fake.n_renewed, 1);
	row(&w, 0)->limit_ns = 20 * US;
	ck_assert_int_eq(set(&w), 0);
	kernel_drop(w.kernel);
	ck_assert(!w.fake.leased);
	ck_assert_uint_eq(w.fake.rows[0].limit_ns, UINT64_MAX);
	ck_assert_int_eq(kernel_renew(w.kernel), -ENOLCK);
	close_world(&w);
}
END_TEST

START_TEST(lease_lost)
{
	struct kernel_news news;
	struct world w;

	take(&w);
	/* News of somebody's lease that ended before ours began. */
	fake_tell(&w.fake, FAKE_LEASE_ENDED);
	ck_assert(!kernel_collect(w.kernel, &news));
	ck_assert_int_eq(kernel_standing(w.kernel), KERNEL_OURS);
	w.fake.leased = false;
	fake_tell(&w.fake, FAKE_LEASE_ENDED);
	ck_assert(kernel_collect(w.kernel, &news));
	ck_assert(news.lost && news.came);
	ck_assert_int_ne(kernel_standing(w.kernel), KERNEL_OURS);
	ck_assert_int_eq(kernel_take(w.kernel), 0);
	close_world(&w);
}
END_TEST

/* Lost between two looks: setting finds out. */
START_TEST(lease_lost_unnoticed)
{
	struct world w;

	take(&w);
	w.fake.leased = false;
	row(&w, 0)->states_off = 1U << 2;
	ck_assert_int_eq(set(&w), -ENOLCK);
	ck_assert_int_ne(kernel_standing(w.kernel), KERNEL_OURS);
	ck_assert_ptr_nonnull(strstr(kernel_text(w.kernel), "no lease: take one first"));
	close_world(&w);
}
END_TEST

START_TEST(comes_and_goes)
{
	struct kernel_news news;
	struct world w;

	take(&w);
	w.fake.absent = true;
	w.fake.leased = false;
	fake_tell(&w.fake, FAKE_GONE);
	ck_assert(kernel_collect(w.kernel, &news));
	ck_assert(news.lost && !news.came);
	ck_assert_int_eq(kernel_standing(w.kernel), KERNEL_ABSENT);
	w.fake.absent = false;
	fake_tell(&w.fake, FAKE_CAME);
	ck_assert(kernel_collect(w.kernel, &news));
	ck_assert(news.came && !news.lost);
	ck_assert_int_eq(kernel_take(w.kernel), 0);
	close_world(&w);
}
END_TEST

START_TEST(news_of_the_host)
{
	struct kernel_news news;
	struct world w;

	take(&w);
	/* Our own hook came or went: nothing else is new. */
	fake_tell(&w.fake, FAKE_DRIVER);
	ck_assert(!kernel_collect(w.kernel, &news));
	w.fake.n_states = 3;
	fake_tell(&w.fake, FAKE_DRIVER);
	ck_assert(kernel_collect(w.kernel, &news));
	ck_assert(news.host && !news.lost);
	fake_tell(&w.fake, FAKE_HOTPLUG);
	ck_assert(kernel_collect(w.kernel, &news));
	ck_assert(news.host);
	fake_tell(&w.fake, FAKE_QOS);
	ck_assert(kernel_collect(w.kernel, &news));
	ck_assert(news.limits && !news.host);
	close_world(&w);
}
END_TEST

/* What the module took out of our rows by itself is set again. */
START_TEST(restated)
{
	struct kernel_news news;
	struct world w;

	take(&w);
	row(&w, 0)->states_off = 1U << 2;
	ck_assert_int_eq(set(&w), 0);
	fake_tell(&w.fake, FAKE_CONFIG);
	ck_assert(!kernel_collect(w.kernel, &news)); /* our own change */
	w.fake.rows[0].off = 0;
	w.fake.generation++;
	fake_tell(&w.fake, FAKE_CONFIG);
	ck_assert(kernel_collect(w.kernel, &news));
	ck_assert(news.host);
	ck_assert_int_eq(set(&w), 0);
	ck_assert_uint_eq(w.fake.rows[0].off, 1U << 2);
	close_world(&w);
}
END_TEST

START_TEST(verifies)
{
	uint32_t differs, first;
	struct world w;

	take(&w);
	row(&w, 0)->limit_ns = 20 * US;
	row(&w, 1)->states_off = 1U << 2;
	ck_assert_int_eq(set(&w), 0);
	w.fake.torn = true;
	fake_verify(w.kernel, &differs, &first);
	ck_assert_uint_eq(differs, 0);
	w.fake.rows[1].off = 0;
	w.fake.rows[3].limit_ns = 3 * US;
	fake_verify(w.kernel, &differs, &first);
	ck_assert_uint_eq(differs, 2);
	ck_assert_uint_eq(first, 1);
	w.fake.rows[0].limit_ns = UINT64_MAX;
	fake_verify(w.kernel, &differs, &first);
	ck_assert_uint_eq(differs, 3);
	ck_assert_uint_eq(first, 0);
	close_world(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kernel");
	TCase *t = tcase_create("handshake");

	tcase_add_test(t, handshake);
	tcase_add_test(t, absent);
	tcase_add_test(t, other_version);
	tcase_add_test(t, other_owner);
	tcase_add_test(t, no_hook);
	suite_add_tcase(s, t);
	t = tcase_create("set");
	tcase_set_timeout(t, 60);
	tcase_add_test(t, rows_arrive);
	tcase_add_test(t, few_calls);
	tcase_add_test(t, never_looser_in_between);
	tcase_add_loop_test(t, refused, 0, 3);
	tcase_add_test(t, stale_generation);
	tcase_add_test(t, stale_table);
	tcase_add_test(t, goes_back);
	tcase_add_test(t, own_driver);
	tcase_add_test(t, no_answer);
	suite_add_tcase(s, t);
	t = tcase_create("news");
	tcase_add_test(t, renews_and_drops);
	tcase_add_test(t, lease_lost);
	tcase_add_test(t, lease_lost_unnoticed);
	tcase_add_test(t, comes_and_goes);
	tcase_add_test(t, news_of_the_host);
	tcase_add_test(t, restated);
	tcase_add_test(t, verifies);
	suite_add_tcase(s, t);
	return test_main(s);
}
