/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "modes.h"

#define SPR "POLL 0/0, C1 1/1 MWAIT 0x00, C1E 2/4 MWAIT 0x01, C6 290/800 MWAIT 0x20"
#define SKX "POLL 0/0, C1 2/2 MWAIT 0x00, C1E 10/20 MWAIT 0x01, C6 133/600 MWAIT 0x20"
#define ZEN "POLL 0/0, C1 1/2 ACPI FFH MWAIT 0x0, C2 400/800 ACPI IOPORT 0x814"

static struct scene s;

static void close_scene(void)
{
	scene_done(&s);
}

struct host {
	const char *states;
	bool waitpkg, guest, module, no_arat, no_row, c02_off, dummy, no_ioport;
	const char *vendor, *governor;
	uint32_t family;
	uint64_t halt_poll_ns; /* of the kernel's governor */
};

static const struct host spr = {.states = SPR, .waitpkg = true, .module = true};
static const struct host spr_acpi = {
	.states = SPR, .waitpkg = true, .module = true, .no_row = true};
static const struct host spr_c01 = {
	.states = SPR, .waitpkg = true, .module = true, .c02_off = true};
static const struct host spr_haltpoll = {
	.states = SPR, .waitpkg = true, .module = true, .governor = "haltpoll"};
static const struct host spr_bare = {.states = SPR, .waitpkg = true};
static const struct host spr_guest = {
	.states = SPR, .waitpkg = true, .guest = true, .module = true};
static const struct host skx = {.states = SKX, .module = true};
static const struct host none = {.states = "", .waitpkg = true, .module = true};
static const struct host guest_none = {.states = "", .guest = true, .module = true};
static const struct host guest_haltpoll = {.states = "POLL 0/0, haltpoll 1/1 default",
					   .guest = true,
					   .module = true,
					   .governor = "haltpoll"};
static const struct host guest_file = {.states = "POLL 0/0, haltpoll 1/1 default",
				       .guest = true,
				       .module = true,
				       .halt_poll_ns = 200000,
				       .governor = "haltpoll"};
static const struct host old_timer = {.states = SKX, .no_arat = true, .module = true};
/* The dummy read after SystemIO entries: there or not as the module has measured it. */
static const struct host zen_old = {
	.states = ZEN, .vendor = "AuthenticAMD", .family = 0x17, .module = true, .dummy = true};
static const struct host zen_new = {
	.states = ZEN, .vendor = "AuthenticAMD", .family = 0x17, .module = true};
static const struct host zen_bare = {.states = ZEN, .vendor = "AuthenticAMD", .family = 0x17};
static const struct host zen_c3 = {
	.states = ZEN, .vendor = "AuthenticAMD", .family = 0x17, .module = true, .no_ioport = true};
static const struct host amd_old = {
	.states = ZEN, .vendor = "AuthenticAMD", .family = 0x15, .module = true, .dummy = true};
static const struct host hygon = {
	.states = ZEN, .vendor = "HygonGenuine", .family = 0x18, .module = true, .dummy = true};

static struct machine *make(const struct host *h)
{
	struct machine *m = scene_host(2, h->states);

	for (uint32_t i = 0; i < m->n_cpus; i++)
		m->cpus[i].waitpkg = h->waitpkg;
	m->virt = h->guest ? VIRT_GUEST : VIRT_NONE;
	m->arat = !h->no_arat;
	m->family = h->family ? h->family : 6;
	if (h->vendor)
		snprintf(m->vendor, sizeof(m->vendor), "%s", h->vendor);
	if (h->governor)
		snprintf(m->governor, sizeof(m->governor), "%s", h->governor);
	m->module = (struct machine_module){
		.loaded = h->module,
		.c0x = h->module && h->waitpkg,
		.c0_row = h->module && h->waitpkg && !h->no_row,
		.c1_states = h->module ? 1U << 1 : 0,
		.irq_window = h->module,
		.sti_mwait = h->module,
		.haltpoll = h->module,
		.broadcast = h->module,
		.ioport = h->module && !h->no_ioport,
		.dummy_wait = h->dummy,
		.ioport_states = h->module && !h->no_ioport ? 1U << 2 : 0,
		.window_states = h->module ? 0x3fe : 0, /* all but the first */
		.sti_mwait_states = h->module ? 1U << 1 : 0,
	};
	if (m->module.c0x)
		m->module.c0_cpus[0] = 3;
	if (h->halt_poll_ns)
		m->knobs[HOST_HALTPOLL] = (struct machine_knob){
			.present = true, .now = h->halt_poll_ns, .prior = h->halt_poll_ns};
	if (h->c02_off)
		m->knobs[HOST_UMWAIT_C02] = (struct machine_knob){.present = true};
	return m;
}

