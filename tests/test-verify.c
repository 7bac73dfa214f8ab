/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "found.h"
#include "verify.h"

/* The limit of a CPU, of all who limit it, against what was asked for; and what cannot be done, with its reason. */
#define STATES "POLL 0/0, C1 2/2 MWAIT 0x00, C6 133/600 MWAIT 0x20"
#define CPUS   4U
#define US     NSEC_PER_USEC

static struct scene s;
static struct holds holds;
static struct verify_input in;
static struct cpuset not_kept;

static int no_set(void *data _unused_, const struct change *c _unused_, uint64_t value _unused_)
{
	ck_abort_msg("verify writes");
	return -EPERM;
}

static int get_global(void *data _unused_, const struct change *c, uint64_t *ret)
{
	ck_assert_int_eq(c->kind, KNOB_GLOBAL);
	*ret = s.plan->global_ns;
	return 0;
}

static const struct actuator_ops ops = {.set = no_set, .get = get_global};
static const struct actuator actuator = {.ops = &ops};

/* The policy stands on the host, as it would after an apply. */
static void stands(const char *policy, struct machine *m)
{
	struct changes changes = {.n = 0};
	uint64_t global = LATENCY_NONE;

	scene_set(&s, m, policy);
	if (holds.n) {
		plan_free(s.plan);
		ck_assert_int_eq(plan_resolve(s.policy, m, &holds, NULL, &s.plan), 0);
	}
	ck_assert_int_eq(diff_make(s.plan, s.machine, LATENCY_NONE, &changes), 0);
	scene_apply(s.machine, &changes, &global);
	changes_done(&changes);
	if (m->has_global)
		m->global_ns = MIN_OF(m->global_others_ns, global);
	in = (struct verify_input){
		.plan = s.plan, .now = s.machine, .actuator = &actuator, .not_kept = &not_kept};
}

static struct machine *host(void)
{
	struct machine *m = scene_host(CPUS, STATES);

	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		m->cpus[cpu].qos_ns = m->cpus[cpu].qos_prior_ns = LATENCY_NONE;
	m->has_global = true;
	m->global_ns = m->global_others_ns = LATENCY_NONE;
	return m;
}

static void setup(void)
{
	found = (struct findings){.n = 0};
	holds = (struct holds){.n = 0};
	ck_assert_int_eq(cpuset_init(&not_kept, CPU_MAX), 0);
}

static void teardown(void)
{
	findings_done(&found);
	cpuset_done(&not_kept);
	scene_done(&s);
	holds_done(&holds);
}

static void verify(void)
{
	findings_done(&found);
	ck_assert_int_eq(verify_make(&in, &found), 0);
}

static uint32_t count(const char *knob)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < found.n; i++)
		n += streq(found.v[i].knob, knob);
	return n;
}

#define LIMITED "[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=20us\n"

START_TEST(as_requested)
{
	stands(LIMITED, host());
	verify();
	assert_found("0-3", "ok", "limit",
		     "requested 20us by the policy, effective 20us in pm_qos_resume_latency_us");
	ck_assert_uint_eq(found.n_differs, 0);
}
END_TEST

START_TEST(nothing_requested)
{
	stands("", host());
	s.machine->cpus[2].qos_ns = s.machine->cpus[2].qos_prior_ns = 3 * US;
	verify();
	assert_found("2", "ok", "limit",
		     "requested none, effective 3us in pm_qos_resume_latency_us by others");
	ck_assert_uint_eq(count("limit"), 1);
}
END_TEST

START_TEST(looser)
{
	stands(LIMITED, host());
	s.machine->cpus[1].qos_ns = 50 * US;
	s.machine->cpus[2].qos_ns = LATENCY_NONE;
	verify();
	assert_found("1", "differs", "limit",
		     "requested 20us by the policy, effective 50us in pm_qos_resume_latency_us by "
		     "others");
	assert_found("2", "differs", "limit", "requested 20us by the policy, effective none");
	assert_found("0,3", "ok", "limit",
		     "requested 20us by the policy, effective 20us in pm_qos_resume_latency_us");
}
END_TEST

START_TEST(stricter_by_others)
{
	stands(LIMITED, host());
	s.machine->cpus[1].qos_ns = 5 * US;
	verify();
	assert_found("1", "ok", "limit",
		     "requested 20us by the policy, effective 5us in pm_qos_resume_latency_us by "
		     "others");
	s.machine->global_ns = s.machine->global_others_ns = 0;
	verify();
	assert_found("0-3", "ok", "limit",
		     "requested 20us by the policy, effective 0 in cpu_dma_latency by others");
	ck_assert_uint_eq(found.n_differs, 0);
}
END_TEST

START_TEST(global_limit)
{
	stands("[Daemon]\nGlobalLatencyLimit=40us\n", host());
	verify();
	assert_found("0-3", "ok", "limit",
		     "requested 40us by the policy, effective 40us in cpu_dma_latency");
	s.machine->global_ns = 900 * US;
	verify();
	assert_found("0-3", "differs", "limit",
		     "requested 40us by the policy, effective 900us in cpu_dma_latency");
}
END_TEST

/* What the kernel's files cannot say is rounded down: stricter than asked, and ours. */
START_TEST(below_a_microsecond)
{
	stands("[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=400ns\n", host());
	verify();
	assert_found("0-3", "ok", "limit",
		     "requested 400ns by the policy, effective 0 in pm_qos_resume_latency_us");
}
END_TEST

