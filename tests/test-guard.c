/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "player.h"

#include "guard-text.h"

#define GUARDED	  "[Daemon]\nDefaultProfile=p\n[Profile p]\nResidencyGuard=auto\n"
#define UNGUARDED "[Daemon]\nDefaultProfile=p\n[Profile p]\n"

/* The guard on a machine that plays a trace: what the daemon does around it, without the daemon. */
struct show {
	struct trace trace;
	struct player player;
	struct scene scene;
	struct guard guard;
	uint64_t now;
	uint32_t transitions; /* of CPU 0 */
	double caught, released; /* when CPU 0's state went first and last came back; < 0: never */
};

static struct show show;

static void close_show(void)
{
	guard_done(&show.guard);
	player_done(&show.player);
	scene_done(&show.scene);
	show = (struct show){.now = 0};
}

static void plan(void)
{
	struct scene *s = &show.scene;

	for (uint32_t cpu = 0; cpu < s->machine->n_cpus; cpu++)
		s->machine->cpus[cpu].vetoed = guard_vetoed(&show.guard, cpu);
	plan_free(s->plan);
	ck_assert_int_eq(plan_resolve(s->policy, s->machine, NULL, NULL, &s->plan), 0);
	ck_assert_int_eq(guard_follow(&show.guard, s->plan, s->machine), 0);
	show.player.plan = s->plan;
}

static void open_text(const char *policy, uint32_t n_cpus)
{
	scene_set(&show.scene, scene_host(n_cpus, show.trace.states), policy);
	player_init(&show.player, &show.trace, n_cpus);
	show.player.machine = show.scene.machine;
	show.now = NSEC_PER_SEC;
	show.caught = show.released = -1;
	plan();
}

static void open_show(const char *name, const char *policy, uint32_t n_cpus)
{
	trace_load(name, &show.trace);
	open_text(policy, n_cpus);
}

static void pass(double seconds)
{
	show.now += (uint64_t)(seconds * 1e9);
	player_advance(&show.player, seconds);
}

static void look(void)
{
	double at = (double)show.now / 1e9 - 1;

	guard_look(&show.guard, show.now, player_read, &show.player);
	if (show.guard.n_events == 0)
		return;
	for (uint32_t i = 0; i < show.guard.n; i++) {
		const struct guard_cell *c = &show.guard.cells[i];

		if (c->cpu != 0 || c->event == GUARD_NOTHING)
			continue;
		show.transitions++;
		if (c->event == GUARD_CAUGHT && show.caught < 0)
			show.caught = at;
		if (c->event != GUARD_CAUGHT)
			show.released = at;
	}
	plan();
}

static void play(double seconds)
{
	for (double t = 0; t < seconds - 1e-9; t += 1) {
		look();
		pass(1);
	}
}

/* Traces of the field ---------------------------------------------------------------------------- */

/* Looks come at any moment of the second in which it begins. */
START_TEST(bad_run_is_caught_within_a_second)
{
	open_show("bad", GUARDED, 128);
	look();
	pass(_i / 10.0);
	play(261);
	ck_assert_msg(show.caught > 60 - 1e-6 && show.caught <= 61 + 1e-6, "caught at %f",
		      show.caught);
	ck_assert_msg(show.released > 140 && show.released <= 150, "released at %f", show.released);
	ck_assert_uint_eq(show.transitions, 2);
	ck_assert_uint_eq(guard_count_off(&show.guard), 0);
	ck_assert_uint_eq(show.guard.vetoes, 128);
	/* The look that caught it was back at 128 CPUs, most of which it had not read for some seconds. */
	ck_assert(show.guard.avoided > UINT64_C(128) * 75000 / 40 * 79);
	ck_assert(show.guard.avoided < UINT64_C(128) * 76000 * 90);
}
END_TEST

