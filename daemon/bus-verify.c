/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-event.h>

#include "bus-private.h"
#include "message.h"
#include "protocol.h"

/*
 * Verify(): answered at once, or when an observation is over. The message waits here meanwhile. Who goes away while he
 * waits is only noted, since the news of it may come in the middle of anything; the next round of the loop clears up.
 */
#define WAITING_MAX	 64U /* calls at a time, root's on the private socket not counted */
#define WAITING_PER_PEER 4U

struct waiting {
	struct bus *bus;
	struct waiting *next;
	const struct link *link; /* compared only; NULL: it has gone */
	sd_bus_message *m;
	sd_bus_track *track; /* of the name on the system bus */
	struct observer *observer;
	bool gone;
};

static void waiting_free(struct waiting *w)
{
	struct waiting **at = &w->bus->waiting;

	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
	manager_observe_cancel(w->observer);
	sd_bus_track_unref(w->track);
	sd_bus_message_unref(w->m);
	free(w);
}

void bus_verify_free(struct bus *b)
{
	while (b->waiting)
		waiting_free(b->waiting);
	b->clear_up = sd_event_source_disable_unref(b->clear_up);
}

static int on_clear_up(sd_event_source *s _unused_, void *userdata)
{
	struct bus *b = userdata;

	for (struct waiting *w = b->waiting, *next; w; w = next) {
		next = w->next;
		if (w->gone)
			waiting_free(w);
	}
	return 0;
}

static void end(struct waiting *w)
{
	w->gone = true;
	(void)sd_event_source_set_enabled(w->bus->clear_up, SD_EVENT_ONESHOT);
}

static int make_clear_up(struct bus *b)
{
	int r;

	if (b->clear_up)
		return 0;
	r = sd_event_add_defer(manager_event(b->manager), &b->clear_up, on_clear_up, b);
	return r < 0 ? r : sd_event_source_set_enabled(b->clear_up, SD_EVENT_OFF);
}

void bus_verify_link_gone(struct bus *b, const struct link *l)
{
	for (struct waiting *w = b->waiting; w; w = w->next) {
		if (w->link != l)
			continue;
		w->link = NULL;
		end(w);
	}
}

static int on_name_gone(sd_bus_track *track _unused_, void *userdata)
{
	end(userdata);
	return 0;
}

/* ---- answering ---- */

static int reply_findings(sd_bus_message *m, const struct findings *f)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	int r = sd_bus_message_new_method_return(m, &reply);

	if (r >= 0)
		r = message_append_findings(reply, f->v, f->n);
	return r < 0 ? r : sd_bus_message_send(reply);
}

static void on_observed(void *data, int error, const struct findings *findings)
{
	struct waiting *w = data;
	int r = error;

	w->observer = NULL; /* is over */
	if (!w->gone) {
		if (r == 0)
			r = reply_findings(w->m, findings);
		if (r < 0)
			(void)sd_bus_reply_method_errno(w->m, r, NULL);
	}
	waiting_free(w);
}

static int reply_now(sd_bus_message *m, struct bus *b)
{
	_cleanup_(findings_done) struct findings findings = {.n = 0};
	int r = manager_verify(b->manager, &findings);

	return r < 0 ? r : reply_findings(m, &findings);
}

/* ---- waiting ---- */

static bool is_root(const struct link *l)
{
	return l->private && l->uid == 0;
}

static bool same_peer(const struct waiting *w, const struct link *l, sd_bus_message *m)
{
	const char *a = sd_bus_message_get_sender(w->m), *b = sd_bus_message_get_sender(m);

	return w->link == l && (l->private || (a && b && streq(a, b)));
}

static bool has_place(const struct bus *b, const struct link *l, sd_bus_message *m)
{
	uint32_t n = 0, own = 0;

	for (const struct waiting *w = b->waiting; w; w = w->next) {
		if (!w->link)
			continue;
		n += !is_root(w->link);
		own += same_peer(w, l, m);
	}
	return own < WAITING_PER_PEER && (is_root(l) || n < WAITING_MAX);
}

/* A peer of the private socket ends with its connection. */
static int follow_peer(struct waiting *w, const struct link *l)
{
	int r;

	if (l->private)
		return 0;
	r = sd_bus_track_new(l->bus, &w->track, on_name_gone, w);
	return r < 0 ? r : sd_bus_track_add_sender(w->track, w->m);
}

static int too_many(sd_bus_error *error)
{
	return sd_bus_error_set(
		error, SD_BUS_ERROR_LIMITS_EXCEEDED,
		"too many observations are under way; try again, or ask for none with "
		"an interval of 0");
}

static int wait_for(struct bus *b, const struct link *l, sd_bus_message *m, uint64_t interval_us,
		    sd_bus_error *error)
{
	struct waiting *w;
	int r;

	r = make_clear_up(b);
	if (r < 0)
		return r;
	if (!has_place(b, l, m))
		return too_many(error);
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct waiting){.bus = b, .next = b->waiting, .link = l, .m = sd_bus_message_ref(m)};
	b->waiting = w;
	r = follow_peer(w, l);
	if (r >= 0)
		r = manager_observe(b->manager, interval_us, is_root(l), on_observed, w,
				    &w->observer);
	if (r >= 0)
		return 1;
	waiting_free(w);
	return r == -EUSERS ? too_many(error) : r;
}

int bus_verify_on_verify(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct link *l = userdata;
	struct bus *b;
	uint64_t us;
	int r;

	if (link_drop_if_stuck(l))
		return 1;
	b = bus_of(l);
	r = sd_bus_message_read_basic(m, 't', &us);
	if (r < 0)
		return r;
	if (!manager_plan(b->manager))
		return bus_not_ready(error);
	if (us > MANAGER_INTERVAL_MAX_US)
		return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
					 "an interval has at most %u s", MANAGER_INTERVAL_MAX_SEC);
	return us == 0 ? reply_now(m, b) : wait_for(b, l, m, us, error);
}
