/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "player.h"

#include "adapt-text.h"

#define ADAPTED	  "[Daemon]\nDefaultProfile=p\n[Profile p]\nAdapt=20us\n"
#define UNADAPTED "[Daemon]\nDefaultProfile=p\n[Profile p]\n"

/* Adapt= on a machine that plays a trace: what the daemon does around it, without the daemon. */
struct show {
	struct trace trace;
	struct player player;
	struct scene scene;
	struct adapt adapt;
	uint64_t now;
	uint32_t pressure, pressed; /* of which group */
	uint32_t begun, ended; /* of CPU 0, or its group */
	double tightened, loosened; /* CPU 0: first, last; < 0: never */
};

static struct show show;

static void close_show(void)
{
	adapt_done(&show.adapt);
	player_done(&show.player);
	scene_done(&show.scene);
	show = (struct show){.now = 0};
}

static void plan(void)
{
	struct scene *s = &show.scene;

	for (uint32_t cpu = 0; cpu < s->machine->n_cpus; cpu++)
		s->machine->cpus[cpu].tight = adapt_tight(&show.adapt, cpu);
	plan_free(s->plan);
	ck_assert_int_eq(plan_resolve(s->policy, s->machine, NULL, NULL, &s->plan), 0);
	ck_assert_int_ge(adapt_follow(&show.adapt, s->policy, s->plan, s->machine), 0);
	show.player.plan = s->plan;
}

static void open_text(const char *policy, uint32_t n_cpus)
{
	scene_set(&show.scene, scene_host(n_cpus, show.trace.states), policy);
	player_init(&show.player, &show.trace, n_cpus);
	show.player.machine = show.scene.machine;
	show.now = NSEC_PER_SEC;
	show.pressure = ADAPT_PRESSURE_UNKNOWN;
	show.pressed = PLAN_ADAPT_ALONE;
	show.tightened = show.loosened = -1;
	plan();
}

static void open_show(const char *name, const char *policy, uint32_t n_cpus)
{
	trace_load(name, &show.trace);
	open_text(policy, n_cpus);
}

static uint32_t pressure(void *data, uint32_t group)
{
	const struct show *s = data;

	return group == s->pressed ? s->pressure : ADAPT_PRESSURE_UNKNOWN;
}

static void look(void)
{
	double at = (double)show.now / 1e9 - 1;
	const struct adapt_unit *u = show.adapt.units;
	const struct adapt_source source = {
		.read = player_read,
		.read_data = &show.player,
		.pressure = pressure,
		.pressure_data = &show,
	};

	adapt_look(&show.adapt, show.now, &source);
	if (show.adapt.n_events == 0)
		return;
	if (u->event == ADAPT_TIGHTENED) {
		show.begun++;
		if (show.tightened < 0)
			show.tightened = at;
	} else if (u->event != ADAPT_NOTHING) {
		show.ended++;
		show.loosened = at;
	}
	plan();
}

static void play(double seconds)
{
	for (double t = 0; t < seconds - 1e-9; t += 1) {
		look();
		show.now += NSEC_PER_SEC;
		player_advance(&show.player, 1);
	}
}

START_TEST(requests_get_the_shorter_limit)
{
	open_show("requests", ADAPTED, 4);
	play(30);
	ck_assert_str_eq(scene_deepest(&show.scene, 0), "C6");
	play(20);
	ck_assert_str_eq(scene_deepest(&show.scene, 0), "C1E");
	ck_assert(scene_row(&show.scene, 0)->limit_ns == 20 * NSEC_PER_USEC);
	ck_assert_msg(show.tightened > 30 && show.tightened <= 32, "%f", show.tightened);
	ck_assert_uint_ge(show.adapt.units[0].busy->wakes, 1200);
	ck_assert_uint_ge(adapt_rate(show.adapt.units[0].busy), 2400);
	ck_assert_uint_ge(show.adapt.within, UINT64_C(4) * 2400 * 17);
	play(160);
	ck_assert_str_eq(scene_deepest(&show.scene, 0), "C6");
	ck_assert_msg(show.loosened > 90 && show.loosened <= 97, "%f", show.loosened);
	ck_assert_uint_eq(show.begun, 1);
	ck_assert_uint_eq(show.ended, 1);
}
END_TEST

