/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tally.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "machine.h"
#include "readfile.h"
#include "units.h"

/* Left to the bus, the log, the module and the one file that is being written. */
#define FDS_OF_OTHERS 256U

struct tally_slot {
	int fd; /* -1: not open */
	uint16_t cpu;
	uint8_t state, file;
};

static const char *file_name(uint8_t file)
{
	switch ((enum counter_file)file) {
	case COUNTER_USAGE:
		return "usage";
	case COUNTER_TIME:
		return "time";
	case COUNTER_ABOVE:
		return "above";
	case COUNTER_REJECTED:
		break;
	}
	return "rejected";
}

void tally_init(struct tally *t, int root_fd)
{
	*t = (struct tally){.root_fd = root_fd};
}

static void close_slot(struct tally *t, struct tally_slot *s)
{
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	t->n_open--;
}

void tally_done(struct tally *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		close_slot(t, &t->slots[i]);
	free(t->slots);
	*t = (struct tally){.root_fd = t->root_fd, .own_row = t->own_row};
}

void tally_renumber(struct tally *t, uint8_t own_row)
{
	for (uint32_t i = 0; t->own_row != own_row && i < t->n; i++)
		close_slot(t, &t->slots[i]);
	t->own_row = own_row;
}

int tally_size(struct tally *t, uint32_t n)
{
	struct rlimit limit = {.rlim_cur = 0};

	if (n == t->n)
		return 0;
	tally_done(t);
	t->slots = calloc(n, sizeof(*t->slots));
	if (!t->slots)
		return -ENOMEM;
	t->n = n;
	for (uint32_t i = 0; i < n; i++)
		t->slots[i].fd = -1;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > FDS_OF_OTHERS)
		t->max_open = (uint32_t)MIN_OF(limit.rlim_cur - FDS_OF_OTHERS, UINT32_MAX);
	return 0;
}

static int open_counter(const struct tally *t, const struct counter *c)
{
	static const char below[] = "sys/devices/system/cpu/", state[] = "cpuidle/state";
	char tail[48], path[sizeof(below) + READFILE_CPU_PATH_MAX], *p = tail;
	int fd;

	/* Some hundred times a second on a large machine: by hand. */
	p = stpcpy(p, state);
	*p++ = (char)('0' + (c->state == COUNTER_OWN_ROW ? t->own_row
							 : machine_file_of(t->own_row, c->state)) %
				    MACHINE_STATES_MAX);
	*p++ = '/';
	stpcpy(p, file_name(c->file));
	memcpy(path, below, sizeof(below));
	readfile_cpu_path(c->cpu, tail, path + sizeof(below) - 1);
	fd = openat(t->root_fd, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int read_fd(int fd, uint64_t *ret)
{
	char text[24];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return units_parse_u64(text, 0, UINT64_MAX, ret);
}

/* The slot of a counter that may be kept open, with that very file in it or nothing; NULL: none. */
static struct tally_slot *slot_of(struct tally *t, const struct counter *c)
{
	struct tally_slot *s;

	if (c->slot >= t->n)
		return NULL;
	s = &t->slots[c->slot];
	if (s->fd >= 0 && (s->cpu != c->cpu || s->state != c->state || s->file != c->file))
		close_slot(t, s);
	return s->fd >= 0 || t->n_open < t->max_open ? s : NULL;
}

int tally_read(void *data, const struct counter *c, uint64_t *ret)
{
	struct tally *t = data;
	struct tally_slot *s = slot_of(t, c);
	int fd, r;

	if (s && s->fd >= 0) {
		r = read_fd(s->fd, ret);
		if (r != -ENODEV)
			return r;
		/* The CPU went; it may be back already. */
		close_slot(t, s);
	}
	fd = open_counter(t, c);
	if (fd < 0)
		return fd;
	r = read_fd(fd, ret);
	if (!s || r < 0) {
		close(fd);
		return r;
	}
	*s = (struct tally_slot){.fd = fd, .cpu = c->cpu, .state = c->state, .file = c->file};
	t->n_open++;
	return r;
}
