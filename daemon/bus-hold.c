/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "bus-private.h"
#include "hold-text.h"
#include "log.h"
#include "message.h"
#include "protocol.h"
#include "readfile.h"

#define MODES_TEXT_MAX 1024U
#define BUS_NAME       "org.freedesktop.DBus"
#define BUS_PATH       "/org/freedesktop/DBus"

/* What a caller asks for; strings are borrowed from its message. */
struct request {
	const char *cpus, *reason, *app, *profile, *unit;
	uint64_t limit_ns, ttl_us;
	int fd; /* borrowed as well, -1: none */
	bool detached;
	char modes[MODES_TEXT_MAX]; /* lines of policy text */
};

/* ---- reading it ---- */

static int bad(sd_bus_error *error, const char *fmt, ...) _printf_(2, 3);

static int bad(sd_bus_error *error, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, text);
}

/* Values with a newline would be more than one key. */
static int read_modes(sd_bus_message *m, struct request *r, sd_bus_error *error)
{
	const char *key, *value;
	size_t n = 0;
	int k = sd_bus_message_enter_container(m, 'a', "{ss}");

	while (k > 0 && (k = sd_bus_message_read(m, "{ss}", &key, &value)) > 0) {
		if (strpbrk(key, "\n=[]") || strchr(value, '\n'))
			return bad(error, "a mode is one KEY with one value");
		n += (size_t)snprintf(r->modes + n, sizeof(r->modes) - n, "%s=%s\n", key, value);
		if (n >= sizeof(r->modes))
			return bad(error, "more modes than there are");
	}
	return k < 0 ? k : sd_bus_message_exit_container(m);
}

static int read_value(sd_bus_message *m, const char *key, struct request *r, sd_bus_error *error)
{
	int detached = 0, k;

	if (streq(key, PROTOCOL_ASK_LATENCY))
		return sd_bus_message_read(m, "v", "t", &r->limit_ns);
	if (streq(key, PROTOCOL_ASK_PROFILE))
		return sd_bus_message_read(m, "v", "s", &r->profile);
	if (streq(key, PROTOCOL_ASK_UNIT))
		return sd_bus_message_read(m, "v", "s", &r->unit);
	if (streq(key, PROTOCOL_ASK_TTL))
		return sd_bus_message_read(m, "v", "t", &r->ttl_us);
	if (streq(key, PROTOCOL_ASK_FD))
		return sd_bus_message_read(m, "v", "h", &r->fd);
	if (streq(key, PROTOCOL_ASK_DETACHED)) {
		k = sd_bus_message_read(m, "v", "b", &detached);
		r->detached = detached;
		return k;
	}
	if (!streq(key, PROTOCOL_ASK_MODES))
		return bad(error,
			   "a hold has no '%.64s'; it has " PROTOCOL_ASK_LATENCY
			   ", " PROTOCOL_ASK_PROFILE ", " PROTOCOL_ASK_MODES ", " PROTOCOL_ASK_TTL
			   ", " PROTOCOL_ASK_FD ", " PROTOCOL_ASK_UNIT
			   " and " PROTOCOL_ASK_DETACHED,
			   key);
	k = sd_bus_message_enter_container(m, 'v', "a{ss}");
	if (k >= 0)
		k = read_modes(m, r, error);
	return k < 0 ? k : sd_bus_message_exit_container(m);
}

