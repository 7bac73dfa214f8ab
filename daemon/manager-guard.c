/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <malloc.h>
#include <systemd/sd-event.h>
#include <time.h>

#include "manager-private.h"

#include "report-guard.h"

/*
 * The manager's side of the residency guard: when to look, and what becomes of a veto, which enters the one path
 * as a bit of the machine. Where no profile has ResidencyGuard=auto there is no timer and nothing is read.
 *
 * A look is at most GUARD_LOOK_NS after the one before. It may come this much earlier, where the loop can put it
 * together with timers of others: sd-event does so once a second, at the same moment in all services of a boot.
 */
#define LOOK_SLACK_USEC UINT64_C(250000)
#define LOOK_USEC	(GUARD_LOOK_NS / NSEC_PER_USEC - LOOK_SLACK_USEC)

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void arm(struct manager *m)
{
	(void)sd_event_source_set_time_relative(m->guard_timer, LOOK_USEC);
	(void)sd_event_source_set_enabled(m->guard_timer, SD_EVENT_ONESHOT);
}

/* What the guard wants is known to the machine, and so to the next plan. */
static void mark(struct manager *m)
{
	m->machine->guard = m->guard.n > 0 ? &m->guard : NULL;
	for (uint32_t cpu = 0; cpu < m->machine->n_cpus; cpu++)
		m->machine->cpus[cpu].vetoed = guard_vetoed(&m->guard, cpu);
}

static int on_look(sd_event_source *s _unused_, uint64_t usec _unused_, void *userdata)
{
	struct manager *m = userdata;
	struct report report = manager_reporter(m);
	int r;

	guard_look(&m->guard, now_ns(), tally_read, &m->tally);
	arm(m);
	if (m->guard.n_events == 0)
		return 0;
	mark(m);
	r = manager_run(m, NULL, NULL, NULL);
	if (r < 0)
		m->failed = true;
	else
		report_guard(&report, &m->guard, m->machine, m->plan);
	manager_settle_state(m);
	manager_publish(m, "");
	(void)malloc_trim(0);
	return 0;
}

static int start(struct manager *m)
{
	int r = tally_size(&m->tally, GUARD_SLOTS(m->guard.n));

	if (r < 0)
		log_errno(LOG_ID_GUARD, r, "residency guard: files are opened for each look");
	if (m->guard_timer)
		return 0;
	r = sd_event_add_time(m->event, &m->guard_timer, CLOCK_MONOTONIC, 0, LOOK_SLACK_USEC,
			      on_look, m);
	if (r < 0)
		return r;
	/* What the first look is compared with. */
	guard_look(&m->guard, now_ns(), tally_read, &m->tally);
	arm(m);
	return 0;
}

bool manager_guard_follow(struct manager *m)
{
	int r;

	if (!m->event)
		return false;
	r = guard_follow(&m->guard, m->plan, m->machine);
	mark(m);
	if (r >= 0 && m->guard.n == 0)
		manager_guard_free(m);
	else if (r >= 0)
		r = MIN_OF(start(m), r);
	if (r < 0)
		log_errno(LOG_ID_GUARD, r, "residency guard: it does not look");
	return r > 0;
}

const char *manager_guard(const struct manager *m, char *buf, size_t size)
{
	return report_guard_status(&m->guard, buf, size);
}

void manager_guard_free(struct manager *m)
{
	m->guard_timer = sd_event_source_disable_unref(m->guard_timer);
	tally_done(&m->tally);
	guard_done(&m->guard);
}
