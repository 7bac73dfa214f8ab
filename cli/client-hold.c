/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client-private.h"

#include <systemd/sd-login.h>

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "decode.h"
#include "peer.h"
#include "protocol.h"

/* ---- asking ---- */

static int put(sd_bus_message *m, const char *key, const char *type, uint64_t value)
{
	switch (*type) {
	case 't':
		return sd_bus_message_append(m, "{sv}", key, "t", value);
	case 'h':
		return sd_bus_message_append(m, "{sv}", key, "h", (int)value);
	default:
		return sd_bus_message_append(m, "{sv}", key, "b", (int)value);
	}
}

static int put_ask(sd_bus_message *m, const struct client_ask *ask)
{
	int r = sd_bus_message_open_container(m, 'a', "{sv}");

	if (r >= 0 && ask->limit_ns != LATENCY_NONE)
		r = put(m, PROTOCOL_ASK_LATENCY, "t", ask->limit_ns);
	if (r >= 0 && ask->profile)
		r = sd_bus_message_append(m, "{sv}", PROTOCOL_ASK_PROFILE, "s", ask->profile);
	if (r >= 0 && ask->n_modes)
		r = peer_put_modes(m, ask->modes, ask->n_modes);
	if (r >= 0 && ask->ttl_us)
		r = put(m, PROTOCOL_ASK_TTL, "t", ask->ttl_us);
	if (r >= 0 && ask->fd >= 0)
		r = put(m, PROTOCOL_ASK_FD, "h", (uint64_t)ask->fd);
	if (r >= 0 && ask->unit)
		r = sd_bus_message_append(m, "{sv}", PROTOCOL_ASK_UNIT, "s", ask->unit);
	if (r >= 0 && ask->detached)
		r = put(m, PROTOCOL_ASK_DETACHED, "b", 1);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int fill_hold(sd_bus_message *m, const void *userdata)
{
	const struct client_ask *ask = userdata;
	int r = sd_bus_message_append(m, "s", ask->cpus ? ask->cpus : "");

	if (r >= 0)
		r = put_ask(m, ask);
	if (r >= 0)
		r = sd_bus_message_append(m, "ss", ask->reason ? ask->reason : "",
					  ask->app ? ask->app : "");
	return r;
}

/* Its own unit everybody may see; the daemon, in its cage, may not. */
int client_hold(struct client *c, const struct client_ask *ask, uint32_t *ret_id)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	_cleanup_free_ char *unit = NULL;
	struct client_ask full = *ask;
	int r;

	if (!c->o->host && sd_pid_get_unit(0, &unit) >= 0)
		full.unit = unit;
	r = client_get(c, "Hold", fill_hold, &full, &reply);

	if (r != EXIT_OK)
		return r;
	r = sd_bus_message_read_basic(reply, 'u', ret_id);
	return r < 0 ? client_bad_answer("Hold", r) : EXIT_OK;
}

static int fill_number(sd_bus_message *m, const void *userdata)
{
	return sd_bus_message_append_basic(m, 'u', userdata);
}

int client_release(struct client *c, uint32_t id)
{
	_cleanup_message_ sd_bus_message *reply = NULL;

	return client_get(c, "Release", fill_number, &id, &reply);
}

int client_holds(struct client *c, struct client_holds *ret)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	int r = client_get(c, "ListHolds", NULL, NULL, &reply);

	if (r != EXIT_OK)
		return r;
	r = decode_holds(reply, ret);
	return r < 0 ? client_bad_answer("ListHolds", r) : EXIT_OK;
}

/* ---- waiting ---- */

struct wait {
	uint32_t id;
	bool ended;
	char why[128];
};

static int on_released(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct wait *w = userdata;
	const char *why;
	uint32_t id;

	if (sd_bus_message_read(m, "us", &id, &why) < 0 || id != w->id)
		return 0;
	w->ended = true;
	snprintf(w->why, sizeof(w->why), "%s", why);
	return 0;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Sleeps until something comes. 1: a signal, 0: the daemon, -errno: the connection is gone. */
static int sleep_on(struct client *c, int signals)
{
	struct pollfd fds[] = {
		{.fd = signals, .events = POLLIN},
		{.fd = sd_bus_get_fd(c->bus)},
	};
	int events = sd_bus_get_events(c->bus);

	if (fds[1].fd < 0 || events < 0)
		return -ECONNRESET;
	fds[1].events = (short)events;
	if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
		return -errno;
	return fds[0].revents != 0;
}

int client_hold_wait(struct client *c, uint32_t id)
{
	struct wait wait = {.id = id};
	int signals = open_signals(), r;

	if (signals < 0)
		return fail(EXIT_FAILED, "cannot wait: %s", strerror(errno));
	r = sd_bus_match_signal(c->bus, NULL, client_destination(c), PROTOCOL_PATH,
				PROTOCOL_INTERFACE, "HoldReleased", on_released, &wait);
	while (r >= 0 && !wait.ended) {
		r = sd_bus_process(c->bus, NULL);
		if (r != 0 || wait.ended)
			continue;
		r = sleep_on(c, signals);
		if (r > 0)
			break;
	}
	close(signals);
	if (wait.ended)
		return fail(EXIT_NOT_AS_ASKED, "hold %u has ended: %s", id, wait.why);
	if (r < 0)
		return fail(EXIT_NOT_THERE, "the daemon has gone, and hold %u with it", id);
	return EXIT_OK;
}
