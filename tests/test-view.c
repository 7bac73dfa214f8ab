/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "render.h"

#define HSW                                                                          \
	"POLL 0/0, C1 2/2 MWAIT 0x00, C1E 10/20 MWAIT 0x01, C3! 33/100 MWAIT 0x10, " \
	"C6 133/400 MWAIT 0x20"
#define US NSEC_PER_USEC

static struct scene s;
static struct view v;
static char *text;

static void close_view(void)
{
	free(text);
	text = NULL;
	view_done(&v);
	scene_done(&s);
}

static void look(struct machine *m, const char *policy, unsigned flags)
{
	struct render r = {0};

	scene_set(&s, m, policy);
	ck_assert_int_eq(view_make(s.policy, s.machine, s.plan, NULL, NULL, flags, &v), 0);
	if (flags & VIEW_LAYERS)
		render_explain(&r, &v);
	else
		render_plan(&r, &v);
	text = render_finish(&r);
	ck_assert_ptr_nonnull(text);
}

static const char *layer(uint32_t row, const char *name)
{
	for (uint32_t i = 0; i < v.rows[row].n_layers; i++)
		if (streq(v.rows[row].layers[i].name, name))
			return v.rows[row].layers[i].text;
	ck_abort_msg("there is no layer %s in\n%s", name, text);
}

static void has(const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in\n%s", part, text);
}

START_TEST(plan_text)
{
	look(scene_host(8, HSW),
	     "[Profile p]\nLatencyLimit=10us\nC0=poll\n[Group g]\nCPUs=0-2,7\nProfile=p\n", 0);
	ck_assert_str_eq(
		text,
		"CPUs 0-2,7: profile p, limit 10us\n"
		"  0 POLL  on       0/0      poll      first state, always on\n"
		"  1 C1    on     2us/2us    halt      exit latency 2us <= limit 10us\n"
		"  2 C1E   on    10us/20us   halt      exit latency 10us <= limit 10us\n"
		"  3 C3    off   33us/100us  core-off  off by default, not named by EnableStates=\n"
		"  4 C6    off  133us/400us  core-off  exit latency 133us > limit 10us\n"
		"  c0             c0.2-poll -> off     the CPU has no UMWAIT (waitpkg)\n"
		"\n"
		"CPUs 3-6: profile balanced, limit none\n"
		"  0 POLL  on       0/0      poll      first state, always on\n"
		"  1 C1    on     2us/2us    halt      no limit\n"
		"  2 C1E   on    10us/20us   halt      no limit\n"
		"  3 C3    off   33us/100us  core-off  off by default, not named by EnableStates=\n"
		"  4 C6    on   133us/400us  core-off  no limit\n");
}
END_TEST

START_TEST(values_of_a_row)
{
	struct machine *m = scene_host(2, HSW);

	m->cpus[1].qos_ns = m->cpus[1].qos_prior_ns = 5 * US;
	look(m, "[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=10us\nHaltPoll=150us\n", 0);
	ck_assert_uint_eq(v.n, 2);
	ck_assert_str_eq(v.rows[0].cpus, "0");
	ck_assert_str_eq(v.rows[0].limit_source, "profile p (10us)");
	ck_assert(v.rows[0].limit_ns == 10 * US && v.rows[0].others_limit_ns == LATENCY_NONE);
	ck_assert_str_eq(v.rows[1].limit_source, "others, in pm_qos_resume_latency_us (5us)");
	ck_assert(v.rows[1].limit_ns == 5 * US && v.rows[1].policy_limit_ns == 10 * US);
	ck_assert(v.rows[1].others_limit_ns == 5 * US);
	ck_assert_uint_eq(v.rows[0].n_states, 5);
	ck_assert_str_eq(v.rows[0].states[3].class, "core-off");
	ck_assert_uint_eq(v.rows[0].n_modes, MODE_N);
	ck_assert_str_eq(v.rows[0].modes[MODE_HALTPOLL].requested, "150us");
	ck_assert_str_eq(v.rows[0].modes[MODE_HALTPOLL].effective, "off");
	ck_assert_ptr_null(v.rows[0].layers);
	has("limit 5us, by others, in pm_qos_resume_latency_us (5us)");
}
END_TEST

START_TEST(rows_are_narrowed_and_ordered)
{
	struct cpuset cpus;

	scene_set(&s, scene_host(8, HSW),
		  "[Profile p]\nLatencyLimit=10us\n[Group g]\nCPUs=0,6\nProfile=p\n");
	ck_assert_int_eq(cpuset_init(&cpus, 8), 0);
	ck_assert_int_eq(cpuset_parse(&cpus, "3-6"), 0);
	ck_assert_int_eq(view_make(s.policy, s.machine, s.plan, NULL, &cpus, 0, &v), 0);
	ck_assert_uint_eq(v.n, 2);
	ck_assert_str_eq(v.rows[0].cpus, "3-5");
	ck_assert_str_eq(v.rows[1].cpus, "6");
	view_done(&v);
	cpuset_clear(&cpus);
	ck_assert_int_eq(view_make(s.policy, s.machine, s.plan, NULL, &cpus, 0, &v), 0);
	ck_assert_uint_eq(v.n, 0);
	cpuset_done(&cpus);
}
END_TEST

