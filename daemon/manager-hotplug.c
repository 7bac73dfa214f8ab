/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-event.h>
#include <unistd.h>

#include "manager-private.h"

#include "uevent.h"

/*
 * CPUs that come and go. One that comes has its plan a moment later; one that is away keeps its limit in its file, and
 * what needs its table of states is planned when that is there. The module tells the same, if it is there.
 */
#define SETTLE_USEC UINT64_C(10000) /* they come in bursts: wait this long, look once */

/* ---- words ---- */

static void tell(const struct manager *m, const char *what, const char *cpus, const char *text)
{
	log_entry(&(struct log_entry){.id = LOG_ID_HOST, .priority = LOG_INFO, .cpus = cpus}, "%s",
		  text);
	manager_tell(m, what, text);
}

static void tell_cpus(const struct manager *m, const struct cpuset *cpus, const char *what)
{
	_cleanup_free_ char *list = cpuset_to_string(cpus);
	char text[256];

	if (!list || !*list)
		return;
	snprintf(text, sizeof(text), "CPU%s %.200s %s", strpbrk(list, "-,") ? "s" : "", list, what);
	tell(m, "cpus", list, text);
}

static bool online(const struct machine *m, uint32_t cpu)
{
	return cpu < m->n_cpus && m->cpus[cpu].online;
}

static void compare_cpus(const struct manager *m, const struct machine *now)
{
	_cleanup_(cpuset_done) struct cpuset came = {.size = 0}, went = {.size = 0};
	uint32_t n = MAX_OF(now->n_cpus, m->machine->n_cpus);

	if (cpuset_init(&came, n) < 0 || cpuset_init(&went, n) < 0)
		return;
	for (uint32_t cpu = 0; cpu < n; cpu++) {
		bool is = online(now, cpu), was = online(m->machine, cpu);

		if (is && !was)
			cpuset_add(&came, cpu);
		else if (was && !is)
			cpuset_add(&went, cpu);
	}
	tell_cpus(m, &went, "went offline");
	tell_cpus(m, &came, "came online");
}

static bool same_states(const struct idle_table *a, const struct idle_table *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!streq(a->states[i].name, b->states[i].name) ||
		    a->states[i].exit_latency_ns != b->states[i].exit_latency_ns ||
		    a->states[i].target_residency_ns != b->states[i].target_residency_ns)
			return false;
	return true;
}

static void put_states(const struct idle_table *t, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < t->n && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? " " : "", t->states[i].name);
}

/* The firmware may offer other states at run time. The first CPU's words stand for all. */
static void compare_tables(const struct manager *m, const struct machine *now)
{
	const struct idle_table *was = NULL, *is = NULL;
	_cleanup_(cpuset_done) struct cpuset cpus = {.size = 0};
	_cleanup_free_ char *list = NULL;
	char before[128], after[128], text[512];

	if (cpuset_init(&cpus, now->n_cpus) < 0)
		return;
	for (uint32_t cpu = 0; cpu < MIN_OF(now->n_cpus, m->machine->n_cpus); cpu++) {
		const struct idle_table *a = machine_table(m->machine, cpu);
		const struct idle_table *b = machine_table(now, cpu);

		if (!a || !b || same_states(a, b))
			continue;
		cpuset_add(&cpus, cpu);
		was = was ? was : a;
		is = is ? is : b;
	}
	list = cpuset_to_string(&cpus);
	if (!was || !is || !list)
		return;
	put_states(was, before, sizeof(before));
	put_states(is, after, sizeof(after));
	snprintf(text, sizeof(text), "CPU%s %.200s: states %s -> %s",
		 strpbrk(list, "-,") ? "s" : "", list, before, after);
	tell(m, "table", list, text);
}

void manager_hotplug_tell(const struct manager *m, const struct machine *now)
{
	const struct machine *was = m->machine;
	char text[192];

	if (!was)
		return;
	compare_cpus(m, now);
	compare_tables(m, now);
	if (!streq(was->driver, now->driver)) {
		snprintf(text, sizeof(text), "idle driver %s -> %s", was->driver, now->driver);
		tell(m, "table", NULL, text);
	}
	if (was->own_row != now->own_row) {
		if (now->own_row)
			snprintf(text, sizeof(text), "state%u is %s by cpuidle_policy now",
				 now->own_row, now->own_state.name);
		else
			snprintf(text, sizeof(text), "%s by cpuidle_policy is gone from state%u",
				 was->own_state.name, was->own_row);
		tell(m, "table", NULL, text);
	}
}

/* ---- the loop ---- */

static int on_settle(sd_event_source *s _unused_, uint64_t usec _unused_, void *userdata)
{
	struct manager *m = userdata;

	m->stale = true;
	manager_because(m, "CPUs came or went");
	(void)manager_run_again(m);
	return 0;
}

static int on_uevent(sd_event_source *s _unused_, int fd, uint32_t revents _unused_, void *userdata)
{
	struct manager *m = userdata;

	if (!uevent_collect(fd))
		return 0;
	(void)sd_event_source_set_time_relative(m->hotplug_settle, SETTLE_USEC);
	(void)sd_event_source_set_enabled(m->hotplug_settle, SD_EVENT_ONESHOT);
	return 0;
}

static int add_sources(struct manager *m, int fd)
{
	int r = sd_event_add_time(m->event, &m->hotplug_settle, CLOCK_MONOTONIC, 0, 1000, on_settle,
				  m);

	if (r >= 0)
		r = sd_event_source_set_enabled(m->hotplug_settle, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_io(m->event, &m->hotplug, fd, EPOLLIN, on_uevent, m);
	if (r >= 0)
		r = sd_event_source_set_io_fd_own(m->hotplug, true);
	return r;
}

void manager_hotplug_start(struct manager *m)
{
	int fd, r;

	/* A recorded tree has no kernel that tells. */
	if (!streq(manager_root(m), "/") || m->options->once)
		return;
	fd = uevent_open();
	r = fd < 0 ? fd : add_sources(m, fd);
	if (r >= 0)
		return;
	if (fd >= 0 && !m->hotplug)
		close(fd);
	log_entry(&(struct log_entry){.id = LOG_ID_HOST, .priority = LOG_WARNING, .error = r},
		  "cannot hear of CPUs that come and go; they are seen at the next reload");
}

void manager_hotplug_free(struct manager *m)
{
	sd_event_source_unref(m->hotplug);
	sd_event_source_unref(m->hotplug_settle);
}
