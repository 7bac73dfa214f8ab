/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tally.h"

#define STATE "sys/devices/system/cpu/cpu%u/cpuidle/state2/%s"

static struct tally t;
static int root_fd;

static void put(unsigned cpu, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), STATE, cpu, file);
	test_write(test_tmpdir(), path, text);
}

static void open_tree(void)
{
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		put(cpu, "usage", "12\n");
		put(cpu, "time", "3400\n");
		put(cpu, "above", "5\n");
	}
	root_fd = open(test_tmpdir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(root_fd, 0);
	tally_init(&t, root_fd);
}

static void close_tree(void)
{
	tally_done(&t);
	close(root_fd);
}

static int read_counter(uint32_t slot, uint16_t cpu, enum counter_file file, uint64_t *ret)
{
	return tally_read(
		&t, &(struct counter){.slot = slot, .cpu = cpu, .state = 2, .file = (uint8_t)file},
		ret);
}

static void assert_reads(uint32_t slot, uint16_t cpu, enum counter_file file, uint64_t wanted)
{
	uint64_t n = 0;

	ck_assert_int_eq(read_counter(slot, cpu, file, &n), 0);
	ck_assert(n == wanted);
}

START_TEST(each_file)
{
	assert_reads(COUNTER_ONCE, 1, COUNTER_USAGE, 12);
	assert_reads(COUNTER_ONCE, 1, COUNTER_TIME, 3400);
	assert_reads(COUNTER_ONCE, 1, COUNTER_ABOVE, 5);
	ck_assert_uint_eq(t.n_open, 0);
}
END_TEST

START_TEST(slot_keeps_its_file_open)
{
	ck_assert_int_eq(tally_size(&t, 2), 0);
	assert_reads(0, 0, COUNTER_USAGE, 12);
	assert_reads(0, 0, COUNTER_USAGE, 12);
	ck_assert_uint_eq(t.n_open, 1);
	put(0, "usage", "18446744073709551615\n");
	assert_reads(0, 0, COUNTER_USAGE, UINT64_MAX);
	/* Another file in the same slot takes its place. */
	assert_reads(0, 3, COUNTER_ABOVE, 5);
	ck_assert_uint_eq(t.n_open, 1);
	assert_reads(0, 0, COUNTER_USAGE, UINT64_MAX);
	ck_assert_uint_eq(t.n_open, 1);
	/* Beyond the slots: by itself. */
	assert_reads(2, 0, COUNTER_TIME, 3400);
	ck_assert_uint_eq(t.n_open, 1);
	/* Another number of slots: all anew. */
	ck_assert_int_eq(tally_size(&t, 4), 0);
	ck_assert_uint_eq(t.n_open, 0);
	assert_reads(3, 0, COUNTER_TIME, 3400);
	ck_assert_uint_eq(t.n_open, 1);
}
END_TEST

START_TEST(few_open_files_are_enough)
{
	/* What belongs to others, and two more. */
	const struct rlimit limit = {.rlim_cur = 258, .rlim_max = 258};

	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(tally_size(&t, 4), 0);
	for (unsigned round = 0; round < 3; round++)
		for (uint16_t cpu = 0; cpu < 4; cpu++)
			assert_reads(cpu, cpu, COUNTER_USAGE, 12);
	ck_assert_uint_eq(t.n_open, 2);
}
END_TEST

START_TEST(what_is_not_there_is_told)
{
	uint64_t n = 77;

	ck_assert_int_eq(tally_size(&t, 2), 0);
	ck_assert_int_eq(read_counter(0, 0, COUNTER_REJECTED, &n), -ENOENT);
	ck_assert_int_eq(read_counter(0, 9, COUNTER_USAGE, &n), -ENOENT);
	put(0, "usage", "many\n");
	ck_assert_int_eq(read_counter(0, 0, COUNTER_USAGE, &n), -EINVAL);
	put(0, "usage", "");
	ck_assert_int_eq(read_counter(COUNTER_ONCE, 0, COUNTER_USAGE, &n), -EINVAL);
	ck_assert(n == 77);
	ck_assert_uint_eq(t.n_open, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("tally");
	TCase *c = tcase_create("tally");

	tcase_add_checked_fixture(c, open_tree, close_tree);
	tcase_add_test(c, each_file);
	tcase_add_test(c, slot_keeps_its_file_open);
	tcase_add_test(c, few_open_files_are_enough);
	tcase_add_test(c, what_is_not_there_is_told);
	suite_add_tcase(s, c);
	return s;
}

int main(void)
{
	return test_main(suite());
}
