/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-event.h>
#include <systemd/sd-login.h>

#include <fcntl.h>
#include <unistd.h>

#include "owner.h"

#include "readfile.h"

struct owner {
	struct hold_owner holder; /* first: what others know of it */
	struct owners *owners;
	struct owner *next;
	const struct link *link; /* NULL: not tied to a connection */
	char *name, *unit;
	sd_bus_slot *slot;
	sd_event_source *source; /* owns its descriptor */
	bool gone;
};

struct owners {
	struct sd_event *event;
	owners_gone_fn fn;
	void *userdata;
	struct owner *first;
	uint32_t n, n_fds;
	sd_event_source *later; /* on while somebody is gone whose holds are there */
};

static struct owner *owner_of(struct hold_owner *holder)
{
	return (struct owner *)holder;
}

static void owner_free(struct owner *w)
{
	sd_bus_slot_unref(w->slot);
	sd_event_source_disable_unref(w->source);
	free(w->name);
	free(w->unit);
	free(w);
}
DEFINE_CLEANUP(struct owner *, owner_freep, owner_free)

/* ---- the end of some ---- */

static uint32_t gather_gone(struct owners *o, struct hold_owner **v)
{
	uint32_t n = 0;

	for (struct owner *w = o->first; w; w = w->next)
		if (w->gone && w->holder.n)
			v[n++] = &w->holder;
	return n;
}

static int on_later(sd_event_source *s, void *userdata)
{
	struct owners *o = userdata;
	struct hold_owner **v = calloc(o->n + 1, sizeof(struct hold_owner *));
	uint32_t n;

	/* Out of memory: it stays on, and the next round tries again. */
	if (!v)
		return 0;
	(void)sd_event_source_set_enabled(s, SD_EVENT_OFF);
	n = gather_gone(o, v);
	if (n)
		o->fn(v, n, o->userdata);
	free(v);
	return 0;
}

static void end(struct owner *w)
{
	w->gone = true;
	(void)sd_event_source_set_enabled(w->owners->later, SD_EVENT_ON);
}

void owners_link_gone(struct owners *o, const struct link *l)
{
	for (struct owner *w = o->first; w; w = w->next) {
		if (w->link != l)
			continue;
		w->link = NULL;
		w->slot = sd_bus_slot_unref(w->slot);
		end(w);
	}
}

void owners_name_gone(struct owners *o, const char *name)
{
	for (struct owner *w = o->first; w; w = w->next)
		if (w->name && streq(w->name, name))
			end(w);
}

static int on_fd(sd_event_source *s, int fd _unused_, uint32_t events _unused_, void *userdata)
{
	(void)sd_event_source_set_enabled(s, SD_EVENT_OFF);
	end(userdata);
	return 0;
}

/* ---- making ---- */

int owners_new(struct sd_event *event, owners_gone_fn gone, void *userdata, struct owners **ret)
{
	struct owners *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	*o = (struct owners){.event = event, .fn = gone, .userdata = userdata};
	r = sd_event_add_defer(event, &o->later, on_later, o);
	if (r >= 0)
		r = sd_event_source_set_enabled(o->later, SD_EVENT_OFF);
	if (r < 0) {
		owners_free(o);
		return r;
	}
	*ret = o;
	return 0;
}

void owners_free(struct owners *o)
{
	if (!o)
		return;
	for (struct owner *w = o->first, *next; w; w = next) {
		next = w->next;
		owner_free(w);
	}
	sd_event_source_disable_unref(o->later);
	free(o);
}

/* The unit is told where it can be seen; a hold is none the worse without. */
static int make(struct owners *o, const struct owner_who *who, struct owner **ret)
{
	struct owner *w = o->n < OWNERS_MAX ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return o->n < OWNERS_MAX ? -ENOMEM : -ENOSPC;
	w->owners = o;
	w->holder = (struct hold_owner){.uid = who->uid, .pid = (uint32_t)who->pid, .unit = ""};
	if (who->pid <= 0 || (sd_pid_get_unit(who->pid, &w->unit) < 0 &&
			      sd_pid_get_user_unit(who->pid, &w->unit) < 0))
		w->unit = who->unit ? strdup(who->unit) : NULL;
	if (w->unit)
		w->holder.unit = w->unit;
	*ret = w;
	return 0;
}

