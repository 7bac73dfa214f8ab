/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "protocol.h"

#define NAME_MAX_LEN 64 /* of a socket's own name, with its slash, where the path is too long */

/* A path longer than sun_path is reached through a descriptor of its directory. */
static int connect_path(int fd, const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	const char *slash = strrchr(path, '/');
	char dir[4096];
	int dir_fd = -1, r;

	if (strlen(path) < sizeof(sa.sun_path)) {
		memcpy(sa.sun_path, path, strlen(path));
	} else if (slash && (size_t)(slash - path) < sizeof(dir) && strlen(slash) <= NAME_MAX_LEN) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
		dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir_fd < 0)
			return -errno;
		snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d%.*s", dir_fd,
			 NAME_MAX_LEN, slash);
	} else {
		return -ENAMETOOLONG;
	}
	r = connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ? -errno : 0;
	if (dir_fd >= 0)
		close(dir_fd);
	return r;
}

/* sd-bus owns the descriptor from sd_bus_set_fd() on. */
int peer_connect(const char *path, sd_bus **ret)
{
	sd_bus *bus = NULL;
	int fd, r;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	r = connect_path(fd, path);
	if (r >= 0)
		r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_fd(bus, fd, fd);
	if (r < 0) {
		close(fd);
		sd_bus_unref(bus);
		return r;
	}
	r = sd_bus_start(bus);
	if (r < 0) {
		sd_bus_close_unref(bus);
		return r;
	}
	*ret = bus;
	return 0;
}

static int put_mode(sd_bus_message *m, const char *mode)
{
	const char *value = strchr(mode, '=');
	char key[64];

	if (!value || (size_t)(value - mode) >= sizeof(key))
		return -EINVAL;
	snprintf(key, sizeof(key), "%.*s", (int)(value - mode), mode);
	return sd_bus_message_append(m, "{ss}", key, value + 1);
}

int peer_put_modes(sd_bus_message *m, const char *const *modes, uint32_t n)
{
	int r = sd_bus_message_open_container(m, 'e', "sv");

	if (r >= 0)
		r = sd_bus_message_append_basic(m, 's', PROTOCOL_ASK_MODES);
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', "a{ss}");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "{ss}");
	for (uint32_t i = 0; i < n && r >= 0; i++)
		r = put_mode(m, modes[i]);
	for (unsigned i = 0; i < 3 && r >= 0; i++)
		r = sd_bus_message_close_container(m);
	return r;
}
