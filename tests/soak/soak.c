/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * soak STEPS SEED - random steps against the real daemon, client and module, in a guest of its own
 *
 * After each step every CPU's limit, as the kernel has it, must be what a model of our own (model.h) says. TAP. What
 * fails is told with its seed and the steps before it; the same seed makes the same steps.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "look.h"
#include "soak.h"
#include "steps.h"
#include "tap.h"
#include "world.h"

#define KEPT	     24U /* last steps that are told */
#define BURST_MAX    5U
#define ASK_EVERY    8U /* steps between two questions to the daemon */
#define CLIENT_EVERY 128U /* the same by the client */
#define TELL_EVERY   500U

static struct model model;
static char last[KEPT][TEXT_MAX];
static unsigned n_told, n_steps_done;
static unsigned count[64];
static struct soak_times settled[64];

/* ---- looking ---- */

/* What stands in the files is what a dead daemon leaves. */
static void note_files(const struct kernel *k)
{
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		model.left_us[cpu] = k->file_us[cpu];
		if (k->online >> cpu & 1)
			model.left_off[cpu] = k->file_off[cpu];
	}
}

static bool agrees(struct model *m, struct kernel *k, char *why)
{
	snprintf(why, TEXT_MAX, "the kernel cannot be read");
	return look_take(m, k) && model_agrees(m, k, why, TEXT_MAX) && look_states(k) &&
	       model_agrees(m, k, why, TEXT_MAX);
}

bool soak_settles(struct model *m, unsigned ms, char *why)
{
	uint64_t until = world_now_us() + ms * UINT64_C(1000);
	struct kernel k;

	while (!agrees(m, &k, why)) {
		if (world_now_us() >= until)
			return false;
		usleep(1000);
	}
	if (m == &model && m->alive)
		note_files(&k);
	return true;
}

static void tell_cpus(void)
{
	struct kernel want, have;

	model_expect(&model, &want);
	(void)(look_take(&model, &have) && look_states(&have));
	tap_note("daemon %s, module %s, global %d (model %d)", model.alive ? "alive" : "dead",
		 model.module ? "loaded" : "not loaded", have.global_us, want.global_us);
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		tap_note("CPU %u %s: %d us%s, file %d, disable %d; model %d us%s, others %d%s", cpu,
			 have.online >> cpu & 1 ? "online" : "offline", have.limit_us[cpu],
			 have.off[cpu] ? " off" : "", have.file_us[cpu], have.file_off[cpu],
			 want.limit_us[cpu], want.off[cpu] ? " off" : "", model.foreign_us[cpu],
			 model.foreign_off[cpu] ? " off" : "");
}

static void tell_file(const char *path, unsigned lines)
{
	char command[128], text[65536];
	const char *const argv[] = {"/bin/sh", "-c", command, NULL};

	snprintf(command, sizeof(command), "tail -n %u %s; cpuidlectl list-holds", lines, path);
	(void)world_run(argv, text, sizeof(text));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		tap_note("  %s", line);
}

/* The end of a guest's console is what its failure is told with: what matters most comes last. */
static void tell_failure(const char *why, uint64_t seed)
{
	unsigned first = n_told > KEPT ? n_told - KEPT : 0;

	tell_file(DAEMON_LOG, 300);
	tell_cpus();
	for (unsigned i = first; i < n_told; i++)
		tap_note("step %s", last[i % KEPT]);
	tap_note("seed %" PRIu64 ", step %u: %s", seed, n_steps_done, why);
}

/* ---- one step ---- */

static void remember(const char *text)
{
	snprintf(last[n_told++ % KEPT], TEXT_MAX, "%u: %.480s", n_steps_done, text);
}

/* One that could be done; those that had nothing to do are none. */
static const struct step *do_step(unsigned only)
{
	char text[TEXT_MAX];

	for (;;) {
		const struct step *s = steps_pick(&model, only);

		text[0] = '\0';
		if (!s->run(&model, text))
			continue;
		remember(text);
		count[s - steps]++;
		return s;
	}
}