START_TEST(what_was_seen_is_told)
{
	const struct guard_cell *c;

	open_show("bad", GUARDED, 4);
	play(62);
	c = &show.guard.cells[0];
	ck_assert(c->off && c->state == 2 && c->instead == 1);
	ck_assert(c->veto->seen.early > 75000 && c->veto->seen.early < 76000);
	ck_assert(c->veto->seen.span_ns >= NSEC_PER_SEC &&
		  c->veto->seen.span_ns <= GUARD_SHARE * NSEC_PER_SEC);
	ck_assert_uint_ge(c->veto->seen.early_percent, 98);
	ck_assert_uint_ge(c->veto->seen.waste_percent, 50);
	ck_assert_uint_eq(scene_reason(&show.scene, 0, "C2"), STATE_OFF_BY_GUARD);
	ck_assert_str_eq(scene_states(&show.scene, 0), "POLL C1");
	play(3);
	c = &show.guard.cells[0];
	ck_assert(guard_instead_rate(c->veto) > 70000);
}
END_TEST

START_TEST(good_run_is_not_touched)
{
	open_show("good", GUARDED, 16);
	play(200);
	ck_assert_uint_eq(show.guard.vetoes, 0);
}
END_TEST

START_TEST(steady_server_is_not_touched)
{
	open_show("idle", GUARDED, 16);
	play(3600);
	ck_assert_uint_eq(show.guard.vetoes, 0);
}
END_TEST

START_TEST(state_that_returns_at_once_is_tried_now_and_then)
{
	double off = 0;

	open_show("guest", GUARDED, 2);
	for (unsigned s = 0; s < 3600; s++) {
		play(1);
		off += guard_count_off(&show.guard) / 2.0;
	}
	ck_assert_msg(show.caught <= 1, "%f", show.caught);
	ck_assert_msg(show.transitions >= 8 && show.transitions <= 36, "%u", show.transitions);
	ck_assert_msg(off > 3600 * 0.99, "%f", off);
}
END_TEST

/* One CPU of a machine that is quiet otherwise: its turn comes within GUARD_SHARE looks. */
START_TEST(quiet_machine_is_read_less)
{
	uint64_t before;

	open_show("idle", GUARDED, 448);
	play(1000);
	before = show.player.n_reads;
	play(100);
	/* One counter of 112 CPUs each time, and three more of each eighth of these. */
	ck_assert_uint_le(show.player.n_reads - before, 100 * 112 * 12 / 8);
	ck_assert_uint_ge(show.player.n_reads - before, 100 * 112);
	play(700);
	before = show.player.n_reads;
	/* Busy now: all CPUs, but not more than is needed. */
	play(100);
	ck_assert_uint_le(show.player.n_reads - before, 100 * 448 * 12 / 8);
	ck_assert_uint_ge(show.player.n_reads - before, 100 * 448);
}
END_TEST

START_TEST(without_above_the_mean_speaks)
{
	open_show("bad", GUARDED, 8);
	show.player.lacks = 1U << COUNTER_ABOVE | 1U << COUNTER_REJECTED;
	play(261);
	ck_assert_msg(show.caught > 60 && show.caught <= 62, "caught at %f", show.caught);
	ck_assert_uint_eq(show.transitions, 2);
	ck_assert_uint_eq(show.guard.n_uncounted, 8);
	close_show();
	open_show("good", GUARDED, 8);
	show.player.lacks = 1U << COUNTER_ABOVE | 1U << COUNTER_REJECTED;
	play(200);
	ck_assert_uint_eq(show.guard.vetoes, 0);
}
END_TEST

START_TEST(without_counters_nothing_is_done)
{
	open_show("bad", GUARDED, 8);
	show.player.lacks = ~0U;
	play(261);
	ck_assert_uint_eq(show.guard.vetoes, 0);
}
END_TEST

