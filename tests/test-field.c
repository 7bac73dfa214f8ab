/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "render.h"
#include "sysfs.h"

/*
 * What trips everyone: facts collected from users' reports and from other tools, each with the right answer.
 * An item is a row of the truth tables (B2) or one of the telling issues (B3); the tests are here unless a
 * file is named. The kernel's files are the daemon's to write, so its items are in tests/integration.
 *
 * B2 a   a limit keeps E <= limit                          limit_keeps_what_is_as_long
 * B2 b   spelling of pm_qos_resume_latency_us              test-sysfs.c: qos_is_read_as_the_kernel_spells_it,
 *                                                          qos_is_written_never_looser
 * B2 c   /dev/cpu_dma_latency is binary                    test-sysfs.c: global_request_is_binary;
 *                                                          integration/foreign.sh: host_global
 * B2 d   one policy text on every machine                  same_limit_on_every_machine
 * B2 e   everything that narrows the choice                test-view.c: explain_prints_every_layer
 * B3-1   a latency goal is no index                        goal_of_70us_is_no_index
 * B3-2   a limit below C1 makes the CPU spin               limit_below_c1_warns
 * B3-3   the deepest state available, not the next row     disabled_state_is_not_compared
 * B3-4   a state that claims no latency                    state_without_latency
 * B3-5   names are no numbers                              names_are_never_numbers
 * B3-6   states that are off by default                    default_off_stays_off
 * B3-7   "no core power-off" by class                      class_works_on_every_machine
 * B3-8   C0 is POLL; unknown names say what exists         unknown_name_says_what_exists
 * B3-9   overlapping groups                                overlap_shows_what_results
 * B3-10  a latency that flips every half minute            test-adapt.c: alternating_load_does_not_flap
 * B3-11  one busy CPU in 72, and the others                test-adapt.c: one_busy_cpu_is_alone
 * B3-12  adapting has to show what it is good for          test-simulate.c: adapt_costs_less_than_a_limit_for_all,
 *                                                          what_the_profile_changes
 * B3-13  absolute load is no input                         plan_depends_on_nothing_else;
 *                                                          test-adapt.c: little_load_on_many_cpus_is_none
 * B3-14  every option changes behaviour                    test-keys.c; test-modes.c: mode_follows_its_rule
 * B3-15  equal result, no write                            equal_results_write_nothing;
 *                                                          integration/daemon.sh: alternating
 * B3-16  one slot, several who want it                     two_who_want_one_slot; integration/foreign.sh
 * B3-17  n/a of others is zero, and 0 over it is foreign   na_is_zero_not_nothing; integration/foreign.sh
 * B3-18  0 is zero, none is none, 400ns is not 0us         zero_none_and_less_than_a_microsecond
 * B3-19  who else, on which CPUs                           others_are_told_with_their_cpus;
 *                                                          integration/foreign.sh
 * B3-20  one CPU at n/a                                    one_cpu_at_na_is_no_trouble
 * B3-24  priority, not order                               order_of_sections_decides_nothing
 * B3-26  restores only what is still ours                  test-restore.c: overlay_takes_back_only_what_is_ours;
 *                                                          integration/daemon.sh: restore_keeps_foreign_values
 * B3-27  killed at any moment                              integration/kill.sh: walk
 * B3-28  one missing file does not keep the others         test-apply.c: apply_all_goes_on_behind_a_failure;
 *                                                          integration/daemon.sh: restore_tries_every_file
 * B3-30  housekeeping CPUs are a group like any other      housekeeping_is_a_group
 * B3-31  a name that resolves to nothing is no success     name_without_state_is_told;
 *                                                          test-apply.c: verify_finds_what_did_not_stick
 * B3-32  is it in force?                                   test-hosts.c: plan_says_what_the_kernel_will_do;
 *                                                          test-apply.c: verify_finds_what_did_not_stick
 * B3-33  what a host lacks, once, by range                 what_a_host_lacks_is_told_once
 * B3-37  a guest that cannot sleep looks busy              guest_that_cannot_sleep_warns
 * B3-42  no MSR is needed                                  nothing_needs_an_msr
 * B3-46  the way into a state                              test-view.c: explain_names_the_way_in
 * B3-47  no cpuidle, no device: no error                   bare_host_is_no_error
 * B3-48  one text for Intel, AMD, ARM                      one_text_for_all_makers
 */
