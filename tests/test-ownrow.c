/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include <unistd.h>

#include "foreign.h"
#include "mktree.h"
#include "scene.h"
#include "sysfs.h"
#include "tally.h"
#include "transition.h"
#include "watch.h"

/*
 * The state that cpuidle_policy.ko puts behind POLL moves the files of all that follow. On a tree where it comes
 * and goes as in a kernel: the settings of a state, ours and others', stay with that state.
 */
#define STATES \
	"POLL 0/0, C1 1/1 MWAIT 0x00, C1E 2/4 MWAIT 0x01, C3! 33/100 MWAIT 0x10, C6 290/800 MWAIT 0x20"
#define POLICY "[Daemon]\nDefaultProfile=p\n[Profile p]\nEnableStates=C3\n"

enum { POLL, C1, C1E, C3, C6, N_STATES };

static char root[256];
static int root_fd = -1;
static struct scene s;
static struct host host;

static void setup(void)
{
	snprintf(root, sizeof(root), "%s/tree", test_tmpdir());
	mktree_host(root, 2);
	mktree_states(root, 0, 1, STATES);
	test_write(root, "sys/module/cpuidle_policy/refcnt", "0\n");
	ck_assert_int_eq(sysfs_open_root(root, &root_fd), 0);
	ck_assert_int_eq(restore_make_dir(root_fd), 0);
	host_init(&host, root_fd);
}

static void teardown(void)
{
	scene_done(&s);
	host_done(&host);
	close(root_fd);
}

static void rename_state(unsigned cpu, unsigned from, unsigned to)
{
	char a[512], b[512], tail[32];

	snprintf(tail, sizeof(tail), "cpuidle/state%u", from);
	snprintf(a, sizeof(a), "%s/%s", root, mktree_cpu(cpu, tail));
	snprintf(tail, sizeof(tail), "cpuidle/state%u", to);
	snprintf(b, sizeof(b), "%s/%s", root, mktree_cpu(cpu, tail));
	ck_assert_int_eq(rename(a, b), 0);
}

static void row_file(unsigned cpu, const char *name, const char *text)
{
	char tail[48];

	snprintf(tail, sizeof(tail), "cpuidle/state1/%s", name);
	test_write(root, mktree_cpu(cpu, tail), text);
}

static void row_in(void)
{
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		for (unsigned i = N_STATES - 1; i >= 1; i--)
			rename_state(cpu, i, i + 1);
		row_file(cpu, "name", "C0.2\n");
		row_file(cpu, "desc", "UMWAIT C0.2\n");
		row_file(cpu, "latency", "0\n");
		row_file(cpu, "residency", "0\n");
		row_file(cpu, "disable", "0\n");
		row_file(cpu, "default_status", "enabled\n");
	}
}

static void row_out(void)
{
	static const char *const files[] = {"name",	 "desc",    "latency",
					    "residency", "disable", "default_status"};

	for (unsigned cpu = 0; cpu < 2; cpu++) {
		for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
			char tail[48];

			snprintf(tail, sizeof(tail), "cpuidle/state1/%s", files[i]);
			mktree_drop(root, mktree_cpu(cpu, tail));
		}
		mktree_drop(root, mktree_cpu(cpu, "cpuidle/state1"));
		for (unsigned i = 1; i < N_STATES; i++)
			rename_state(cpu, i + 1, i);
	}
}

static void expect(unsigned cpu, unsigned file, const char *text)
{
	char tail[48];
	_cleanup_free_ char *found = NULL;

	snprintf(tail, sizeof(tail), "cpuidle/state%u/disable", file);
	found = test_read(root, mktree_cpu(cpu, tail));
	ck_assert_msg(streq(found, text), "cpu%u state%u: %s", cpu, file, found);
}

static void disable(unsigned cpu, unsigned file, const char *text)
{
	char tail[48];

	snprintf(tail, sizeof(tail), "cpuidle/state%u/disable", file);
	test_write(root, mktree_cpu(cpu, tail), text);
}

static void read_all(void)
{
	scene_set(&s, scene_read(root, 0, NULL), POLICY);
}

