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

static int on_settle(sd_event_source *s _unused_, uint64_t usec _unused_, void *userdata)
{
	struct manager *m = userdata;

	m->stale = true;
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