START_TEST(held)
{
	static struct hold_owner owner; /* its hold lives until teardown() */
	struct hold_spec spec = {.app = "x", .reason = "", .limit_ns = 7 * US};
	struct cpuset cpus;
	struct hold *hold;
	bool changed;

	ck_assert_int_eq(cpuset_init(&cpus, CPUS), 0);
	cpuset_add(&cpus, 3);
	spec.cpus = &cpus;
	ck_assert_int_eq(holds_add(&holds, &spec, &owner, &hold, &changed), 0);
	cpuset_done(&cpus);
	stands(LIMITED, host());
	verify();
	assert_found("3", "ok", "limit",
		     "requested 7us by a hold, effective 7us in pm_qos_resume_latency_us");
	s.machine->cpus[3].qos_ns = 20 * US;
	verify();
	assert_found(
		"3", "differs", "limit",
		"requested 7us by a hold, effective 20us in pm_qos_resume_latency_us by others");
}
END_TEST

/* auto asks for what is of use: where the limit leaves POLL alone, that is C0.x. */
START_TEST(auto_degraded)
{
	stands("[Daemon]\nDefaultProfile=p\n[Profile p]\nLatencyLimit=1us\nC0=auto\n[Profile q]\n"
	       "C0=auto\nHaltPoll=auto\nIoPort=auto\n[Group g]\nCPUs=3\nProfile=q\n",
	       host());
	verify();
	assert_found("0-2", "unsupported", "c0", "auto: the CPU has no UMWAIT");
	ck_assert_uint_eq(count("c0"), 1);
	ck_assert_uint_eq(count("haltpoll") + count("ioport"), 0);
}
END_TEST

/* Without that file the states' own keep the limit. */
START_TEST(by_states)
{
	struct machine *m = host();

	m->cpus[0].has_qos = false;
	stands(LIMITED, m);
	verify();
	assert_found("0", "ok", "limit",
		     "requested 20us by the policy, effective 2us in the states' files");
	s.machine->cpus[0].disabled = 0;
	verify();
	assert_found("0", "differs", "limit",
		     "requested 20us by the policy, effective 133us in the states' files");
	assert_found("0", "differs", "state2/disable", "found 0, should be 1");
}
END_TEST

START_TEST(nothing_could_keep_it)
{
	struct machine *m = scene_host(CPUS, "");

	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		m->cpus[cpu].has_qos = false;
		m->cpus[cpu].table = MACHINE_NO_TABLE;
	}
	stands(LIMITED, m);
	verify();
	assert_found("0-3", "unsupported", "pm_qos_resume_latency_us",
		     "no such file here; the limit 20us cannot be kept");
	ck_assert_uint_eq(found.n_differs, 0);
}
END_TEST

/* What the module keeps counts as far as the kernel says the same. */
START_TEST(by_the_module)
{
	struct machine *m = host();
	struct module_rows kept;

	m->module.loaded = m->module.limits = true;
	stands(LIMITED, m);
	ck_assert_int_eq(module_rows_make(s.plan, &kept), 0);
	in.kept = &kept;
	verify();
	assert_found("0-3", "ok", "limit",
		     "requested 20us by the policy, effective 20us in cpuidle_policy");
	cpuset_add(&not_kept, 2);
	verify();
	assert_found("2", "differs", "limit", "requested 20us by the policy, effective none");
	s.machine->cpus[2].qos_ns = s.machine->cpus[2].qos_prior_ns = 5 * US;
	verify();
	assert_found("2", "ok", "limit",
		     "requested 20us by the policy, effective 5us in pm_qos_resume_latency_us by "
		     "others");
	module_rows_done(&kept);
}
END_TEST

/* A mode that is asked for and cannot be: with the reason, and no difference. */
START_TEST(mode_degraded)
{
	stands("[Daemon]\nDefaultProfile=p\n[Profile p]\nC1Interrupts=window\nC0=poll\n", host());
	verify();
	assert_found("0-3", "unsupported", "c1_interrupts",
		     "window: needs the module cpuidle_policy, which is not in use");
	assert_found("0-3", "unsupported", "c0", "c0.2-poll: the CPU has no UMWAIT");
	ck_assert_uint_eq(found.n_differs, 0);
}
END_TEST

START_TEST(offline_has_no_limit_yet)
{
	struct machine *m = host();

	m->cpus[1].online = false;
	m->cpus[1].table = MACHINE_NO_TABLE;
	stands(LIMITED, m);
	verify();
	assert_found("0,2-3", "ok", "limit",
		     "requested 20us by the policy, effective 20us in pm_qos_resume_latency_us");
	ck_assert_uint_eq(count("limit"), 1);
}
END_TEST

static Suite *suite(void)
{
	Suite *su = suite_create("verify");
	TCase *t = tcase_create("verify");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, as_requested);
	tcase_add_test(t, nothing_requested);
	tcase_add_test(t, looser);
	tcase_add_test(t, stricter_by_others);
	tcase_add_test(t, global_limit);
	tcase_add_test(t, below_a_microsecond);
	tcase_add_test(t, held);
	tcase_add_test(t, by_states);
	tcase_add_test(t, nothing_could_keep_it);
	tcase_add_test(t, by_the_module);
	tcase_add_test(t, mode_degraded);
	tcase_add_test(t, auto_degraded);
	tcase_add_test(t, offline_has_no_limit_yet);
	suite_add_tcase(su, t);
	return su;
}

int main(void)
{
	return test_main(suite());
}
