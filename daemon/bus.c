/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <unistd.h>

#include "bus-private.h"
#include "log.h"
#include "message.h"
#include "overlay.h"
#include "protocol.h"
#include "status.h"
#include "sysfs.h"

#define SETTINGS_NAME "run-time settings" /* as the file of their diagnostics */

/* ---- answers ---- */

int bus_not_ready(sd_bus_error *error)
{
	return sd_bus_error_set(error, PROTOCOL_ERROR_NOT_YET,
				"there is no plan yet; see the daemon's log, or try again");
}

static int send_or_fail(sd_bus_message *reply, int r)
{
	return r < 0 ? r : sd_bus_message_send(reply);
}

/* What of the host a selector looks at may be more than the policy made the daemon read. */
static int eval_selector(const struct bus *b, const struct selector *s, struct cpuset *ret)
{
	const struct machine *m = manager_machine(b->manager);
	_cleanup_(machine_freep) struct machine *fresh = NULL;
	int fd = -1, r;

	if (selector_needs(s) & ~policy_needs(manager_policy(b->manager))) {
		r = sysfs_open_root(manager_root(b->manager), &fd);
		if (r == 0)
			r = sysfs_read_machine(fd, selector_needs(s), NULL, &fresh);
		if (fd >= 0)
			close(fd);
		if (r < 0)
			return r;
		m = fresh;
	}
	return selector_eval(s, m, ret);
}

int bus_select_cpus(const struct bus *b, const char *text, struct cpuset *ret, sd_bus_error *error)
{
	_cleanup_(selector_freep) struct selector *s = NULL;
	char words[256];
	int r;

	r = selector_new(text, &s, words, sizeof(words));
	if (r == -EINVAL)
		return sd_bus_error_setf(error, PROTOCOL_ERROR_SELECTOR, "CPUs '%.160s': %s", text,
					 words);
	if (r == 0)
		r = eval_selector(b, s, ret);
	if (r < 0)
		return r;
	if (cpuset_count(ret) > 0)
		return 0;
	cpuset_done(ret);
	return sd_bus_error_setf(error, PROTOCOL_ERROR_NO_CPU,
				 "'%.160s' selects no CPU of this host; it has 0-%u", text,
				 manager_machine(b->manager)->n_cpus - 1);
}

static int make_view(const struct bus *b, const char *cpus, unsigned flags, struct view *ret,
		     sd_bus_error *error)
{
	const struct manager *m = b->manager;
	struct cpuset set = {0};
	int r;

	if (*cpus) {
		r = bus_select_cpus(b, cpus, &set, error);
		if (r < 0)
			return r;
	}
	r = view_make(manager_policy(m), manager_machine(m), manager_plan(m), manager_holds(m),
		      *cpus ? &set : NULL, flags, ret);
	cpuset_done(&set);
	return r;
}

static int reply_view(sd_bus_message *m, struct link *l, unsigned flags, sd_bus_error *error)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	struct bus *b = bus_of(l);
	struct view view = {0};
	const char *cpus;
	int r;

	r = sd_bus_message_read_basic(m, 's', &cpus);
	if (r < 0)
		return r;
	if (!manager_plan(b->manager))
		return bus_not_ready(error);
	r = make_view(b, cpus, flags, &view, error);
	if (r < 0)
		return r;
	r = sd_bus_message_new_method_return(m, &reply);
	if (r >= 0)
		r = message_append_view(reply, &view);
	view_done(&view);
	return send_or_fail(reply, r);
}

static int on_get_plan(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return link_drop_if_stuck(userdata) ? 1 : reply_view(m, userdata, 0, error);
}

static int on_explain(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return link_drop_if_stuck(userdata) ? 1 : reply_view(m, userdata, VIEW_LAYERS, error);
}

static int on_get_policy(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_free_ char *text = NULL;
	const struct policy *policy;

	if (link_drop_if_stuck(userdata))
		return 1;
	policy = manager_policy(bus_of(userdata)->manager);
	if (!policy)
		return bus_not_ready(error);
	text = policy_format(policy);
	return text ? sd_bus_reply_method_return(m, "s", text) : -ENOMEM;
}