static int read_ask(sd_bus_message *m, struct request *r, sd_bus_error *error)
{
	const char *key;
	int k = sd_bus_message_enter_container(m, 'a', "{sv}");

	while (k > 0 && (k = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
		k = sd_bus_message_read_basic(m, 's', &key);
		if (k >= 0)
			k = read_value(m, key, r, error);
		/* sd-bus answers another type than it wanted with -ENXIO. */
		if (k == -ENXIO)
			return bad(error, "'%.64s' has a value of another type", key);
		if (k >= 0)
			k = sd_bus_message_exit_container(m);
		if (k >= 0)
			k = 1;
	}
	return k < 0 ? k : sd_bus_message_exit_container(m);
}

static int judge(const struct request *r, sd_bus_error *error)
{
	if (r->limit_ns == LATENCY_NONE && !r->profile && !*r->modes)
		return bad(error,
			   "nothing is asked for; " PROTOCOL_ASK_LATENCY ", " PROTOCOL_ASK_PROFILE
			   " or " PROTOCOL_ASK_MODES " says what to hold");
	if (r->limit_ns != LATENCY_NONE && r->limit_ns > LATENCY_MAX_NS)
		return bad(error, "a latency limit has at most %" PRIu64 " ns", LATENCY_MAX_NS);
	if (strlen(r->reason) >= HOLD_REASON_MAX)
		return bad(error, "the reason has more than %u bytes; say it shorter",
			   HOLD_REASON_MAX - 1);
	if (r->unit && strlen(r->unit) >= HOLD_UNIT_MAX)
		return bad(error, "the unit has more than %u bytes", HOLD_UNIT_MAX - 1);
	if (strlen(r->app) >= HOLD_APP_MAX)
		return bad(error, "the application id has more than %u bytes", HOLD_APP_MAX - 1);
	if (r->ttl_us != UINT64_MAX && (r->ttl_us == 0 || r->ttl_us > PROTOCOL_TTL_MAX_US))
		return bad(error, "a time to live is more than 0 and at most 31 days");
	if (r->detached && r->ttl_us == UINT64_MAX)
		return bad(error, "a hold tied to nobody needs a time to live, or it would never "
				  "end");
	if (r->detached && r->fd >= 0)
		return bad(error, "a hold is tied to a descriptor or to nobody, not to both");
	return 0;
}

static int read_request(sd_bus_message *m, struct request *r, sd_bus_error *error)
{
	int k;

	*r = (struct request){.limit_ns = LATENCY_NONE, .ttl_us = UINT64_MAX, .fd = -1};
	k = sd_bus_message_rewind(m, true);
	if (k >= 0)
		k = sd_bus_message_read_basic(m, 's', &r->cpus);
	if (k >= 0)
		k = read_ask(m, r, error);
	if (k >= 0)
		k = sd_bus_message_read(m, "ss", &r->reason, &r->app);
	return k < 0 ? k : judge(r, error);
}

/* ---- taking it ---- */

/* Whoever gives no name goes by that of the process. */
static const char *name_of(const struct request *r, const struct hold_owner *owner, char *buf,
			   size_t size)
{
	char path[48];

	if (*r->app)
		return r->app;
	snprintf(path, sizeof(path), "/proc/%u/comm", owner->pid);
	if (!owner->pid || readfile_line(-1, path, buf, size) < 0)
		snprintf(buf, size, "unknown");
	return buf;
}

static uint64_t realtime_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / NSEC_PER_USEC;
}

/* What the manager made of it, for whoever asked. */
static int reply_taken(struct bus *b, sd_bus_message *m, const struct request *r, int result,
		       uint32_t id, sd_bus_error *error)
{
	if (result >= 0)
		return sd_bus_reply_method_return(m, "u", id);
	if (result == -ENOMEM)
		return result;
	if (result == -ENODATA)
		return bus_not_ready(error);
	if (result == -ENOENT && r->profile &&
	    !policy_profile(manager_policy(b->manager), r->profile))
		return sd_bus_error_setf(error, PROTOCOL_ERROR_NO_PROFILE,
					 "there is no profile '%.64s'; 'cpuidlectl list-profiles' "
					 "shows those there are",
					 r->profile);
	if (result == -ENOSPC)
		return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					 "too many holds: at most %u, for %u different sets of "
					 "CPUs and %u different profiles with modes",
					 HOLDS_MAX, HOLD_SCOPES_MAX, HOLD_ASKS_MAX);
	return sd_bus_error_setf(error, PROTOCOL_ERROR_APPLY,
				 "it did not reach the CPUs, nothing is held: %s",
				 strerror(-result));
}

static int take(struct bus *b, sd_bus_message *m, const struct request *r,
		const struct cpuset *cpus, struct hold_owner *owner, sd_bus_error *error)
{
	_cleanup_(diag_done) struct diag_list diags = {.n = 0};
	struct settings modes = {.given = 0};
	struct hold_spec spec = {
		.cpus = cpus,
		.limit_ns = r->limit_ns,
		.profile = r->profile,
		.modes = &modes,
		.reason = r->reason,
		.since_us = realtime_us(),
	};
	char name[HOLD_APP_MAX];
	uint32_t id = 0;
	int k = *r->modes ? hold_parse_modes(r->modes, &diags, &modes) : 0;

	if (k == -EBADMSG)
		return bus_reply_bad_policy(m, &diags);
	if (k < 0)
		return k;
	spec.app = name_of(r, owner, name, sizeof(name));
	if (r->ttl_us != UINT64_MAX)
		spec.until_us = manager_hold_clock() + r->ttl_us;
	k = manager_hold(b->manager, &spec, owner, &id);
	return reply_taken(b, m, r, k, id, error);
}

static int refuse_owner(int r, sd_bus_error *error)
{
	if (r == -EPERM || r == -EBADF)
		return bad(error,
			   PROTOCOL_ASK_FD " is nothing that can be waited for; it has to be a "
					   "pidfd, or the end of a pipe or socket");
	if (r == -EDQUOT || r == -ENOSPC)
		return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					"too many owners of holds, or too many of your descriptors "
					"among them");
	return r;
}

static int select_all(const struct bus *b, const char *text, struct cpuset *ret,
		      sd_bus_error *error)
{
	return bus_select_cpus(b, *text ? text : "all", ret, error);
}

