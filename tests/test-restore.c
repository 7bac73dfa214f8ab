/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "restore.h"

#define US NSEC_PER_USEC

static int root_fd = -1;
static struct machine_cpu cpus[8];
static struct machine machine;

static void setup(void)
{
	root_fd = open(test_tmpdir(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(root_fd, 0);
	machine = (struct machine){.n_cpus = ARRAY_SIZE(cpus), .cpus = cpus};
	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i] = (struct machine_cpu){
			.qos_ns = LATENCY_NONE,
			.qos_prior_ns = LATENCY_NONE,
			.present = true,
			.online = true,
			.has_qos = true,
		};
}

static void teardown(void)
{
	close(root_fd);
}

static void write_record(const char *text)
{
	test_write(test_tmpdir(), RESTORE_FILE, text);
}

static void expect_record(const char *text)
{
	_cleanup_free_ char *found = test_read(test_tmpdir(), RESTORE_FILE);

	ck_assert_str_eq(found, text);
}

static void save(const struct changes *c)
{
	struct restore_record r;

	ck_assert_int_eq(c ? restore_plan(&machine, c, &r) : restore_current(&machine, &r), 0);
	ck_assert_int_eq(restore_save(root_fd, &r), 0);
	restore_done(&r);
}

static struct change changes_v[] = {
	{LATENCY_NONE, 20 * US, 0, 0, KNOB_QOS, 0},
	{LATENCY_NONE, 20 * US, 1, 0, KNOB_QOS, 0},
	{LATENCY_NONE, 20 * US, 2, 0, KNOB_QOS, 0},
	{5 * US, 0, 5, 0, KNOB_QOS, 0},
	{0, 1, 3, 2, KNOB_DISABLE, 0},
	{0, 1, 4, 2, KNOB_DISABLE, 0},
	{1, 0, 4, 3, KNOB_DISABLE, 0},
	{LATENCY_NONE, 10 * US, 0, 0, KNOB_GLOBAL, 0},
};
static const struct changes changes = {.v = changes_v, .n = ARRAY_SIZE(changes_v)};

static void before_changes(void)
{
	cpus[5].qos_ns = cpus[5].qos_prior_ns = 5 * US;
	cpus[4].disabled = cpus[4].disabled_prior = 1U << 3;
}

START_TEST(record_is_for_people)
{
	before_changes();
	save(&changes);
	expect_record("cpuidled-restore 1 -\n"
		      "qos 0-2 none 20us\n"
		      "qos 5 5us 0\n"
		      "disable 3-4 2 0 1\n"
		      "disable 4 3 1 0\n");
}
END_TEST

START_TEST(record_of_a_switch_names_both_values)
{
	struct change v[] = {{20 * US, 50 * US, 1, 0, KNOB_QOS, 0},
			     {20 * US, LATENCY_NONE, 2, 0, KNOB_QOS, 0},
			     {1, 0, 3, 1, KNOB_DISABLE, 0}};
	const struct changes c = {.v = v, .n = ARRAY_SIZE(v)};

	for (int i = 0; i < 4; i++)
		cpus[i].qos_ns = 20 * US;
	cpus[3].disabled = 1U << 1;
	save(&c);
	expect_record("cpuidled-restore 1 -\n"
		      "qos 0 none 20us\n"
		      "qos 1 none 20us 50us\n"
		      "qos 2-3 none 20us\n"
		      "disable 3 1 0 1\n");
}
END_TEST

START_TEST(nothing_of_ours_removes_the_file)
{
	before_changes();
	save(&changes);
	save(NULL);
	ck_assert_int_eq(faccessat(root_fd, RESTORE_FILE, F_OK, 0), -1);
	save(NULL);
}
END_TEST

START_TEST(comes_back_as_it_was)
{
	struct restore_record a, b;
	struct restore_global global = {.n_ours = 2,
					.n_prior = 4,
					.prior = {0x00, 0x94, 0x35, 0x77},
					.ours = {10 * US, 400}};

	before_changes();
	ck_assert_int_eq(restore_plan(&machine, &changes, &a), 0);
	a.global = global;
	ck_assert_int_eq(restore_save(root_fd, &a), 0);
	ck_assert_int_eq(restore_load(root_fd, &b), 0);
	ck_assert_uint_eq(a.n, b.n);
	for (uint32_t i = 0; i < a.n; i++) {
		ck_assert_uint_eq(a.items[i].cpu, b.items[i].cpu);
		ck_assert_uint_eq(a.items[i].last, b.items[i].last);
		ck_assert_uint_eq(a.items[i].prior, b.items[i].prior);
		ck_assert_uint_eq(a.items[i].n_ours, b.items[i].n_ours);
		ck_assert_uint_eq(a.items[i].ours[0], b.items[i].ours[0]);
		ck_assert_uint_eq(a.items[i].state, b.items[i].state);
		ck_assert_uint_eq(a.items[i].kind, b.items[i].kind);
	}
	ck_assert_uint_eq(b.global.n_ours, 2);
	ck_assert_uint_eq(b.global.n_prior, 4);
	ck_assert_mem_eq(b.global.prior, global.prior, 4);
	ck_assert_uint_eq(b.global.ours[1], 400);
	restore_done(&a);
	restore_done(&b);
}
END_TEST

/* Of umwait_control: what the host had, what we wrote, what we are about to write. */
START_TEST(record_of_umwait_control)
{
	struct change v[] = {{1, 0, 0, HOST_UMWAIT_C02, KNOB_HOST, 0},
			     {0, 400, 0, HOST_UMWAIT_MAX, KNOB_HOST, 0}};
	const struct changes c = {.v = v, .n = ARRAY_SIZE(v)};
	struct restore_record r;
	uint32_t foreign;

	machine.knobs[HOST_UMWAIT_C02] =
		(struct machine_knob){.present = true, .now = 1, .prior = 1};
	machine.knobs[HOST_UMWAIT_MAX] =
		(struct machine_knob){.present = true, .now = 0, .prior = 100000};
	save(&c);
	expect_record("cpuidled-restore 1 -\n"
		      "host enable_c02 1 0\n"
		      "host max_time 100000 0 400\n");
	ck_assert_int_eq(restore_load(root_fd, &r), 0);
	/* A successor finds the second value written, and the first one not yet. */
	machine.knobs[HOST_UMWAIT_MAX].now = machine.knobs[HOST_UMWAIT_MAX].prior = 400;
	restore_overlay(&r, &machine, &foreign);
	ck_assert_uint_eq(foreign, 0);
	ck_assert_uint_eq(machine.knobs[HOST_UMWAIT_C02].prior, 1);
	ck_assert_uint_eq(machine.knobs[HOST_UMWAIT_MAX].prior, 100000);
	ck_assert_uint_eq(machine.knobs[HOST_UMWAIT_MAX].now, 400);
	/* Or somebody else's, and an empty file. */
	machine.knobs[HOST_UMWAIT_MAX].now = machine.knobs[HOST_UMWAIT_MAX].prior = 8;
	machine.knobs[HOST_UMWAIT_C02] = (struct machine_knob){.present = true, .cut = true};
	restore_overlay(&r, &machine, &foreign);
	ck_assert_uint_eq(foreign, 1);
	ck_assert_uint_eq(machine.knobs[HOST_UMWAIT_MAX].prior, 8);
	ck_assert_uint_eq(machine.knobs[HOST_UMWAIT_C02].prior, 1);
	restore_done(&r);
}
END_TEST

START_TEST(no_record_is_no_error)
{
	struct restore_record r;

	ck_assert_int_eq(restore_load(root_fd, &r), 0);
	ck_assert(restore_is_empty(&r));
}
END_TEST

START_TEST(record_of_another_boot_is_void)
{
	struct restore_record r;

	test_write(test_tmpdir(), "proc/sys/kernel/random/boot_id", "11111111-aaaa\n");
	write_record("cpuidled-restore 1 22222222-bbbb\nqos 0 none 20us\n");
	ck_assert_int_eq(restore_load(root_fd, &r), 0);
	ck_assert(restore_is_empty(&r));
	write_record("cpuidled-restore 1 11111111-aaaa\nqos 0 none 20us\n");
	ck_assert_int_eq(restore_load(root_fd, &r), 0);
	ck_assert_uint_eq(r.n, 1);
	restore_done(&r);
}
END_TEST

/* Each: a damaged text and how many items of it can still be read. */
static const struct {
	const char *text;
	uint32_t n;
} damaged[] = {
	{"", 0},
	{"\n", 0},
	{"junk", 0},
	{"cpuidled-restore 2 -\nqos 0 none 20us\n", 0},
	{"cpuidled-restore 1 -\nqos 0 none\nqos 1 none 20us\n", 1},
	{"cpuidled-restore 1 -\nqos x none 20us\nqos 1 none 20us\n", 1},
	{"cpuidled-restore 1 -\nqos 3-2 none 20us\n", 0},
	{"cpuidled-restore 1 -\nqos 0-99999 none 20us\n", 0},
	{"cpuidled-restore 1 -\nqos 0 none 20us 30us 40us\n", 0},
	{"cpuidled-restore 1 -\nqos 0 none 20uss\n", 0},
	{"cpuidled-restore 1 -\nqos 0 n/a 20us\n", 0},
	{"cpuidled-restore 1 -\ndisable 0 10 0 1\n", 0},
	{"cpuidled-restore 1 -\ndisable 0 1 0 2\n", 0},
	{"cpuidled-restore 1 -\ndisable 0 1 0\ndisable 0 1 0 1\n", 1},
	{"cpuidled-restore 1 -\nwhat 0 1 0 1\n", 0},
	{"cpuidled-restore 1 -\nhost max_time 1\nqos 1 none 20us\n", 1},
	{"cpuidled-restore 1 -\nhost what 1 0\n", 0},
	{"cpuidled-restore 1 -\nhost\n", 0},
	{"cpuidled-restore 1 -\nhost enable_c02 1 20us\n", 0},
	{"cpuidled-restore 1 -\nglobal 0 5us\n", 0},
	{"cpuidled-restore 1 -\nglobal 00zz 5us\n", 0},
	{"cpuidled-restore 1 -\nglobal 00112233445566778899aabbccddeeff00 5us\n", 0},
	{"cpuidled-restore 1 -\nqos 1 none 20us\na b c d e f g h i j k\n", 1},
};

START_TEST(damage_is_reported_and_the_rest_used)
{
	struct restore_record r;

	write_record(damaged[_i].text);
	ck_assert_int_eq(restore_load(root_fd, &r), -EBADMSG);
	ck_assert_uint_eq(r.n, damaged[_i].n);
	ck_assert_uint_eq(r.global.n_ours, 0);
	restore_done(&r);
}
END_TEST

START_TEST(overlay_takes_back_only_what_is_ours)
{
	struct restore_record r;
	uint32_t foreign;

	write_record("cpuidled-restore 1 -\n"
		     "qos 0-4 100us 20us 50us\n"
		     "qos 7-9 none 0\n" /* CPUs 8 and 9 are gone */
		     "disable 0-2 3 0 1\n");
	ck_assert_int_eq(restore_load(root_fd, &r), 0);
	cpus[0].qos_ns = cpus[0].qos_prior_ns = 20 * US; /* ours */
	cpus[1].qos_ns = cpus[1].qos_prior_ns = 50 * US; /* ours, the next one */
	cpus[2].qos_ns = cpus[2].qos_prior_ns = 100 * US; /* not yet written */
	cpus[3].qos_ns = cpus[3].qos_prior_ns = 7 * US; /* somebody's, since */
	cpus[4].present = cpus[4].has_qos = false;
	cpus[0].disabled = cpus[0].disabled_prior = 1U << 3;
	cpus[7].qos_ns = cpus[7].qos_prior_ns = 0;
	restore_overlay(&r, &machine, &foreign);
	ck_assert_uint_eq(foreign, 1);
	ck_assert_uint_eq(cpus[0].qos_prior_ns, 100 * US);
	ck_assert_uint_eq(cpus[1].qos_prior_ns, 100 * US);
	ck_assert_uint_eq(cpus[2].qos_prior_ns, 100 * US);
	ck_assert_uint_eq(cpus[3].qos_prior_ns, 7 * US);
	ck_assert_uint_eq(cpus[3].qos_ns, 7 * US);
	ck_assert_uint_eq(cpus[7].qos_prior_ns, LATENCY_NONE);
	ck_assert_uint_eq(cpus[0].disabled, 1U << 3);
	ck_assert_uint_eq(cpus[0].disabled_prior, 0);
	ck_assert_uint_eq(cpus[1].disabled | cpus[1].disabled_prior, 0);
	restore_done(&r);
}
END_TEST

START_TEST(an_offline_cpu_keeps_what_is_ours)
{
	_cleanup_(restore_done) struct restore_record r = {0}, again = {0};
	uint32_t n_foreign;

	cpus[3].disabled = 1U << 2;
	cpus[4].disabled_prior = 1U << 1;
	ck_assert_int_eq(restore_current(&machine, &r), 0);
	/* Read anew while both are offline: there is no file to see. */
	for (size_t i = 0; i < ARRAY_SIZE(cpus); i++)
		cpus[i].disabled = cpus[i].disabled_prior = 0;
	cpus[3].online = cpus[4].online = false;
	cpus[3].table = cpus[4].table = MACHINE_NO_TABLE;
	restore_overlay(&r, &machine, &n_foreign);
	ck_assert_uint_eq(cpus[3].disabled, 1U << 2);
	ck_assert_uint_eq(cpus[3].disabled_prior, 0);
	ck_assert_uint_eq(cpus[4].disabled, 0);
	ck_assert_uint_eq(cpus[4].disabled_prior, 1U << 1);
	/* So the next record has it still. */
	ck_assert_int_eq(restore_current(&machine, &again), 0);
	ck_assert_uint_eq(again.n, r.n);
}
END_TEST

START_TEST(files_cut_short_are_ours)
{
	struct restore_record r;
	uint32_t foreign;

	write_record("cpuidled-restore 1 -\nqos 0-3 100us 20us\ndisable 1 3 1 0\n");
	ck_assert_int_eq(restore_load(root_fd, &r), 0);
	cpus[2].cut = 1U << MACHINE_BIT_QOS;
	cpus[1].cut = 1U << 3;
	for (int i = 0; i < 4; i++)
		cpus[i].qos_ns = cpus[i].qos_prior_ns = i == 2 ? LATENCY_NONE : 20 * US;
	restore_overlay(&r, &machine, &foreign);
	ck_assert_uint_eq(foreign, 0);
	ck_assert_uint_eq(cpus[2].qos_ns, 100 * US);
	ck_assert_uint_eq(cpus[2].qos_prior_ns, 100 * US);
	ck_assert_uint_eq(cpus[1].disabled & cpus[1].disabled_prior, 1U << 3);
	restore_done(&r);
}
END_TEST

START_TEST(a_place_that_cannot_be_written_is_an_error)
{
	struct restore_record r;

	before_changes();
	ck_assert_int_eq(restore_plan(&machine, &changes, &r), 0);
	test_write(test_tmpdir(), "run", "a file where the directory should be");
	ck_assert_int_eq(restore_save(root_fd, &r), -ENOTDIR);
	restore_done(&r);
}
END_TEST

START_TEST(a_link_is_not_followed)
{
	struct restore_record r;

	ck_assert_int_eq(restore_make_dir(root_fd), 0);
	ck_assert_int_eq(symlinkat("/etc/passwd", root_fd, RESTORE_FILE), 0);
	ck_assert_int_eq(restore_load(root_fd, &r), -ELOOP);
}
END_TEST

START_TEST(big_record_of_unequal_cpus)
{
	struct machine_cpu *many = calloc(CPU_MAX, sizeof(*many));
	struct restore_record r, back;

	ck_assert_ptr_nonnull(many);
	machine = (struct machine){.n_cpus = CPU_MAX, .cpus = many};
	for (uint32_t i = 0; i < CPU_MAX; i++) {
		many[i].present = many[i].has_qos = true;
		many[i].qos_prior_ns = LATENCY_NONE;
		many[i].qos_ns = (i + 1) * US;
		many[i].disabled = (uint16_t)(i & 0x3ff);
	}
	ck_assert_int_eq(restore_current(&machine, &r), 0);
	ck_assert_uint_gt(r.n, CPU_MAX);
	ck_assert_int_eq(restore_save(root_fd, &r), 0);
	ck_assert_int_eq(restore_load(root_fd, &back), 0);
	ck_assert_uint_eq(r.n, back.n);
	ck_assert_uint_eq(back.items[CPU_MAX - 1].ours[0], CPU_MAX * US);
	restore_done(&r);
	restore_done(&back);
	free(many);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("restore");
	TCase *tc = tcase_create("restore");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, record_is_for_people);
	tcase_add_test(tc, record_of_a_switch_names_both_values);
	tcase_add_test(tc, nothing_of_ours_removes_the_file);
	tcase_add_test(tc, comes_back_as_it_was);
	tcase_add_test(tc, record_of_umwait_control);
	tcase_add_test(tc, no_record_is_no_error);
	tcase_add_test(tc, record_of_another_boot_is_void);
	tcase_add_loop_test(tc, damage_is_reported_and_the_rest_used, 0, (int)ARRAY_SIZE(damaged));
	tcase_add_test(tc, overlay_takes_back_only_what_is_ours);
	tcase_add_test(tc, an_offline_cpu_keeps_what_is_ours);
	tcase_add_test(tc, files_cut_short_are_ours);
	tcase_add_test(tc, a_place_that_cannot_be_written_is_an_error);
	tcase_add_test(tc, a_link_is_not_followed);
	tcase_add_test(tc, big_record_of_unequal_cpus);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
