/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <unistd.h>

#include "client-private.h"
#include "decode.h"
#include "peer.h"
#include "protocol.h"

/* Polkit may have to wait for a person to type a password. */
#define CALL_TIMEOUT_US (UINT64_C(180) * 1000 * 1000)

static _printf_(2, 3) void note_tried(struct client *c, const char *fmt, ...)
{
	size_t n = strlen(c->tried);
	va_list ap;

	if (n > 0)
		n += (size_t)snprintf(c->tried + n, sizeof(c->tried) - n, ", ");
	if (n >= sizeof(c->tried))
		return;
	va_start(ap, fmt);
	vsnprintf(c->tried + n, sizeof(c->tried) - n, fmt, ap);
	va_end(ap);
}

static int private_path(const struct options *o, char *buf, size_t size)
{
	int n;

	if (o->socket)
		n = snprintf(buf, size, "%s", o->socket);
	else
		n = snprintf(buf, size, "%s/" PROTOCOL_SOCKET, o->root ? o->root : "");
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int connect_private(struct client *c)
{
	char path[4096];
	int r;

	r = private_path(c->o, path, sizeof(path));
	if (r == 0)
		r = peer_connect(path, &c->bus);
	if (r < 0)
		note_tried(c, "socket %.256s (%s)", path, strerror(-r));
	return r;
}

static int connect_system(struct client *c)
{
	int r = sd_bus_open_system(&c->bus);

	if (r < 0)
		note_tried(c, "system bus (%s)", strerror(-r));
	return r;
}

static int connect_host(struct client *c)
{
	int r = sd_bus_open_system_remote(&c->bus, c->o->host);

	if (r < 0)
		note_tried(c, "ssh to %s (%s)", c->o->host, strerror(-r));
	return r;
}

static void disconnect(struct client *c)
{
	c->bus = sd_bus_close_unref(c->bus);
}

static int connect_way(struct client *c, enum way way)
{
	switch (way) {
	case WAY_PRIVATE:
		return connect_private(c);
	case WAY_SYSTEM:
		return connect_system(c);
	case WAY_HOST:
		return connect_host(c);
	}
	return -EINVAL;
}

static bool has_offline_answer(const struct options *o)
{
	return !o->host && !o->root && !o->socket;
}

/* The next way that leads to somebody. With none left: says what was tried and what to do. */
static int connect_next(struct client *c)
{
	int r = -ENOENT;

	disconnect(c);
	while (c->next < c->n_ways && r < 0)
		r = connect_way(c, c->ways[c->next++]);
	if (r >= 0) {
		(void)sd_bus_set_method_call_timeout(c->bus, CALL_TIMEOUT_US + c->wait_us);
		return EXIT_OK;
	}
	return fail(EXIT_NOT_THERE,
		    "no cpuidled answers; tried %s; start it with 'systemctl start cpuidled'%s",
		    c->tried,
		    has_offline_answer(c->o)
			    ? ", or let 'cpuidlectl plan --policy FILE' answer without it"
			    : "");
}

static enum way system_of(const struct client *c)
{
	return c->ways[c->next - 1];
}

int client_open(const struct options *o, enum client_intent intent, struct client **ret)
{
	bool only_private = o->socket || (o->root && !streq(o->root, "/"));
	struct client *c;
	int r;

	c = calloc(1, sizeof(*c));
	if (!c)
		return fail_errno(-ENOMEM, "client");
	c->o = o;
	if (o->host)
		c->ways[c->n_ways++] = WAY_HOST;
	else if (!only_private && intent == CLIENT_WRITES && geteuid() != 0)
		c->ways[c->n_ways++] = WAY_SYSTEM;
	if (!o->host)
		c->ways[c->n_ways++] = WAY_PRIVATE;
	if (!o->host && !only_private && c->ways[0] != WAY_SYSTEM)
		c->ways[c->n_ways++] = WAY_SYSTEM;
	r = connect_next(c);
	if (r != EXIT_OK) {
		client_close(c);
		return r;
	}
	*ret = c;
	return EXIT_OK;
}

void client_close(struct client *c)
{
	if (!c)
		return;
	disconnect(c);
	free(c);
}

static int take_reply(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	sd_bus_message **reply = userdata;

	*reply = sd_bus_message_ref(m);
	return 1;
}

/* sd_bus_call() would drop the body of an error, which is where BadPolicy has its diagnostics. */
static int exchange(sd_bus *bus, sd_bus_message *m, sd_bus_message **ret)
{
	sd_bus_message *reply = NULL;
	sd_bus_slot *slot = NULL;
	int r;

	r = sd_bus_call_async(bus, &slot, m, take_reply, &reply, 0);
	while (r >= 0 && !reply) {
		r = sd_bus_process(bus, NULL);
		if (r == 0 && !reply)
			r = sd_bus_wait(bus, UINT64_MAX);
		if (r == -EINTR)
			r = 0;
	}
	sd_bus_slot_unref(slot);
	if (!reply)
		return r < 0 ? r : -ECONNRESET;
	*ret = reply;
	return 0;
}

const char *client_destination(const struct client *c)
{
	return system_of(c) == WAY_PRIVATE ? NULL : PROTOCOL_NAME;
}

static int fill_string(sd_bus_message *m, const void *userdata)
{
	return sd_bus_message_append_basic(m, 's', userdata);
}

static int ask_once(struct client *c, const char *member, client_fill_fn fill, const void *userdata,
		    sd_bus_message **ret)
{
	_cleanup_message_ sd_bus_message *m = NULL;
	int r;

	r = sd_bus_message_new_method_call(c->bus, &m, client_destination(c), PROTOCOL_PATH,
					   PROTOCOL_INTERFACE, member);
	if (r >= 0)
		r = sd_bus_message_set_allow_interactive_authorization(m, true);
	if (r >= 0 && fill)
		r = fill(m, userdata);
	if (r < 0)
		return r;
	return exchange(c->bus, m, ret);
}

/* Is this the answer of a bus that does not know the daemon, or of a connection that broke? */
static bool nobody_there(struct client *c, int r, sd_bus_message *reply)
{
	const sd_bus_error *e;

	if (r < 0)
		return r != -ENOMEM;
	e = sd_bus_message_get_error(reply);
	if (!e)
		return false;
	if (sd_bus_error_has_name(e, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
	    sd_bus_error_has_name(e, SD_BUS_ERROR_NAME_HAS_NO_OWNER) ||
	    strncmp(e->name, "org.freedesktop.DBus.Error.Spawn.", 33) == 0)
		return true;
	return sd_bus_error_has_name(e, SD_BUS_ERROR_NO_REPLY) && sd_bus_is_open(c->bus) <= 0;
}

static void note_nobody(struct client *c, int r, sd_bus_message *reply)
{
	const char *why;

	if (r < 0)
		why = strerror(-r);
	else
		why = sd_bus_message_get_error(reply)->message;
	switch (system_of(c)) {
	case WAY_PRIVATE:
		note_tried(c, "private socket (%s)", why);
		break;
	case WAY_SYSTEM:
		note_tried(c, "system bus (%s)", why);
		break;
	case WAY_HOST:
		note_tried(c, "ssh to %s (%s)", c->o->host, why);
		break;
	}
}

/* EXIT_OK with the reply, which may be an error of the daemon's own. */
static int ask(struct client *c, const char *member, client_fill_fn fill, const void *userdata,
	       sd_bus_message **ret)
{
	for (;;) {
		_cleanup_message_ sd_bus_message *reply = NULL;
		int r;

		r = ask_once(c, member, fill, userdata, &reply);
		if (!nobody_there(c, r, reply)) {
			if (r < 0)
				return fail_errno(r, member);
			*ret = TAKE_PTR(reply);
			return EXIT_OK;
		}
		note_nobody(c, r, reply);
		r = connect_next(c);
		if (r != EXIT_OK)
			return r;
	}
}

int client_fail_reply(const sd_bus_error *e)
{
	bool usage = sd_bus_error_has_name(e, PROTOCOL_ERROR_SELECTOR) ||
		     sd_bus_error_has_name(e, SD_BUS_ERROR_INVALID_ARGS);

	return fail(usage ? EXIT_USAGE : EXIT_FAILED, "%s",
		    e->message && *e->message ? e->message : e->name);
}

int client_get(struct client *c, const char *member, client_fill_fn fill, const void *userdata,
	       sd_bus_message **ret)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	int r;

	r = ask(c, member, fill, userdata, &reply);
	if (r != EXIT_OK)
		return r;
	if (sd_bus_message_is_method_error(reply, NULL))
		return client_fail_reply(sd_bus_message_get_error(reply));
	*ret = TAKE_PTR(reply);
	return EXIT_OK;
}

/* For what only reads. */
static int get(struct client *c, const char *member, const char *arg, sd_bus_message **ret)
{
	return client_get(c, member, arg ? fill_string : NULL, arg, ret);
}

int client_bad_answer(const char *member, int r)
{
	return fail(EXIT_FAILED,
		    "the daemon's answer to %s cannot be read: %s; are both of the "
		    "same version?",
		    member, strerror(-r));
}

int client_status(struct client *c, struct client_status *ret)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	int r;

	r = get(c, "GetStatus", NULL, &reply);
	if (r != EXIT_OK)
		return r;
	r = decode_status(reply, ret);
	return r < 0 ? client_bad_answer("GetStatus", r) : EXIT_OK;
}