/* A tuning daemon of others then forbids C6 everywhere, and the other 71 lose their turbo. */
START_TEST(one_busy_cpu_is_alone)
{
	open_show("requests", ADAPTED, 72);
	show.player.n_playing = 1;
	play(60);
	ck_assert_uint_eq(adapt_count_tight(&show.adapt), 1);
	ck_assert_str_eq(scene_deepest(&show.scene, 0), "C1E");
	for (uint32_t cpu = 1; cpu < 72; cpu++)
		ck_assert_str_eq(scene_deepest(&show.scene, cpu), "C6");
}
END_TEST

/* A load of 0.3 on 512 CPUs, which an absolute threshold takes for busy. */
START_TEST(little_load_on_many_cpus_is_none)
{
	trace_parse(
		"states POLL 0/0, C1 1/1 MWAIT 0x00, C1E 4/4 MWAIT 0x01, C6 170/600 MWAIT 0x20\n"
		"for 600\nC6 20 999000 1\nfor 600\nC1E 90 20000 10\nC6 110 680000 20\n",
		&show.trace);
	open_text(ADAPTED, 512);
	show.player.n_playing = 1;
	play(1200);
	ck_assert_uint_eq(show.adapt.spells, 0);
}
END_TEST

/* It never waits, so nobody waits for its wake-up. */
START_TEST(computing_cpu_is_not_busy)
{
	trace_parse(
		"states POLL 0/0, C1 1/1 MWAIT 0x00, C1E 4/4 MWAIT 0x01, C6 170/600 MWAIT 0x20\n"
		"for 600\nC1 40 300 0\nC6 2 900 0\n",
		&show.trace);
	open_text(ADAPTED, 4);
	play(600);
	ck_assert_uint_eq(show.adapt.spells, 0);
}
END_TEST

START_TEST(alternating_load_does_not_flap)
{
	trace_parse(
		"states POLL 0/0, C1 1/1 MWAIT 0x00, C1E 4/4 MWAIT 0x01, C6 170/600 MWAIT 0x20\n"
		"for 15\nC6 2500 900000 300\nfor 15\nC6 20 999000 1\n",
		&show.trace);
	open_text(ADAPTED, 1);
	for (unsigned hour = 0; hour < 4; hour++) {
		show.begun = show.ended = 0;
		play(3600);
		ck_assert_uint_le(show.begun, SPELL_PER_HOUR);
		ck_assert_uint_ge(show.begun, 2);
	}
}
END_TEST

/* Half as many wake-ups are enough where tasks wait for CPUs. */
START_TEST(pressure_counts)
{
	static const struct {
		uint32_t pressure;
		bool busy;
	} cases[] = {
		{ADAPT_PRESSURE_UNKNOWN, false}, {0, false}, {9, false}, {10, true}, {100, true}};

	trace_parse(
		"states POLL 0/0, C1 1/1 MWAIT 0x00, C1E 4/4 MWAIT 0x01, C6 170/600 MWAIT 0x20\n"
		"for 600\nC6 400 900000 50\n",
		&show.trace);
	open_text(ADAPTED, 1);
	show.pressure = cases[_i].pressure;
	play(5);
	ck_assert_int_eq(adapt_count_tight(&show.adapt) > 0, cases[_i].busy);
}
END_TEST

/* Groups --------------------------------------------------------------------------------------------- */

#define POOL(cpus) \
	ADAPTED "[Profile g]\nBase=p\nAdaptScope=group\n[Group pool]\nCPUs=" cpus "\nProfile=g\n"

#define ICX_STATES "states POLL 0/0, C1 1/1 MWAIT 0x00, C1E 4/4 MWAIT 0x01, C6 170/600 MWAIT 0x20\n"