START_TEST(table_is_the_same_with_it)
{
	disable(1, C6, "1\n");
	row_in();
	row_file(0, "disable", "1\n");
	read_all();
	ck_assert_uint_eq(s.machine->own_row, 1);
	ck_assert_str_eq(s.machine->own_state.name, "C0.2");
	ck_assert_uint_eq(s.machine->n_tables, 1);
	ck_assert_uint_eq(s.machine->tables[0].n, N_STATES);
	ck_assert_str_eq(s.machine->tables[0].states[C1].name, "C1");
	ck_assert_uint_eq(s.machine->cpus[0].disabled, 1U << C3);
	ck_assert_uint_eq(s.machine->cpus[1].disabled, 1U << C3 | 1U << C6);
	ck_assert(s.machine->cpus[0].own_off && !s.machine->cpus[1].own_off);
	ck_assert_uint_eq(s.plan->own_row, 1);
}
END_TEST

/* A state of that name in a kernel without the module is the driver's own. */
START_TEST(only_the_modules_own)
{
	row_in();
	mktree_drop(root, "sys/module/cpuidle_policy/refcnt");
	mktree_drop(root, "sys/module/cpuidle_policy");
	read_all();
	ck_assert_uint_eq(s.machine->own_row, 0);
	ck_assert_uint_eq(s.machine->tables[0].n, N_STATES + 1);
	ck_assert_uint_eq(s.machine->tables[0].states[1].class, STATE_CLASS_C0X);
}
END_TEST

/* ---- a transition in the middle of which it comes, or goes ---- */

struct fake {
	bool in, fails;
	uint32_t n_set, n_back;
};

static void flip(struct fake *f)
{
	if (f->in)
		row_out();
	else
		row_in();
	f->in = !f->in;
}

static int fake_set(void *data, const struct module_rows *want _unused_)
{
	flip(data);
	((struct fake *)data)->n_set++;
	return 1;
}

static int fake_back(void *data)
{
	flip(data);
	((struct fake *)data)->n_back++;
	return 1;
}

static int fake_own_row(const void *data)
{
	return ((const struct fake *)data)->in;
}

static const char *fake_text(const void *data _unused_)
{
	return "";
}

/* Reads what it wrote, but for a test that wants a value not to stick. */
static int get_or_fail(void *data, const struct change *c, uint64_t *ret)
{
	const struct actuator real = host_actuator(&host);

	return ((struct fake *)data)->fails ? -EIO : real.ops->get(real.data, c, ret);
}

static int set_real(void *data _unused_, const struct change *c, uint64_t value)
{
	const struct actuator real = host_actuator(&host);

	return real.ops->set(real.data, c, value);
}

static const struct actuator_ops ops = {.set = set_real, .get = get_or_fail};

static int go(struct fake *f)
{
	const struct module_rows want = {.n_cpus = 0};
	struct transition t = {
		.root_fd = root_fd,
		.host = &host,
		.actuator = {.ops = &ops, .data = f},
		.module = {.set = fake_set,
			   .back = fake_back,
			   .own_row = fake_own_row,
			   .text = fake_text,
			   .data = f},
	};
	struct transition_result result;
	struct changes c = {0};
	int r;

	ck_assert_int_eq(diff_make(s.plan, s.machine, LATENCY_NONE, &c), 0);
	ck_assert_uint_eq(c.n, 2); /* C3 on, which loosens: after the module's turn */
	ck_assert_uint_eq(c.n_tighten, 0);
	r = transition_run(&t, s.machine, &c, &want, &result);
	changes_done(&c);
	return r;
}

START_TEST(files_are_found_where_they_are_by_then)
{
	struct fake f = {.in = _i};

	if (_i)
		row_in();
	read_all();
	ck_assert_int_eq(go(&f), 0);
	ck_assert_uint_eq(f.n_set, 1);
	for (unsigned cpu = 0; cpu < 2; cpu++)
		for (unsigned i = 0; i < N_STATES + (unsigned)f.in; i++)
			expect(cpu, i, "0\n");
	ck_assert_uint_eq(s.machine->cpus[0].disabled, 0);
}
END_TEST