START_TEST(rows_that_read_the_same_are_one)
{
	const char *policy = "[Profile p]\nLatencyLimit=0\n[Profile q]\nLatencyLimit=5us\n"
			     "[Group a]\nCPUs=0-3\nProfile=p\nPriority=2\n"
			     "[Group b]\nCPUs=2-5\nProfile=q\n";

	look(scene_host(6, HSW), policy, 0);
	ck_assert_uint_eq(s.plan->n_rows, 3);
	ck_assert_uint_eq(v.n, 2);
	ck_assert_str_eq(v.rows[0].cpus, "0-3");
	close_view();
	/* Who lost there is a matter of explain. */
	look(scene_host(6, HSW), policy, VIEW_LAYERS);
	ck_assert_uint_eq(v.n, 3);
	ck_assert_str_eq(v.rows[1].cpus, "2-3");
}
END_TEST

START_TEST(offline_and_no_driver)
{
	struct machine *m = scene_host(3, HSW);

	m->cpus[1].online = false;
	m->cpus[2].table = MACHINE_NO_TABLE;
	look(m, "[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=10us\n", 0);
	has("CPU 1: profile p, limit 10us, once online\n  no idle states: offline\n");
	has("CPU 2: profile p, limit 10us\n  no idle states: there is no cpuidle driver");
	ck_assert_str_eq(v.rows[1].limit_source, "profile p (10us)");
	ck_assert(v.rows[0].online && !v.rows[1].online && v.rows[2].online);
}
END_TEST

/* Everything that narrows the choice, each with its own line, in the order of its effect. */
START_TEST(explain_prints_every_layer)
{
	static const char *const order[] = {"driver",
					    "boot parameter",
					    "group fast",
					    "group wide",
					    "GlobalLatencyLimit",
					    "cpu_dma_latency",
					    "pm_qos_resume_latency_us",
					    "disabled by others",
					    "off by default",
					    "governor",
					    "hardware",
					    "hardware",
					    "what remains"};
	struct machine *m = scene_host(4, HSW);

	m->cmdline = strdup("processor.max_cstate=6");
	m->has_global = true;
	m->global_ns = m->global_others_ns = 90 * US;
	m->cpus[0].qos_ns = m->cpus[0].qos_prior_ns = 80 * US;
	m->cpus[0].disabled = m->cpus[0].disabled_prior = 1U << 3 | 1U << 1;
	m->cpus[0].waitpkg = true;
	m->c1_demotion = 1;
	m->knobs[HOST_UMWAIT_C02] = (struct machine_knob){.present = true, .now = 1, .prior = 1};
	m->knobs[HOST_UMWAIT_MAX] =
		(struct machine_knob){.present = true, .now = 100000, .prior = 100000};
	snprintf(m->governor, sizeof(m->governor), "ladder");
	look(m,
	     "[Daemon]\nGlobalLatencyLimit=95us\n[Profile a]\nLatencyLimit=20us\n[Profile b]\n"
	     "LatencyLimit=100us\n[Group wide]\nCPUs=all\nProfile=b\n[Group fast]\nCPUs=0-1\n"
	     "Profile=a\nPriority=5\n",
	     VIEW_LAYERS);
	ck_assert_str_eq(v.rows[0].cpus, "0");
	ck_assert_uint_eq(v.rows[0].n_layers, ARRAY_SIZE(order));
	for (uint32_t i = 0; i < ARRAY_SIZE(order); i++)
		ck_assert_str_eq(v.rows[0].layers[i].name, order[i]);
	ck_assert_str_eq(layer(0, "driver"),
			 "intel_idle offers POLL 0, C1 2us by MWAIT, C1E 10us by "
			 "MWAIT, C3 33us by MWAIT, C6 133us by MWAIT");
	ck_assert_ptr_nonnull(
		strstr(layer(0, "boot parameter"), "processor.max_cstate=6: acpi_idle"));
	ck_assert_str_eq(layer(0, "group fast"),
			 "profile a, LatencyLimit=20us, the strictest of the "
			 "policy; its modes hold");
	ck_assert_str_eq(
		layer(0, "group wide"),
		"profile b, LatencyLimit=100us, which loses to the stricter 20us; its modes do "
		"not hold: group fast has Priority=5 against 0");
	ck_assert_str_eq(layer(0, "GlobalLatencyLimit"),
			 "95us for all CPUs, held on /dev/cpu_dma_latency");
	ck_assert_str_eq(layer(0, "cpu_dma_latency"), "others hold 90us");
	ck_assert_str_eq(layer(0, "pm_qos_resume_latency_us"), "others ask for 80us; set to 20us");
	ck_assert_ptr_nonnull(strstr(layer(0, "disabled by others"), "C1 disabled before us"));
	ck_assert_ptr_nonnull(strstr(layer(0, "off by default"), "C3 stays off"));
	ck_assert_ptr_nonnull(strstr(layer(0, "governor"), "ladder: stops before C1"));
	ck_assert_ptr_nonnull(strstr(layer(0, "hardware"), "C1 demotion is on"));
	has("UMWAIT is there; C0.2 allowed; at most 100000 TSC cycles at a time");
	ck_assert_str_eq(layer(0, "what remains"), "POLL, C1E; limit 20us");
}
END_TEST

