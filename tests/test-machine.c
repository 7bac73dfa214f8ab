/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "bootargs.h"

static const struct {
	const char *name, *desc;
	unsigned latency_us;
	enum state_class class;
	enum state_entry entry;
} known[] = {
	{"POLL", "CPUIDLE CORE POLL IDLE", 0, STATE_CLASS_POLL, STATE_ENTRY_POLL},
	{"snooze", "snooze", 0, STATE_CLASS_POLL, STATE_ENTRY_POLL},
	{"C0.1", "", 0, STATE_CLASS_C0X, STATE_ENTRY_UMWAIT},
	{"C0.2", "UMWAIT", 0, STATE_CLASS_C0X, STATE_ENTRY_UMWAIT},
	{"C1", "MWAIT 0x00", 2, STATE_CLASS_HALT, STATE_ENTRY_MWAIT},
	{"C1E", "MWAIT 0x01", 10, STATE_CLASS_HALT, STATE_ENTRY_MWAIT},
	{"C1_ACPI", "ACPI FFH MWAIT 0x0", 1, STATE_CLASS_HALT, STATE_ENTRY_MWAIT},
	{"C1", "ACPI FFH INTEL MWAIT 0x0", 1, STATE_CLASS_HALT, STATE_ENTRY_MWAIT},
	{"C1", "ACPI HLT", 1, STATE_CLASS_HALT, STATE_ENTRY_HALT},
	{"haltpoll", "default architecture idle", 1, STATE_CLASS_HALT, STATE_ENTRY_HALT},
	{"WFI", "ARM WFI", 1, STATE_CLASS_HALT, STATE_ENTRY_HALT},
	{"LPI-0", "WFI", 1, STATE_CLASS_HALT, STATE_ENTRY_HALT},
	{"C3", "MWAIT 0x10", 33, STATE_CLASS_CORE_OFF, STATE_ENTRY_MWAIT},
	{"C6", "MWAIT 0x20", 133, STATE_CLASS_CORE_OFF, STATE_ENTRY_MWAIT},
	/* Xeon Phi calls the hint of C3 C6. */
	{"C6", "MWAIT 0x10", 120, STATE_CLASS_CORE_OFF, STATE_ENTRY_MWAIT},
	{"C6S", "MWAIT 0x22", 270, STATE_CLASS_CORE_OFF, STATE_ENTRY_MWAIT},
	{"C7s", "MWAIT 0x33", 124, STATE_CLASS_CORE_OFF, STATE_ENTRY_MWAIT},
	{"C2_ACPI", "ACPI FFH MWAIT 0x21", 127, STATE_CLASS_CORE_OFF, STATE_ENTRY_MWAIT},
	/* A P behind C6 is the package, although hint 0x21 looks like any C6. */
	{"C6P", "MWAIT 0x21", 210, STATE_CLASS_PACKAGE_OFF, STATE_ENTRY_MWAIT},
	{"C6SP", "MWAIT 0x23", 310, STATE_CLASS_PACKAGE_OFF, STATE_ENTRY_MWAIT},
	{"C8", "MWAIT 0x40", 200, STATE_CLASS_PACKAGE_OFF, STATE_ENTRY_MWAIT},
	{"C10", "MWAIT 0x60", 230, STATE_CLASS_PACKAGE_OFF, STATE_ENTRY_MWAIT},
	{"C3_ACPI", "ACPI FFH MWAIT 0x60", 1048, STATE_CLASS_PACKAGE_OFF, STATE_ENTRY_MWAIT},
	{"C2", "ACPI IOPORT 0x414", 30, STATE_CLASS_CORE_OFF, STATE_ENTRY_IOPORT},
	{"C3", "ACPI IOPORT 0x415", 350, STATE_CLASS_CORE_OFF, STATE_ENTRY_IOPORT},
	/* Nothing tells but the latency. */
	{"LPI-1", "", 20, STATE_CLASS_HALT, STATE_ENTRY_UNKNOWN},
	{"cpu-sleep-0", "cpu-sleep-0", 21, STATE_CLASS_CORE_OFF, STATE_ENTRY_UNKNOWN},
};

