/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mktree.h"
#include "scene.h"

#include "sysfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SKX                                                                          \
	"POLL 0/0 CPUIDLE CORE POLL IDLE, C1 2/2 MWAIT 0x00, C1E 10/20 MWAIT 0x01, " \
	"C6 133/600 MWAIT 0x20"
#define US  NSEC_PER_USEC
#define QOS "power/pm_qos_resume_latency_us"

static struct diag_list diags;
static struct machine *m;

static void close_host(void)
{
	machine_free(m);
	m = NULL;
	diag_done(&diags);
}

static const char *host(unsigned n)
{
	const char *root = test_tmpdir();

	mktree_host(root, n);
	return root;
}

static void read_host(const char *root)
{
	m = scene_read(root, 7, &diags);
}

static bool says(enum diag_severity severity, const char *part)
{
	for (size_t i = 0; i < diags.n; i++)
		if (diags.items[i].severity == severity && strstr(diags.items[i].text, part))
			return true;
	return false;
}

/* Spelling ---------------------------------------------------------------------------------------- */

/* Real kernels show these; writing 0x10 or nothing is accepted by them but never shown. */
static const struct {
	const char *text;
	int r;
	uint64_t ns;
} spellings[] = {
	{"0\n", 0, LATENCY_NONE},
	{"n/a\n", 0, 0},
	{"1\n", 0, US},
	{"100", 0, 100 * US},
	{"2147483646\n", 0, UINT64_C(2147483646) * US},
	{"2147483647\n", -EINVAL, 0},
	{"4294967296\n", -EINVAL, 0},
	{"-1\n", -EINVAL, 0},
	{"10 \n", -EINVAL, 0},
	{" 10\n", -EINVAL, 0},
	{"1.5\n", -EINVAL, 0},
	{"0x10\n", -EINVAL, 0},
	{"abc\n", -EINVAL, 0},
	{"N/A\n", -EINVAL, 0},
	{"1\n2\n", -EINVAL, 0},
	{"", -EINVAL, 0},
	{"00000000000000000000000000000000000000000000000000000000000000000001", -EINVAL, 0},
};

START_TEST(qos_is_read_as_the_kernel_spells_it)
{
	uint64_t ns = 77;

	ck_assert_int_eq(sysfs_parse_qos(spellings[_i].text, &ns), spellings[_i].r);
	ck_assert(ns == (spellings[_i].r == 0 ? spellings[_i].ns : 77));
}
END_TEST

START_TEST(qos_is_written_never_looser)
{
	static const struct {
		uint64_t ns;
		const char *text;
		uint64_t stands;
	} v[] = {
		{LATENCY_NONE, "0\n", LATENCY_NONE},
		{0, "n/a\n", 0},
		{1, "n/a\n", 0},
		{999, "n/a\n", 0},
		{1000, "1\n", US},
		{1999, "1\n", US},
		{20 * US, "20\n", 20 * US},
		{5000 * US, "5000\n", 5000 * US},
	};
	char buf[32];
	uint64_t back;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		ck_assert_str_eq(sysfs_format_qos(v[i].ns, buf, sizeof(buf)), v[i].text);
		ck_assert(sysfs_qos_granularity(v[i].ns) == v[i].stands);
		ck_assert_int_eq(sysfs_parse_qos(buf, &back), 0);
		ck_assert(back == v[i].stands);
	}
}
END_TEST

START_TEST(paths)
{
	char buf[128];

	ck_assert_str_eq(sysfs_qos_path(17, buf, sizeof(buf)),
			 "sys/devices/system/cpu/cpu17/power/pm_qos_resume_latency_us");
	ck_assert_str_eq(sysfs_disable_path(8191, 9, buf, sizeof(buf)),
			 "sys/devices/system/cpu/cpu8191/cpuidle/state9/disable");
}
END_TEST

/* Hosts ------------------------------------------------------------------------------------------- */

