/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-login.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "holders.h"
#include "readfile.h"
#include "units.h"

#define DEVICE "/dev/cpu_dma_latency"

bool holders_wanted(const struct options *o)
{
	return !o->host && !o->socket && (!o->root || streq(o->root, "/"));
}

/* The number a directory is named by; 0 for any other name. */
static uint32_t number_of(const char *name)
{
	uint32_t n;

	return units_scan_u32(&name, INT32_MAX, &n) < 0 || *name ? 0 : n;
}

static bool is_device(int fds, const char *name)
{
	char target[sizeof(DEVICE) + 1];
	ssize_t n = readlinkat(fds, name, target, sizeof(target));

	return n == sizeof(DEVICE) - 1 && memcmp(target, DEVICE, (size_t)n) == 0;
}

/* Only a writer can ask for something. The flags of an open file are octal. */
static bool may_write(int process, const char *name)
{
	char path[32], text[256];
	const char *at;
	unsigned flags = 0;

	snprintf(path, sizeof(path), "fdinfo/%.16s", name);
	if (readfile_at(process, path, text, sizeof(text)) < 0)
		return false;
	at = strstr(text, "flags:");
	if (!at)
		return false;
	for (at += strcspn(at, "01234567"); *at >= '0' && *at <= '7'; at++)
		flags = flags << 3 | (unsigned)(*at - '0');
	return (flags & O_ACCMODE) != O_RDONLY;
}

/* 1: it holds the device, 0: not, -errno: it may not be looked into. */
static int look_into(int process)
{
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = 0;
	struct dirent *e;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!found && (e = readdir(dir)))
		found = *e->d_name != '.' && is_device(fd, e->d_name) &&
			may_write(process, e->d_name);
	closedir(dir);
	return found;
}

static int add(struct holders *h, int process, uint32_t pid)
{
	struct holder *v = reallocarray(h->v, h->n + 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	h->v = v;
	v[h->n] = (struct holder){.pid = pid};
	if (readfile_line(process, "comm", v[h->n].name, sizeof(v[h->n].name)) < 0)
		snprintf(v[h->n].name, sizeof(v[h->n].name), "unknown");
	if (sd_pid_get_unit((pid_t)pid, &v[h->n].unit) < 0)
		v[h->n].unit = NULL;
	h->n++;
	return 0;
}

static int look_at(struct holders *h, int proc, const char *name)
{
	int process = openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC), r;

	/* It has ended meanwhile. */
	if (process < 0)
		return 0;
	r = look_into(process);
	if (r == -EACCES || r == -EPERM)
		h->n_hidden++;
	if (r > 0)
		r = add(h, process, number_of(name));
	close(process);
	return r == -ENOMEM ? r : 0;
}

int holders_find(struct holders *ret)
{
	struct holders h = {.n = 0};
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int r = 0;

	if (!proc)
		return -errno;
	while (r == 0 && (e = readdir(proc)))
		if (number_of(e->d_name))
			r = look_at(&h, dirfd(proc), e->d_name);
	closedir(proc);
	if (r < 0)
		holders_done(&h);
	else
		*ret = h;
	return r;
}

void holders_done(struct holders *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		free(h->v[i].unit);
	free(h->v);
	*h = (struct holders){.n = 0};
}

char *holders_text(const struct holders *h)
{
	struct buf b = {.n = 0};

	for (uint32_t i = 0; i < h->n; i++)
		buf_printf(&b, "%s%s (pid %" PRIu32 "%s%s)", i ? ", " : "", h->v[i].name,
			   h->v[i].pid, h->v[i].unit ? ", " : "", h->v[i].unit ? h->v[i].unit : "");
	if (h->n_hidden)
		buf_printf(&b, "%s%" PRIu32 " processes cannot be looked into by this user",
			   h->n ? "; " : "", h->n_hidden);
	return buf_finish(&b);
}