#define HOSTS_DIR TEST_HOSTS_DIR "/"
#define ON_ALL	  "[Daemon]\nDefaultProfile=p\n[Profile p]\n"

#define SKX "POLL 0/0, C1 2/2 MWAIT 0x00, C1E 10/20 MWAIT 0x01, C6 133/600 MWAIT 0x20"
#define ICX "POLL 0/0, C1 1/1 MWAIT 0x00, C1E 4/4 MWAIT 0x01, C6 170/600 MWAIT 0x20"
/* An Atom server without C6, and a Zen 5 BIOS: not among the recordings. */
#define SNR  "POLL 0/0, C1 2/2 MWAIT 0x00, C1E 15/25 MWAIT 0x01"
#define ZEN5 "POLL 0/0, C1 1/2 ACPI FFH MWAIT 0x0, C2 100/200 ACPI IOPORT 0x814"
#define ARM  "WFI 1/1 ARM WFI, cpu-sleep 350/1100 cpu-sleep"

static struct scene s;

static void close_scene(void)
{
	scene_done(&s);
}

/* A recorded host by name, or states in a line. */
static struct machine *host(const char *what)
{
	char path[256];

	if (strchr(what, '/'))
		return scene_host(4, what);
	snprintf(path, sizeof(path), HOSTS_DIR "%s", what);
	return scene_read(path, 7, NULL);
}

static void on_all(const char *what, const char *settings)
{
	char policy[512];

	snprintf(policy, sizeof(policy), ON_ALL "%s\n", settings);
	scene_set(&s, host(what), policy);
}

/* The kernel keeps a state as long as the limit; one well-known tool leaves it out, which loses C1E here. */
START_TEST(limit_keeps_what_is_as_long)
{
	static const char *const v[][2] = {
		{"LatencyLimit=10", "C1E"}, {"LatencyLimit=9", "C1"},
		{"LatencyLimit=2", "C1"},   {"LatencyLimit=1", "POLL"},
		{"LatencyLimit=133", "C6"}, {"LatencyLimit=132", "C1E"},
		{"LatencyLimit=0", "POLL"}, {"LatencyLimit=none", "C6"},
	};

	on_all("sklep0", v[_i][0]);
	ck_assert_str_eq(scene_deepest(&s, 0), v[_i][1]);
	ck_assert_str_eq(scene_deepest(&s, 103), v[_i][1]);
}
END_TEST

/* Deepest state left at 10 us, 70 us and 1 us. Haswell's C3 (33 us) is off by default and stays so. */
static const struct {
	const char *host, *at_10, *at_70, *at_1;
} machines[] = {
	{"sklep0", "C1E", "C1E", "POLL"},
	{"clx2s0", "C1E", "C1E", "POLL"},
	{"clx4s0", "C1E", "C1E", "POLL"},
	{"icx2s0", "C1E", "C1E", "C1"},
	{"spr1", "C1E", "C1E", "C1"},
	{"emr0", "C1E", "C1E", "C1"},
	{"gnr0", "C1E", "C1E", "C1"},
	{"gnrd0", "C1E", "C1E", "C1"},
	{"srf2", "C1E", "C1E", "C1"},
	{"hswep0", "C1E", "C1E", "POLL"},
	{SNR, "C1", "C1E", "POLL"},
	{"rome0", "C1", "C1", "C1"},
	{"genoa0", "C1", "C1", "C1"},
	{ZEN5, "C1", "C1", "C1"},
	{"milan0", "C1", "C2", "C1"},
	{"adl0", "C1E", "C1E", "POLL"},
	{"knl0", "C1", "C1", "C1"},
	{"dnv0", "C1E", "C1E", "POLL"},
	{"cwf0", "", "", ""},
};

START_TEST(same_limit_on_every_machine)
{
	on_all(machines[_i].host, "LatencyLimit=10us");
	ck_assert_str_eq(scene_deepest(&s, 0), machines[_i].at_10);
	scene_done(&s);
	on_all(machines[_i].host, "LatencyLimit=70us");
	ck_assert_str_eq(scene_deepest(&s, 0), machines[_i].at_70);
	scene_done(&s);
	on_all(machines[_i].host, "LatencyLimit=1us");
	ck_assert_str_eq(scene_deepest(&s, 0), machines[_i].at_1);
}
END_TEST