START_TEST(plain_host)
{
	const char *root = host(2);

	mktree_states(root, 0, 1, SKX);
	read_host(root);
	ck_assert_uint_eq(diags.n, 0);
	ck_assert_uint_eq(m->n_cpus, 2);
	ck_assert_uint_eq(m->n_tables, 1);
	ck_assert_str_eq(m->driver, "intel_idle");
	ck_assert_str_eq(m->governor, "menu");
	ck_assert_str_eq(m->vendor, "GenuineIntel");
	ck_assert_uint_eq(m->family, 6);
	ck_assert_uint_eq(m->model, 143);
	ck_assert_str_eq(m->cmdline, "quiet");
	ck_assert(m->arat && m->virt == VIRT_NONE && !m->cpus[0].waitpkg && !m->has_global);
	ck_assert_int_eq(m->c1_demotion, -1);
	ck_assert_uint_eq(m->tables[0].n, 4);
	ck_assert_str_eq(m->tables[0].states[3].name, "C6");
	ck_assert_str_eq(m->tables[0].states[3].desc, "MWAIT 0x20");
	ck_assert(m->tables[0].states[3].exit_latency_ns == 133 * US);
	ck_assert(m->tables[0].states[3].target_residency_ns == 600 * US);
	ck_assert(m->cpus[1].has_qos && m->cpus[1].qos_ns == LATENCY_NONE);
	ck_assert(!m->module.loaded);
}
END_TEST

START_TEST(two_tables_on_one_host)
{
	const char *root = host(5);

	mktree_states(root, 0, 1, SKX);
	mktree_states(root, 2, 3, "POLL 0/0, C1E 2/4 MWAIT 0x01, C6! 170/500 MWAIT 0x20");
	mktree_states(root, 4, 4, SKX);
	read_host(root);
	ck_assert_uint_eq(m->n_tables, 2);
	ck_assert(m->cpus[0].table == m->cpus[4].table && m->cpus[0].table != m->cpus[2].table);
	ck_assert_uint_eq(m->tables[m->cpus[3].table].n, 3);
	ck_assert(m->tables[m->cpus[3].table].states[2].default_off);
	ck_assert_uint_eq(m->cpus[3].disabled, 4);
	ck_assert_uint_eq(m->cpus[4].disabled, 0);
}
END_TEST

START_TEST(shorter_table_after_a_longer_one)
{
	const char *root = host(3);

	mktree_states(root, 0, 0, SKX);
	mktree_states(root, 1, 1, "POLL 0/0 CPUIDLE CORE POLL IDLE, C1 2/2 MWAIT 0x00");
	mktree_states(root, 2, 2, SKX);
	read_host(root);
	ck_assert_uint_eq(m->n_tables, 2);
	ck_assert_uint_eq(m->tables[m->cpus[1].table].n, 2);
	ck_assert_uint_eq(m->cpus[0].table, m->cpus[2].table);
}
END_TEST

START_TEST(offline_cpus)
{
	const char *root = host(4);

	mktree_states(root, 0, 3, SKX);
	test_write(root, "sys/devices/system/cpu/online", "0-1,3\n");
	test_write(root, mktree_cpu(3, "online"), "0\n");
	read_host(root);
	ck_assert(m->cpus[1].online && !m->cpus[2].online && !m->cpus[3].online);
	ck_assert(m->cpus[2].present && m->cpus[2].has_qos);
	ck_assert_uint_eq(m->cpus[2].table, MACHINE_NO_TABLE);
}
END_TEST

START_TEST(without_an_online_list_all_present_count)
{
	const char *root = host(3);

	mktree_drop(root, "sys/devices/system/cpu/online");
	test_write(root, mktree_cpu(2, "online"), "0\n");
	read_host(root);
	ck_assert(m->cpus[0].online && m->cpus[1].online && !m->cpus[2].online);
}
END_TEST

START_TEST(holes_in_the_numbers)
{
	const char *root = host(4);

	test_write(root, "sys/devices/system/cpu/present", "0,3\n");
	test_write(root, "sys/devices/system/cpu/online", "0,3\n");
	read_host(root);
	ck_assert_uint_eq(m->n_cpus, 4);
	ck_assert(m->cpus[0].present && !m->cpus[1].present && !m->cpus[1].has_qos);
}
END_TEST