static const struct {
	const struct host *host;
	const char *settings;
	enum plan_mode mode;
	enum mode_value wanted, effective;
	enum mode_reason reason;
} cases[] = {
	/* C0.x by itself: where the CPU would spin, or was asked for less than C1. */
	{&spr, "C0=auto", MODE_C0, MODE_OFF, MODE_OFF, MODE_NOT_NEEDED},
	{&spr, "C0=auto\nLatencyLimit=1us", MODE_C0, MODE_OFF, MODE_OFF, MODE_NOT_NEEDED},
	{&spr, "C0=auto\nLatencyLimit=999ns", MODE_C0, MODE_C0_POLL_2, MODE_C0_POLL_2,
	 MODE_AS_ASKED},
	{&spr, "C0=auto\nLatencyLimit=200ns", MODE_C0, MODE_C0_POLL_2, MODE_C0_POLL_2,
	 MODE_AS_ASKED},
	{&spr, "C0=auto\nLatencyLimit=199ns", MODE_C0, MODE_OFF, MODE_OFF, MODE_LIMIT_TOO_SHORT},
	{&spr, "C0=auto\nDisableStates=halt core-off", MODE_C0, MODE_C0_POLL_2, MODE_C0_POLL_2,
	 MODE_AS_ASKED},
	{&spr, "C0=auto\nC0Depth=C0.1\nLatencyLimit=500ns", MODE_C0, MODE_C0_POLL_1, MODE_C0_POLL_1,
	 MODE_AS_ASKED},
	{&spr_bare, "C0=auto\nLatencyLimit=500ns", MODE_C0, MODE_C0_POLL_2, MODE_OFF,
	 MODE_NO_MODULE},
	{&skx, "C0=auto\nLatencyLimit=1us", MODE_C0, MODE_OFF, MODE_OFF, MODE_NO_WAITPKG},
	{&spr_guest, "C0=auto\nLatencyLimit=500ns", MODE_C0, MODE_OFF, MODE_OFF, MODE_GUEST},
	{&spr_guest, "C0=poll\nLatencyLimit=500ns", MODE_C0, MODE_C0_POLL_2, MODE_C0_POLL_2,
	 MODE_AS_ASKED},
	/* Zero latency is a question of its own. */
	{&spr, "C0=auto\nLatencyLimit=0\nZeroLatency=c0", MODE_C0, MODE_C0_POLL_2, MODE_C0_POLL_2,
	 MODE_AS_ASKED},
	{&spr, "C0=auto\nLatencyLimit=0\nZeroLatency=poll", MODE_C0, MODE_OFF, MODE_OFF,
	 MODE_LIMIT_TOO_SHORT},
	{&spr, "C0=poll\nLatencyLimit=0\nZeroLatency=c0", MODE_C0, MODE_C0_POLL_2, MODE_C0_POLL_2,
	 MODE_AS_ASKED},
	/* A row behind POLL is never taken at a limit of zero, nor at one that is zero in us. */
	{&spr, "C0=state\nLatencyLimit=0\nZeroLatency=c0", MODE_C0, MODE_C0_STATE_2, MODE_C0_POLL_2,
	 MODE_ROW_LIMIT},
	{&spr, "C0=state\nLatencyLimit=0", MODE_C0, MODE_OFF, MODE_OFF, MODE_LIMIT_TOO_SHORT},
	{&spr, "C0=state\nLatencyLimit=999ns", MODE_C0, MODE_C0_STATE_2, MODE_C0_POLL_2,
	 MODE_ROW_LIMIT},
	{&spr, "C0=state\nLatencyLimit=199ns", MODE_C0, MODE_OFF, MODE_OFF, MODE_LIMIT_TOO_SHORT},
	{&spr, "C0=state\nLatencyLimit=1us", MODE_C0, MODE_C0_STATE_2, MODE_C0_STATE_2,
	 MODE_AS_ASKED},
	/* Where there can be none, POLL itself waits so. */
	{&spr_acpi, "C0=state\nC0Depth=C0.1", MODE_C0, MODE_C0_STATE_1, MODE_C0_POLL_1,
	 MODE_NO_ROW},
	{&spr_haltpoll, "C0=state", MODE_C0, MODE_C0_STATE_2, MODE_C0_POLL_2, MODE_ROW_GOVERNOR},
	{&spr, "C0=state\nDisableStates=c0x", MODE_C0, MODE_C0_STATE_2, MODE_C0_POLL_2,
	 MODE_ROW_DISABLED},
	{&spr, "C0=state\nDisableStates=C0.2", MODE_C0, MODE_C0_STATE_2, MODE_C0_POLL_2,
	 MODE_ROW_DISABLED},
	{&spr, "C0=state\nDisableStates=C0.1", MODE_C0, MODE_C0_STATE_2, MODE_C0_STATE_2,
	 MODE_AS_ASKED},
	/* In C1's place, too. */
	{&spr, "C0=c1", MODE_C0, MODE_C0_C1_2, MODE_C0_C1_2, MODE_AS_ASKED},
	{&spr, "C0=c1\nC0Depth=C0.1", MODE_C0, MODE_C0_C1_1, MODE_C0_C1_1, MODE_AS_ASKED},
	{&spr, "C0=c1\nDisableStates=C1", MODE_C0, MODE_C0_C1_2, MODE_C0_POLL_2, MODE_NO_C1},
	{&skx, "C0=c1", MODE_C0, MODE_OFF, MODE_OFF, MODE_NO_WAITPKG},
	{&spr_bare, "C0=c1", MODE_C0, MODE_C0_C1_2, MODE_OFF, MODE_NO_MODULE},
	/* What the host forbids the CPU turns into C0.1; told as what it is. */
	{&spr_c01, "C0=poll", MODE_C0, MODE_C0_POLL_2, MODE_C0_POLL_1, MODE_C02_FORBIDDEN},
	{&spr_c01, "C0=state", MODE_C0, MODE_C0_STATE_2, MODE_C0_STATE_1, MODE_C02_FORBIDDEN},
	{&spr_c01, "C0=poll\nC0Depth=C0.1", MODE_C0, MODE_C0_POLL_1, MODE_C0_POLL_1, MODE_AS_ASKED},
	{&spr_c01, "C0=poll\n[Daemon]\nUmwaitC02=on", MODE_C0, MODE_C0_POLL_2, MODE_C0_POLL_2,
	 MODE_AS_ASKED},
	{&spr, "C0=state", MODE_C0, MODE_C0_STATE_2, MODE_C0_STATE_2, MODE_AS_ASKED},
	{&spr, "C0=state\nC0Depth=C0.1", MODE_C0, MODE_C0_STATE_1, MODE_C0_STATE_1, MODE_AS_ASKED},
	{&spr, "C0=off", MODE_C0, MODE_OFF, MODE_OFF, MODE_AS_ASKED},
	{&skx, "C0=poll", MODE_C0, MODE_OFF, MODE_OFF, MODE_NO_WAITPKG},
	{&none, "C0=poll", MODE_C0, MODE_OFF, MODE_OFF, MODE_NO_STATE},
	/* Interrupts during C1: from 20 us on downwards. */
	{&spr, "C1Interrupts=auto", MODE_C1_INTERRUPTS, MODE_NATIVE, MODE_NATIVE, MODE_NOT_NEEDED},
	{&spr, "C1Interrupts=auto\nLatencyLimit=21us", MODE_C1_INTERRUPTS, MODE_NATIVE, MODE_NATIVE,
	 MODE_NOT_NEEDED},
	{&spr, "C1Interrupts=auto\nLatencyLimit=20us", MODE_C1_INTERRUPTS, MODE_WINDOW, MODE_WINDOW,
	 MODE_AS_ASKED},
	{&spr_bare, "C1Interrupts=auto\nLatencyLimit=20us", MODE_C1_INTERRUPTS, MODE_WINDOW,
	 MODE_NATIVE, MODE_NO_MODULE},
	{&spr, "C1Interrupts=auto\nLatencyLimit=0", MODE_C1_INTERRUPTS, MODE_NATIVE, MODE_NATIVE,
	 MODE_NO_STATE},
	{&spr, "C1Interrupts=sti-mwait", MODE_C1_INTERRUPTS, MODE_STI_MWAIT, MODE_STI_MWAIT,
	 MODE_AS_ASKED},
	{&guest_haltpoll, "C1Interrupts=sti-mwait", MODE_C1_INTERRUPTS, MODE_NATIVE, MODE_NATIVE,
	 MODE_NO_STATE},
	{&spr, "C1Interrupts=native", MODE_C1_INTERRUPTS, MODE_NATIVE, MODE_NATIVE, MODE_AS_ASKED},
	{&none, "C1Interrupts=window", MODE_C1_INTERRUPTS, MODE_NATIVE, MODE_NATIVE, MODE_NO_STATE},
	/* Polling before halting: by itself in guests only. */
	{&spr, "HaltPoll=auto", MODE_HALTPOLL, MODE_OFF, MODE_OFF, MODE_NOT_GUEST},
	{&guest_none, "HaltPoll=auto", MODE_HALTPOLL, MODE_HALTPOLL_ON, MODE_HALTPOLL_ON,
	 MODE_AS_ASKED},
	{&guest_haltpoll, "HaltPoll=auto", MODE_HALTPOLL, MODE_NATIVE, MODE_NATIVE, MODE_HARMLESS},
	/* Governor haltpoll has its own file, and both together would poll twice. */
	{&guest_haltpoll, "HaltPoll=100us", MODE_HALTPOLL, MODE_NATIVE, MODE_NATIVE, MODE_HARMLESS},
	{&guest_file, "HaltPoll=auto", MODE_HALTPOLL, MODE_NATIVE, MODE_NATIVE, MODE_HARMLESS},
	{&guest_file, "HaltPoll=100us", MODE_HALTPOLL, MODE_HALTPOLL_ON, MODE_HALTPOLL_ON,
	 MODE_BY_GOVERNOR},
	{&spr_bare, "HaltPoll=100us", MODE_HALTPOLL, MODE_HALTPOLL_ON, MODE_OFF, MODE_NO_MODULE},
	/* Timers that stop in deep states need the broadcast. */
	{&spr, "Broadcast=off", MODE_BROADCAST, MODE_OFF, MODE_OFF, MODE_HARMLESS},
	{&old_timer, "Broadcast=off", MODE_BROADCAST, MODE_NATIVE, MODE_NATIVE, MODE_UNSAFE},
	{&old_timer, "Broadcast=avoid", MODE_BROADCAST, MODE_AVOID, MODE_AVOID, MODE_AS_ASKED},
	{&spr, "Broadcast=avoid", MODE_BROADCAST, MODE_NATIVE, MODE_NATIVE, MODE_NOT_NEEDED},
	{&spr, "Broadcast=auto", MODE_BROADCAST, MODE_NATIVE, MODE_NATIVE, MODE_NOT_NEEDED},
	/* SystemIO entries: only Zen has no use for the dummy read, and only where it is there. */
	{&zen_old, "IoPort=auto", MODE_IOPORT, MODE_DIRECT, MODE_DIRECT, MODE_AS_ASKED},
	{&hygon, "IoPort=auto", MODE_IOPORT, MODE_DIRECT, MODE_DIRECT, MODE_AS_ASKED},
	{&zen_new, "IoPort=auto", MODE_IOPORT, MODE_NATIVE, MODE_NATIVE, MODE_NO_DUMMY},
	{&zen_bare, "IoPort=auto", MODE_IOPORT, MODE_NATIVE, MODE_NATIVE, MODE_UNMEASURED},
	{&zen_c3, "IoPort=auto", MODE_IOPORT, MODE_DIRECT, MODE_NATIVE, MODE_MODULE_LACKS},
	{&zen_c3, "IoPort=direct", MODE_IOPORT, MODE_DIRECT, MODE_NATIVE, MODE_MODULE_LACKS},
	{&zen_bare, "IoPort=direct", MODE_IOPORT, MODE_DIRECT, MODE_NATIVE, MODE_NO_MODULE},
	{&amd_old, "IoPort=auto", MODE_IOPORT, MODE_NATIVE, MODE_NATIVE, MODE_NOT_NEEDED},
	{&spr, "IoPort=auto", MODE_IOPORT, MODE_NATIVE, MODE_NATIVE, MODE_NOT_NEEDED},
	{&zen_new, "IoPort=direct", MODE_IOPORT, MODE_DIRECT, MODE_DIRECT, MODE_AS_ASKED},
	{&spr, "IoPort=direct", MODE_IOPORT, MODE_NATIVE, MODE_NATIVE, MODE_NO_STATE},
};