/* "The third state, or 70 us" let C6 with 92 to 290 us through on all of these. */
START_TEST(goal_of_70us_is_no_index)
{
	static const char *const v[] = {"icx2s0", "spr1", "gnr0", "srf2", "clx2s0"};

	on_all(v[_i], "LatencyLimit=70us");
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E");
	ck_assert_uint_eq(s.plan->n_rows, 1);
}
END_TEST

START_TEST(limit_below_c1_warns)
{
	on_all(_i ? "clx2s0" : "sklep0", "LatencyLimit=1us");
	ck_assert(scene_row(&s, 0)->only_poll);
	ck_assert(scene_says(&s, DIAG_WARNING, "leaves only POLL: the CPU will spin when idle"));
	ck_assert(scene_says(&s, DIAG_WARNING, "a limit of 2us would allow C1"));
	scene_done(&s);
	on_all("icx2s0", "LatencyLimit=1us");
	ck_assert(!scene_says(&s, DIAG_WARNING, "leaves only POLL"));
}
END_TEST

/* A cloud guest has C6 disabled: the deepest there is C1E, and that is within 70 us. */
START_TEST(disabled_state_is_not_compared)
{
	struct machine *m = scene_host(4, ICX);

	for (uint32_t i = 0; i < 4; i++)
		m->cpus[i].disabled = m->cpus[i].disabled_prior = 1U << 3;
	scene_set(&s, m, ON_ALL "LatencyLimit=200us\n");
	ck_assert_str_eq(scene_deepest(&s, 0), "C1E");
	ck_assert_uint_eq(scene_reason(&s, 0, "C6"), STATE_OFF_BY_OTHERS);
}
END_TEST

/* Some ACPI tables claim 0 us for C1. "At most 0" is POLL all the same, and C1 is no POLL. */
START_TEST(state_without_latency)
{
	on_all("POLL 0/0, C1 0/0 ACPI FFH MWAIT 0x0, C2 100/200 ACPI IOPORT 0x814",
	       "LatencyLimit=0");
	ck_assert_str_eq(scene_states(&s, 0), "POLL");
	scene_done(&s);
	on_all("POLL 0/0, C1 0/0 ACPI FFH MWAIT 0x0, C2 100/200 ACPI IOPORT 0x814",
	       "LatencyLimit=1us");
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1");
	ck_assert(!scene_row(&s, 0)->only_poll);
}
END_TEST

/* A tool took "C6" for the number 0 and disabled POLL, with success. */
START_TEST(names_are_never_numbers)
{
	on_all("sklep0", "DisableStates=C6");
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E");
	scene_done(&s);
	on_all("sklep0", "DisableStates=3 9");
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E C6");
	ck_assert(scene_says(&s, DIAG_WARNING, "DisableStates=3: there is no such state"));
	ck_assert(scene_says(&s, DIAG_WARNING, "DisableStates=9: there is no such state"));
}
END_TEST

/* Three tools switched them on because a limit allowed them. */
START_TEST(default_off_stays_off)
{
	on_all("hswep0", "LatencyLimit=100us");
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E");
	ck_assert_uint_eq(scene_reason(&s, 0, "C3"), STATE_OFF_BY_DEFAULT);
	scene_done(&s);
	on_all("dnv0", "LatencyLimit=none");
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1E");
	scene_done(&s);
	on_all("hswep0", "LatencyLimit=100us\nEnableStates=C3");
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E C3");
}
END_TEST

START_TEST(class_works_on_every_machine)
{
	static const char *const v[][2] = {{"gnr0", "C1E"}, {"srf2", "C1E"},	 {"rome0", "C1"},
					   {"adl0", "C1E"}, {"lnl0", "C1_ACPI"}, {ARM, "WFI"}};

	on_all(v[_i][0], "DisableStates=core-off package-off");
	ck_assert_str_eq(scene_deepest(&s, 0), v[_i][1]);
	ck_assert(!scene_says(&s, DIAG_WARNING, "no such state"));
}
END_TEST