START_TEST(one_busy_cpu_is_its_groups)
{
	open_show("requests", POOL("0-3"), 8);
	show.player.n_playing = 1;
	play(60);
	ck_assert_uint_eq(show.adapt.n_units, 5);
	ck_assert_uint_eq(show.adapt.spells, 1);
	ck_assert_uint_eq(adapt_count_tight(&show.adapt), 4);
	for (uint32_t cpu = 0; cpu < 8; cpu++)
		ck_assert_str_eq(scene_deepest(&show.scene, cpu), cpu < 4 ? "C1E" : "C6");
	/* Calm together as well. */
	play(160);
	ck_assert_uint_eq(adapt_count_tight(&show.adapt), 0);
	ck_assert_str_eq(scene_deepest(&show.scene, 3), "C6");
	ck_assert_uint_eq(show.begun, 1);
	ck_assert_uint_eq(show.ended, 1);
}
END_TEST

/* Work that moves among CPUs, none of which is busy by itself; and an idle server, whose CPUs are many. */
START_TEST(group_is_busy_on_the_average)
{
	static const struct {
		const char *rates, *policy;
		bool busy;
	} cases[] = {
		{"for 600\nC6 300 900000 50\n", POOL("0-31"), true},
		{"for 600\nC6 300 900000 50\n", ADAPTED, false},
		{"for 600\nC6 240 900000 50\n", POOL("0-31"), false},
		{"for 600\nC6 300 900000 50\n", POOL("0"), false},
		{"for 600\nC1E 90 21000 8\nC6 160 975000 40\n", POOL("0-31"), false},
	};
	char text[256];

	snprintf(text, sizeof(text), "%s%s", ICX_STATES, cases[_i].rates);
	trace_parse(text, &show.trace);
	open_text(cases[_i].policy, 32);
	play(30);
	ck_assert_uint_eq(adapt_count_tight(&show.adapt), cases[_i].busy ? 32 : 0);
	ck_assert_uint_eq(show.adapt.spells, cases[_i].busy);
	if (cases[_i].busy)
		ck_assert(show.adapt.units[0].busy->wakes >= 32 * 299 &&
			  show.adapt.units[0].busy->most <= 301);
}
END_TEST

/* A group's own tasks that wait count for it, those of the machine for the rest. */
START_TEST(pressure_of_a_group_is_its_own)
{
	trace_parse(ICX_STATES "for 600\nC6 400 900000 50\n", &show.trace);
	open_text(POOL("1"), 4);
	show.pressure = 50;
	show.pressed = _i ? 0 : PLAN_ADAPT_ALONE; /* the first group, or no group */
	play(5);
	for (uint32_t cpu = 0; cpu < 4; cpu++)
		ck_assert_int_eq(adapt_tight(&show.adapt, cpu), (cpu == 1) == (_i == 1));
}
END_TEST

START_TEST(group_does_not_flap)
{
	trace_parse(ICX_STATES "for 15\nC6 2500 900000 300\nfor 15\nC6 20 999000 1\n", &show.trace);
	open_text(POOL("0-1"), 2);
	for (unsigned hour = 0; hour < 2; hour++) {
		show.begun = 0;
		play(3600);
		ck_assert_uint_le(show.begun, SPELL_PER_HOUR);
		ck_assert_uint_ge(show.begun, 2);
	}
}
END_TEST