START_TEST(explain_names_the_way_in)
{
	struct machine *m =
		scene_host(1, "POLL 0/0, C1 1/2 ACPI FFH MWAIT 0x0, C2 400/800 ACPI IOPORT "
			      "0x814, C3 900/999 ACPI HLT");

	look(m, "[Profile balanced]\n", VIEW_LAYERS);
	ck_assert_ptr_nonnull(strstr(layer(0, "driver"), "C1 1us by MWAIT, C2 400us by IOPORT, C3 "
							 "900us by HALT"));
}
END_TEST

START_TEST(menu_stops_at_the_first_over_the_limit)
{
	look(scene_host(1, "POLL 0/0, C1 30/30, C2 5/90"),
	     "[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=10us\n", VIEW_LAYERS);
	ck_assert_ptr_nonnull(strstr(layer(0, "governor"), "menu: looks no further than C1"));
}
END_TEST

START_TEST(unknown_latency_has_no_number)
{
	struct machine *m = scene_host(1, "POLL 0/0, C1 2/2");

	m->tables[0].states[1].exit_latency_ns = LATENCY_NONE;
	look(m, "[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=10us\n", 0);
	has("exit latency unknown, which is over every limit");
	has("?/2us");
}
END_TEST

static struct machine *spr(void)
{
	struct machine *m = scene_host(
		4, "POLL 0/0, C1 1/1 MWAIT 0x00, C1E 2/4 MWAIT 0x01, C6 290/800 MWAIT 0x20");

	for (uint32_t i = 0; i < 4; i++)
		m->cpus[i].waitpkg = true;
	m->module = (struct machine_module){
		.loaded = true,
		.limits = true,
		.states_off = true,
		.c0x = true,
		.c0_row = true,
		.irq_window = true,
		.window_states = 0xe,
		.c1_states = 2,
		.c0_cpus = {0xf},
	};
	return m;
}

#define ROW_POLICY                                                                             \
	"[Profile p]\nC0=state\nLatencyLimit=2us\nC1Interrupts=window\n[Profile q]\nC0=poll\n" \
	"C0Depth=C0.1\nDisableStates=C6\n[Group g]\nCPUs=0-1\nProfile=p\n[Group h]\nCPUs=2\n"  \
	"Profile=q\n"

/* The module's own state is listed where sysfs has it, whether it stands already or is yet to be put in. */
START_TEST(own_state_is_in_its_place)
{
	for (int there = 0; there < 2; there++) {
		struct machine *m = spr();

		m->own_row = (uint8_t)there;
		snprintf(m->own_state.name, sizeof(m->own_state.name), "C0.2");
		m->cpus[1].own_off = there;
		look(m, ROW_POLICY, 0);
		has("  0 POLL  on       0/0      poll      first state, always on\n"
		    "  1 C0.2  on   200ns/200ns  c0x       put in by cpuidle_policy for C0=\n"
		    "  2 C1    on     1us/1us    halt      exit latency 1us <= limit 2us\n");
		has("  1 C0.2  off  200ns/200ns  c0x       not asked for on this CPU, kept off by");
		if (there)
			has("  1 C0.2  off  200ns/200ns  c0x       disabled by others");
		ck_assert_uint_eq(v.rows[0].n_states, 5);
		ck_assert_uint_eq(v.rows[0].states[4].index, 4);
		/* Sets for the module are numbered without it. */
		ck_assert_uint_eq(scene_row(&s, 0)->module.irq_window, 1U << 1 | 1U << 2);
		ck_assert_uint_eq(scene_row(&s, 2)->module.states_off, 1U << 3);
		close_view();
	}
	look(spr(), "[Profile p]\n", 0);
	ck_assert_uint_eq(v.rows[0].n_states, 4);
}
END_TEST