START_TEST(unknown_name_says_what_exists)
{
	static const char *const v[][2] = {
		{"spr1", "DisableStates=C7: there is no such state; there are POLL, C1, C1E, C6,"},
		{"rome0", "DisableStates=C7: there is no such state; there are POLL, C1, C2,"},
		{"lnl0",
		 "DisableStates=C7: there is no such state; there are POLL, C1_ACPI, C2_ACPI,"},
	};

	on_all(v[_i][0], "DisableStates=C7 C1_ACPI C0");
	ck_assert(scene_says(&s, DIAG_WARNING, v[_i][1]));
	ck_assert(scene_says(&s, DIAG_WARNING, "C1_ACPI: there is no") == (_i < 2));
	/* C0 is POLL everywhere, and POLL is not to be had. */
	ck_assert(!scene_says(&s, DIAG_WARNING, "C0: there is no"));
	ck_assert(scene_says(&s, DIAG_WARNING, "DisableStates=C0 means POLL, the first state"));
}
END_TEST

START_TEST(overlap_shows_what_results)
{
	scene_set(&s, host("spr1"),
		  "[Profile shared]\nLatencyLimit=100us\nDisableStates=C1E\n"
		  "[Profile exclusive]\nLatencyLimit=1us\n"
		  "[Group shared]\nCPUs=0-7\nProfile=shared\n"
		  "[Group exclusive]\nCPUs=4-11\nProfile=exclusive\n");
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1");
	ck_assert_uint_eq(scene_reason(&s, 0, "C1E"), STATE_OFF_BY_POLICY);
	ck_assert_str_eq(scene_states(&s, 4), "POLL C1");
	ck_assert_uint_eq(scene_reason(&s, 4, "C1E"), STATE_OFF_BY_POLICY);
	ck_assert_uint_eq(scene_reason(&s, 8, "C1E"), STATE_OFF_OVER_LIMIT);
	ck_assert_str_eq(scene_states(&s, 12), "POLL C1 C1E C6");
	ck_assert_uint_eq(s.plan->n_rows, 4);
}
END_TEST

/* A load average of 0.3 is idle on 512 CPUs: the plan of that host does not look at load, or at any clock. */
START_TEST(plan_depends_on_nothing_else)
{
	struct plan *again = NULL;

	on_all("gnr0", "LatencyLimit=20us");
	ck_assert_int_eq(plan_resolve(s.policy, s.machine, NULL, NULL, &again), 0);
	ck_assert_uint_eq(again->n_rows, s.plan->n_rows);
	ck_assert_mem_eq(again->rows, s.plan->rows, again->n_rows * sizeof(*again->rows));
	ck_assert_mem_eq(again->row_of, s.plan->row_of, 512 * sizeof(*again->row_of));
	plan_free(again);
}
END_TEST

/* Two policies in turn, of the same effect: once set, there is nothing to write. */
START_TEST(equal_results_write_nothing)
{
	struct changes c = {0};
	uint64_t none = LATENCY_NONE;
	struct machine *m;

	on_all("spr1", "LatencyLimit=20us");
	ck_assert_int_eq(diff_make(s.plan, s.machine, none, &c), 0);
	ck_assert_uint_eq(c.n, 320);
	scene_apply(s.machine, &c, &none);
	changes_done(&c);
	m = TAKE_PTR(s.machine);
	scene_done(&s);
	scene_set(&s, m, "[Profile q]\nLatencyLimit=20999ns\n[Group g]\nCPUs=all\nProfile=q\n");
	ck_assert_int_eq(diff_make(s.plan, s.machine, none, &c), 0);
	ck_assert_uint_eq(c.n, 0);
	changes_done(&c);
}
END_TEST

/* Two clients of one file, 50 and 20: the stricter holds, and when it goes, the other one does again. */
START_TEST(two_who_want_one_slot)
{
	struct machine *m = scene_host(1, ICX);

	m->cpus[0].qos_ns = m->cpus[0].qos_prior_ns = 20 * NSEC_PER_USEC;
	scene_set(&s, m, ON_ALL "LatencyLimit=50us\n");
	ck_assert(!scene_row(&s, 0)->sets_qos && scene_row(&s, 0)->limit_ns == 20 * NSEC_PER_USEC);
	m = TAKE_PTR(s.machine);
	scene_done(&s);
	m->cpus[0].qos_ns = m->cpus[0].qos_prior_ns = LATENCY_NONE;
	scene_set(&s, m, ON_ALL "LatencyLimit=50us\n");
	ck_assert(scene_row(&s, 0)->sets_qos && scene_row(&s, 0)->limit_ns == 50 * NSEC_PER_USEC);
}
END_TEST

