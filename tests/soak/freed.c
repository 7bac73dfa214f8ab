/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <unistd.h>

#include "look.h"
#include "soak.h"
#include "steps.h"
#include "tap.h"
#include "world.h"

#define HOLDER_ROUNDS 20U
#define DAEMON_ROUNDS 3U
#define CPU	      1U
#define HELD	      5 /* us */

/* By the kernel's own request, and by no file: nobody has to be alive for its end. */
static bool is_kernels(struct model *m)
{
	struct kernel k;

	return look_take(m, &k) && k.limit_us[CPU] == HELD && k.file_us[CPU] == NO_LIMIT &&
	       look_requests() > 0;
}

static bool wait_for_it(struct soak_times *times, uint64_t began)
{
	uint64_t until = began + PATIENCE_MS * UINT64_C(1000);

	while (look_limit(CPU) != NO_LIMIT && world_now_us() < until)
		usleep(200);
	soak_time(times, world_now_us() - began);
	return world_now_us() < until;
}

static bool kill_holder(struct model *m, struct soak_times *times)
{
	bool held = world_hold(0, HOLDER_CHILD, 1U << CPU, HELD) && is_kernels(m);
	uint64_t began = world_now_us();

	world_kill_holder(0);
	return wait_for_it(times, began) && held;
}

static bool kill_daemon(struct model *m, struct soak_times *times)
{
	bool held = world_hold(0, HOLDER_OURS, 1U << CPU, HELD) && is_kernels(m);
	uint64_t began = world_now_us();
	bool freed;
	int status;

	world_daemon_signal(SIGKILL);
	freed = wait_for_it(times, began);
	world_daemon_kill();
	return world_daemon_start(&status) && freed && held;
}

static void judge(struct model *m, bool (*once)(struct model *m, struct soak_times *times),
		  unsigned n, const char *what, bool soon)
{
	struct soak_times times = {.n = 0};
	char why[TEXT_MAX];
	bool good = true;

	for (unsigned i = 0; good && i < n; i++)
		good = once(m, &times);
	if (!good || !soak_settles(m, PATIENCE_MS, why))
		times.n = 0;
	soak_judge_freed(&times, what, soon);
}

void soak_freed(struct model *m)
{
	judge(m, kill_holder, HOLDER_ROUNDS, "a holder", true);
	judge(m, kill_daemon, DAEMON_ROUNDS, "the daemon", false);
}
