/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "crowd.h"
#include "steal.h"

#include <fcntl.h>
#include <unistd.h>

#define POLICY "[Daemon]\nDefaultProfile=p\n[Profile p]\nHaltPoll=auto\n"
#define S      NSEC_PER_SEC

static struct scene s;
static struct crowd crowd;
static uint64_t stolen[2], now;

static void open_scene(void)
{
	struct machine *m = scene_host(2, "POLL 0/0, HALT 1/1");

	m->virt = VIRT_GUEST;
	m->module = (struct machine_module){.loaded = true, .haltpoll = true};
	scene_set(&s, m, POLICY);
	memset(stolen, 0, sizeof(stolen));
	now = 1000 * S;
	ck_assert_int_eq(crowd_follow(&crowd, s.plan, s.machine), 0);
	ck_assert_uint_eq(crowd.n, 2);
}

static void close_scene(void)
{
	crowd_done(&crowd);
	scene_done(&s);
}

static int read_stolen(void *data _unused_, uint32_t cpu, uint64_t *ret)
{
	if (stolen[cpu] == UINT64_MAX)
		return -ENODATA;
	*ret = stolen[cpu];
	return 0;
}

/* seconds looks, a second apart, in which percent of CPU 0's time is stolen. Returns the events. */
static uint32_t go(uint32_t seconds, uint32_t percent, uint32_t pressure)
{
	uint32_t events = 0;

	for (uint32_t i = 0; i < seconds; i++) {
		stolen[0] += percent * S / 100;
		now += S;
		crowd_look(&crowd, now, pressure, read_stolen, NULL);
		events += crowd.n_events;
	}
	return events;
}

START_TEST(stolen_time_ends_polling_there)
{
	ck_assert_uint_eq(go(5, 4, 0), 0);
	ck_assert_uint_eq(go(1, 5, 0), 1);
	ck_assert(crowd_is_off(&crowd, 0) && !crowd_is_off(&crowd, 1));
	ck_assert_uint_eq(crowd.cells[0].event, CROWD_FOUND);
	ck_assert_uint_eq(crowd.cells[0].percent, 5);
}
END_TEST

/* While tasks wait half is enough, and with very much to do nothing needs to be stolen. */
START_TEST(waiting_tasks_count)
{
	ck_assert_uint_eq(go(5, 2, CROWD_UNKNOWN), 0);
	ck_assert_uint_eq(go(5, 2, CROWD_PRESSURE_PERCENT - 1), 0);
	ck_assert_uint_eq(go(1, 2, CROWD_PRESSURE_PERCENT), 1);
	ck_assert(crowd_is_off(&crowd, 0) && !crowd_is_off(&crowd, 1));
	ck_assert_uint_eq(go(1, 0, CROWD_FULL_PERCENT), 1);
	ck_assert(crowd_is_off(&crowd, 1));
}
END_TEST

/* It ends when less than half is stolen, after half of its time; and each next one is longer, up to ten minutes. */
START_TEST(spells_end_and_grow)
{
	uint64_t longest = 0;

	ck_assert_uint_eq(go(2, 5, 0), 1);
	ck_assert_uint_eq(go(4, 0, 0), 0);
	ck_assert_uint_eq(go(2, 0, 0), 1);
	ck_assert_uint_eq(crowd.cells[0].event + (uint32_t)crowd_is_off(&crowd, 0), CROWD_NOTHING);
	for (int i = 0; i < 20; i++) {
		uint64_t since = now;

		(void)go(1, 50, 0);
		ck_assert(crowd_is_off(&crowd, 0));
		while (crowd_is_off(&crowd, 0) && now - since < 2 * SPELL_MAX_NS)
			(void)go(1, 50, 0);
		ck_assert_uint_le(now - since, SPELL_MAX_NS + 2 * S);
		longest = MAX_OF(longest, now - since);
	}
	ck_assert_uint_ge(longest, SPELL_MAX_NS);
}
END_TEST

/* No flapping: whatever is stolen, in turns of any length, polling ends a bounded number of times an hour. */
START_TEST(bounded_in_any_hour)
{
	for (uint32_t turn = 1; turn <= 40; turn++) {
		uint64_t before = crowd.spells, end = now + 3600 * S;

		while (now < end) {
			(void)go(turn, 50, 0);
			(void)go(turn, 0, 0);
		}
		ck_assert_uint_le(crowd.spells - before, SPELL_PER_HOUR);
	}
}
END_TEST

