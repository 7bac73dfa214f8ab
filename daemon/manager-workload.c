/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-event.h>

#include "manager-private.h"

#include "workload.h"

/*
 * The manager's side of workloads: when to read their control groups again. What has changed by it enters the one
 * path like everything else. A policy without workloads costs no descriptor and no timer.
 */
#define SETTLE_USEC  UINT64_C(10000) /* what comes in a burst is read once */
#define HOTPLUG_USEC UINT64_C(100000) /* the kernel follows CPUs in its cpusets by a work item */
#define AGAIN_USEC   UINT64_C(1000000) /* after memory ran out */

static struct cgroup_query query_of(const struct manager *m)
{
	return (struct cgroup_query){.policies = {m->policy}, .machine = m->machine};
}

static void arm(struct manager *m, uint64_t usec)
{
	(void)sd_event_source_set_time_relative(m->workload_settle, usec);
	(void)sd_event_source_set_enabled(m->workload_settle, SD_EVENT_ONESHOT);
}

static int on_settle(sd_event_source *s _unused_, uint64_t usec _unused_, void *userdata)
{
	struct manager *m = userdata;
	struct cgroup_query q = query_of(m);
	bool changed = false;
	int r;

	(void)sd_event_source_set_enabled(m->workload_news, SD_EVENT_ON);
	if (!cgroup_watch_collect(&m->cgroups, &q))
		return 0;
	r = cgroup_watch_read(&m->cgroups, &q, &changed);
	if (r < 0) {
		log_errno(LOG_ID_WORKLOAD, r, "cannot read the control groups of workloads");
		arm(m, AGAIN_USEC);
	}
	manager_because(m, "control groups of workloads changed");
	if (changed)
		(void)manager_run_again(m);
	return 0;
}

static int on_news(sd_event_source *s, int fd _unused_, uint32_t revents _unused_, void *userdata)
{
	struct manager *m = userdata;
	struct cgroup_query q = query_of(m);

	if (!cgroup_watch_collect(&m->cgroups, &q))
		return 0;
	(void)sd_event_source_set_enabled(s, SD_EVENT_OFF);
	arm(m, SETTLE_USEC);
	return 0;
}

static int listen(struct manager *m)
{
	int r;

	if (m->workload_news || m->cgroups.fd < 0)
		return 0;
	r = sd_event_add_time(m->event, &m->workload_settle, CLOCK_MONOTONIC, 0, 1000, on_settle,
			      m);
	if (r >= 0)
		r = sd_event_source_set_enabled(m->workload_settle, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_io(m->event, &m->workload_news, m->cgroups.fd, EPOLLIN, on_news,
				    m);
	return r;
}

static void say(struct manager *m, const char *text)
{
	const struct log_entry e = {.id = LOG_ID_WORKLOAD, .priority = LOG_INFO};

	log_entry(&e, "workloads: %s", text);
	manager_tell(m, "workload", text);
}

static void warn_unwatched(struct manager *m)
{
	bool failed = m->cgroups.n_failed > 0;

	if (failed && !m->workloads_blind)
		log_entry(&(struct log_entry){.id = LOG_ID_WORKLOAD,
					      .priority = LOG_WARNING,
					      .error = m->cgroups.error},
			  "%u places of control groups cannot be watched for workloads; "
			  "fs.inotify.max_user_watches would have to be larger",
			  m->cgroups.n_failed);
	m->workloads_blind = failed;
}

void manager_workload_follow(struct manager *m)
{
	char *text;
	int r;

	if (!m->event || !m->plan)
		return;
	r = listen(m);
	if (r < 0)
		log_errno(LOG_ID_WORKLOAD, r, "workloads are not followed");
	warn_unwatched(m);
	/* CPUs came or went: the cpusets follow a little later, and nobody writes them then. */
	if (m->workload_machine && m->workload_machine != m->machine && m->workload_news) {
		m->cgroups.stale = true;
		arm(m, HOTPLUG_USEC);
	}
	m->workload_machine = m->machine;
	text = workload_status(m->policy, m->machine);
	if (text && !streq(text, manager_workloads(m)))
		say(m, text);
	if (text) {
		free(m->workloads_text);
		m->workloads_text = text;
	}
}

const char *manager_workloads(const struct manager *m)
{
	return m->workloads_text ? m->workloads_text : WORKLOAD_STATUS_NONE;
}

int manager_workload_start(struct manager *m)
{
	return cgroup_watch_init(&m->cgroups, manager_root(m), m->root_fd);
}

void manager_workload_free(struct manager *m)
{
	sd_event_source_unref(m->workload_news);
	sd_event_source_unref(m->workload_settle);
	cgroup_watch_done(&m->cgroups);
	free(m->workloads_text);
}