START_TEST(mode_follows_its_rule)
{
	char policy[256];
	const struct plan_mode_cell *c;

	snprintf(policy, sizeof(policy),
		 "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=off\nC1Interrupts=native\n"
		 "HaltPoll=off\nBroadcast=auto\nIoPort=native\nC0Depth=C0.2\n%s\n",
		 cases[_i].settings);
	scene_set(&s, make(cases[_i].host), policy);
	c = &scene_row(&s, 0)->modes[cases[_i].mode];
	ck_assert_msg(c->wanted == cases[_i].wanted && c->effective == cases[_i].effective &&
			      c->reason == cases[_i].reason,
		      "%s: wanted %s, effective %s: %s", cases[_i].settings,
		      plan_mode_value_name(c->wanted), plan_mode_value_name(c->effective),
		      modes_reason_text(c->reason));
}
END_TEST

START_TEST(limit_of_others_counts_for_modes)
{
	struct machine *m = make(&spr);

	m->cpus[0].qos_ns = m->cpus[0].qos_prior_ns = 10 * NSEC_PER_USEC;
	scene_set(&s, m, "[Daemon]\nDefaultProfile=p\n[Profile p]\nC1Interrupts=auto\n");
	ck_assert_uint_eq(scene_row(&s, 0)->modes[MODE_C1_INTERRUPTS].effective, MODE_WINDOW);
	ck_assert_uint_eq(scene_row(&s, 1)->modes[MODE_C1_INTERRUPTS].effective, MODE_NATIVE);
}
END_TEST