START_TEST(counters_that_begin_anew_are_no_entries)
{
	open_show("good", GUARDED, 2);
	for (unsigned s = 0; s < 200; s++) {
		play(1);
		if (s % 3 == 0)
			player_reset(&show.player, 0);
	}
	ck_assert_uint_eq(show.guard.vetoes, 0);
}
END_TEST

/* What is watched -------------------------------------------------------------------------------- */

START_TEST(off_means_no_read)
{
	open_show("bad", UNGUARDED, 8);
	play(100);
	ck_assert_uint_eq(show.guard.n, 0);
	ck_assert_uint_eq(show.player.n_reads, 0);
}
END_TEST

static const struct {
	const char *states, *policy;
	uint32_t n; /* cells of one CPU */
} tables[] = {
	{"POLL 0/0, C1 1/2 MWAIT 0x0, C2 30/60 IOPORT 0x414", GUARDED, 1},
	{"POLL 0/0, C1 2/2 MWAIT 0x0, C1E 10/20 MWAIT 0x1, C6 133/600 MWAIT 0x20", GUARDED, 1},
	{"POLL 0/0, C1 2/2, C6 50/100 MWAIT 0x20, C8 200/800, C10 400/2000", GUARDED, 3},
	/* nothing but POLL would be left */
	{"POLL 0/0, C6 133/600 MWAIT 0x20", GUARDED, 0},
	{"POLL 0/0, C1! 2/2 MWAIT 0x0, C6 133/600 MWAIT 0x20", GUARDED, 0},
	{"POLL 0/0, C1 2/2 MWAIT 0x0", GUARDED, 0},
	{"POLL 0/0", GUARDED, 0},
	{"POLL 0/0, C1 2/2 MWAIT 0x0, C3! 33/100 MWAIT 0x10, C6 133/600 MWAIT 0x20", GUARDED, 1},
	{"POLL 0/0, C1 2/2, C6 50/100 MWAIT 0x20, C8 200/800", GUARDED "LatencyLimit=60us\n", 1},
	{"POLL 0/0, C1 2/2, C6 50/100 MWAIT 0x20, C8 200/800", GUARDED "DisableStates=C6\n", 1},
	{"POLL 0/0, C1 2/2, C6 50/100 MWAIT 0x20, C8 200/800", GUARDED "LatencyLimit=0\n", 0},
	{"POLL 0/0, C1 2/2, C6 0/100 MWAIT 0x20", GUARDED, 0},
};

START_TEST(deep_states_with_something_below_are_watched)
{
	snprintf(show.trace.states, sizeof(show.trace.states), "%s", tables[_i].states);
	open_text(tables[_i].policy, 3);
	ck_assert_uint_eq(show.guard.n, 3 * tables[_i].n);
}
END_TEST

START_TEST(two_states_in_a_row_fall_back_to_one_that_is_on)
{
	trace_parse(
		"states POLL 0/0, C1 2/2 MWAIT 0x0, C6 50/100 MWAIT 0x20, C8 200/800 MWAIT 0x40\n"
		"for 1000\nC6 9000 400000 8990\nC8 8000 400000 7990\n",
		&show.trace);
	open_text(GUARDED, 1);
	play(3);
	ck_assert_str_eq(scene_states(&show.scene, 0), "POLL C1");
	ck_assert_uint_eq(show.guard.cells[0].instead, 1);
	ck_assert_uint_eq(show.guard.cells[1].instead, 1);
	play(600);
	ck_assert_uint_le(show.transitions, 24);
}
END_TEST

START_TEST(policy_change_forgets_the_veto)
{
	struct scene *s = &show.scene;

	open_show("bad", GUARDED, 4);
	play(63);
	ck_assert_uint_eq(guard_count_off(&show.guard), 4);
	policy_free(s->policy);
	s->policy = scene_policy(UNGUARDED);
	plan();
	ck_assert_uint_eq(show.guard.n, 0);
	plan();
	ck_assert_str_eq(scene_states(s, 0), "POLL C1 C2");
	ck_assert_uint_eq(s->machine->cpus[0].vetoed, 0);
}
END_TEST

