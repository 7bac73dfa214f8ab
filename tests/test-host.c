/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "host.h"
#include "sysfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The global request, on a tree whose dev/cpu_dma_latency is a plain file: what the four bytes of others
 * mean, and which bytes a limit of ours becomes.
 */
static struct host host;
static struct machine machine;
static int root_fd;

static void write_device(int32_t us)
{
	int fd = openat(root_fd, HOST_GLOBAL_PATH, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert(fd >= 0 && write(fd, &us, sizeof(us)) == sizeof(us));
	close(fd);
}

static int32_t read_device(void)
{
	int fd = openat(root_fd, HOST_GLOBAL_PATH, O_RDONLY | O_CLOEXEC);
	int32_t us;

	ck_assert(fd >= 0 && read(fd, &us, sizeof(us)) == sizeof(us));
	close(fd);
	return us;
}

static void setup(void)
{
	ck_assert_int_eq(sysfs_open_root(test_tmpdir(), &root_fd), 0);
	ck_assert(mkdirat(root_fd, "dev", 0755) == 0 || errno == EEXIST);
	write_device(2000000000);
	machine = (struct machine){.has_global = true};
	host_init(&host, root_fd);
}

static void teardown(void)
{
	host_done(&host);
	close(root_fd);
}

static uint64_t others(int32_t us)
{
	write_device(us);
	host_read_global(&host, &machine);
	ck_assert_uint_eq(machine.global_ns, machine.global_others_ns);
	return machine.global_others_ns;
}

START_TEST(bytes_of_others)
{
	/* What the kernel shows while nobody asks for anything, and its neighbour. */
	ck_assert_uint_eq(others(2000000000), LATENCY_NONE);
	ck_assert_uint_eq(others(1999999999), UINT64_C(1999999999000));
	ck_assert_uint_eq(others(2147483646), LATENCY_NONE);
	ck_assert_uint_eq(others(50), 50 * NSEC_PER_USEC);
	ck_assert_uint_eq(others(0), 0);
	ck_assert_uint_eq(others(-1), LATENCY_NONE);
}
END_TEST

static int32_t ours(uint64_t ns)
{
	struct change c = {.kind = KNOB_GLOBAL, .from = LATENCY_NONE, .to = ns};
	struct actuator a;

	a = host_actuator(&host);
	ck_assert_int_eq(a.ops->set(a.data, &c, ns), 0);
	return read_device();
}

START_TEST(bytes_of_ours)
{
	ck_assert_int_eq(ours(20 * NSEC_PER_USEC), 20);
	ck_assert_int_eq(ours(1999), 1);
	ck_assert_int_eq(ours(400), 0);
	ck_assert_int_eq(ours(0), 0);
	/* Longer than the kernel's "no request": never a number that it would take for something else. */
	ck_assert_int_eq(ours(LATENCY_MAX_NS), 2000000000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host");
	TCase *tc = tcase_create("global request");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, bytes_of_others);
	tcase_add_test(tc, bytes_of_ours);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