START_TEST(na_is_zero_not_nothing)
{
	uint64_t ns = 1;
	char buf[16];

	ck_assert_int_eq(sysfs_parse_qos("n/a\n", &ns), 0);
	ck_assert(ns == 0);
	ck_assert_int_eq(sysfs_parse_qos("0\n", &ns), 0);
	ck_assert(ns == LATENCY_NONE);
	ck_assert_str_eq(sysfs_format_qos(0, buf, sizeof(buf)), "n/a\n");
}
END_TEST

/* Other tools turn all of these into 0, which lifts every limit. */
START_TEST(zero_none_and_less_than_a_microsecond)
{
	static const struct {
		const char *settings, *states, *file;
	} v[] = {
		{"LatencyLimit=0", "POLL", "n/a\n"},
		{"LatencyLimit=0us", "POLL", "n/a\n"},
		{"LatencyLimit=400ns", "POLL", "n/a\n"},
		{"LatencyLimit=none", "POLL C1 C1E C6", "0\n"},
	};
	char buf[16];

	on_all("spr1", v[_i].settings);
	ck_assert_str_eq(scene_states(&s, 0), v[_i].states);
	ck_assert_str_eq(sysfs_format_qos(scene_row(&s, 0)->qos_ns, buf, sizeof(buf)), v[_i].file);
}
END_TEST

START_TEST(na_in_policy_is_refused)
{
	static const char text[] = ON_ALL "LatencyLimit=n/a\n";
	struct diag_list diags = {0};
	struct policy *p = NULL;

	ck_assert_int_eq(policy_new(&p), 0);
	ck_assert_int_eq(policy_add_text(p, "f", text, strlen(text), &diags), 0);
	ck_assert_uint_eq(diags.n_errors, 1);
	ck_assert_uint_eq(diags.items[0].line, 4);
	ck_assert_ptr_nonnull(strstr(diags.items[0].text, "none"));
	policy_free(p);
	diag_done(&diags);
}
END_TEST

START_TEST(others_are_told_with_their_cpus)
{
	struct machine *m = scene_host(8, ICX);

	m->cpus[2].qos_ns = m->cpus[2].qos_prior_ns = 3 * NSEC_PER_USEC;
	m->cpus[5].qos_ns = m->cpus[5].qos_prior_ns = 2 * NSEC_PER_USEC;
	scene_set(&s, m, ON_ALL "LatencyLimit=20us\n");
	ck_assert(scene_says(&s, DIAG_INFO,
			     "CPUs 2,5: the limit of 20us is looser than what others "
			     "hold in pm_qos_resume_latency_us"));
	ck_assert_uint_eq(s.diags.n_warnings, 0);
}
END_TEST

START_TEST(one_cpu_at_na_is_no_trouble)
{
	struct machine *m = host("icx2s0");

	m->cpus[3].qos_ns = m->cpus[3].qos_prior_ns = 0;
	scene_set(&s, m, ON_ALL "LatencyLimit=20us\n");
	ck_assert_str_eq(scene_states(&s, 3), "POLL");
	ck_assert_uint_eq(scene_row(&s, 3)->limit_source, LIMIT_CPU_QOS);
	ck_assert_str_eq(scene_states(&s, 4), "POLL C1 C1E");
}
END_TEST

START_TEST(order_of_sections_decides_nothing)
{
	static const char *const v[] = {
		"[Group general]\nCPUs=all\nProfile=g\n[Group special]\nCPUs=4-7\nProfile=s\n",
		"[Group special]\nCPUs=4-7\nProfile=s\n[Group general]\nCPUs=all\nProfile=g\n",
	};
	char policy[512];

	snprintf(
		policy, sizeof(policy),
		"[Profile g]\nLatencyLimit=100us\nC0=off\n[Profile s]\nLatencyLimit=200us\nC0=poll\n%s",
		v[_i]);
	scene_set(&s, host("spr1"), policy);
	ck_assert(scene_row(&s, 4)->limit_ns == 100 * NSEC_PER_USEC);
	ck_assert_str_eq(s.policy->profiles[scene_row(&s, 4)->profile].name, "s");
	ck_assert_uint_eq(scene_row(&s, 4)->modes[MODE_C0].requested, MODE_C0_POLL_2);
	ck_assert_uint_eq(scene_row(&s, 0)->modes[MODE_C0].requested, MODE_OFF);
}
END_TEST