/* Two policies with an equal result for others; in this one a CPU joins the group, whose number is another one now. */
START_TEST(who_joins_a_busy_group_is_busy)
{
	struct scene *s = &show.scene;

	open_show("requests", POOL("0-1"), 4);
	show.player.n_playing = 1;
	play(40);
	ck_assert_uint_eq(adapt_count_tight(&show.adapt), 2);
	policy_free(s->policy);
	s->policy = scene_policy("[Group other]\nCPUs=3\nProfile=p\n" POOL("0-2"));
	plan_free(s->plan);
	ck_assert_int_eq(plan_resolve(s->policy, s->machine, NULL, NULL, &s->plan), 0);
	ck_assert_int_eq(adapt_follow(&show.adapt, s->policy, s->plan, s->machine), 1);
	plan();
	ck_assert_uint_eq(adapt_count_tight(&show.adapt), 3);
	ck_assert_str_eq(scene_deepest(s, 2), "C1E");
	ck_assert_str_eq(scene_deepest(s, 3), "C6");
	ck_assert_str_eq(adapt_unit_of(&show.adapt, 2)->name, "group pool");
	ck_assert_ptr_null(adapt_unit_of(&show.adapt, 3)->name);
}
END_TEST

/* DefaultProfile= is no group. */
START_TEST(nobodys_cpus_are_alone)
{
	open_show("requests", ADAPTED "AdaptScope=group\n", 4);
	ck_assert_uint_eq(show.adapt.n_units, 4);
	ck_assert_uint_eq(scene_row(&show.scene, 0)->adapt_group, PLAN_ADAPT_ALONE);
}
END_TEST

START_TEST(without_the_key_nothing_is_read)
{
	open_show("requests", UNADAPTED, 4);
	play(100);
	ck_assert_uint_eq(show.adapt.n, 0);
	ck_assert_uint_eq(show.player.n_reads, 0);
}
END_TEST

START_TEST(without_counters_nothing_is_done)
{
	open_show("requests", ADAPTED, 4);
	show.player.lacks = ~0U;
	play(200);
	ck_assert_uint_eq(show.adapt.spells, 0);
}
END_TEST

static const struct {
	const char *policy;
	uint16_t above, within; /* of C1, C1E, C6: bits 1, 2, 3 */
} limits[] = {
	{ADAPTED, 1U << 3, 7},
	{ADAPTED "LatencyLimit=100us\n", 0, 0}, /* nothing lies between */
	{ADAPTED "LatencyLimit=10us\n", 0, 0},
	{ADAPTED "DisableStates=C6\n", 0, 0},
	{ADAPTED "Adapt=2us\n", 3U << 2, 3},
	{ADAPTED "Adapt=2us\nLatencyLimit=100us\n", 1U << 2, 3},
	{ADAPTED "Adapt=0\n", 7U << 1, 1},
	{ADAPTED "DisableStates=C1E\n", 1U << 3, 3},
};

START_TEST(states_between_both_limits_count)
{
	trace_load("requests", &show.trace);
	open_text(limits[_i].policy, 2);
	ck_assert_uint_eq(show.adapt.n, limits[_i].above ? 2 : 0);
	if (limits[_i].above) {
		ck_assert_uint_eq(show.adapt.cells[0].above, limits[_i].above);
		ck_assert_uint_eq(show.adapt.cells[0].within, limits[_i].within);
	}
}
END_TEST

static void be_tight(const char *policy, uint64_t others_ns)
{
	struct machine *m;

	trace_load("requests", &show.trace);
	m = scene_host(2, show.trace.states);
	m->cpus[0].tight = true;
	m->cpus[0].qos_ns = m->cpus[0].qos_prior_ns = others_ns;
	scene_set(&show.scene, m, policy);
}

START_TEST(plan_takes_the_shorter_limit)
{
	be_tight(ADAPTED, LATENCY_NONE);
	ck_assert(scene_row(&show.scene, 0)->qos_ns == 20 * NSEC_PER_USEC);
	ck_assert(scene_row(&show.scene, 1)->qos_ns == LATENCY_NONE);
	scene_done(&show.scene);
	/* LatencyLimit= may be stricter, others as well. */
	be_tight(ADAPTED "LatencyLimit=2us\n", LATENCY_NONE);
	ck_assert(scene_row(&show.scene, 0)->limit_ns == 2 * NSEC_PER_USEC);
	scene_done(&show.scene);
	be_tight(ADAPTED, 5 * NSEC_PER_USEC);
	ck_assert(scene_row(&show.scene, 0)->limit_ns == 5 * NSEC_PER_USEC);
	scene_done(&show.scene);
	be_tight(UNADAPTED, LATENCY_NONE);
	ck_assert(scene_row(&show.scene, 0)->limit_ns == LATENCY_NONE);
}
END_TEST