static int on_list_profiles(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	const struct policy *policy;
	struct listing l = {0};
	int r;

	if (link_drop_if_stuck(userdata))
		return 1;
	policy = manager_policy(bus_of(userdata)->manager);
	if (!policy)
		return bus_not_ready(error);
	r = listing_make(policy, &l);
	if (r >= 0)
		r = sd_bus_message_new_method_return(m, &reply);
	if (r >= 0)
		r = message_append_profiles(reply, &l);
	listing_done(&l);
	return send_or_fail(reply, r);
}

/* ---- properties, which GetStatus() has as well ---- */

static int on_property(_unused_ sd_bus *bus, _unused_ const char *path,
		       _unused_ const char *interface, const char *property, sd_bus_message *reply,
		       void *userdata, _unused_ sd_bus_error *error)
{
	return status_append_value(reply, property, bus_of(userdata)->manager, NULL);
}

static int on_get_status(sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	struct bus *b;
	int r;

	if (link_drop_if_stuck(userdata))
		return 1;
	b = bus_of(userdata);
	r = sd_bus_message_new_method_return(m, &reply);
	if (r >= 0)
		r = status_append_all(reply, b->manager, b->settings);
	return send_or_fail(reply, r);
}

/* ---- what changes something ---- */

/* All errors as text, for callers that show nothing else, and the list for those that can read it. */
int bus_reply_bad_policy(sd_bus_message *m, const struct diag_list *diags)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	char text[4096] = "";
	size_t n = 0;
	int r;

	for (size_t i = 0; i < diags->n && n < sizeof(text) - 2; i++) {
		if (diags->items[i].severity != DIAG_ERROR)
			continue;
		if (n > 0)
			text[n++] = '\n';
		n += diag_format(&diags->items[i], text + n, sizeof(text) - n);
	}
	r = sd_bus_message_new_method_errorf(m, &reply, PROTOCOL_ERROR_BAD_POLICY, "%s", text);
	if (r >= 0)
		r = message_append_diags(reply, diags);
	return send_or_fail(reply, r);
}

static int reply_outcome(struct bus *b, sd_bus_message *m, int result, struct diag_list *diags,
			 sd_bus_error *error)
{
	_cleanup_message_ sd_bus_message *reply = NULL;
	const char *last = manager_last_error(b->manager);
	int r;

	if (result == -ENOMEM)
		return result;
	if (result == -EBADMSG)
		return bus_reply_bad_policy(m, diags);
	if (result < 0)
		return sd_bus_error_setf(
			error, PROTOCOL_ERROR_APPLY,
			"the new plan did not reach the CPUs, the old one stands: %s",
			*last ? last : strerror(-result));
	r = sd_bus_message_new_method_return(m, &reply);
	if (r >= 0)
		r = message_append_diags(reply, diags);
	return send_or_fail(reply, r);
}

static int run_reload(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(diag_done) struct diag_list diags = {0};
	struct bus *b = userdata;
	int r;

	r = manager_reload(b->manager, &diags);
	return reply_outcome(b, m, r, &diags, error);
}

static int run_reset(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(diag_done) struct diag_list diags = {0};
	struct bus *b = userdata;
	int r;

	r = manager_set(b->manager, NULL, &diags);
	if (r >= 0) {
		free(b->settings);
		b->settings = NULL;
	}
	return reply_outcome(b, m, r, &diags, error);
}

static int too_long(sd_bus_error *error)
{
	return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
				 "run-time settings may have %u bytes in all; put more into a file",
				 PROTOCOL_SETTINGS_MAX);
}

static int run_set(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(diag_done) struct diag_list diags = {0};
	_cleanup_free_ char *merged = NULL;
	struct bus *b = userdata;
	const char *text;
	int r;

	r = sd_bus_message_rewind(m, true);
	if (r >= 0)
		r = sd_bus_message_read_basic(m, 's', &text);
	if (r < 0)
		return r;
	r = overlay_merge(SETTINGS_NAME, b->settings ? b->settings : "", text,
			  PROTOCOL_SETTINGS_MAX, &diags, &merged);
	if (r == -E2BIG)
		return too_long(error);
	if (r >= 0)
		r = manager_set(b->manager, merged, &diags);
	if (r >= 0) {
		free(b->settings);
		b->settings = TAKE_PTR(merged);
	}
	return reply_outcome(b, m, r, &diags, error);
}