START_TEST(values_of_the_qos_file)
{
	const char *root = host(5);

	test_write(root, mktree_cpu(0, QOS), "n/a\n");
	test_write(root, mktree_cpu(1, QOS), "5000\n");
	test_write(root, mktree_cpu(2, QOS), "");
	test_write(root, mktree_cpu(3, QOS), "rubbish\n");
	mktree_drop(root, mktree_cpu(4, QOS));
	read_host(root);
	ck_assert(m->cpus[0].has_qos && m->cpus[0].qos_ns == 0 && m->cpus[0].qos_prior_ns == 0);
	ck_assert(m->cpus[1].qos_ns == 5000 * US);
	ck_assert(m->cpus[2].has_qos && m->cpus[2].qos_ns == LATENCY_NONE);
	ck_assert_uint_eq(m->cpus[2].cut, 1U << MACHINE_BIT_QOS);
	ck_assert(!m->cpus[3].has_qos && !m->cpus[4].has_qos);
	ck_assert_uint_eq(diags.n, 1);
	ck_assert(says(DIAG_WARNING, "cpu[3]/power/pm_qos_resume_latency_us"));
}
END_TEST

START_TEST(isolated_and_nohz_full)
{
	const char *root = host(8);

	test_write(root, "sys/devices/system/cpu/isolated", "2-3,6\n");
	test_write(root, "sys/devices/system/cpu/nohz_full", "  (null)\n");
	read_host(root);
	ck_assert_uint_eq(cpuset_count(&m->isolated), 3);
	ck_assert(cpuset_has(&m->isolated, 6));
	ck_assert_uint_eq(cpuset_count(&m->nohz_full), 0);
	close_host();
	test_write(root, "sys/devices/system/cpu/nohz_full", "1-7:2/4,100\n");
	read_host(root);
	ck_assert_uint_gt(cpuset_count(&m->nohz_full), 1);
	ck_assert(cpuset_has(&m->nohz_full, 1));
}
END_TEST

START_TEST(unreadable_latency_counts_as_over_every_limit)
{
	const char *root = host(2);

	mktree_states(root, 0, 1, SKX);
	test_write(root, mktree_cpu(1, "cpuidle/state2/latency"), "soon\n");
	mktree_drop(root, mktree_cpu(1, "cpuidle/state3/disable"));
	read_host(root);
	ck_assert_uint_eq(m->n_tables, 2);
	ck_assert(m->tables[m->cpus[1].table].states[2].exit_latency_ns == LATENCY_NONE);
	ck_assert(says(DIAG_WARNING, "cpu[1]/cpuidle/state* cannot be used"));
	ck_assert(says(DIAG_WARNING, "cpu[1]/cpuidle/state*/disable cannot be used"));
}
END_TEST

START_TEST(reading_that_fails_is_told_by_range)
{
	const char *root = host(4);

	/* A directory in place of the file: read() says EISDIR, as a broken device would EIO. */
	for (unsigned cpu = 1; cpu < 4; cpu++) {
		mktree_drop(root, mktree_cpu(cpu, QOS));
		test_write(root, mktree_cpu(cpu, QOS "/x"), "");
	}
	read_host(root);
	ck_assert(m->cpus[0].has_qos && !m->cpus[2].has_qos);
	ck_assert_uint_eq(diags.n, 1);
	ck_assert(says(DIAG_WARNING, "cpu[1-3]/power/pm_qos_resume_latency_us cannot be used (Is a "
				     "directory)"));
}
END_TEST

START_TEST(ten_states_with_odd_names)
{
	const char *root = host(1);

	mktree_states(
		root, 0, 0,
		"POLL 0/0, Light_Sleep 1/1, C1 0/0, C1 3/3, a 4/4, b 5/5, c 6/6, d 7/7, e 8/8, "
		"Deep_Sleep! 900/9000");
	read_host(root);
	ck_assert_uint_eq(m->tables[0].n, 10);
	ck_assert_str_eq(m->tables[0].states[9].name, "Deep Sleep");
	ck_assert_str_eq(m->tables[0].states[1].name, "Light Sleep");
	ck_assert_uint_eq(m->cpus[0].disabled, 1U << 9);
	ck_assert_str_eq(m->tables[0].states[2].name, m->tables[0].states[3].name);
}
END_TEST

