/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "restore.h"
#include "units.h"

static uint32_t read_pid(int fd)
{
	char text[24];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	uint64_t pid;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return units_parse_u64(text, 1, UINT32_MAX, &pid) < 0 ? 0 : (uint32_t)pid;
}

static int write_pid(int fd)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) < 0)
		return -errno;
	return 0;
}

int lock_take(int root_fd, int *ret_fd, uint32_t *ret_pid)
{
	int fd, r = restore_make_dir(root_fd);

	if (r < 0)
		return r;
	fd = openat(root_fd, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = -errno;
		*ret_pid = read_pid(fd);
		close(fd);
		return r;
	}
	/* The pid is only a help for people: a full disk does not keep us from running. */
	(void)write_pid(fd);
	*ret_fd = fd;
	return 0;
}
