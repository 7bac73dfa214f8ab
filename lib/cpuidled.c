/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-login.h>

#include <unistd.h>

#include "base.h"
#include "cpuidled.h"
#include "peer.h"
#include "protocol.h"

#define EXPORT __attribute__((visibility("default")))

/* Polkit may have to wait for a person to type a password. */
#define CALL_TIMEOUT_US (UINT64_C(180) * 1000 * 1000)
#define ERROR_MAX	512U

struct cpuidled {
	sd_bus *bus;
	bool private;
	sd_bus_slot *news; /* NULL until somebody wants them */
	uint32_t *held, n_held, cap_held; /* holds of ours that nobody has told to have ended */
	uint32_t *ended, n_ended, cap_ended; /* told, and not yet passed on */
	char error[ERROR_MAX];
};

/* ---- errors ---- */

static int fail(struct cpuidled *c, int r, const char *words)
{
	snprintf(c->error, sizeof(c->error), "%s", words);
	return r;
}

/* What the daemon, or the bus, answered instead. */
static int fail_reply(struct cpuidled *c, int r, const sd_bus_error *e)
{
	static const struct {
		const char *name;
		int error;
	} known[] = {
		{SD_BUS_ERROR_ACCESS_DENIED, -EACCES},
		{SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED, -EACCES},
		{SD_BUS_ERROR_INVALID_ARGS, -EINVAL},
		{SD_BUS_ERROR_LIMITS_EXCEEDED, -EBUSY},
		{SD_BUS_ERROR_SERVICE_UNKNOWN, -ENOTCONN},
		{SD_BUS_ERROR_NAME_HAS_NO_OWNER, -ENOTCONN},
		{SD_BUS_ERROR_NO_REPLY, -ENOTCONN},
		{SD_BUS_ERROR_DISCONNECTED, -ENOTCONN},
		{PROTOCOL_ERROR_BAD_POLICY, -EINVAL},
		{PROTOCOL_ERROR_SELECTOR, -EINVAL},
		{PROTOCOL_ERROR_NO_CPU, -ENOENT},
		{PROTOCOL_ERROR_NO_HOLD, -ENOENT},
		{PROTOCOL_ERROR_NO_PROFILE, -ENOENT},
		{PROTOCOL_ERROR_NOT_YET, -EBUSY},
		{PROTOCOL_ERROR_APPLY, -EIO},
	};

	for (size_t i = 0; e->name && i < ARRAY_SIZE(known); i++)
		if (streq(e->name, known[i].name))
			r = known[i].error;
	if (r == -ECONNRESET || r == -ESHUTDOWN || r == -EPIPE)
		r = -ENOTCONN;
	return fail(c, r, e->message && *e->message ? e->message : strerror(-r));
}

/* ---- numbers ---- */

static int note(uint32_t **v, uint32_t *n, uint32_t *cap, uint32_t id)
{
	uint32_t more = *cap ? *cap * 2 : 4;
	uint32_t *grown;

	if (*n == *cap) {
		grown = realloc(*v, more * sizeof(**v));
		if (!grown)
			return -ENOMEM;
		*v = grown;
		*cap = more;
	}
	(*v)[(*n)++] = id;
	return 0;
}

static bool forget(struct cpuidled *c, uint32_t id)
{
	for (uint32_t i = c->n_held; i-- > 0;) {
		if (c->held[i] != id)
			continue;
		c->held[i] = c->held[--c->n_held];
		return true;
	}
	return false;
}

static int on_released(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct cpuidled *c = userdata;
	uint32_t id;

	/* As many as are held fit, so there is always room. */
	if (sd_bus_message_read_basic(m, 'u', &id) > 0 && forget(c, id))
		(void)note(&c->ended, &c->n_ended, &c->cap_ended, id);
	return 0;
}

/* ---- connecting ---- */

static const char *destination(const struct cpuidled *c)
{
	return c->private ? NULL : PROTOCOL_NAME;
}

/* Is the daemon there? A bus may be without it. */
static int greet(struct cpuidled *c)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	char *version = NULL;
	int r;

	(void)sd_bus_set_method_call_timeout(c->bus, CALL_TIMEOUT_US);
	r = sd_bus_get_property_string(c->bus, destination(c), PROTOCOL_PATH, PROTOCOL_INTERFACE,
				       "Version", &error, &version);
	sd_bus_error_free(&error);
	free(version);
	return r;
}

static int try(struct cpuidled *c, bool private, const char *path)
{
	int r;

	c->private = private;
	r = private ? peer_connect(path, &c->bus) : sd_bus_open_system(&c->bus);
	if (r >= 0)
		r = greet(c);
	if (r < 0)
		c->bus = sd_bus_close_unref(c->bus);
	return r;
}

EXPORT int cpuidled_open(const char *socket_path, struct cpuidled **ret)
{
	struct cpuidled *c = calloc(1, sizeof(*c));
	const char *path = socket_path ? socket_path : "/" PROTOCOL_SOCKET;
	bool private_first = socket_path || geteuid() == 0;
	int r;

	if (!c)
		return -ENOMEM;
	r = try(c, private_first, path);
	if (r < 0 && r != -ENOMEM && !socket_path)
		r = try(c, !private_first, path);
	if (r < 0) {
		cpuidled_close(c);
		return r == -ENOMEM ? r : -ENOTCONN;
	}
	*ret = c;
	return 0;
}

EXPORT void cpuidled_close(struct cpuidled *c)
{
	if (!c)
		return;
	sd_bus_slot_unref(c->news);
	sd_bus_close_unref(c->bus);
	free(c->held);
	free(c->ended);
	free(c);
}