static void do_burst(void)
{
	unsigned n = 2 + steps_random(BURST_MAX - 1);

	while (n-- > 0)
		(void)do_step(model.module ? STEP_QUICK : STEP_QUICK | STEP_ALIVE);
}

static bool step_and_look(char *why)
{
	const struct step *s;
	uint64_t began;
	const char *failure;

	s = do_step(0);
	if (model.alive && s->flags & STEP_QUICK && steps_random(8) == 0)
		do_burst();
	began = world_now_us();
	failure = steps_failure();
	if (failure) {
		snprintf(why, TEXT_MAX, "%s", failure);
		return false;
	}
	if (!soak_settles(&model, PATIENCE_MS, why))
		return false;
	soak_time(&settled[s - steps], world_now_us() - began);
	if (model.alive && !world_daemon_lives()) {
		snprintf(why, TEXT_MAX, "the daemon has died");
		return false;
	}
	return true;
}

/* ---- the whole ---- */

static bool ask(unsigned step, char *why)
{
	if (!model.alive)
		return true;
	if (step % ASK_EVERY == 0 && !soak_daemon_agrees(&model, why))
		return false;
	return step % CLIENT_EVERY != 0 || soak_client_agrees(&model, why);
}

/* ---- the whole ---- */

static bool begin(char *why)
{
	const char *failure;

	model_init(&model);
	steps_begin(&model);
	failure = steps_failure();
	if (failure)
		snprintf(why, TEXT_MAX, "%s", failure);
	return !failure && soak_settles(&model, PATIENCE_MS, why);
}

static bool run(unsigned n, char *why)
{
	for (n_steps_done = 1; n_steps_done <= n; n_steps_done++) {
		if (!step_and_look(why) || !ask(n_steps_done, why))
			return false;
		if (n_steps_done % TELL_EVERY == 0)
			tap_note("%u steps", n_steps_done);
	}
	n_steps_done--;
	return true;
}

static bool end(char *why)
{
	const char *failure;

	(void)steps_end_govern(&model);
	if (!soak_settles(&model, PATIENCE_MS, why))
		return false;
	steps_end_others(&model);
	if (!soak_settles(&model, PATIENCE_MS, why))
		return false;
	steps_end_daemon(&model);
	world_done();
	if (!soak_settles(&model, PATIENCE_MS, why))
		return false;
	failure = look_leftovers();
	if (!failure && !world_module(false))
		failure = "the module does not go";
	if (failure)
		snprintf(why, TEXT_MAX, "%s", failure);
	return !failure;
}

static void tell_steps(void)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < n_steps; i++) {
		tap_note("%5u x %-30s settled in %" PRIu64 " us, at worst %" PRIu64, count[i],
			 steps[i].name, soak_median(&settled[i]), settled[i].worst);
		missing += !count[i];
	}
	/* a short run need not come by all of them */
	tap_ok(!missing || n_steps_done < 5000, "each of %u kinds of step was done", n_steps);
}

int main(int argc, char **argv)
{
	unsigned n = argc == 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	uint64_t seed = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	char why[TEXT_MAX] = "", *before, *after;
	bool good;

	if (!n || !world_init())
		return 2;
	steps_seed(seed);
	before = look_all();
	if (!tap_ok(begin(why), "daemon and module govern a guest of %u CPUs", CPUS))
		tell_failure(why, seed);
	soak_lies(&model);
	good = tap_failed == 0;
	soak_freed(&model);
	good = good && run(n, why);
	if (!tap_ok(good, "%u of %u steps, seed %" PRIu64 ": each CPU's limit was the model's",
		    n_steps_done, n, seed))
		tell_failure(why, seed);
	if (good) {
		tell_steps();
		if (!tap_ok(end(why), "daemon and module go"))
			tell_failure(why, seed);
		after = look_all();
		if (!tap_ok(before && after && !strcmp(before, after),
			    "the host is as before, byte for byte"))
			printf("%s---- now:\n%s", before, after);
		free(after);
	}
	free(before);
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}