START_TEST(housekeeping_is_a_group)
{
	struct machine *m = scene_host(8, ICX);

	for (uint32_t i = 2; i < 8; i++)
		cpuset_add(&m->isolated, i);
	scene_set(&s, m,
		  "[Profile work]\nLatencyLimit=2us\n[Profile house]\nLatencyLimit=200us\n"
		  "[Group work]\nCPUs=all & !housekeeping\nProfile=work\n"
		  "[Group house]\nCPUs=housekeeping\nProfile=house\n");
	ck_assert_str_eq(scene_deepest(&s, 0), "C6");
	ck_assert_str_eq(scene_deepest(&s, 1), "C6");
	ck_assert_str_eq(scene_deepest(&s, 2), "C1");
}
END_TEST

/* A tool's verify passed although the state it was told to keep does not exist. */
START_TEST(name_without_state_is_told)
{
	on_all("icx2s0", "EnableStates=XYZ");
	ck_assert_uint_eq(s.diags.n_warnings, 1);
	ck_assert(scene_says(&s, DIAG_WARNING,
			     "CPUs 0-143: EnableStates=XYZ: there is no such state"));
	ck_assert_uint_eq(s.diags.items[0].line, 4);
	ck_assert_str_eq(s.diags.items[0].file, "test.conf");
}
END_TEST

/* Intel's C0.x on AMD: one line for 256 CPUs, and it is no error. */
START_TEST(what_a_host_lacks_is_told_once)
{
	on_all("rome0", "C0=poll\nLatencyLimit=20us");
	ck_assert_uint_eq(s.diags.n, 1);
	ck_assert(scene_says(&s, DIAG_INFO,
			     "CPUs 0-255: C0=c0.2-poll has no effect: the CPU has no "
			     "UMWAIT"));
}
END_TEST

START_TEST(guest_that_cannot_sleep_warns)
{
	struct machine *m = scene_host(4, ICX);

	m->virt = VIRT_GUEST;
	scene_set(&s, m, ON_ALL "LatencyLimit=5us\n");
	ck_assert(scene_says(&s, DIAG_WARNING, "nothing deeper than halt is left in this guest"));
	scene_done(&s);
	m = scene_host(4, SKX);
	m->virt = VIRT_GUEST;
	scene_set(&s, m, ON_ALL "LatencyLimit=1us\n");
	ck_assert(scene_says(&s, DIAG_WARNING, "a guest that spins looks fully loaded"));
	scene_done(&s);
	/* A guest that has nothing deeper to begin with is as it should be. */
	m = scene_host(4, "POLL 0/0, haltpoll 1/1 default");
	m->virt = VIRT_GUEST;
	scene_set(&s, m, ON_ALL "LatencyLimit=5us\n");
	ck_assert_uint_eq(s.diags.n_warnings, 0);
}
END_TEST

/* No recording has /dev/cpu/N/msr, as no host under lockdown has. */
START_TEST(nothing_needs_an_msr)
{
	on_all("spr1", "DisableStates=C6");
	ck_assert_uint_eq(scene_row(&s, 0)->disable_mask, 1U << 3);
	ck_assert_uint_eq(s.diags.n, 0);
}
END_TEST

START_TEST(bare_host_is_no_error)
{
	on_all("cwf0", "LatencyLimit=20us\nDisableStates=C6");
	ck_assert_uint_eq(s.diags.n_warnings + s.diags.n_errors, 0);
	ck_assert(scene_says(&s, DIAG_INFO, "CPUs 0-575: no idle states to choose from"));
	ck_assert(scene_row(&s, 575)->sets_qos);
}
END_TEST

START_TEST(one_text_for_all_makers)
{
	static const char *const v[][2] = {{"spr1", "C1E"}, {"rome0", "C1"}, {ARM, "WFI"}};

	on_all(v[_i][0],
	       "LatencyLimit=70us\nDisableStates=package-off\nC0=auto\nC1Interrupts=auto\n"
	       "IoPort=auto\nHaltPoll=auto");
	ck_assert_str_eq(scene_deepest(&s, 0), v[_i][1]);
	ck_assert_uint_eq(s.diags.n_warnings + s.diags.n_errors, 0);
}
END_TEST