START_TEST(classes_from_name_hint_and_latency)
{
	struct idle_state s = {.exit_latency_ns = known[_i].latency_us * NSEC_PER_USEC};

	snprintf(s.name, sizeof(s.name), "%s", known[_i].name);
	snprintf(s.desc, sizeof(s.desc), "%s", known[_i].desc);
	machine_classify(&s);
	ck_assert_str_eq(machine_class_name(s.class), machine_class_name(known[_i].class));
	ck_assert_str_eq(machine_entry_name(s.entry), machine_entry_name(known[_i].entry));
}
END_TEST

START_TEST(equal_tables_are_kept_once)
{
	struct machine *m = scene_host(4, "POLL 0/0, C1 1/1, C6 133/600");

	scene_table(m, 2, 2, "POLL 0/0, C1 1/1, C6 133/600");
	scene_table(m, 3, 3, "POLL 0/0, C1 1/1, C6! 133/600");
	ck_assert_uint_eq(m->n_tables, 2);
	ck_assert(machine_table(m, 0) == machine_table(m, 2));
	ck_assert(machine_table(m, 0) != machine_table(m, 3));
	ck_assert_ptr_null(machine_table(m, 4));
	machine_free(m);
}
END_TEST

START_TEST(too_many_tables_are_refused)
{
	struct machine *m = scene_host(1, "");
	struct idle_table t = {.n = 1, .states = {{.name = "POLL"}}};
	uint16_t index;

	for (uint32_t i = 0; i < MACHINE_TABLES_MAX; i++) {
		t.states[0].exit_latency_ns = i;
		ck_assert_int_eq(machine_intern_table(m, &t, &index), 0);
		ck_assert_uint_eq(index, i);
	}
	t.states[0].exit_latency_ns = MACHINE_TABLES_MAX;
	ck_assert_int_eq(machine_intern_table(m, &t, &index), -ENOSPC);
	machine_free(m);
}
END_TEST

START_TEST(sizes_are_bounded)
{
	struct machine *m = NULL;

	ck_assert_int_eq(machine_new(0, &m), -ERANGE);
	ck_assert_int_eq(machine_new(CPU_MAX + 1, &m), -ERANGE);
	ck_assert_ptr_null(m);
	ck_assert_int_eq(machine_new(CPU_MAX, &m), 0);
	ck_assert_uint_eq(m->cpus[CPU_MAX - 1].table, MACHINE_NO_TABLE);
	ck_assert(m->cpus[CPU_MAX - 1].qos_ns == LATENCY_NONE);
	machine_free(m);
	machine_free(NULL);
}
END_TEST

START_TEST(words_are_names_classes_and_c0)
{
	struct idle_state poll = {.name = "POLL", .class = STATE_CLASS_POLL};
	struct idle_state c6 = {.name = "C6", .class = STATE_CLASS_CORE_OFF};
	struct idle_state odd = {.name = "Deep Sleep", .class = STATE_CLASS_HALT};

	ck_assert(machine_state_matches(&c6, "C6"));
	ck_assert(machine_state_matches(&c6, "c6"));
	ck_assert(machine_state_matches(&c6, "Core-Off"));
	ck_assert(!machine_state_matches(&c6, "C6P"));
	ck_assert(!machine_state_matches(&c6, "C"));
	ck_assert(!machine_state_matches(&c6, "package-off"));
	ck_assert(!machine_state_matches(&c6, ""));
	ck_assert(machine_state_matches(&poll, "C0"));
	ck_assert(machine_state_matches(&poll, "poll"));
	ck_assert(!machine_state_matches(&c6, "C0"));
	ck_assert(machine_state_matches(&odd, "deep_sleep"));
	ck_assert(!machine_state_matches(&odd, "deep"));
}
END_TEST