/* ---- holding ---- */

static uint32_t count(const char *const *modes)
{
	uint32_t n = 0;

	while (modes[n])
		n++;
	return n;
}

/* Its own unit everybody may see; the daemon, in its cage, may not. */
static int put_unit(sd_bus_message *m)
{
	char *unit = NULL;
	int r = 0;

	if (sd_pid_get_unit(0, &unit) >= 0)
		r = sd_bus_message_append(m, "{sv}", PROTOCOL_ASK_UNIT, "s", unit);
	free(unit);
	return r;
}

static int put_ask(sd_bus_message *m, const struct cpuidled_ask *ask)
{
	int r = sd_bus_message_append(m, "s", ask->cpus ? ask->cpus : "");

	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "{sv}");
	if (r >= 0 && ask->latency_ns != CPUIDLED_NO_LIMIT)
		r = sd_bus_message_append(m, "{sv}", PROTOCOL_ASK_LATENCY, "t", ask->latency_ns);
	if (r >= 0 && ask->profile)
		r = sd_bus_message_append(m, "{sv}", PROTOCOL_ASK_PROFILE, "s", ask->profile);
	if (r >= 0 && ask->modes)
		r = peer_put_modes(m, ask->modes, count(ask->modes));
	if (r >= 0 && ask->ttl_us)
		r = sd_bus_message_append(m, "{sv}", PROTOCOL_ASK_TTL, "t", ask->ttl_us);
	if (r >= 0)
		r = put_unit(m);
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	if (r >= 0)
		r = sd_bus_message_append(m, "ss", ask->reason ? ask->reason : "",
					  ask->name ? ask->name : program_invocation_short_name);
	return r;
}

static int call(struct cpuidled *c, sd_bus_message *m, sd_bus_message **reply)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r;

	/* Signals that came meanwhile would pile up otherwise. */
	while ((r = sd_bus_process(c->bus, NULL)) > 0)
		;
	if (r >= 0)
		r = sd_bus_message_set_allow_interactive_authorization(m, true);
	if (r >= 0)
		r = sd_bus_call(c->bus, m, 0, &error, reply);
	if (r < 0)
		r = fail_reply(c, r, &error);
	sd_bus_error_free(&error);
	return r;
}

static int begin(struct cpuidled *c, const char *member, sd_bus_message **ret)
{
	return sd_bus_message_new_method_call(c->bus, ret, destination(c), PROTOCOL_PATH,
					      PROTOCOL_INTERFACE, member);
}

/* Room to note it, and to note its end: neither may fail once it stands. */
static int make_room(struct cpuidled *c)
{
	int r = note(&c->held, &c->n_held, &c->cap_held, 0);

	if (r < 0)
		return r;
	c->n_held--;
	while (r == 0 && c->cap_ended < c->n_ended + c->n_held + 1) {
		uint32_t n = c->n_ended;

		c->n_ended = c->cap_ended;
		r = note(&c->ended, &c->n_ended, &c->cap_ended, 0);
		c->n_ended = n;
	}
	return r;
}

EXPORT int64_t cpuidled_hold(struct cpuidled *c, const struct cpuidled_ask *ask)
{
	sd_bus_message *m = NULL, *reply = NULL;
	uint32_t id = 0;
	int r;

	if (ask->size != sizeof(*ask))
		return fail(c, -EINVAL, "cpuidled_ask.size is not that of this library");
	r = make_room(c);
	if (r >= 0)
		r = begin(c, "Hold", &m);
	if (r >= 0)
		r = put_ask(m, ask);
	if (r < 0)
		(void)fail(c, r, r == -EINVAL ? "a mode is KEY=VALUE" : strerror(-r));
	else
		r = call(c, m, &reply);
	if (r >= 0)
		r = sd_bus_message_read_basic(reply, 'u', &id);
	if (r >= 0)
		r = note(&c->held, &c->n_held, &c->cap_held, id);
	sd_bus_message_unref(reply);
	sd_bus_message_unref(m);
	return r < 0 ? r : (int64_t)id;
}

EXPORT int cpuidled_release(struct cpuidled *c, uint32_t id)
{
	sd_bus_message *m = NULL, *reply = NULL;
	int r = begin(c, "Release", &m);

	if (r >= 0)
		r = sd_bus_message_append_basic(m, 'u', &id);
	if (r < 0)
		(void)fail(c, r, strerror(-r));
	else
		r = call(c, m, &reply);
	if (r >= 0)
		(void)forget(c, id);
	sd_bus_message_unref(reply);
	sd_bus_message_unref(m);
	return r < 0 ? r : 0;
}

/* ---- news ---- */

EXPORT int cpuidled_fd(struct cpuidled *c)
{
	int r = 0;

	if (!c->news)
		r = sd_bus_match_signal(c->bus, &c->news, destination(c), PROTOCOL_PATH,
					PROTOCOL_INTERFACE, "HoldReleased", on_released, c);
	return r < 0 ? fail(c, r, strerror(-r)) : sd_bus_get_fd(c->bus);
}

EXPORT int64_t cpuidled_ended(struct cpuidled *c)
{
	int r = 1;

	while (r > 0 && !c->n_ended)
		r = sd_bus_process(c->bus, NULL);
	if (c->n_ended)
		return c->ended[--c->n_ended];
	if (r < 0)
		return fail(c, -ENOTCONN, "the daemon has gone");
	return 0;
}

EXPORT const char *cpuidled_error(const struct cpuidled *c)
{
	return c->error;
}