START_TEST(unmet_modes_are_told_when_named)
{
	struct machine *m = make(&old_timer);

	m->module = (struct machine_module){0};
	scene_set(&s, m,
		  "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=poll\nC1Interrupts=window\n"
		  "Broadcast=off\nIoPort=auto\nHaltPoll=auto\n");
	ck_assert(scene_says(&s, DIAG_INFO,
			     "CPUs 0-1: C0=c0.2-poll has no effect: the CPU has no UMWAIT"));
	ck_assert(scene_says(&s, DIAG_INFO,
			     "C1Interrupts=window has no effect: needs cpuidle_policy.ko"));
	ck_assert(scene_says(&s, DIAG_WARNING, "Broadcast=off has no effect: timers stop"));
	ck_assert_uint_eq(s.diags.n, 3);
}
END_TEST

START_TEST(module_that_lacks_a_mode)
{
	struct machine *m = make(&spr);

	m->module.c0x = false; /* on no CPU */
	scene_set(&s, m, "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=poll\n");
	ck_assert_uint_eq(scene_row(&s, 0)->modes[MODE_C0].effective, MODE_OFF);
	ck_assert_uint_eq(scene_row(&s, 0)->modes[MODE_C0].reason, MODE_MODULE_LACKS);
}
END_TEST

