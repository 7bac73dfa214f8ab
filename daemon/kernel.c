/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "cpuidle_policy.h"
#include "kernel-private.h"

#define OWNER	   "cpuidled"
#define SEND_BYTES (16 << 20) /* a row for each of 8192 CPUs */

/* ---- sockets ---- */

static int from_nl(int r)
{
	/* libnl has errors of its own, made of errno and not to be led back to it. */
	return r == 0 ? 0 : r == -NLE_NOMEM ? -ENOMEM : r == -NLE_PERM ? -EPERM : -EIO;
}

static int set_option(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

static int connect_one(struct nl_sock **ret, int *ret_fd)
{
	struct nl_sock *s = nl_socket_alloc();
	int r;

	if (!s)
		return -ENOMEM;
	r = from_nl(genl_connect(s));
	if (r < 0) {
		nl_socket_free(s);
		return r;
	}
	*ret = s;
	*ret_fd = nl_socket_get_fd(s);
	return 0;
}

static int connect_requests(struct kernel *k)
{
	struct timeval patience = {.tv_sec = KERNEL_TIMEOUT_MSEC / 1000};
	int r = connect_one(&k->requests, &k->requests_fd);

	if (r < 0)
		return r;
	/* Older kernels than ours lack some of these; without words a refusal is a bare errno. */
	(void)set_option(k->requests_fd, SOL_NETLINK, NETLINK_EXT_ACK, 1);
	(void)set_option(k->requests_fd, SOL_NETLINK, NETLINK_CAP_ACK, 1);
	(void)set_option(k->requests_fd, SOL_SOCKET, SO_SNDBUFFORCE, SEND_BYTES);
	if (setsockopt(k->requests_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	return 0;
}

static int connect_events(struct kernel *k)
{
	int group, r = connect_one(&k->events, &k->events_fd);

	if (r < 0)
		return r;
	/* The controller tells when families come and go. */
	group = genl_ctrl_resolve_grp(k->events, "nlctrl", "notify");
	if (group < 0)
		return from_nl(group);
	return from_nl(nl_socket_add_membership(k->events, group));
}

static int make(struct kernel **ret)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->requests_fd = k->events_fd = -1;
	k->buffer = malloc(KERNEL_BUFFER);
	if (!k->buffer) {
		free(k);
		return -ENOMEM;
	}
	*ret = k;
	return 0;
}

int kernel_new(struct kernel **ret)
{
	_cleanup_(kernel_freep) struct kernel *k = NULL;
	int r = make(&k);

	if (r == 0)
		r = connect_requests(k);
	if (r == 0)
		r = connect_events(k);
	if (r == 0)
		*ret = TAKE_PTR(k);
	return r;
}

int kernel_new_on(int requests_fd, int events_fd, struct kernel **ret)
{
	struct kernel *k = NULL;
	int r = make(&k);

	if (r < 0)
		return r;
	k->requests_fd = requests_fd;
	k->events_fd = events_fd;
	*ret = k;
	return 0;
}

void kernel_free(struct kernel *k)
{
	if (!k)
		return;
	nl_socket_free(k->requests);
	nl_socket_free(k->events);
	module_rows_done(&k->have);
	module_rows_done(&k->before);
	free(k->buffer);
	free(k);
}

int kernel_fd(const struct kernel *k)
{
	return k->events_fd;
}

enum kernel_standing kernel_standing(const struct kernel *k)
{
	return k->standing;
}

const char *kernel_text(const struct kernel *k)
{
	return k->text;
}

const struct module_rows *kernel_have(const struct kernel *k)
{
	return &k->have;
}

void kernel_forget(struct kernel *k, enum kernel_standing standing)
{
	k->standing = standing;
	k->restate = k->adrift = false;
	module_rows_done(&k->have);
	module_rows_done(&k->before);
}

/* ---- the handshake ---- */

static int take_family(const struct wire_message *m, void *data)
{
	return m->kind == WIRE_FAMILY ? wire_get_family(m, data) : 0;
}

static int take_caps(const struct wire_message *m, void *data)
{
	return m->kind == WIRE_CAPS ? wire_get_caps(m, data) : 0;
}

static int find_family(struct kernel *k)
{
	_cleanup_(wire_out_done) struct wire_out o = {.n = 0};
	struct wire_family family = {.id = 0};
	struct kernel_talk t = {.first = ++k->seq, .take = take_family, .data = &family};
	int r;

	wire_put_family(&o, k->seq);
	r = kernel_talk(k, &o, &t);
	if (r == 0 && family.id == 0)
		r = -EBADMSG;
	if (r < 0) {
		k->family = 0;
		k->standing = r == -ENOENT ? KERNEL_ABSENT : KERNEL_FAILED;
		kernel_say(k, "no family cpuidle_policy in the kernel: %s", strerror(-r));
		return r;
	}
	k->family = family.id;
	if (k->events && family.events && family.events != k->joined) {
		r = from_nl(nl_socket_add_membership(k->events, (int)family.events));
		if (r == 0)
			k->joined = family.events;
	}
	return 0;
}

int kernel_get_caps(struct kernel *k, struct wire_caps *ret)
{
	_cleanup_(wire_out_done) struct wire_out o = {.n = 0};
	struct wire_head h = kernel_head(k, true);
	struct kernel_talk t = {.first = h.seq, .take = take_caps, .data = ret};
	int r;

	*ret = (struct wire_caps){.version = 0};
	wire_put_request(&o, &h, WIRE_CAPS_GET);
	r = kernel_talk(k, &o, &t);
	if (r == 0 && ret->version == 0)
		r = t.error = -EBADMSG;
	if (r < 0)
		kernel_say_refused(k, "to say what it can do", &t);
	return r;
}

static int check_version(struct kernel *k, const struct wire_caps *caps)
{
	if (caps->version == CPUIDLE_POLICY_VERSION)
		return 0;
	k->standing = KERNEL_MISMATCH;
	kernel_say(
		k,
		"the loaded cpuidle_policy speaks version %u of its contract; this daemon speaks version %u",
		caps->version, CPUIDLE_POLICY_VERSION);
	return -EPROTO;
}

static int take_lease(struct kernel *k)
{
	_cleanup_(wire_out_done) struct wire_out o = {.n = 0};
	struct wire_head h = kernel_head(k, true);
	struct kernel_talk t = {.first = h.seq};
	int r;

	wire_put_take(&o, &h, OWNER, KERNEL_LEASE_MS, KERNEL_GRACE_MS);
	r = kernel_talk(k, &o, &t);
	if (r < 0)
		kernel_say_refused(k, "the lease", &t);
	return r;
}

void kernel_say_ours(struct kernel *k)
{
	if (k->caps.reason[0])
		kernel_say(k, "cpuidle_policy %u: limits only, no policy: %s", k->caps.version,
			   k->caps.reason);
	else if (k->caps.driver[0])
		kernel_say(k, "cpuidle_policy %u on %s", k->caps.version, k->caps.driver);
	else
		kernel_say(
			k,
			"cpuidle_policy %u; the kernel has no idle driver, the module's own can be used",
			k->caps.version);
}

int kernel_ask(struct kernel *k, enum wire_request what, struct kernel_talk *t)
{
	_cleanup_(wire_out_done) struct wire_out o = {.n = 0};
	struct wire_head h = kernel_head(k, true);

	*t = (struct kernel_talk){.first = h.seq};
	wire_put_request(&o, &h, what);
	return kernel_talk(k, &o, t);
}

void kernel_drop(struct kernel *k)
{
	struct kernel_talk t;

	if (k->standing == KERNEL_OURS || k->adrift)
		(void)kernel_ask(k, WIRE_LEASE_DROP, &t);
	kernel_forget(k, KERNEL_FAILED);
}

int kernel_take(struct kernel *k)
{
	struct wire_caps caps;
	int r;

	if (k->standing == KERNEL_OURS)
		return 0;
	kernel_drop(k);
	r = find_family(k);
	if (r < 0)
		return r;
	r = kernel_get_caps(k, &caps);
	if (r == 0)
		r = check_version(k, &caps);
	if (r < 0)
		return r;
	r = take_lease(k);
	if (r == -EBUSY)
		k->standing = KERNEL_TAKEN;
	/* What was true before the lease was ours need not be now. */
	if (r == 0)
		r = kernel_get_caps(k, &caps);
	if (r < 0)
		return r;
	k->caps = caps;
	k->standing = KERNEL_OURS;
	kernel_say_ours(k);
	return 0;
}

int kernel_renew(struct kernel *k)
{
	struct kernel_talk t;
	int r;

	if (k->standing != KERNEL_OURS)
		return -ENOLCK;
	r = kernel_ask(k, WIRE_LEASE_RENEW, &t);
	if (r < 0) {
		kernel_say_refused(k, "to renew the lease", &t);
		kernel_forget(k, KERNEL_FAILED);
	}
	return r;
}

static void describe_c0(const struct wire_caps *c, struct machine_module *ret)
{
	ret->c0x = c->can_c0;
	ret->c0_row = c->can_c0_row;
	if (c->can_c0)
		memcpy(ret->c0_cpus, c->waitpkg, sizeof(ret->c0_cpus));
	snprintf(ret->c0_reason, sizeof(ret->c0_reason), "%s", c->c0_reason);
	snprintf(ret->c0_row_reason, sizeof(ret->c0_row_reason), "%s", c->c0_row_reason);
}

int kernel_own_row(const struct kernel *k)
{
	return k->standing == KERNEL_OURS ? k->caps.own_row : -1;
}

void kernel_describe(const struct kernel *k, struct machine_module *ret)
{
	const struct wire_caps *c = &k->caps;

	*ret = (struct machine_module){.loaded = false};
	if (k->standing != KERNEL_OURS)
		return;
	ret->loaded = true;
	ret->limits = c->can_qos;
	ret->states_off = c->can_states_off;
	ret->irq_window = c->can_window;
	ret->sti_mwait = c->can_sti_mwait;
	ret->broadcast = c->can_broadcast;
	ret->haltpoll = c->can_haltpoll;
	ret->host_poll = c->can_haltpoll && c->host_poll;
	ret->ioport = c->can_ioport;
	ret->dummy_wait = c->can_ioport && c->dummy_wait;
	ret->own_driver = c->can_own && (!c->driver[0] || c->own_driver);
	for (uint32_t i = 0; i < c->n_states; i++) {
		ret->window_states |= (uint16_t)((c->can_window && c->states[i].window) << i);
		ret->sti_mwait_states |=
			(uint16_t)((c->can_sti_mwait && c->states[i].sti_mwait) << i);
		ret->c1_states |= (uint16_t)(c->states[i].c1 << i);
		ret->ioport_states |= (uint16_t)(c->states[i].ioport << i);
	}
	describe_c0(c, ret);
}