static int guard(sd_bus_message *m, struct link *l, const char *action, polkit_verb run,
		 sd_bus_error *error)
{
	struct polkit_check check = {.action = action, .run = run, .userdata = bus_of(l)};

	if (link_drop_if_stuck(l))
		return 1;
	return polkit_run(bus_of(l)->polkit, l, m, &check, error);
}

static int on_reload(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return guard(m, userdata, PROTOCOL_ACTION_RELOAD, run_reload, error);
}

static int on_reset(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	return guard(m, userdata, PROTOCOL_ACTION_RESET, run_reset, error);
}

/* The length is looked at first: a question to polkit keeps the whole message. */
static int on_set(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	const char *text;
	int r;

	r = sd_bus_message_read_basic(m, 's', &text);
	if (r < 0)
		return r;
	if (strlen(text) > PROTOCOL_SETTINGS_MAX)
		return too_long(error);
	return guard(m, userdata, PROTOCOL_ACTION_SET, run_set, error);
}

/* ---- the object ---- */

#define EVERYONE SD_BUS_VTABLE_UNPRIVILEGED
#define CHANGING SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE

/* Everyone may call: what changes something asks polkit_run() first. */
static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD_WITH_ARGS("GetStatus", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", status),
				on_get_status, EVERYONE),
	SD_BUS_METHOD_WITH_ARGS("GetPolicy", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", text),
				on_get_policy, EVERYONE),
	SD_BUS_METHOD_WITH_ARGS("GetPlan", SD_BUS_ARGS("s", cpus),
				SD_BUS_RESULT(PROTOCOL_PLAN, rows), on_get_plan, EVERYONE),
	SD_BUS_METHOD_WITH_ARGS("Explain", SD_BUS_ARGS("s", cpus),
				SD_BUS_RESULT(PROTOCOL_PLAN, rows), on_explain, EVERYONE),
	SD_BUS_METHOD_WITH_ARGS("ListProfiles", SD_BUS_NO_ARGS,
				SD_BUS_RESULT(PROTOCOL_PROFILES, profiles), on_list_profiles,
				EVERYONE),
	SD_BUS_METHOD_WITH_ARGS("Verify", SD_BUS_ARGS("t", interval_us),
				SD_BUS_RESULT(PROTOCOL_FINDINGS, findings), bus_verify_on_verify,
				EVERYONE),
	SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS,
				SD_BUS_RESULT(PROTOCOL_DIAGS, diagnostics), on_reload, EVERYONE),
	SD_BUS_METHOD_WITH_ARGS("Set", SD_BUS_ARGS("s", text),
				SD_BUS_RESULT(PROTOCOL_DIAGS, diagnostics), on_set, EVERYONE),
	SD_BUS_METHOD_WITH_ARGS("ResetSettings", SD_BUS_NO_ARGS,
				SD_BUS_RESULT(PROTOCOL_DIAGS, diagnostics), on_reset, EVERYONE),
	SD_BUS_METHOD_WITH_ARGS(
		"Hold", SD_BUS_ARGS("s", cpus, "a{sv}", ask, "s", reason, "s", application_id),
		SD_BUS_RESULT("u", cookie), bus_hold_on_hold, EVERYONE),
	SD_BUS_METHOD_WITH_ARGS("Release", SD_BUS_ARGS("u", cookie), SD_BUS_NO_RESULT,
				bus_hold_on_release, EVERYONE),
	SD_BUS_METHOD_WITH_ARGS("ListHolds", SD_BUS_NO_ARGS, SD_BUS_RESULT(PROTOCOL_HOLDS, holds),
				bus_hold_on_list, EVERYONE),
	SD_BUS_PROPERTY("Version", "s", on_property, 0, SD_BUS_VTABLE_PROPERTY_CONST),
	SD_BUS_PROPERTY("State", "s", on_property, 0, CHANGING),
	SD_BUS_PROPERTY("Generation", "t", on_property, 0, CHANGING),
	SD_BUS_PROPERTY("Backends", "as", on_property, 0, CHANGING),
	SD_BUS_PROPERTY("PolicyFiles", "as", on_property, 0, CHANGING),
	SD_BUS_PROPERTY("LastError", "s", on_property, 0, CHANGING),
	SD_BUS_PROPERTY("OnForeignWrite", "s", on_property, 0, CHANGING),
	SD_BUS_PROPERTY("ForeignWrites", "t", on_property, 0, CHANGING),
	SD_BUS_SIGNAL_WITH_ARGS("Changed", SD_BUS_ARGS("s", what, "s", detail, "s", why), 0),
	SD_BUS_SIGNAL_WITH_ARGS("HoldReleased", SD_BUS_ARGS("u", cookie, "s", why), 0),
	SD_BUS_VTABLE_END,
};