/* Who asks is known. slot: the bus tells when that name goes, or NULL; taken over. */
static int hold_for(struct bus *b, sd_bus_message *m, struct owner_who *who, sd_bus_slot *slot,
		    sd_bus_error *error)
{
	_cleanup_(cpuset_done) struct cpuset cpus = {.size = 0};
	struct hold_owner *owner = NULL;
	struct request req;
	int r = read_request(m, &req, error);

	if (r >= 0 && !manager_plan(b->manager))
		r = bus_not_ready(error);
	if (r >= 0 && !owners_may_hold(b->owners, who->uid))
		r = sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
				      "one user may have %u holds", OWNER_HOLDS_UID_MAX);
	if (r >= 0)
		r = select_all(b, req.cpus, &cpus, error);
	if (r < 0) {
		sd_bus_slot_unref(slot);
		return r;
	}
	who->unit = req.unit;
	if (req.fd >= 0 || req.detached || (owner = owners_find(b->owners, who))) {
		sd_bus_slot_unref(slot);
		slot = NULL;
	}
	if (req.fd >= 0)
		r = owners_add_fd(b->owners, who, req.fd, &owner);
	else if (req.detached)
		r = owners_add_loose(b->owners, who, &owner);
	else if (!owner)
		r = owners_add(b->owners, who, slot, &owner);
	who->link->holds = true;
	if (r < 0)
		return refuse_owner(r, error);
	r = take(b, m, &req, &cpus, owner, error);
	owners_settle(b->owners, owner);
	return r;
}

/* ---- who asks, on the system bus ---- */

/* The bus is asked who a name is, after it was asked to tell when that goes. */
struct caller {
	struct bus *bus;
	sd_bus_message *m;
	sd_bus_slot *gone;
};

static void caller_free(struct caller *c)
{
	sd_bus_slot_unref(c->gone);
	sd_bus_message_unref(c->m);
	free(c);
}
DEFINE_CLEANUP(struct caller *, caller_freep, caller_free)

static void destroy_caller(void *userdata)
{
	caller_free(userdata);
}

static int on_name_gone(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	const char *name, *before, *after;
	struct bus *b = userdata;

	if (sd_bus_message_read(m, "sss", &name, &before, &after) >= 0 && !*after)
		owners_name_gone(b->owners, name);
	return 0;
}

static int read_credentials(sd_bus_message *m, struct owner_who *who)
{
	const char *key;
	uint32_t value;
	int r = sd_bus_message_enter_container(m, 'a', "{sv}");

	while (r > 0 && (r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
		r = sd_bus_message_read_basic(m, 's', &key);
		if (r >= 0 && (streq(key, "UnixUserID") || streq(key, "ProcessID"))) {
			r = sd_bus_message_read(m, "v", "u", &value);
			if (r >= 0 && *key == 'U')
				who->uid = value;
			else if (r >= 0)
				who->pid = (pid_t)value;
		} else if (r >= 0) {
			r = sd_bus_message_skip(m, "v");
		}
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
		if (r >= 0)
			r = 1;
	}
	return r;
}

static int on_credentials(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *unused)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	struct caller *c = userdata;
	struct owner_who who = {
		.uid = (uid_t)-1,
		.link = links_find(c->bus->links, sd_bus_message_get_bus(m)),
		.name = sd_bus_message_get_sender(c->m),
	};
	int r;

	/* The caller has gone: nobody waits for an answer. */
	if (sd_bus_message_is_method_error(m, NULL) || !who.link || read_credentials(m, &who) < 0 ||
	    who.uid == (uid_t)-1)
		return 1;
	r = hold_for(c->bus, c->m, &who, TAKE_PTR(c->gone), &error);
	if (r < 0)
		(void)sd_bus_reply_method_errno(c->m, r, &error);
	sd_bus_error_free(&error);
	return 1;
}

static int ask_bus(struct bus *b, sd_bus_message *m)
{
	_cleanup_(caller_freep) struct caller *c = calloc(1, sizeof(*c));
	const char *sender = sd_bus_message_get_sender(m);
	sd_bus *bus = sd_bus_message_get_bus(m);
	sd_bus_slot *slot = NULL;
	char match[384];
	int r;

	if (!c)
		return -ENOMEM;
	*c = (struct caller){.bus = b, .m = sd_bus_message_ref(m)};
	snprintf(match, sizeof(match),
		 "type='signal',sender='" BUS_NAME "',interface='" BUS_NAME
		 "',member='NameOwnerChanged',arg0='%s'",
		 sender);
	r = sd_bus_add_match_async(bus, &c->gone, match, on_name_gone, NULL, b);
	if (r >= 0)
		r = sd_bus_call_method_async(bus, &slot, BUS_NAME, BUS_PATH, BUS_NAME,
					     "GetConnectionCredentials", on_credentials, c, "s",
					     sender);
	if (r >= 0)
		r = sd_bus_slot_set_destroy_callback(slot, destroy_caller);
	if (r < 0) {
		sd_bus_slot_unref(slot);
		return r;
	}
	/* From now on c is the slot's, and the slot the connection's. */
	(void)sd_bus_slot_set_floating(slot, true);
	sd_bus_slot_unref(slot);
	(void)TAKE_PTR(c);
	return 1;
}