/* Who has a state off already may change his mind, so his file is looked after instead. */
START_TEST(states_off_of_others_are_watched)
{
	for (int others = 0; others < 2; others++) {
		struct machine *m = make(&skx);
		unsigned bit = 1U << (m->tables[0].n - 1);
		const struct plan_row *row;

		m->module.states_off = true;
		if (others)
			m->cpus[0].disabled = m->cpus[0].disabled_prior = (uint16_t)bit;
		scene_set(&s, m,
			  "[Daemon]\nDefaultProfile=p\n[Profile p]\nDisableStates=core-off\n");
		row = scene_row(&s, 0);
		ck_assert_uint_eq(row->module.states_off & bit, others ? 0 : bit);
		ck_assert_uint_eq(row->disable_care & bit, others ? bit : 0);
		ck_assert_uint_eq(row->disable_mask & bit, others ? bit : 0);
		scene_done(&s);
	}
}
END_TEST

/* Hybrid parts: each CPU for itself, as the processor says and as the module does. */
START_TEST(each_cpu_by_its_own)
{
	struct machine *m = make(&spr);

	m->cpus[1].waitpkg = false;
	scene_set(&s, m, "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=poll\n");
	ck_assert_uint_eq(scene_row(&s, 0)->module.poll, C0_WAIT_2);
	ck_assert_uint_eq(scene_row(&s, 1)->module.poll, C0_WAIT_NONE);
	ck_assert_uint_eq(scene_row(&s, 1)->modes[MODE_C0].reason, MODE_NO_WAITPKG);
	scene_done(&s);
	m = make(&spr);
	m->module.c0_cpus[0] = 2;
	scene_set(&s, m, "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=state\n");
	ck_assert_uint_eq(scene_row(&s, 0)->module.row, C0_WAIT_NONE);
	ck_assert_uint_eq(scene_row(&s, 0)->modes[MODE_C0].reason, MODE_MODULE_LACKS);
	ck_assert_uint_eq(scene_row(&s, 1)->module.row, C0_WAIT_2);
	ck_assert_uint_eq(s.plan->row, C0_WAIT_2);
	ck_assert(!s.plan->guest);
}
END_TEST

