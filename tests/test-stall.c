/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include <fcntl.h>
#include <unistd.h>

#include "stall.h"

#define WORKLOAD (PLAN_GROUP_WORKLOAD + 0)
#define GROUP	 0U

#define MACHINE	 "proc/pressure/cpu"
#define UNIT	 "sys/fs/cgroup/system.slice/a.service/cpu.pressure"
#define INSTANCE "sys/fs/cgroup/b.slice/a.service/cpu.pressure"
#define OTHER	 "sys/fs/cgroup/system.slice/b.service/cpu.pressure"

static struct scene s;
static struct cgroups groups;
static struct stall stall;
static int root_fd;
static uint64_t now;

static void put(const char *path, unsigned us)
{
	char text[192];

	snprintf(text, sizeof(text),
		 "some avg10=1.00 avg60=0.00 avg300=0.00 total=%u\nfull avg10=0.00 avg60=0.00 "
		 "avg300=0.00 total=0\n",
		 us);
	test_write(test_tmpdir(), path, text);
}

static void add(const char *path, bool populated)
{
	struct cpuset cpus = {.size = 0};

	ck_assert_int_eq(cgroups_add(&groups, path, populated, &cpus), 0);
}

static void begin(void)
{
	now += NSEC_PER_SEC;
	stall_begin(&stall, root_fd, s.policy, s.machine, now);
}

static void open_tree(void)
{
	root_fd = open(test_tmpdir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(root_fd, 0);
	now = 0;
	add("/b.slice/a.service", true);
	add("/system.slice/a.service", true);
	add("/system.slice/b.service", true);
	put(MACHINE, 1000);
	put(UNIT, 2000);
	put(INSTANCE, 3000);
	put(OTHER, 0);
	scene_set(
		&s, scene_host(2, "POLL 0/0, C1 1/1"),
		"[Profile p]\n[Group g]\nCPUs=0\nProfile=p\n[Workload w]\nUnit=a.service\nProfile=p\n");
	s.machine->cgroups = &groups;
}

static void close_tree(void)
{
	stall_done(&stall);
	cgroups_done(&groups);
	scene_done(&s);
	close(root_fd);
}

START_TEST(machine_and_groups)
{
	begin();
	ck_assert_uint_eq(stall_percent(&stall, PLAN_ADAPT_ALONE), ADAPT_PRESSURE_UNKNOWN);
	put(MACHINE, 251000);
	begin();
	ck_assert_uint_eq(stall_percent(&stall, PLAN_ADAPT_ALONE), 25);
	/* Read once a look: what happens meanwhile is the next one's. */
	put(MACHINE, 351000);
	ck_assert_uint_eq(stall_percent(&stall, GROUP), 25);
	begin();
	ck_assert_uint_eq(stall_percent(&stall, GROUP), 10);
	ck_assert_uint_eq(stall.n, 1);
}
END_TEST

START_TEST(workload_has_the_most_of_its_own)
{
	begin();
	ck_assert_uint_eq(stall_percent(&stall, WORKLOAD), ADAPT_PRESSURE_UNKNOWN);
	put(MACHINE, 901000);
	put(UNIT, 302000);
	put(INSTANCE, 203000);
	put(OTHER, 800000);
	begin();
	ck_assert_uint_eq(stall_percent(&stall, WORKLOAD), 30);
	ck_assert_uint_eq(stall.n, 2);
	begin();
	ck_assert_uint_eq(stall_percent(&stall, WORKLOAD), 0);
	ck_assert_uint_eq(stall.n, 2);
	begin();
	begin();
	ck_assert_uint_eq(stall.n, 0);
}
END_TEST

/* A workload that has just come has nothing to compare with; the machine's pressure is not its own. */
START_TEST(workload_comes_to_a_busy_machine)
{
	begin();
	(void)stall_percent(&stall, PLAN_ADAPT_ALONE);
	put(MACHINE, 801000);
	begin();
	ck_assert_uint_eq(stall_percent(&stall, PLAN_ADAPT_ALONE), 80);
	ck_assert_uint_eq(stall_percent(&stall, WORKLOAD), ADAPT_PRESSURE_UNKNOWN);
	begin();
	ck_assert_uint_eq(stall_percent(&stall, WORKLOAD), 0);
}
END_TEST

/* Without the controller, or with psi=0: the machine's, or nobody knows. */
START_TEST(without_files)
{
	ck_assert_int_eq(unlinkat(root_fd, UNIT, 0), 0);
	ck_assert_int_eq(unlinkat(root_fd, INSTANCE, 0), 0);
	begin();
	(void)stall_percent(&stall, WORKLOAD);
	put(MACHINE, 501000);
	begin();
	ck_assert_uint_eq(stall_percent(&stall, WORKLOAD), 50);
	ck_assert_int_eq(unlinkat(root_fd, MACHINE, 0), 0);
	begin();
	ck_assert_uint_eq(stall_percent(&stall, WORKLOAD), ADAPT_PRESSURE_UNKNOWN);
	test_write(test_tmpdir(), MACHINE, "some avg10=junk total=x\n");
	begin();
	ck_assert_uint_eq(stall_percent(&stall, PLAN_ADAPT_ALONE), ADAPT_PRESSURE_UNKNOWN);
}
END_TEST

/* A count that begins anew is no pressure; nor is more than all of the time more than that. */
START_TEST(odd_counts)
{
	begin();
	(void)stall_percent(&stall, GROUP);
	put(MACHINE, 10);
	begin();
	ck_assert_uint_eq(stall_percent(&stall, GROUP), ADAPT_PRESSURE_UNKNOWN);
	put(MACHINE, 4000000);
	begin();
	ck_assert_uint_eq(stall_percent(&stall, GROUP), 100);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("stall");
	TCase *t = tcase_create("stall");

	tcase_add_checked_fixture(t, open_tree, close_tree);
	tcase_add_test(t, machine_and_groups);
	tcase_add_test(t, workload_has_the_most_of_its_own);
	tcase_add_test(t, workload_comes_to_a_busy_machine);
	tcase_add_test(t, without_files);
	tcase_add_test(t, odd_counts);
	suite_add_tcase(suite, t);
	return suite;
}

int main(void)
{
	return test_main(suite());
}