/* No count, one that steps back, looks too close together: nothing is known, and nothing found. */
START_TEST(odd_counts_find_nothing)
{
	ck_assert_uint_eq(go(1, 0, 0), 0);
	stolen[1] = UINT64_MAX;
	ck_assert_uint_eq(go(1, 0, 0), 0);
	stolen[1] = 500 * S;
	ck_assert_uint_eq(go(1, 0, 0), 0);
	stolen[1] = 2 * S;
	ck_assert_uint_eq(go(2, 0, 0), 0);
	stolen[0] += S;
	now += 10 * NSEC_PER_MSEC;
	crowd_look(&crowd, now, 0, read_stolen, NULL);
	ck_assert_uint_eq(crowd.n_events, 0);
}
END_TEST

START_TEST(plan_spares_what_is_off)
{
	struct machine *m = s.machine;

	(void)go(2, 50, 0);
	m->cpus[0].crowded = crowd_is_off(&crowd, 0);
	m->crowd = &crowd;
	s.machine = NULL;
	scene_done(&s);
	scene_set(&s, m, POLICY);
	ck_assert_uint_eq(scene_row(&s, 0)->module.haltpoll_us, 0);
	ck_assert_uint_eq(scene_row(&s, 0)->modes[MODE_HALTPOLL].reason, MODE_CROWDED);
	ck_assert_uint_eq(scene_row(&s, 1)->module.haltpoll_us, 200);
	/* It is watched on, and so comes back. */
	ck_assert_int_eq(crowd_follow(&crowd, s.plan, s.machine), 0);
	ck_assert_uint_eq(crowd.n, 2);
	ck_assert(crowd_is_off(&crowd, 0));
	/* Forgotten while the plan spares a CPU: it is to be made anew. */
	crowd_done(&crowd);
	ck_assert_int_eq(crowd_follow(&crowd, s.plan, s.machine), 1);
}
END_TEST

START_TEST(nothing_to_look_at)
{
	s.machine->virt = VIRT_NONE;
	ck_assert_int_eq(crowd_follow(&crowd, s.plan, s.machine), 0);
	ck_assert_uint_eq(crowd.n, 0);
}
END_TEST

START_TEST(proc_stat)
{
	static const char text[] = "cpu  9 9 9 9 9 9 9 99 9 9\ncpu0 1 2 3 4 5 6 7 250 9 10\n"
				   "cpu3 1 2 3 4 5 6 7 0 9 10\ncpu9 1 2 3 4 5 6 7 8 9 10\n"
				   "intr 5 5 5\ncpu1 1 2\n";
	struct steal steal = {.n = 0};
	const char *root = test_tmpdir();
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t ns;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(steal_read(fd, 4, &steal), -ENOENT);
	test_write(root, "proc/stat", text);
	ck_assert_int_eq(steal_read(fd, 4, &steal), 0);
	ck_assert_int_eq(steal_get(&steal, 0, &ns), 0);
	ck_assert_uint_eq(ns, 2500 * NSEC_PER_MSEC);
	ck_assert_int_eq(steal_get(&steal, 3, &ns), 0);
	ck_assert_uint_eq(ns, 0);
	ck_assert_int_eq(steal_get(&steal, 1, &ns), -ENODATA);
	ck_assert_int_eq(steal_get(&steal, 2, &ns), -ENODATA);
	ck_assert_int_eq(steal_get(&steal, 9, &ns), -ENODATA);
	steal_done(&steal);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crowd");
	TCase *tc = tcase_create("crowd");

	tcase_add_checked_fixture(tc, open_scene, close_scene);
	tcase_add_test(tc, stolen_time_ends_polling_there);
	tcase_add_test(tc, waiting_tasks_count);
	tcase_add_test(tc, spells_end_and_grow);
	tcase_add_test(tc, bounded_in_any_hour);
	tcase_add_test(tc, odd_counts_find_nothing);
	tcase_add_test(tc, plan_spares_what_is_off);
	tcase_add_test(tc, nothing_to_look_at);
	tcase_add_test(tc, proc_stat);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
