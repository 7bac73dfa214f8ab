/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-event.h>
#include <time.h>

#include "manager-private.h"

#include "readfile.h"
#include "report-adapt.h"
#include "report-crowd.h"
#include "report-guard.h"

/*
 * The manager's side of the residency guard, of Adapt= and of what HaltPoll= does in a crowd: when to look, and
 * what becomes of a decision, which enters the one path as a bit of the machine. Where no profile asks for them
 * there is no timer and nothing is read.
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
	m->machine->adapt = m->adapt.n > 0 ? &m->adapt : NULL;
	m->machine->crowd = m->crowd.n > 0 ? &m->crowd : NULL;
	for (uint32_t cpu = 0; cpu < m->machine->n_cpus; cpu++) {
		m->machine->cpus[cpu].vetoed = guard_vetoed(&m->guard, cpu);
		m->machine->cpus[cpu].tight = adapt_tight(&m->adapt, cpu);
		m->machine->cpus[cpu].crowded = crowd_is_off(&m->crowd, cpu);
	}
}

static void look(struct manager *m)
{
	const struct adapt_source source = {
		.read = tally_read,
		.read_data = &m->tally,
		.pressure = stall_percent,
		.pressure_data = &m->stall,
		.slot = GUARD_SLOTS(m->guard.n),
	};
	uint64_t now = now_ns();
	uint32_t waited = ADAPT_PRESSURE_UNKNOWN;

	stall_begin(&m->stall, m->root_fd, m->policy, m->machine, now);
	/* In each look, so that there always is one to compare with. */
	if (m->adapt.n > 0 || m->crowd.n > 0)
		waited = stall_percent(&m->stall, PLAN_ADAPT_ALONE);
	guard_look(&m->guard, now, tally_read, &m->tally);
	adapt_look(&m->adapt, now, &source);
	/* Where it cannot be read nothing is known, and nothing found. */
	if (m->crowd.n > 0 && steal_read(m->root_fd, m->machine->n_cpus, &m->steal) < 0)
		steal_done(&m->steal);
	crowd_look(&m->crowd, now, waited, steal_get, &m->steal);
}

static int on_look(sd_event_source *s _unused_, uint64_t usec _unused_, void *userdata)
{
	struct manager *m = userdata;
	struct report report = manager_reporter(m);
	int r;

	look(m);
	arm(m);
	if (m->guard.n_events == 0 && m->adapt.n_events == 0 && m->crowd.n_events == 0)
		return 0;
	mark(m);
	manager_because(m, "%s",
			m->guard.n_events > 0	? "residency guard"
			: m->adapt.n_events > 0 ? "Adapt="
						: "HaltPoll= in a crowd");
	r = manager_run_again(m);
	if (r >= 0 && m->guard.n_events > 0)
		report_guard(&report, &m->guard, m->machine, m->plan);
	if (r >= 0 && m->adapt.n_events > 0)
		report_adapt(&report, &m->adapt);
	if (r >= 0 && m->crowd.n_events > 0)
		report_crowd(&report, &m->crowd);
	return 0;
}

static int start(struct manager *m)
{
	int r = tally_size(&m->tally, GUARD_SLOTS(m->guard.n) + ADAPT_SLOTS * m->adapt.n);

	if (r < 0)
		log_errno(LOG_ID_GUARD, r, "residency guard: files are opened for each look");
	if (m->guard_timer)
		return 0;
	r = sd_event_add_time(m->event, &m->guard_timer, CLOCK_MONOTONIC, 0, LOOK_SLACK_USEC,
			      on_look, m);
	if (r < 0)
		return r;
	/* What the first look is compared with. */
	look(m);
	arm(m);
	return 0;
}

bool manager_guard_follow(struct manager *m)
{
	bool again;
	int r, a, c;

	if (!m->event)
		return false;
	tally_renumber(&m->tally, m->plan->own_row);
	r = guard_follow(&m->guard, m->plan, m->machine);
	a = adapt_follow(&m->adapt, m->policy, m->plan, m->machine);
	c = crowd_follow(&m->crowd, m->plan, m->machine);
	again = r > 0 || a > 0 || c > 0;
	r = MIN_OF(MIN_OF(r, a), MIN_OF(c, 0));
	mark(m);
	if (r == 0 && m->guard.n == 0 && m->adapt.n == 0 && m->crowd.n == 0)
		manager_guard_free(m);
	else if (r == 0)
		r = start(m);
	if (r < 0)
		log_errno(LOG_ID_GUARD, r,
			  "residency guard, Adapt=, HaltPoll=: nothing is looked at");
	return again;
}

const char *manager_adapt(const struct manager *m, char *buf, size_t size)
{
	return report_adapt_status(&m->adapt, buf, size);
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
	adapt_done(&m->adapt);
	crowd_done(&m->crowd);
	steal_done(&m->steal);
	stall_done(&m->stall);
}