int client_plan(struct client *c, const char *cpus, bool layers, struct view *ret)
{
	const char *member = layers ? "Explain" : "GetPlan";
	_cleanup_message_ sd_bus_message *reply = NULL;
	int r;

	r = get(c, member, cpus ? cpus : "", &reply);
	if (r != EXIT_OK)
		return r;
	r = decode_view(reply, ret);
	return r < 0 ? client_bad_answer(member, r) : EXIT_OK;
}

int client_policy(struct client *c, char **ret)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	const char *text;
	int r;

	r = get(c, "GetPolicy", NULL, &reply);
	if (r != EXIT_OK)
		return r;
	r = sd_bus_message_read_basic(reply, 's', &text);
	if (r < 0)
		return client_bad_answer("GetPolicy", r);
	*ret = strdup(text);
	return *ret ? EXIT_OK : fail_errno(-ENOMEM, "GetPolicy");
}

int client_profiles(struct client *c, struct listing *ret)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	int r;

	r = get(c, "ListProfiles", NULL, &reply);
	if (r != EXIT_OK)
		return r;
	r = decode_profiles(reply, ret);
	return r < 0 ? client_bad_answer("ListProfiles", r) : EXIT_OK;
}

static int fill_interval(sd_bus_message *m, const void *userdata)
{
	return sd_bus_message_append_basic(m, 't', userdata);
}