START_TEST(no_cpuidle_no_qos_nothing)
{
	const char *root = test_tmpdir();

	test_write(root, "sys/devices/system/cpu/present", "0-575\n");
	read_host(root);
	ck_assert_uint_eq(m->n_cpus, 576);
	ck_assert(m->cpus[575].online && !m->cpus[575].has_qos);
	ck_assert_str_eq(m->driver, "none");
	ck_assert_str_eq(m->governor, "");
	ck_assert_ptr_null(m->cmdline);
	ck_assert_uint_eq(diags.n, 0);
}
END_TEST

START_TEST(no_cpus_at_all)
{
	const char *root = test_tmpdir();
	int fd;

	ck_assert_int_eq(sysfs_open_root(root, &fd), 0);
	ck_assert_int_eq(sysfs_read_machine(fd, 0, &diags, &m), -ENODEV);
	test_write(root, "sys/devices/system/cpu/x", "");
	ck_assert_int_eq(sysfs_read_machine(fd, 0, &diags, &m), -ENODEV);
	test_write(root, "sys/devices/system/cpu/present", "\n");
	ck_assert_int_eq(sysfs_read_machine(fd, 0, &diags, &m), -ENODEV);
	test_write(root, "sys/devices/system/cpu/present", "0-8192\n");
	ck_assert_int_eq(sysfs_read_machine(fd, 0, &diags, &m), -E2BIG);
	ck_assert_int_eq(sysfs_open_root("/nonexistent", &fd), -ENOENT);
	close(fd);
}
END_TEST

START_TEST(arm64_with_psci)
{
	const char *root = host(2);

	test_write(root, "proc/cpuinfo",
		   "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd arat waitpkg\n"
		   "CPU implementer\t: 0x41\n\n");
	test_write(root, "sys/devices/system/cpu/cpuidle/current_driver", "psci_idle\n");
	mktree_states(root, 0, 1, "WFI 1/1 ARM WFI, cpu-sleep-0 350/1100 cpu-sleep-0");
	read_host(root);
	ck_assert_str_eq(m->vendor, "");
	ck_assert(!m->arat && !m->cpus[0].waitpkg && m->virt == VIRT_NONE);
	ck_assert_uint_eq(m->tables[0].states[0].class, STATE_CLASS_HALT);
	ck_assert_uint_eq(m->tables[0].states[1].class, STATE_CLASS_CORE_OFF);
	close_host();
	test_write(root, "sys/class/dmi/id/sys_vendor", "QEMU\n");
	read_host(root);
	ck_assert(m->virt == VIRT_GUEST);
}
END_TEST

START_TEST(haltpoll_guest)
{
	const char *root = host(2);
	const char *p = "sys/module/haltpoll/parameters/guest_halt_poll_";
	char path[128];

	test_write(root, "proc/cpuinfo",
		   "vendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n"
		   "flags\t\t: fpu hypervisor xarat notwaitpkg arat\n");
	snprintf(path, sizeof(path), "%sns", p);
	test_write(root, path, "200000\n");
	snprintf(path, sizeof(path), "%sgrow_start", p);
	test_write(root, path, "50000\n");
	snprintf(path, sizeof(path), "%sallow_shrink", p);
	test_write(root, path, "Y\n");
	mktree_states(root, 0, 1, "POLL 0/0, haltpoll 1/1 default architecture idle");
	read_host(root);
	ck_assert(m->virt == VIRT_GUEST && m->arat && !m->cpus[0].waitpkg);
	ck_assert(m->knobs[HOST_HALTPOLL].present && m->haltpoll.allow_shrink);
	ck_assert(m->knobs[HOST_HALTPOLL].now == 200000 && m->haltpoll.grow_start_ns == 50000);
	ck_assert_uint_eq(m->tables[0].states[1].class, STATE_CLASS_HALT);
}
END_TEST