/* ---- methods ---- */

static int run_hold(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct link *l = links_find(((struct bus *)userdata)->links, sd_bus_message_get_bus(m));
	struct bus *b = userdata;
	struct owner_who who = {.link = l};

	if (!l)
		return -ECONNRESET;
	if (!l->private)
		return ask_bus(b, m);
	who.uid = l->uid;
	who.pid = l->pid;
	return hold_for(b, m, &who, NULL, error);
}

int bus_hold_on_hold(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct link *l = userdata;
	struct polkit_check check = {.run = run_hold, .userdata = NULL};
	struct request req;
	int r;

	if (link_drop_if_stuck(l))
		return 1;
	/* What makes no sense is refused before anybody is asked. */
	r = read_request(m, &req, error);
	if (r < 0)
		return r;
	check.userdata = bus_of(l);
	check.action =
		req.profile || *req.modes ? PROTOCOL_ACTION_HOLD_PROFILE : PROTOCOL_ACTION_HOLD;
	return polkit_run(bus_of(l)->polkit, l, m, &check, error);
}

static int no_hold(uint32_t id, sd_bus_error *error)
{
	return sd_bus_error_setf(
		error, PROTOCOL_ERROR_NO_HOLD,
		"there is no hold %u; 'cpuidlectl list-holds' shows those there are", id);
}

static int run_release(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct bus *b = userdata;
	struct hold *hold;
	uint32_t id;
	int r = sd_bus_message_rewind(m, true);

	if (r >= 0)
		r = sd_bus_message_read_basic(m, 'u', &id);
	if (r < 0)
		return r;
	hold = holds_find(manager_holds(b->manager), id);
	if (!hold)
		return no_hold(id, error);
	r = manager_release(b->manager, hold, "released");
	if (r < 0)
		return sd_bus_error_setf(error, PROTOCOL_ERROR_APPLY,
					 "it is released, but the CPUs do not know yet: %s",
					 strerror(-r));
	return sd_bus_reply_method_return(m, NULL);
}

int bus_hold_on_release(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	struct link *l = userdata;
	struct polkit_check check = {.action = PROTOCOL_ACTION_RELEASE, .run = run_release};
	const struct hold *hold;
	uint32_t id;
	int r;

	if (link_drop_if_stuck(l))
		return 1;
	r = sd_bus_message_read_basic(m, 'u', &id);
	if (r < 0)
		return r;
	hold = holds_find(manager_holds(bus_of(l)->manager), id);
	if (!hold)
		return no_hold(id, error);
	check.userdata = bus_of(l);
	check.own = true;
	check.uid = hold->owner->uid;
	return polkit_run(bus_of(l)->polkit, l, m, &check, error);
}

int bus_hold_on_list(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	int r;

	if (link_drop_if_stuck(userdata))
		return 1;
	r = sd_bus_message_new_method_return(m, &reply);
	if (r >= 0)
		r = message_append_holds(reply, manager_holds(bus_of(userdata)->manager),
					 manager_hold_clock());
	return r < 0 ? r : sd_bus_message_send(reply);
}

/* ---- how they end ---- */

struct released {
	uint32_t id;
	const char *why;
};

static void emit_released(struct link *l, const void *userdata)
{
	const struct released *e = userdata;

	if (link_is_behind(l))
		return;
	(void)sd_bus_emit_signal(l->bus, PROTOCOL_PATH, PROTOCOL_INTERFACE, "HoldReleased", "us",
				 e->id, e->why);
	(void)link_drop_if_stuck(l);
}

void bus_hold_released(void *data, uint32_t id, struct hold_owner *owner, const char *why)
{
	struct bus *b = data;

	links_each(b->links, emit_released, &(struct released){.id = id, .why = why});
	owners_settle(b->owners, owner);
}

void bus_hold_link_gone(struct link *l, void *userdata)
{
	struct bus *b = userdata;

	owners_link_gone(b->owners, l);
}

static void on_owners_gone(struct hold_owner **owners, uint32_t n, void *userdata)
{
	struct bus *b = userdata;

	manager_release_owners(b->manager, owners, n, "its owner has gone");
}

int bus_hold_start(struct bus *b)
{
	return owners_new(manager_event(b->manager), on_owners_gone, b, &b->owners);
}