START_TEST(class_names_round_trip)
{
	enum state_class class;

	for (unsigned i = 0; i < STATE_CLASS_N; i++) {
		ck_assert_int_eq(machine_class_from_name(machine_class_name(i), &class), 0);
		ck_assert_uint_eq(class, i);
	}
	ck_assert_int_eq(machine_class_from_name("c6", &class), -EINVAL);
}
END_TEST

static const struct {
	const char *cmdline, *key, *value; /* NULL: not there */
} arguments[] = {
	{"quiet idle=poll", "idle", "poll"},
	{"idle=poll idle=halt\n", "idle", "halt"},
	{"notidle=poll", "idle", NULL},
	{"idle", "idle", ""},
	{"idlex=1", "idle", NULL},
	{"a=\"b idle=poll\" c", "idle", NULL},
	{"idle=\"po ll\"", "idle", "po ll"},
	{"ro -- idle=poll", "idle", NULL},
	{"intel-idle.max-cstate=1", "intel_idle.max_cstate", "1"},
	{"", "idle", NULL},
	{NULL, "idle", NULL},
};

START_TEST(command_line_is_read_as_the_kernel_does)
{
	struct machine m = {.cmdline = (char *)arguments[_i].cmdline};
	char buf[16];
	int r = machine_cmdline_get(&m, arguments[_i].key, buf, sizeof(buf));

	if (!arguments[_i].value) {
		ck_assert_int_eq(r, -ENOENT);
		return;
	}
	ck_assert_int_eq(r, 0);
	ck_assert_str_eq(buf, arguments[_i].value);
}
END_TEST

START_TEST(long_argument_is_cut)
{
	struct machine m = {.cmdline = (char *)"idle=0123456789"};
	char buf[5];

	ck_assert_int_eq(machine_cmdline_get(&m, "idle", buf, sizeof(buf)), -ENOBUFS);
	ck_assert_str_eq(buf, "0123");
}
END_TEST

START_TEST(boot_arguments_have_their_effect)
{
	struct machine m = {.cmdline = (char *)"intel_idle.max_cstate=0 idle=poll nohlt"
					       " processor.max_cstate=1 cpuidle.off=0"};
	struct bootarg arg;
	unsigned at = 0;

	ck_assert(bootargs_next(&m, &at, &arg));
	ck_assert_str_eq(arg.key, "idle");
	ck_assert(arg.no_cpuidle);
	ck_assert(bootargs_next(&m, &at, &arg));
	ck_assert_str_eq(arg.key, "nohlt");
	ck_assert(bootargs_next(&m, &at, &arg));
	ck_assert_str_eq(arg.key, "processor.max_cstate");
	ck_assert_str_eq(arg.value, "1");
	ck_assert(!arg.no_cpuidle);
	ck_assert(bootargs_next(&m, &at, &arg));
	ck_assert_str_eq(arg.key, "intel_idle.max_cstate");
	ck_assert_ptr_nonnull(strstr(arg.effect, "intel_idle is off"));
	ck_assert(!bootargs_next(&m, &at, &arg));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("machine");
	TCase *tc = tcase_create("machine");

	tcase_add_loop_test(tc, classes_from_name_hint_and_latency, 0, ARRAY_SIZE(known));
	tcase_add_test(tc, equal_tables_are_kept_once);
	tcase_add_test(tc, too_many_tables_are_refused);
	tcase_add_test(tc, sizes_are_bounded);
	tcase_add_test(tc, words_are_names_classes_and_c0);
	tcase_add_test(tc, class_names_round_trip);
	tcase_add_loop_test(tc, command_line_is_read_as_the_kernel_does, 0, ARRAY_SIZE(arguments));
	tcase_add_test(tc, long_argument_is_cut);
	tcase_add_test(tc, boot_arguments_have_their_effect);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