START_TEST(features_and_switches)
{
	const char *root = host(2);

	test_write(root, "proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: waitpkg\n");
	test_write(root, "sys/devices/system/cpu/cpuidle/intel_c1_demotion", "1\n");
	test_write(root, "sys/devices/system/cpu/umwait_control/enable_c02", "0\n");
	test_write(root, "sys/devices/system/cpu/umwait_control/max_time", "100000\n");
	mktree_drop(root, "sys/devices/system/cpu/cpuidle/current_governor");
	test_write(root, "sys/devices/system/cpu/cpuidle/current_governor_ro", "teo\n");
	read_host(root);
	ck_assert(m->cpus[1].waitpkg && !m->arat);
	ck_assert_int_eq(m->c1_demotion, 1);
	ck_assert(m->knobs[HOST_UMWAIT_C02].present && m->knobs[HOST_UMWAIT_C02].now == 0);
	ck_assert(m->knobs[HOST_UMWAIT_MAX].present && m->knobs[HOST_UMWAIT_MAX].now == 100000);
	ck_assert(m->knobs[HOST_UMWAIT_MAX].prior == 100000);
	ck_assert_str_eq(m->governor, "teo");
	ck_assert_uint_eq(m->family, 0);
}
END_TEST

/* The device shows four binary bytes; text, which a shell would write, is no latency. */
START_TEST(global_request_is_binary)
{
	const char *root = host(1);
	char path[512];
	int32_t us = 50;
	int fd;

	test_write(root, "dev/cpu_dma_latency", "");
	snprintf(path, sizeof(path), "%s/dev/cpu_dma_latency", root);
	for (int i = 0; i < 2; i++) {
		fd = open(path, O_WRONLY | O_TRUNC);
		ck_assert(write(fd, &us, sizeof(us)) == sizeof(us));
		close(fd);
		read_host(root);
		ck_assert(m->has_global);
		ck_assert(m->global_ns == (i == 0 ? 50 * US : LATENCY_NONE));
		ck_assert(m->global_others_ns == m->global_ns);
		close_host();
		us = 2000000000;
	}
	test_write(root, "dev/cpu_dma_latency", "100000\n");
	read_host(root);
	ck_assert(!m->has_global && m->global_ns == LATENCY_NONE);
	ck_assert(says(DIAG_WARNING, "dev/cpu_dma_latency holds 7 bytes"));
}
END_TEST

START_TEST(topology_as_far_as_needed)
{
	const char *root = host(2);

	test_write(root, mktree_cpu(1, "topology/physical_package_id"), "1\n");
	test_write(root, mktree_cpu(1, "topology/die_id"), "2\n");
	test_write(root, mktree_cpu(1, "topology/core_id"), "-1\n");
	test_write(root, mktree_cpu(1, "cache/index3/id"), "7\n");
	test_write(root, "sys/devices/system/node/online", "0,4\n");
	test_write(root, "sys/devices/system/node/node4/cpulist", "1\n");
	read_host(root);
	ck_assert_uint_eq(m->cpus[1].package, 1);
	ck_assert_uint_eq(m->cpus[1].die, 2);
	ck_assert_uint_eq(m->cpus[1].core, MACHINE_NO_ID);
	ck_assert_uint_eq(m->cpus[1].node, 4);
	ck_assert_uint_eq(m->cpus[1].llc, 7);
	ck_assert_uint_eq(m->cpus[0].node, MACHINE_NO_ID);
	ck_assert_uint_eq(m->cpus[0].llc, MACHINE_NO_ID);
	close_host();
	m = scene_read(root, 0, NULL);
	ck_assert_uint_eq(m->cpus[1].package, MACHINE_NO_ID);
	ck_assert_uint_eq(m->cpus[1].node, MACHINE_NO_ID);
	ck_assert_uint_eq(m->cpus[1].llc, MACHINE_NO_ID);
}
END_TEST

START_TEST(second_level_where_no_cpu_has_a_third)
{
	const char *root = host(2);

	test_write(root, mktree_cpu(0, "cache/index2/id"), "0\n");
	test_write(root, mktree_cpu(1, "cache/index2/id"), "1\n");
	read_host(root);
	ck_assert_uint_eq(m->cpus[1].llc, 1);
	close_host();
	test_write(root, mktree_cpu(0, "cache/index3/id"), "5\n");
	read_host(root);
	ck_assert_uint_eq(m->cpus[0].llc, 5);
	ck_assert_uint_eq(m->cpus[1].llc, MACHINE_NO_ID);
}
END_TEST