START_TEST(way_back_finds_them_too)
{
	struct fake f = {.in = _i, .fails = true};

	if (_i)
		row_in();
	read_all();
	ck_assert_int_eq(go(&f), -EIO);
	ck_assert_uint_eq(f.n_back, 1);
	ck_assert_int_eq(f.in, _i);
	for (unsigned cpu = 0; cpu < 2; cpu++)
		for (unsigned i = 0; i < N_STATES + (unsigned)f.in; i++)
			expect(cpu, i, i == C3 + (unsigned)f.in ? "1\n" : "0\n");
}
END_TEST

/* Killed while it was there, restored when it is gone; and the other way round. */
START_TEST(record_means_states_not_files)
{
	struct transition t = {.root_fd = root_fd, .host = &host, .actuator = host_actuator(&host)};
	struct transition_leftover leftover;
	struct transition_result result;
	struct fake f = {.in = _i};

	if (_i)
		row_in();
	read_all();
	ck_assert_int_eq(go(&f), 0);
	/* The module takes it away with its owner, or somebody else asks for it. */
	flip(&f);
	ck_assert_int_eq(transition_restore(&t, &leftover, &result), 0);
	ck_assert_uint_eq(leftover.n_foreign, 0);
	for (unsigned cpu = 0; cpu < 2; cpu++)
		for (unsigned i = 0; i < N_STATES + (unsigned)f.in; i++)
			expect(cpu, i, i == C3 + (unsigned)f.in ? "1\n" : "0\n");
}
END_TEST

/* ---- the watch ---- */

static bool noticed(struct watch *w, struct change *ret)
{
	return watch_collect(w) && watch_take(w, ret);
}

START_TEST(watch_follows_the_files)
{
	struct watch w;
	struct change c;

	read_all();
	ck_assert_int_eq(watch_init(&w, root, root_fd), 0);
	ck_assert_uint_eq(watch_follow(&w, s.plan), 2);
	while (watch_take(&w, &c))
		ck_assert_uint_eq(c.state, C3);
	row_in();
	scene_done(&s);
	read_all();
	ck_assert_uint_eq(watch_follow(&w, s.plan), 2);
	(void)watch_collect(&w);
	while (watch_take(&w, &c))
		ck_assert_uint_eq(c.state, C3);
	/* What is C6's file now was C3's: no news. C3's own is. */
	disable(0, C3, "1\n");
	ck_assert(!noticed(&w, &c));
	disable(1, C3 + 1, "1\n");
	ck_assert(noticed(&w, &c));
	ck_assert_uint_eq(c.cpu, 1);
	ck_assert_uint_eq(c.state, C3);
	ck_assert_uint_eq(c.own_row, 1);
	watch_done(&w);
}
END_TEST

/* ---- counters ---- */

START_TEST(counters_follow_the_files)
{
	const struct counter c = {.slot = 0, .cpu = 1, .state = C6, .file = COUNTER_USAGE};
	struct tally t;
	uint64_t n;

	for (unsigned i = 0; i < N_STATES; i++) {
		char tail[48], text[8];

		snprintf(tail, sizeof(tail), "cpuidle/state%u/usage", i);
		snprintf(text, sizeof(text), "%u\n", 100 + i);
		test_write(root, mktree_cpu(1, tail), text);
	}
	tally_init(&t, root_fd);
	ck_assert_int_eq(tally_size(&t, 1), 0);
	ck_assert_int_eq(tally_read(&t, &c, &n), 0);
	ck_assert_uint_eq(n, 100 + C6);
	row_in();
	tally_renumber(&t, 1);
	ck_assert_int_eq(tally_read(&t, &c, &n), 0);
	ck_assert_uint_eq(n, 100 + C6);
	ck_assert_uint_eq(t.n_open, 1);
	tally_done(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ownrow");
	TCase *tc = tcase_create("ownrow");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, table_is_the_same_with_it);
	tcase_add_test(tc, only_the_modules_own);
	tcase_add_loop_test(tc, files_are_found_where_they_are_by_then, 0, 2);
	tcase_add_loop_test(tc, way_back_finds_them_too, 0, 2);
	tcase_add_loop_test(tc, record_means_states_not_files, 0, 2);
	tcase_add_test(tc, watch_follows_the_files);
	tcase_add_test(tc, counters_follow_the_files);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
