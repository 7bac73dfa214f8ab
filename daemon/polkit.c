/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "log.h"
#include "polkit.h"

#define POLKIT_NAME	 "org.freedesktop.PolicyKit1"
#define POLKIT_PATH	 "/org/freedesktop/PolicyKit1/Authority"
#define POLKIT_INTERFACE "org.freedesktop.PolicyKit1.Authority"
/* CheckAuthorization(): may a person be asked for a password? */
#define POLKIT_ALLOW_INTERACTION 1U
/* As long as a person may take for it. */
#define POLKIT_TIMEOUT_US (UINT64_C(150) * 1000 * 1000)

/* One caller: first the bus is asked who it is, then polkit what it may. */
struct question {
	struct polkit *polkit;
	sd_bus_message *m; /* NULL: free place */
	sd_bus_slot *slot; /* of the call under way; gone with it when dropped */
	struct polkit_check check;
	uid_t uid; /* known once polkit is asked */
	bool asked;
};

struct polkit {
	struct question questions[POLKIT_ASKED_MAX];
};

int polkit_new(struct polkit **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void question_done(struct question *q)
{
	sd_bus_slot_unref(q->slot);
	sd_bus_message_unref(q->m);
	*q = (struct question){0};
}

void polkit_free(struct polkit *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < POLKIT_ASKED_MAX; i++)
		question_done(&p->questions[i]);
	free(p);
}

static void log_request(const struct polkit_check *check, uid_t uid, bool allowed)
{
	char sender[16];

	snprintf(sender, sizeof(sender), "%u", (unsigned)uid);
	log_entry(&(struct log_entry){.id = allowed ? LOG_ID_REQUEST : LOG_ID_DENIED,
				      .priority = allowed ? LOG_INFO : LOG_NOTICE,
				      .sender = sender},
		  "%s by uid %s: %s", check->action, sender, allowed ? "allowed" : "denied");
}

/* Root always; others what concerns themselves alone. */
static bool needs_no_leave(const struct polkit_check *check, uid_t uid)
{
	return uid == 0 || (check->own && check->uid == uid);
}

static int run_allowed(const struct polkit_check *check, uid_t uid, sd_bus_message *m,
		       sd_bus_error *error)
{
	log_request(check, uid, true);
	return check->run(m, check->userdata, error);
}

/* The question is over: its message gets an error, or what run() makes of it. */
static int answer(struct question *q, bool allowed, const sd_bus_error *denied)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = 0;

	if (allowed) {
		r = run_allowed(&q->check, q->uid, q->m, &error);
		if (r < 0)
			(void)sd_bus_reply_method_errno(q->m, r, &error);
	} else {
		log_request(&q->check, q->uid, false);
		(void)sd_bus_reply_method_error(q->m, denied);
	}
	sd_bus_error_free(&error);
	question_done(q);
	return 1;
}

static int on_polkit(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	const sd_bus_error *e = sd_bus_message_get_error(m);
	int authorized = 0, challenge = 0;
	struct question *q = userdata;

	if (e)
		return answer(q, false,
			      &SD_BUS_ERROR_MAKE_CONST(SD_BUS_ERROR_ACCESS_DENIED,
						       "only root may do this: polkit, which could "
						       "allow it to others, does not answer"));
	if (sd_bus_message_enter_container(m, 'r', "bba{ss}") < 0 ||
	    sd_bus_message_read(m, "bb", &authorized, &challenge) < 0)
		authorized = challenge = 0;
	if (authorized)
		return answer(q, true, NULL);
	if (challenge)
		return answer(q, false,
			      &SD_BUS_ERROR_MAKE_CONST(
				      SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
				      "polkit wants a password for this, and nobody can be "
				      "asked here; run it as root"));
	return answer(
		q, false,
		&SD_BUS_ERROR_MAKE_CONST(SD_BUS_ERROR_ACCESS_DENIED,
					 "polkit does not allow this to you; run it as root"));
}

static uint32_t asked_by(const struct polkit *p, uid_t uid)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < POLKIT_ASKED_MAX; i++) {
		if (p->questions[i].m && p->questions[i].asked && p->questions[i].uid == uid)
			n++;
	}
	return n;
}

static int ask_polkit(struct question *q)
{
	uint32_t flags = sd_bus_message_get_allow_interactive_authorization(q->m) > 0
				 ? POLKIT_ALLOW_INTERACTION
				 : 0;
	sd_bus_message *call = NULL;
	int r;

	q->asked = true;
	q->slot = sd_bus_slot_unref(q->slot);
	r = sd_bus_message_new_method_call(sd_bus_message_get_bus(q->m), &call, POLKIT_NAME,
					   POLKIT_PATH, POLKIT_INTERFACE, "CheckAuthorization");
	if (r >= 0)
		r = sd_bus_message_append(call, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name",
					  "s", sd_bus_message_get_sender(q->m), q->check.action, 0,
					  flags, "");
	if (r >= 0)
		r = sd_bus_call_async(sd_bus_message_get_bus(q->m), &q->slot, call, on_polkit, q,
				      POLKIT_TIMEOUT_US);
	sd_bus_message_unref(call);
	return r;
}

static int on_uid(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct question *q = userdata;
	uint32_t uid;

	if (sd_bus_message_is_method_error(m, NULL) ||
	    sd_bus_message_read_basic(m, 'u', &uid) < 0) {
		question_done(q); /* the caller has gone; nobody waits for an answer */
		return 1;
	}
	if (uid != 0 && asked_by(q->polkit, uid) >= POLKIT_PER_UID_MAX)
		return answer(
			q, false,
			&SD_BUS_ERROR_MAKE_CONST(SD_BUS_ERROR_LIMITS_EXCEEDED,
						 "too many of your requests wait for polkit"));
	q->uid = uid;
	if (needs_no_leave(&q->check, uid))
		return answer(q, true, NULL);
	if (ask_polkit(q) < 0)
		return answer(q, false,
			      &SD_BUS_ERROR_MAKE_CONST(SD_BUS_ERROR_ACCESS_DENIED,
						       "polkit cannot be asked; run it as root"));
	return 1;
}

static struct question *free_place(struct polkit *p)
{
	for (uint32_t i = 0; i < POLKIT_ASKED_MAX; i++) {
		if (!p->questions[i].m)
			return &p->questions[i];
	}
	return NULL;
}

static int ask_bus(struct polkit *p, sd_bus_message *m, const struct polkit_check *check,
		   sd_bus_error *error)
{
	struct question *q = free_place(p);
	int r;

	if (!q)
		return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					"too many requests wait for polkit; try again");
	*q = (struct question){.polkit = p, .m = sd_bus_message_ref(m), .check = *check};
	r = sd_bus_call_method_async(sd_bus_message_get_bus(m), &q->slot, "org.freedesktop.DBus",
				     "/org/freedesktop/DBus", "org.freedesktop.DBus",
				     "GetConnectionUnixUser", on_uid, q, "s",
				     sd_bus_message_get_sender(m));
	if (r < 0) {
		question_done(q);
		return r;
	}
	return 1;
}

int polkit_run(struct polkit *p, const struct link *l, sd_bus_message *m,
	       const struct polkit_check *check, sd_bus_error *error)
{
	if (!l->private)
		return ask_bus(p, m, check, error);
	if (needs_no_leave(check, l->uid))
		return run_allowed(check, l->uid, m, error);
	log_request(check, l->uid, false);
	return sd_bus_error_set(
		error, SD_BUS_ERROR_ACCESS_DENIED,
		"only root may do this on the private socket; on the system bus polkit "
		"may allow it to others");
}