static struct hold_owner *add(struct owner *w)
{
	w->next = w->owners->first;
	w->owners->first = w;
	w->owners->n++;
	return &w->holder;
}

struct hold_owner *owners_find(struct owners *o, const struct owner_who *who)
{
	for (struct owner *w = o->first; w; w = w->next)
		if (!w->gone && w->link == who->link && w->link &&
		    (who->name ? w->name && streq(w->name, who->name) : !w->name))
			return &w->holder;
	return NULL;
}

int owners_add(struct owners *o, const struct owner_who *who, sd_bus_slot *slot,
	       struct hold_owner **ret)
{
	_cleanup_(owner_freep) struct owner *w = NULL;
	int r = make(o, who, &w);

	if (r < 0) {
		sd_bus_slot_unref(slot);
		return r;
	}
	w->slot = slot;
	w->link = who->link;
	if (who->name) {
		w->name = strdup(who->name);
		if (!w->name)
			return -ENOMEM;
	}
	*ret = add(TAKE_PTR(w));
	return 0;
}

int owners_add_loose(struct owners *o, const struct owner_who *who, struct hold_owner **ret)
{
	_cleanup_(owner_freep) struct owner *w = NULL;
	int r = make(o, who, &w);

	if (r == 0)
		*ret = add(TAKE_PTR(w));
	return r;
}

/* ---- descriptors ---- */

/* The process a pidfd is of; false: it is something else. */
static bool pidfd_process(int fd, pid_t *ret)
{
	char path[48], text[512];
	const char *at;
	uint32_t pid;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (readfile_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	at = strstr(text, "\nPid:\t");
	if (!at)
		return false;
	at += 6;
	/* -1 for one that has ended, 0 for one of another pid namespace: a pidfd all the same. */
	*ret = units_scan_u32(&at, INT32_MAX, &pid) < 0 ? 0 : (pid_t)pid;
	return true;
}

static uint32_t fds_of(const struct owners *o, uid_t uid)
{
	uint32_t n = 0;

	for (const struct owner *w = o->first; w; w = w->next)
		n += w->source && w->holder.uid == uid;
	return n;
}

/* A pidfd is readable once its process has ended; of anything else only the end counts, never data. */
static int watch_fd(struct owner *w, int fd, bool is_pidfd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3), r;

	if (own < 0)
		return -errno;
	r = sd_event_add_io(w->owners->event, &w->source, own, is_pidfd ? EPOLLIN : EPOLLRDHUP,
			    on_fd, w);
	if (r < 0) {
		close(own);
		return r;
	}
	(void)sd_event_source_set_io_fd_own(w->source, true);
	return 0;
}

int owners_add_fd(struct owners *o, const struct owner_who *who, int fd, struct hold_owner **ret)
{
	_cleanup_(owner_freep) struct owner *w = NULL;
	struct owner_who held_by = *who;
	bool is_pidfd = pidfd_process(fd, &held_by.pid);
	int r;

	if (o->n_fds >= OWNER_FDS_MAX ||
	    (who->uid != 0 && fds_of(o, who->uid) >= OWNER_FDS_UID_MAX))
		return -EDQUOT;
	r = make(o, &held_by, &w);
	if (r == 0)
		r = watch_fd(w, fd, is_pidfd);
	if (r < 0)
		return r;
	o->n_fds++;
	*ret = add(TAKE_PTR(w));
	return 0;
}

/* ---- afterwards ---- */

void owners_settle(struct owners *o, struct hold_owner *owner)
{
	struct owner *w = owner_of(owner), **p = &o->first;

	if (owner->n) {
		if (w->gone)
			end(w);
		return;
	}
	while (*p && *p != w)
		p = &(*p)->next;
	if (!*p)
		return;
	*p = w->next;
	o->n--;
	o->n_fds -= w->source != NULL;
	owner_free(w);
}

bool owners_may_hold(const struct owners *o, uid_t uid)
{
	uint32_t n = 0;

	if (uid == 0)
		return true;
	for (const struct owner *w = o->first; w; w = w->next)
		if (w->holder.uid == uid)
			n += w->holder.n;
	return n < OWNER_HOLDS_UID_MAX;
}