int client_verify(struct client *c, uint64_t interval_us, struct client_findings *ret)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	int r;

	c->wait_us = interval_us;
	(void)sd_bus_set_method_call_timeout(c->bus, CALL_TIMEOUT_US + interval_us);
	r = client_get(c, "Verify", fill_interval, &interval_us, &reply);
	if (r != EXIT_OK)
		return r;
	r = decode_findings(reply, ret);
	return r < 0 ? client_bad_answer("Verify", r) : EXIT_OK;
}

/* The three that change something answer alike. */
static int change(struct client *c, const char *member, const char *arg, struct diag_list *diags)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	const sd_bus_error *e;
	const char *text;
	int r;

	r = ask(c, member, arg ? fill_string : NULL, arg, &reply);
	if (r != EXIT_OK)
		return r;
	e = sd_bus_message_get_error(reply);
	if (e && !sd_bus_error_has_name(e, PROTOCOL_ERROR_BAD_POLICY))
		return client_fail_reply(e);
	if (e && sd_bus_message_read_basic(reply, 's', &text) < 0)
		return client_fail_reply(e);
	r = decode_diags(reply, diags);
	if (r < 0)
		return e ? client_fail_reply(e) : client_bad_answer(member, r);
	return e ? EXIT_NOT_AS_ASKED : EXIT_OK;
}

int client_reload(struct client *c, struct diag_list *diags)
{
	return change(c, "Reload", NULL, diags);
}

int client_set(struct client *c, const char *text, struct diag_list *diags)
{
	return change(c, "Set", text, diags);
}

int client_reset(struct client *c, struct diag_list *diags)
{
	return change(c, "ResetSettings", NULL, diags);
}

struct monitor {
	client_event_fn fn;
	void *userdata;
	bool done, gone;
};

static int on_changed(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct monitor *monitor = userdata;
	const char *what, *detail, *why;

	if (sd_bus_message_read(m, "sss", &what, &detail, &why) < 0)
		return 0;
	if (!monitor->fn(what, detail, why, monitor->userdata))
		monitor->done = true;
	return 0;
}

static int on_owner_changed(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct monitor *monitor = userdata;
	const char *name, *before, *after;

	if (sd_bus_message_read(m, "sss", &name, &before, &after) >= 0 && !*after)
		monitor->gone = true;
	return 0;
}

static int subscribe(struct client *c, struct monitor *monitor)
{
	bool private = system_of(c) == WAY_PRIVATE;
	int r;

	r = sd_bus_match_signal(c->bus, NULL, private ? NULL : PROTOCOL_NAME, PROTOCOL_PATH,
				PROTOCOL_INTERFACE, "Changed", on_changed, monitor);
	if (r < 0 || private)
		return r;
	return sd_bus_add_match(c->bus, NULL,
				"type='signal',sender='org.freedesktop.DBus',"
				"member='NameOwnerChanged',arg0='" PROTOCOL_NAME "'",
				on_owner_changed, monitor);
}

int client_monitor(struct client *c, client_event_fn fn, void *userdata)
{
	struct monitor monitor = {.fn = fn, .userdata = userdata};
	struct client_status status = {0};
	int r;

	/* Asks first, so that a missing daemon is found now and the way to it is settled. */
	r = client_status(c, &status);
	if (r != EXIT_OK)
		return r;
	client_status_done(&status);
	r = subscribe(c, &monitor);
	if (r < 0)
		return fail_errno(r, "cannot listen to the daemon");
	while (!monitor.done && !monitor.gone) {
		r = sd_bus_process(c->bus, NULL);
		if (r == 0)
			r = sd_bus_wait(c->bus, UINT64_MAX);
		if (r < 0 && r != -EINTR)
			monitor.gone = true;
	}
	if (monitor.done)
		return EXIT_OK;
	return fail(EXIT_NOT_THERE, "the daemon has gone; start 'cpuidlectl monitor' again when it "
				    "is back");
}
