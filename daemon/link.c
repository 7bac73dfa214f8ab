/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "link.h"
#include "log.h"
#include "protocol.h"

#define BACKLOG 16

struct links {
	struct links_options o;
	int dir_fd, listen_fd; /* the directory of the private socket, and the socket */
	sd_event_source *listen_source;
	struct link system;
	struct link peers[LINKS_MAX];
};

static void link_close(struct link *l)
{
	if (l->bus && l->links->o.gone)
		l->links->o.gone(l, l->links->o.userdata);
	l->bus = sd_bus_close_unref(l->bus);
}

/*
 * Left open when the event loop ends, so that its ends hear of the restoring. sd-bus by itself would close it before,
 * and wait until all that is queued is read: one that does not read would keep the host from its own settings.
 */
static int attach(struct links *links, sd_bus *bus)
{
	int r = sd_bus_set_close_on_exit(bus, false);

	return r < 0 ? r : sd_bus_attach_event(bus, links->o.event, SD_EVENT_PRIORITY_NORMAL);
}

/* ---- the private socket ---- */

static int on_peer_gone(_unused_ sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	link_close(userdata);
	return 0;
}

/* sd-bus owns fd from sd_bus_set_fd() on; it is closed here before that. */
static int peer_bus(int fd, sd_bus **ret)
{
	sd_bus *bus = NULL;
	sd_id128_t id;
	int r;

	r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_fd(bus, fd, fd);
	if (r < 0) {
		close(fd);
		sd_bus_unref(bus);
		return r;
	}
	r = sd_id128_randomize(&id);
	if (r >= 0)
		r = sd_bus_set_server(bus, 1, id);
	if (r >= 0)
		r = sd_bus_set_description(bus, "private");
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r < 0) {
		sd_bus_close_unref(bus);
		return r;
	}
	*ret = bus;
	return 0;
}

static int peer_setup(struct link *l)
{
	int r;

	r = sd_bus_match_signal(l->bus, NULL, "org.freedesktop.DBus.Local",
				"/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local",
				"Disconnected", on_peer_gone, l);
	if (r >= 0)
		r = l->links->o.setup(l, l->links->o.userdata);
	if (r >= 0)
		r = attach(l->links, l->bus);
	return r;
}

/* A free place this user may have, or NULL. */
static struct link *find_place(struct links *links, uid_t uid)
{
	uint32_t n_others = 0, n_own = 0;
	struct link *place = NULL;

	for (uint32_t i = 0; i < LINKS_MAX; i++) {
		struct link *l = &links->peers[i];

		if (!l->bus)
			place = l;
		else if (l->uid != 0)
			n_others++;
		if (l->bus && l->uid == uid)
			n_own++;
	}
	if (uid != 0 && (n_others >= LINKS_OTHERS_MAX || n_own >= LINKS_PER_UID_MAX))
		return NULL;
	return place;
}

static int accept_peer(struct links *links, int fd)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);
	struct link *l;
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	l = find_place(links, cred.uid);
	if (!l) {
		close(fd);
		return -EUSERS;
	}
	*l = (struct link){.links = links, .private = true, .uid = cred.uid, .pid = cred.pid};
	r = peer_bus(fd, &l->bus);
	if (r >= 0)
		r = peer_setup(l);
	if (r < 0)
		link_close(l);
	return r;
}

static int on_connect(_unused_ sd_event_source *s, int fd, _unused_ uint32_t events, void *userdata)
{
	struct links *links = userdata;
	int peer, r;

	peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (peer < 0)
		return 0; /* it has gone already, or descriptors are short: it will be told again */
	r = accept_peer(links, peer);
	if (r < 0)
		log_entry(
			&(struct log_entry){.id = LOG_ID_DENIED, .priority = LOG_DEBUG, .error = r},
			"connection to the private socket refused");
	return 0;
}

/* Whoever runs this holds the daemon's lock: a socket found there is a dead predecessor's. */
static int bind_socket(struct links *links)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	const char *name = strrchr(PROTOCOL_SOCKET, '/') + 1;

	(void)unlinkat(links->dir_fd, name, 0);
	/* Through the descriptor, since the path below a root may be longer than sun_path. */
	snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/%s", links->dir_fd, name);
	if (bind(links->listen_fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    fchmodat(links->dir_fd, name, 0666, 0) < 0 || listen(links->listen_fd, BACKLOG) < 0)
		return -errno;
	return sd_event_add_io(links->o.event, &links->listen_source, links->listen_fd, EPOLLIN,
			       on_connect, links);
}