/* Somebody's zero, on the global device or in the CPU's own file: ZeroLatency= decides. */
START_TEST(zero_of_others)
{
	for (int i = 0; i < 4; i++) {
		struct machine *m = make(&spr);
		bool poll = i & 1;

		m->has_global = true;
		if (i & 2)
			m->global_ns = m->global_others_ns = 0;
		else
			m->cpus[0].qos_ns = m->cpus[0].qos_prior_ns = 0;
		scene_set(&s, m,
			  poll ? "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=auto\n"
				 "ZeroLatency=poll\n"
			       : "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=auto\n"
				 "ZeroLatency=c0\n");
		ck_assert_uint_eq(scene_row(&s, 0)->module.poll, poll ? 0 : C0_WAIT_2);
		ck_assert_uint_eq(scene_row(&s, 0)->modes[MODE_C0].reason,
				  poll ? MODE_LIMIT_TOO_SHORT : MODE_AS_ASKED);
		/* Who has no such limit does not spin. */
		ck_assert_uint_eq(scene_row(&s, 1)->module.poll, i == 2 ? (unsigned)C0_WAIT_2 : 0);
		scene_done(&s);
	}
}
END_TEST

START_TEST(guest_is_named_to_the_module)
{
	scene_set(&s, make(&spr_guest), "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=poll\n");
	ck_assert(s.plan->guest);
	scene_done(&s);
	scene_set(&s, make(&spr_guest),
		  "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=auto\nLatencyLimit=0\n"
		  "ZeroLatency=c0\n");
	ck_assert(!s.plan->guest);
}
END_TEST

/* C1 is entered in one way. */
START_TEST(c1_is_either_umwait_or_mwait)
{
	scene_set(&s, make(&spr),
		  "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=c1\nC1Interrupts=sti-mwait\n");
	ck_assert_uint_eq(scene_row(&s, 0)->module.c1, C0_WAIT_2);
	ck_assert_uint_eq(scene_row(&s, 0)->module.poll, C0_WAIT_2);
	ck_assert_uint_eq(scene_row(&s, 0)->module.sti_mwait, 0);
	scene_done(&s);
	scene_set(&s, make(&spr),
		  "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=c1\nC1Interrupts=window\n");
	ck_assert_uint_eq(scene_row(&s, 0)->module.irq_window & 2, 2);
}
END_TEST

/* Without a driver the module's own is brought for C0.x that was named, where the CPU has it. */
START_TEST(named_c0_brings_a_driver)
{
	static const struct {
		const char *c0;
		bool wanted;
	} c0[] = {{"poll", true}, {"state", true}, {"c1", true}, {"auto", false}, {"off", false}};
	char text[80];

	for (size_t i = 0; i < ARRAY_SIZE(c0); i++) {
		struct machine *m = make(&none);

		m->module.own_driver = true;
		snprintf(text, sizeof(text), "[Daemon]\nDefaultProfile=p\n[Profile p]\nC0=%s\n",
			 c0[i].c0);
		scene_set(&s, m, text);
		ck_assert_int_eq(s.plan->own_driver, c0[i].wanted);
		scene_done(&s);
	}
}
END_TEST