/* The plan ------------------------------------------------------------------------------------------ */

static const struct plan_row *row_with(const char *policy, bool module, uint16_t left)
{
	struct machine *m = scene_host(
		2, "POLL 0/0, C1 2/2 MWAIT 0x0, C1E 10/20 MWAIT 0x1, C6 133/600 MWAIT 0x20");

	m->cpus[0].vetoed = 1U << 3;
	m->cpus[0].left = left;
	m->module.loaded = m->module.states_off = module;
	scene_set(&show.scene, m, policy);
	return scene_row(&show.scene, 0);
}

START_TEST(plan_takes_a_vetoed_state_away)
{
	const struct plan_row *row = row_with(GUARDED, false, 0);

	ck_assert_uint_eq(row->states[3].reason, STATE_OFF_BY_GUARD);
	ck_assert(!row->states[3].enabled);
	ck_assert_uint_eq(row->disable_care, 1U << 3);
	ck_assert_uint_eq(row->disable_mask, 1U << 3);
	ck_assert_str_eq(scene_states(&show.scene, 1), "POLL C1 C1E C6");
	scene_done(&show.scene);

	/* The module keeps it, and the file is left alone. */
	row = row_with(GUARDED, true, 0);
	ck_assert_uint_eq(row->states[3].reason, STATE_OFF_BY_GUARD);
	ck_assert_uint_eq(row->module.states_off, 1U << 3);
	ck_assert_uint_eq(row->disable_care, 0);
	scene_done(&show.scene);

	/* A profile without the guard, a file left to others: no veto. */
	row = row_with(UNGUARDED, false, 0);
	ck_assert(row->states[3].enabled);
	ck_assert_uint_eq(row->disable_care, 0);
	scene_done(&show.scene);
	row = row_with(GUARDED, false, 1U << 3);
	ck_assert(row->states[3].enabled);
	ck_assert_uint_eq(row->disable_care, 0);
	scene_done(&show.scene);

	/* What is off for another reason keeps that. */
	row = row_with(GUARDED "LatencyLimit=20us\n", false, 0);
	ck_assert_uint_eq(row->states[3].reason, STATE_OFF_OVER_LIMIT);
	scene_done(&show.scene);
	row = row_with(GUARDED "DisableStates=C6\n", false, 0);
	ck_assert_uint_eq(row->states[3].reason, STATE_OFF_BY_POLICY);
}
END_TEST

/* Against it -------------------------------------------------------------------------------------- */

/* Most times a state is taken away in an hour, as policy/spell.h says. */
#define VETOES_MAX SPELL_PER_HOUR

START_TEST(oscillating_work_does_not_flap)
{
	open_show("oscillate", GUARDED, 2);
	play(3600);
	ck_assert_msg(show.transitions <= 2 * VETOES_MAX, "%u", show.transitions);
	show.transitions = 0;
	play(3600);
	ck_assert_msg(show.transitions <= 2 * VETOES_MAX, "%u", show.transitions);
}
END_TEST

/* A counter that an adversary moves: bad, calm, each second as it likes. */
struct adversary {
	uint64_t early, instead, instead_us;
};