static int add_object(struct link *l, _unused_ void *userdata)
{
	return sd_bus_add_object_vtable(l->bus, NULL, PROTOCOL_PATH, PROTOCOL_INTERFACE, vtable, l);
}

/* ---- signals ---- */

struct event {
	const char *what, *detail, *why;
};

static void emit_changed(struct link *l, const void *userdata)
{
	const struct event *e = userdata;

	if (link_is_behind(l))
		return;
	(void)sd_bus_emit_signal(l->bus, PROTOCOL_PATH, PROTOCOL_INTERFACE, "Changed", "sss",
				 e->what, e->detail, e->why);
	(void)link_drop_if_stuck(l);
}

static void emit_properties(struct link *l, _unused_ const void *userdata)
{
	if (link_is_behind(l))
		return;
	(void)sd_bus_emit_properties_changed(l->bus, PROTOCOL_PATH, PROTOCOL_INTERFACE, "State",
					     "Generation", "Backends", "PolicyFiles", "LastError",
					     "OnForeignWrite", "ForeignWrites", NULL);
	(void)link_drop_if_stuck(l);
}

static void on_changed(void *data, const char *what, const char *detail, const char *why)
{
	struct bus *b = data;

	links_each(b->links, emit_changed,
		   &(struct event){.what = what, .detail = detail, .why = why});
}

static void on_properties(void *data)
{
	struct bus *b = data;

	links_each(b->links, emit_properties, NULL);
}

static const struct manager_hooks hooks = {
	.changed = on_changed,
	.properties = on_properties,
	.released = bus_hold_released,
};

static void on_link_gone(struct link *l, void *userdata)
{
	bus_verify_link_gone(userdata, l);
	bus_hold_link_gone(l, userdata);
}

/*
 * A daemon on a recorded tree speaks for no host: it takes the name on the system bus only where a test
 * has said which bus that is.
 */
static bool wants_system_bus(const char *root)
{
	return streq(root, "/") || getenv("DBUS_SYSTEM_BUS_ADDRESS");
}

int bus_new(struct manager *m, struct bus **ret)
{
	struct links_options o = {
		.event = manager_event(m),
		.root = manager_root(m),
		.system_bus = wants_system_bus(manager_root(m)),
		.setup = add_object,
		.gone = on_link_gone,
	};
	struct bus *b;
	int r;

	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->manager = m;
	o.userdata = b;
	r = polkit_new(&b->polkit);
	if (r >= 0)
		r = bus_hold_start(b);
	if (r >= 0)
		r = links_new(&o, &b->links);
	if (r < 0) {
		bus_free(b);
		return r;
	}
	manager_set_hooks(m, &hooks, b);
	*ret = b;
	return 0;
}

void bus_free(struct bus *b)
{
	if (!b)
		return;
	manager_set_hooks(b->manager, NULL, NULL);
	manager_forget_holds(b->manager);
	bus_verify_free(b);
	polkit_free(b->polkit);
	links_free(b->links);
	owners_free(b->owners);
	free(b->settings);
	free(b);
}