/* What the module is asked for, and that it brings its driver where the kernel has none. */
START_TEST(halts_by_the_module)
{
	struct machine *m = make(&guest_none);

	m->module.own_driver = true;
	scene_set(&s, m, "[Daemon]\nDefaultProfile=p\n[Profile p]\nHaltPoll=auto\n");
	ck_assert(s.plan->own_driver);
	ck_assert_uint_eq(scene_row(&s, 0)->module.haltpoll_us, 0); /* once it is there */
	scene_done(&s);
	m = make(&skx);
	m->module.own_driver = true;
	scene_set(&s, m, "[Daemon]\nDefaultProfile=p\n[Profile p]\nHaltPoll=auto\n");
	ck_assert(!s.plan->own_driver);
	ck_assert_uint_eq(scene_row(&s, 0)->module.haltpoll_us, 0);
	scene_done(&s);
	m = make(&skx);
	m->virt = VIRT_GUEST;
	scene_set(&s, m, "[Daemon]\nDefaultProfile=p\n[Profile p]\nHaltPoll=auto\n");
	ck_assert_uint_eq(scene_row(&s, 0)->module.haltpoll_us, 200);
	scene_done(&s);
	scene_set(&s, make(&skx), "[Daemon]\nDefaultProfile=p\n[Profile p]\nHaltPoll=10500ns\n");
	ck_assert_uint_eq(scene_row(&s, 0)->module.haltpoll_us, 10);
	scene_done(&s);
	/* By the kernel's governor: one file for all, so the longest. */
	scene_set(&s, make(&guest_file),
		  "[Daemon]\nDefaultProfile=p\n[Profile p]\nHaltPoll=300us\n"
		  "[Profile q]\nHaltPoll=100us\n[Group g]\nCPUs=1\nProfile=q\n");
	ck_assert_uint_eq(scene_row(&s, 0)->module.haltpoll_us, 0);
	ck_assert_uint_eq(scene_row(&s, 1)->module.haltpoll_us, 0);
	ck_assert_uint_eq(s.plan->knobs[HOST_HALTPOLL], 300000);
	ck_assert(
		scene_says(&s, DIAG_INFO, "CPU 1: governor haltpoll polls up to 300us here, too"));
	scene_done(&s);
	scene_set(&s, make(&guest_file), "[Daemon]\nDefaultProfile=p\n[Profile p]\nHaltPoll=off\n");
	ck_assert(s.plan->knobs[HOST_HALTPOLL] == HOST_KEEP);
	scene_done(&s);
	scene_set(&s, make(&zen_old), "[Daemon]\nDefaultProfile=p\n[Profile p]\nIoPort=auto\n");
	ck_assert(scene_row(&s, 0)->module.ioport_direct);
	scene_done(&s);
	scene_set(&s, make(&zen_new), "[Daemon]\nDefaultProfile=p\n[Profile p]\nIoPort=auto\n");
	ck_assert(!scene_row(&s, 0)->module.ioport_direct);
}
END_TEST

START_TEST(all_have_names)
{
	for (unsigned i = 0; i < MODE_N; i++) {
		ck_assert_str_ne(plan_mode_name(i), "unknown");
		ck_assert_str_ne(modes_key(i), "unknown");
	}
	for (unsigned i = MODE_OFF; i <= MODE_DIRECT; i++)
		ck_assert_str_ne(plan_mode_value_name(i), "unknown");
	for (unsigned i = MODE_AS_ASKED; i <= MODE_C02_FORBIDDEN; i++)
		ck_assert_str_ne(modes_reason_text(i), "unknown");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("modes");
	TCase *tc = tcase_create("modes");

	tcase_add_checked_fixture(tc, NULL, close_scene);
	tcase_add_loop_test(tc, mode_follows_its_rule, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, limit_of_others_counts_for_modes);
	tcase_add_test(tc, unmet_modes_are_told_when_named);
	tcase_add_test(tc, module_that_lacks_a_mode);
	tcase_add_test(tc, states_off_of_others_are_watched);
	tcase_add_test(tc, each_cpu_by_its_own);
	tcase_add_test(tc, zero_of_others);
	tcase_add_test(tc, guest_is_named_to_the_module);
	tcase_add_test(tc, c1_is_either_umwait_or_mwait);
	tcase_add_test(tc, named_c0_brings_a_driver);
	tcase_add_test(tc, halts_by_the_module);
	tcase_add_test(tc, all_have_names);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