static int open_socket_dir(const char *root)
{
	char dir[] = PROTOCOL_SOCKET;
	int root_fd, fd, error;

	*strrchr(dir, '/') = '\0';
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	fd = openat(root_fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	error = errno;
	close(root_fd);
	return fd < 0 ? -error : fd;
}

static int open_private(struct links *links)
{
	links->dir_fd = open_socket_dir(links->o.root);
	if (links->dir_fd < 0)
		return links->dir_fd;
	links->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (links->listen_fd < 0)
		return -errno;
	return bind_socket(links);
}

/* ---- the system bus ---- */

static int open_system(struct links *links);

static int on_system_gone(_unused_ sd_bus_message *m, void *userdata, _unused_ sd_bus_error *error)
{
	struct links *links = userdata;

	link_close(&links->system);
	log_notice(LOG_ID_NONE, "the system bus has gone; waiting for it to come back");
	(void)open_system(links);
	return 0;
}

static int on_name(sd_bus_message *m, _unused_ void *userdata, _unused_ sd_bus_error *error)
{
	const sd_bus_error *e = sd_bus_message_get_error(m);
	uint32_t answer = 0;

	if (e)
		log_warning(LOG_ID_HOST,
			    "the system bus refuses the name " PROTOCOL_NAME ": %s; is "
			    "org.cpuidled1.conf installed below dbus-1/system.d?",
			    e->message);
	else if (sd_bus_message_read_basic(m, 'u', &answer) >= 0 && answer != 1)
		log_warning(LOG_ID_HOST,
			    "somebody else has the name " PROTOCOL_NAME " on the system "
			    "bus; only the private socket serves");
	return 1;
}

/*
 * sd_bus_set_watch_bind() makes sd-bus wait by inotify for a bus that is not there yet: no timer, no
 * wake-up until the socket appears.
 */
static int setup_system(struct links *links, sd_bus *bus)
{
	const char *address = getenv("DBUS_SYSTEM_BUS_ADDRESS");
	int r;

	r = sd_bus_set_address(bus, address ? address : "unix:path=/run/dbus/system_bus_socket");
	if (r >= 0)
		r = sd_bus_set_bus_client(bus, true);
	if (r >= 0)
		r = sd_bus_set_watch_bind(bus, true);
	if (r >= 0)
		r = sd_bus_set_description(bus, "system");
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r >= 0)
		r = sd_bus_match_signal_async(bus, NULL, "org.freedesktop.DBus.Local",
					      "/org/freedesktop/DBus/Local",
					      "org.freedesktop.DBus.Local", "Disconnected",
					      on_system_gone, NULL, links);
	if (r >= 0)
		r = links->o.setup(&links->system, links->o.userdata);
	if (r >= 0)
		r = sd_bus_request_name_async(bus, NULL, PROTOCOL_NAME, 0, on_name, links);
	if (r >= 0)
		r = attach(links, bus);
	return r;
}

static int open_system(struct links *links)
{
	int r;

	links->system = (struct link){.links = links};
	r = sd_bus_new(&links->system.bus);
	if (r >= 0)
		r = setup_system(links, links->system.bus);
	if (r < 0) {
		link_close(&links->system);
		log_entry(
			&(struct log_entry){.id = LOG_ID_HOST, .priority = LOG_WARNING, .error = r},
			"no system bus; only the private socket serves");
	}
	return r;
}

int links_new(const struct links_options *o, struct links **ret)
{
	struct links *links;
	int r;

	links = calloc(1, sizeof(*links));
	if (!links)
		return -ENOMEM;
	links->o = *o;
	links->dir_fd = links->listen_fd = -1;
	r = open_private(links);
	if (r < 0) {
		links_free(links);
		return r;
	}
	if (o->system_bus)
		(void)open_system(links);
	*ret = links;
	return 0;
}

void links_free(struct links *links)
{
	if (!links)
		return;
	link_close(&links->system);
	for (uint32_t i = 0; i < LINKS_MAX; i++)
		link_close(&links->peers[i]);
	sd_event_source_disable_unref(links->listen_source);
	if (links->listen_fd >= 0) {
		(void)unlinkat(links->dir_fd, strrchr(PROTOCOL_SOCKET, '/') + 1, 0);
		close(links->listen_fd);
	}
	if (links->dir_fd >= 0)
		close(links->dir_fd);
	free(links);
}

void *link_userdata(const struct link *l)
{
	return l->links->o.userdata;
}

struct link *links_find(struct links *links, const sd_bus *bus)
{
	if (bus && links->system.bus == bus)
		return &links->system;
	for (uint32_t i = 0; bus && i < LINKS_MAX; i++) {
		if (links->peers[i].bus == bus)
			return &links->peers[i];
	}
	return NULL;
}

void links_each(struct links *links, link_fn fn, const void *userdata)
{
	if (links->system.bus)
		fn(&links->system, userdata);
	for (uint32_t i = 0; i < LINKS_MAX; i++) {
		if (links->peers[i].bus)
			fn(&links->peers[i], userdata);
	}
}

bool link_is_behind(const struct link *l)
{
	uint64_t queued = 0;

	return l->private && l->holds && sd_bus_get_n_queued_write(l->bus, &queued) >= 0 &&
	       queued > LINK_QUEUE_MAX / 2;
}

bool link_drop_if_stuck(struct link *l)
{
	uint64_t queued = 0;

	if (!l->private || !l->bus)
		return !l->bus;
	if (sd_bus_get_n_queued_write(l->bus, &queued) < 0 || queued <= LINK_QUEUE_MAX)
		return false;
	log_entry(&(struct log_entry){.id = LOG_ID_DENIED, .priority = LOG_INFO},
		  "a peer of uid %u does not read its answers; disconnected", (unsigned)l->uid);
	link_close(l);
	return true;
}