/* ladder climbs by one and does not step over a disabled state. */
START_TEST(ladder_stops_at_a_disabled_state)
{
	struct machine *m = scene_host(4, SKX);

	snprintf(m->governor, sizeof(m->governor), "ladder");
	scene_set(&s, m, ON_ALL "DisableStates=C1E\n");
	ck_assert(scene_says(&s, DIAG_WARNING,
			     "CPUs 0-3: governor ladder climbs state by state and "
			     "stops before C1E, which is disabled: C6 behind it"));
	scene_done(&s);
	m = scene_host(4, SKX);
	snprintf(m->governor, sizeof(m->governor), "ladder");
	scene_set(&s, m, ON_ALL "DisableStates=C6\n");
	ck_assert_uint_eq(s.diags.n_warnings, 0);
}
END_TEST

START_TEST(hardware_that_has_its_own_mind_is_told)
{
	struct machine *m = scene_host(4, SKX);

	m->c1_demotion = 1;
	scene_set(&s, m, ON_ALL "LatencyLimit=5us\n");
	ck_assert(scene_says(&s, DIAG_INFO,
			     "C1 is within the limit but C1E is not: if the firmware"));
	ck_assert(!scene_says(&s, DIAG_INFO, "C1 demotion is on"));
	scene_done(&s);
	m = scene_host(4, SKX);
	m->c1_demotion = 1;
	m->cmdline = strdup("idle=poll");
	scene_set(&s, m, ON_ALL "LatencyLimit=none\n");
	ck_assert(scene_says(&s, DIAG_INFO, "C1 demotion is on: the hardware takes C1 for C6"));
	ck_assert(scene_says(&s, DIAG_WARNING, "booted with idle=poll: CPUs spin"));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, limit_keeps_what_is_as_long, 0, 8);
	tcase_add_loop_test(tc, same_limit_on_every_machine, 0, ARRAY_SIZE(machines));
	tcase_add_loop_test(tc, goal_of_70us_is_no_index, 0, 5);
	tcase_add_loop_test(tc, limit_below_c1_warns, 0, 2);
	tcase_add_test(tc, disabled_state_is_not_compared);
	tcase_add_test(tc, state_without_latency);
	tcase_add_test(tc, names_are_never_numbers);
	tcase_add_test(tc, default_off_stays_off);
	tcase_add_loop_test(tc, class_works_on_every_machine, 0, 6);
	tcase_add_loop_test(tc, unknown_name_says_what_exists, 0, 3);
	tcase_add_test(tc, overlap_shows_what_results);
	tcase_add_test(tc, plan_depends_on_nothing_else);
	tcase_add_test(tc, equal_results_write_nothing);
	tcase_add_test(tc, two_who_want_one_slot);
	tcase_add_test(tc, na_is_zero_not_nothing);
	tcase_add_loop_test(tc, zero_none_and_less_than_a_microsecond, 0, 4);
	tcase_add_test(tc, na_in_policy_is_refused);
	tcase_add_test(tc, others_are_told_with_their_cpus);
	tcase_add_test(tc, one_cpu_at_na_is_no_trouble);
	tcase_add_loop_test(tc, order_of_sections_decides_nothing, 0, 2);
	tcase_add_test(tc, housekeeping_is_a_group);
	tcase_add_test(tc, name_without_state_is_told);
	tcase_add_test(tc, what_a_host_lacks_is_told_once);
	tcase_add_test(tc, guest_that_cannot_sleep_warns);
	tcase_add_test(tc, nothing_needs_an_msr);
	tcase_add_test(tc, bare_host_is_no_error);
	tcase_add_loop_test(tc, one_text_for_all_makers, 0, 3);
	tcase_add_test(tc, ladder_stops_at_a_disabled_state);
	tcase_add_test(tc, hardware_that_has_its_own_mind_is_told);
}

int main(void)
{
	Suite *suite = suite_create("field");
	TCase *tc = tcase_create("field");

	tcase_add_checked_fixture(tc, NULL, close_scene);
	tcase_set_timeout(tc, 240);
	add_tests(tc);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