START_TEST(explain_says_what_the_module_does)
{
	look(spr(), ROW_POLICY, VIEW_LAYERS);
	ck_assert_str_eq(layer(0, "cpuidle_policy"),
			 "keeps the limit 2us; a state of its own is there, C0.2; lets interrupts "
			 "in behind C1, C1E");
	ck_assert_str_eq(layer(1, "cpuidle_policy"),
			 "POLL waits in C0.1; keeps this CPU out of the state that others have "
			 "asked for; keeps C6 off");
	ck_assert_str_eq(layer(2, "cpuidle_policy"),
			 "keeps this CPU out of the state that others have asked for");
	ck_assert_str_eq(layer(0, "what remains"), "POLL, C1, C1E, C0.2; limit 2us");
}
END_TEST

/* What it cannot do is told in its own words, in every place. */
START_TEST(module_says_why_not)
{
	struct machine *m = spr();

	m->module.c0_row = false;
	snprintf(m->module.c0_row_reason, sizeof(m->module.c0_row_reason), "because of acpi_idle");
	look(m, ROW_POLICY, VIEW_LAYERS);
	ck_assert_str_eq(layer(0, "cpuidle_policy"),
			 "keeps the limit 2us; POLL waits in C0.2; lets interrupts in behind C1, "
			 "C1E; not C0 c0.2-state: no state of its own can be put in here, so POLL "
			 "waits in this way: because of acpi_idle");
	has("waits in this way: because of acpi_idle");
	ck_assert(scene_says(&s, DIAG_INFO,
			     "C0=c0.2-state is not possible here: no state of its own can be put "
			     "in here, so POLL waits in this way: because of acpi_idle; it becomes "
			     "c0.2-poll"));
	close_view();
	m = spr();
	m->module.c0x = false;
	snprintf(m->module.c0_reason, sizeof(m->module.c0_reason), "no CPU has UMWAIT");
	look(m, ROW_POLICY, VIEW_LAYERS);
	ck_assert_ptr_nonnull(strstr(layer(0, "cpuidle_policy"),
				     "not C0 c0.2-state: the loaded cpuidle_policy.ko cannot do it "
				     "here: no CPU has UMWAIT"));
	ck_assert(scene_says(&s, DIAG_INFO, "cannot do it here: no CPU has UMWAIT; it stays off"));
	close_view();
	m = spr();
	m->module = (struct machine_module){.loaded = false};
	look(m, ROW_POLICY, VIEW_LAYERS);
	ck_assert_ptr_nonnull(strstr(layer(0, "cpuidle_policy"), "not C1Interrupts window: needs"));
}
END_TEST

START_TEST(changes_text)
{
	struct machine *m = scene_host(4, HSW);
	struct changes c = {0};
	struct render r = {0};

	m->has_global = true;
	m->cpus[3].qos_ns = 5 * US; /* ours, of an earlier plan */
	scene_set(
		&s, m,
		"[Daemon]\nGlobalLatencyLimit=200us\n[Profile p]\nLatencyLimit=0\nDisableStates=C6\n"
		"[Group g]\nCPUs=0,2\nProfile=p\n");
	ck_assert_int_eq(diff_make(s.plan, s.machine, LATENCY_NONE, &c), 0);
	render_changes(&r, s.machine, &c);
	text = render_finish(&r);
	ck_assert_str_eq(text, "first what takes away\n"
			       "  /dev/cpu_dma_latency: none -> 200us\n"
			       "  CPUs 0,2: power/pm_qos_resume_latency_us: none -> 0\n"
			       "  CPUs 0,2: cpuidle/state4/disable (C6): 0 -> 1\n"
			       "then what gives back\n"
			       "  CPU 3: power/pm_qos_resume_latency_us: 5us -> none\n");
	free(text);
	c.n = c.n_tighten = 0;
	render_changes(&r, s.machine, &c);
	text = render_finish(&r);
	ck_assert_str_eq(text, "nothing to be written\n");
	changes_done(&c);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("view");
	TCase *tc = tcase_create("view");

	tcase_add_checked_fixture(tc, NULL, close_view);
	tcase_add_test(tc, plan_text);
	tcase_add_test(tc, values_of_a_row);
	tcase_add_test(tc, rows_are_narrowed_and_ordered);
	tcase_add_test(tc, rows_that_read_the_same_are_one);
	tcase_add_test(tc, offline_and_no_driver);
	tcase_add_test(tc, explain_prints_every_layer);
	tcase_add_test(tc, explain_names_the_way_in);
	tcase_add_test(tc, menu_stops_at_the_first_over_the_limit);
	tcase_add_test(tc, unknown_latency_has_no_number);
	tcase_add_test(tc, own_state_is_in_its_place);
	tcase_add_test(tc, explain_says_what_the_module_does);
	tcase_add_test(tc, module_says_why_not);
	tcase_add_test(tc, changes_text);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