START_TEST(policy_change_forgets_it)
{
	struct scene *s = &show.scene;

	open_show("requests", ADAPTED, 2);
	play(40);
	ck_assert_uint_eq(adapt_count_tight(&show.adapt), 2);
	/* Nothing between the limits any more, while the plan still has these CPUs as busy. */
	policy_free(s->policy);
	s->policy = scene_policy(ADAPTED "LatencyLimit=10us\n");
	plan_free(s->plan);
	ck_assert_int_eq(plan_resolve(s->policy, s->machine, NULL, NULL, &s->plan), 0);
	ck_assert_int_eq(adapt_follow(&show.adapt, s->policy, s->plan, s->machine), 1);
	plan();
	ck_assert(!scene_row(s, 0)->tight);
	ck_assert_int_eq(adapt_follow(&show.adapt, s->policy, s->plan, s->machine), 0);
}
END_TEST

static void assert_says(const char *text)
{
	struct scene *s = &show.scene;
	struct buf b = {.n = 0};
	_cleanup_free_ char *said = NULL;

	adapt_text(s->machine, s->plan, plan_row_of(s->plan, 0), &b);
	said = buf_finish(&b);
	ck_assert_msg(strstr(said, text), "\"%s\" is not in \"%s\"", text, said);
}

START_TEST(words)
{
	open_show("requests", ADAPTED, 4);
	assert_says("20us while the CPU wakes up often; looked at while the daemon runs");
	show.scene.machine->adapt = &show.adapt;
	assert_says(", which was not so far");
	play(60);
	assert_says(", which holds on 4 of 4 CPUs; times so far: 4; CPU 0 busy for ");
	play(60);
	assert_says(", which does not hold now; times so far: 4; CPU 0 calm for ");
	close_show();
	open_show("requests", POOL("0-2"), 4);
	show.pressure = 25;
	show.pressed = 0;
	show.scene.machine->adapt = &show.adapt;
	play(60);
	assert_says(
		"20us while its group's CPUs wake up often, which holds on 3 of 3 CPUs; times so far: 1; "
		"group pool busy for 28 s, at 3900 wake-ups a second from states above it, 1300 of "
		"them on one CPU, while tasks waited for a CPU 25 % of the time; then ");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("adapt");
	TCase *t = tcase_create("adapt");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, NULL, close_show);
	tcase_add_test(t, requests_get_the_shorter_limit);
	tcase_add_test(t, one_busy_cpu_is_alone);
	tcase_add_test(t, little_load_on_many_cpus_is_none);
	tcase_add_test(t, computing_cpu_is_not_busy);
	tcase_add_test(t, alternating_load_does_not_flap);
	tcase_add_loop_test(t, pressure_counts, 0, 5);
	tcase_add_test(t, one_busy_cpu_is_its_groups);
	tcase_add_loop_test(t, group_is_busy_on_the_average, 0, 5);
	tcase_add_loop_test(t, pressure_of_a_group_is_its_own, 0, 2);
	tcase_add_test(t, group_does_not_flap);
	tcase_add_test(t, who_joins_a_busy_group_is_busy);
	tcase_add_test(t, nobodys_cpus_are_alone);
	tcase_add_test(t, without_the_key_nothing_is_read);
	tcase_add_test(t, without_counters_nothing_is_done);
	tcase_add_loop_test(t, states_between_both_limits_count, 0, (int)ARRAY_SIZE(limits));
	tcase_add_test(t, plan_takes_the_shorter_limit);
	tcase_add_test(t, policy_change_forgets_it);
	tcase_add_test(t, words);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return test_main(suite());
}
