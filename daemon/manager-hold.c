/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include <systemd/sd-event.h>

#include "manager-private.h"

#include "hold-text.h"

/*
 * The manager's side of holds: one more input of the one path, which is entered only where a CPU's limit or
 * modes change by it.
 */

const struct holds *manager_holds(const struct manager *m)
{
	return &m->holds;
}

uint64_t manager_hold_clock(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / NSEC_PER_USEC;
}

/* ---- words ---- */

/* It is what the daemon does next, or did last, as well. */
static void say(struct manager *m, const struct hold *hold, const char *what, const char *why)
{
	_cleanup_free_ char *cpus = cpuset_to_string(hold_cpus(&m->holds, hold));
	_cleanup_free_ char *text = NULL;
	struct buf b = {.n = 0};

	buf_printf(&b, "hold %u of ", hold->id);
	hold_put_owner(&b, hold);
	buf_printf(&b, " %s: ", what);
	if (why) {
		buf_puts(&b, why);
	} else {
		hold_put_ask(&b, &m->holds, hold);
		buf_printf(&b, " for CPUs %s%s%s", cpus ? cpus : "?",
			   *hold_reason(hold) ? "; " : "", hold_reason(hold));
	}
	text = buf_finish(&b);
	if (!text)
		return;
	manager_because(m, "%s", text);
	log_entry(&(struct log_entry){.id = LOG_ID_HOLD, .priority = LOG_INFO, .cpus = cpus}, "%s",
		  text);
	manager_tell(m, "hold", text);
}

/* One that is not taken yet as far as anybody knows. */
static void because_of(struct manager *m, const struct hold *hold)
{
	_cleanup_free_ char *text = NULL;
	struct buf b = {.n = 0};

	buf_printf(&b, "hold %u of ", hold->id);
	hold_put_owner(&b, hold);
	if (*hold_reason(hold))
		buf_printf(&b, ": %s", hold_reason(hold));
	text = buf_finish(&b);
	manager_because(m, "%s", text ? text : "a hold");
}

/* Of several that end at once the last one stands for all. */
static void because_of_all(struct manager *m, uint32_t n)
{
	char last[MANAGER_WHY_MAX - 32];

	if (n < 2)
		return;
	snprintf(last, sizeof(last), "%.*s", (int)sizeof(last) - 1, m->why);
	manager_because(m, "%u holds ended; %s", n, last);
}

/* ---- the way to the CPUs ---- */

/* Others wrote before this one asked: they are not what a new hold has to stand behind. */
static void start_afresh(struct manager *m, const struct cpuset *cpus)
{
	cpuset_for_each(cpu, cpus)
		if (cpu < m->machine->n_cpus)
			m->machine->cpus[cpu].left &= (uint16_t) ~(1U << MACHINE_BIT_QOS);
}

static void arm_expiry(struct manager *m, uint64_t until_us)
{
	if (m->hold_until_us && m->hold_until_us <= until_us)
		return;
	m->hold_until_us = until_us;
	(void)sd_event_source_set_time(m->hold_timer, until_us);
	(void)sd_event_source_set_enabled(m->hold_timer, SD_EVENT_ONESHOT);
}

/* Returns whether a plan has to be made. */
static bool drop(struct manager *m, struct hold *hold, const char *why)
{
	struct hold_owner *owner = hold->owner;
	uint32_t id = hold->id;
	bool changed;

	say(m, hold, "released", why);
	changed = holds_remove(&m->holds, hold);
	if (m->hooks.released)
		m->hooks.released(m->hooks_data, id, owner, why);
	return changed;
}

static int on_expiry(sd_event_source *s _unused_, uint64_t due, void *userdata)
{
	struct manager *m = userdata;
	struct hold **v = holds_sorted(&m->holds);
	uint64_t now = MAX_OF(due, manager_hold_clock());
	uint32_t n = m->holds.n, ended = 0;
	bool changed = false;

	m->hold_until_us = 0;
	/* Out of memory: what was due is due again in a second. */
	if (!v && n)
		arm_expiry(m, now + 1000000);
	for (uint32_t i = 0; v && i < n; i++) {
		if (!v[i]->until_us)
			continue;
		if (v[i]->until_us <= now) {
			changed |= drop(m, v[i], "its time is over");
			ended++;
		} else {
			arm_expiry(m, v[i]->until_us);
		}
	}
	free(v);
	because_of_all(m, ended);
	if (changed)
		(void)manager_run_again(m);
	return 0;
}

static int make_timer(struct manager *m)
{
	int r;

	if (m->hold_timer)
		return 0;
	r = sd_event_add_time(m->event, &m->hold_timer, CLOCK_BOOTTIME, 0, 1000, on_expiry, m);
	return r < 0 ? r : sd_event_source_set_enabled(m->hold_timer, SD_EVENT_OFF);
}

int manager_hold(struct manager *m, const struct hold_spec *spec, struct hold_owner *owner,
		 uint32_t *ret_id)
{
	struct hold *hold;
	bool changed;
	int r;

	if (!m->plan)
		return -ENODATA;
	if (spec->profile && !policy_profile(m->policy, spec->profile))
		return -ENOENT;
	r = spec->until_us ? make_timer(m) : 0;
	if (r >= 0)
		r = holds_add(&m->holds, spec, owner, &hold, &changed);
	if (r < 0)
		return r;
	if (changed) {
		start_afresh(m, spec->cpus);
		because_of(m, hold);
		r = manager_run_again(m);
	}
	if (r < 0) {
		/* Whoever asked is told that it failed, so nothing of it may stay behind. */
		if (holds_remove(&m->holds, hold))
			(void)manager_run_again(m);
		return r;
	}
	if (spec->until_us)
		arm_expiry(m, spec->until_us);
	say(m, hold, "taken", NULL);
	*ret_id = hold->id;
	return 0;
}

int manager_release(struct manager *m, struct hold *hold, const char *why)
{
	return drop(m, hold, why) ? manager_run_again(m) : 0;
}

void manager_release_owners(struct manager *m, struct hold_owner **owners, uint32_t n,
			    const char *why)
{
	bool changed = false;
	uint32_t ended = 0;

	for (uint32_t i = 0; i < n; i++)
		/* The last one may take its owner along. */
		for (uint32_t left = owners[i]->n; left > 0; left--, ended++)
			changed |= drop(m, owners[i]->first, why);
	because_of_all(m, ended);
	if (changed)
		(void)manager_run_again(m);
}

void manager_forget_holds(struct manager *m)
{
	holds_done(&m->holds);
}

void manager_hold_free(struct manager *m)
{
	sd_event_source_unref(m->hold_timer);
	manager_forget_holds(m);
}