START_TEST(same_host_notices_what_matters)
{
	const char *root = host(4);
	bool same;
	int fd;

	mktree_states(root, 0, 3, SKX);
	read_host(root);
	ck_assert_int_eq(sysfs_open_root(root, &fd), 0);
	ck_assert_int_eq(sysfs_same_host(fd, m, &same), 0);
	ck_assert(same);
	test_write(root, mktree_cpu(1, QOS), "5\n");
	ck_assert_int_eq(sysfs_same_host(fd, m, &same), 0);
	ck_assert(same);
	test_write(root, "sys/devices/system/cpu/cpuidle/current_governor", "teo\n");
	ck_assert_int_eq(sysfs_same_host(fd, m, &same), 0);
	ck_assert(!same);
	test_write(root, "sys/devices/system/cpu/cpuidle/current_governor", "menu\n");
	test_write(root, "sys/devices/system/cpu/online", "0-2\n");
	ck_assert_int_eq(sysfs_same_host(fd, m, &same), 0);
	ck_assert(!same);
	test_write(root, "sys/devices/system/cpu/online", "0-3\n");
	test_write(root, "sys/devices/system/cpu/present", "0-4\n");
	ck_assert_int_eq(sysfs_same_host(fd, m, &same), 0);
	ck_assert(!same);
	close(fd);
}
END_TEST

START_TEST(eight_thousand_cpus)
{
	const char *root = test_tmpdir();
	char path[512];

	/* All of them are one directory, which keeps the tree small. */
	test_write(root, "sys/devices/system/cpu/present", "0-8191\n");
	mktree_states(root, 0, 0, SKX);
	for (unsigned cpu = 1; cpu < CPU_MAX; cpu++) {
		snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/cpu%u", root, cpu);
		ck_assert(symlink("cpu0", path) == 0);
	}
	read_host(root);
	ck_assert_uint_eq(m->n_cpus, CPU_MAX);
	ck_assert_uint_eq(m->n_tables, 1);
	ck_assert_uint_eq(m->cpus[CPU_MAX - 1].table, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sysfs");
	TCase *tc = tcase_create("sysfs");

	tcase_add_checked_fixture(tc, NULL, close_host);
	tcase_set_timeout(tc, 240);
	tcase_add_loop_test(tc, qos_is_read_as_the_kernel_spells_it, 0, ARRAY_SIZE(spellings));
	tcase_add_test(tc, qos_is_written_never_looser);
	tcase_add_test(tc, paths);
	tcase_add_test(tc, plain_host);
	tcase_add_test(tc, two_tables_on_one_host);
	tcase_add_test(tc, shorter_table_after_a_longer_one);
	tcase_add_test(tc, offline_cpus);
	tcase_add_test(tc, without_an_online_list_all_present_count);
	tcase_add_test(tc, holes_in_the_numbers);
	tcase_add_test(tc, values_of_the_qos_file);
	tcase_add_test(tc, isolated_and_nohz_full);
	tcase_add_test(tc, unreadable_latency_counts_as_over_every_limit);
	tcase_add_test(tc, reading_that_fails_is_told_by_range);
	tcase_add_test(tc, ten_states_with_odd_names);
	tcase_add_test(tc, no_cpuidle_no_qos_nothing);
	tcase_add_test(tc, no_cpus_at_all);
	tcase_add_test(tc, arm64_with_psci);
	tcase_add_test(tc, haltpoll_guest);
	tcase_add_test(tc, features_and_switches);
	tcase_add_test(tc, global_request_is_binary);
	tcase_add_test(tc, topology_as_far_as_needed);
	tcase_add_test(tc, second_level_where_no_cpu_has_a_third);
	tcase_add_test(tc, same_host_notices_what_matters);
	suite_add_tcase(suite, tc);
	tc = tcase_create("many");
	tcase_add_checked_fixture(tc, NULL, close_host);
	tcase_set_timeout(tc, 240);
	tcase_add_test(tc, eight_thousand_cpus);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