static int adversary_read(void *data, const struct counter *c, uint64_t *ret)
{
	const struct adversary *a = data;
	bool deep = c->state == 2;

	if (c->file == COUNTER_TIME)
		*ret = deep ? a->early * 10 : a->instead_us;
	else
		*ret = deep ? a->early : a->instead;
	if (c->file == COUNTER_REJECTED)
		*ret = 0;
	return 0;
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

/*
 * Bad whenever the state is on, calm whenever it is off: nobody can have it taken away more often. patience: how
 * many of 1000 looks it waits instead, for the guard to forget.
 */
static uint32_t most_vetoes_in_an_hour(uint32_t patience, uint64_t seed)
{
	struct adversary a = {.early = 0};
	uint32_t when[512], n = 0, most = 0, from = 0, wait = 0;
	struct guard *g = &show.guard;

	for (uint32_t s = 1; s < 4 * 3600; s++) {
		bool off = guard_count_off(g) > 0;

		if (wait > 0)
			wait--;
		else if (next_random(&seed) % 1000 < patience)
			wait = next_random(&seed) % 1300;
		a.early += !off && wait == 0 ? 50000 : 5;
		a.instead += 10;
		a.instead_us += 900000;
		guard_look(g, s * NSEC_PER_SEC, adversary_read, &a);
		if (g->n_events > 0 && g->cells[0].event == GUARD_CAUGHT) {
			ck_assert_uint_lt(n, ARRAY_SIZE(when));
			when[n++] = s;
		}
		while (from < n && when[from] + 3600 <= s)
			from++;
		most = MAX_OF(most, n - from);
	}
	return most;
}

START_TEST(nobody_makes_it_flap)
{
	uint32_t most = 0;

	for (uint32_t patience = 0; patience < 40; patience++) {
		open_show("oscillate", GUARDED, 1);
		most = MAX_OF(most, most_vetoes_in_an_hour(patience / 4, patience + 1));
		close_show();
	}
	ck_assert_msg(most <= VETOES_MAX, "%u vetoes in an hour", most);
	ck_assert_msg(most >= VETOES_MAX - 2, "the bound could be %u", most);
	trace_load("oscillate", &show.trace);
	open_text(GUARDED, 1);
}
END_TEST

/* Words --------------------------------------------------------------------------------------------- */

static void assert_says(const char *text)
{
	struct scene *s = &show.scene;
	struct buf b = {.n = 0};
	_cleanup_free_ char *said = NULL;
	const struct plan_row *row = plan_row_of(s->plan, 0);

	guard_text(s->machine, s->plan, row, &s->machine->tables[row->table], &b);
	said = buf_finish(&b);
	ck_assert_ptr_nonnull(strstr(said, text));
}

START_TEST(words)
{
	open_show("bad", GUARDED, 4);
	assert_says("the daemon looks at C2");
	show.scene.machine->guard = &show.guard;
	assert_says("C2 has no counters to look at");
	play(30);
	assert_says("C2 is looked at once a second, no veto so far");
	play(32);
	assert_says(
		"C2 is off on 4 of 4 CPUs, for 10 s more at most, vetoes so far: 4; CPU 0 had 75");
	play(100);
	assert_says("C2 is on again since ");
	assert_says("with the veto ");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("guard");
	TCase *t = tcase_create("guard");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, NULL, close_show);
	tcase_add_loop_test(t, bad_run_is_caught_within_a_second, 0, 10);
	tcase_add_loop_test(t, deep_states_with_something_below_are_watched, 0,
			    (int)ARRAY_SIZE(tables));
	tcase_add_test(t, what_was_seen_is_told);
	tcase_add_test(t, good_run_is_not_touched);
	tcase_add_test(t, steady_server_is_not_touched);
	tcase_add_test(t, state_that_returns_at_once_is_tried_now_and_then);
	tcase_add_test(t, quiet_machine_is_read_less);
	tcase_add_test(t, without_above_the_mean_speaks);
	tcase_add_test(t, without_counters_nothing_is_done);
	tcase_add_test(t, counters_that_begin_anew_are_no_entries);
	tcase_add_test(t, off_means_no_read);
	tcase_add_test(t, two_states_in_a_row_fall_back_to_one_that_is_on);
	tcase_add_test(t, policy_change_forgets_the_veto);
	tcase_add_test(t, plan_takes_a_vetoed_state_away);
	tcase_add_test(t, oscillating_work_does_not_flap);
	tcase_add_test(t, nobody_makes_it_flap);
	tcase_add_test(t, words);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return test_main(suite());
}
