/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readfile.h"
#include "sysfs.h"

#define VALUE_MAX 64U /* bytes of one per-CPU file */

/* ---- per-CPU files ---- */

static int write_whole(int fd, const void *bytes, size_t n)
{
	ssize_t r = write(fd, bytes, n);

	if (r < 0)
		return -errno;
	return (size_t)r == n ? 0 : -EIO;
}

static int write_file(int root_fd, const char *path, const void *bytes, size_t n)
{
	int fd = openat(root_fd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = write_whole(fd, bytes, n);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

static int set_file(const struct host *h, const struct change *c, uint64_t value)
{
	char path[HOST_PATH_MAX], text[VALUE_MAX];

	host_knob_path(c, path, sizeof(path));
	if (c->kind == KNOB_DISABLE)
		return write_file(h->root_fd, path, value ? "1\n" : "0\n", 2);
	if (c->kind == KNOB_HOST) {
		snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
		return write_file(h->root_fd, path, text, strlen(text));
	}
	sysfs_format_qos(value, text, sizeof(text));
	return write_file(h->root_fd, path, text, strlen(text));
}

static int get_file(const struct host *h, const struct change *c, uint64_t *ret)
{
	char path[HOST_PATH_MAX], text[VALUE_MAX];
	int n = readfile_at(h->root_fd, host_knob_path(c, path, sizeof(path)), text, sizeof(text));

	if (n < 0)
		return n;
	text[strcspn(text, "\n")] = '\0';
	if (c->kind == KNOB_QOS)
		return sysfs_parse_qos(text, ret);
	if (units_parse_u64(text, 0, UINT64_MAX, ret) < 0)
		return -EBADMSG;
	if (c->kind == KNOB_DISABLE)
		*ret = *ret != 0;
	return 0;
}

/* ---- the global request ---- */

/* PM_QOS_CPU_LATENCY_DEFAULT_VALUE, 2000 s: the kernel's "nobody asks for anything". */
#define DEVICE_NONE_US 2000000000

/* Never looser than asked: whole microseconds downwards. From "no request" on, all is the same. */
static int32_t to_device(uint64_t ns)
{
	return (int32_t)MIN_OF(ns / NSEC_PER_USEC, DEVICE_NONE_US);
}

static uint64_t from_device(int32_t us)
{
	if (us < 0 || us >= DEVICE_NONE_US)
		return LATENCY_NONE;
	return (uint64_t)us * NSEC_PER_USEC;
}

static uint64_t from_bytes(const uint8_t *bytes, size_t n)
{
	int32_t us;

	if (n != sizeof(us))
		return LATENCY_NONE;
	memcpy(&us, bytes, sizeof(us));
	return from_device(us);
}

static int is_device(int root_fd, bool *ret)
{
	struct stat st;

	if (fstatat(root_fd, HOST_GLOBAL_PATH, &st, 0) < 0)
		return -errno;
	if (!S_ISCHR(st.st_mode) && !S_ISREG(st.st_mode))
		return -ENOTSUP;
	*ret = S_ISCHR(st.st_mode);
	return 0;
}

static int set_device(struct host *h, uint64_t ns)
{
	int32_t us = to_device(ns);
	int r;

	if (ns == LATENCY_NONE) {
		if (h->global_fd >= 0)
			close(h->global_fd);
		h->global_fd = -1;
		return 0;
	}
	if (h->global_fd >= 0)
		return write_whole(h->global_fd, &us, sizeof(us));
	/* Opened only to be written: an open descriptor without a value requests nothing. */
	h->global_fd = openat(h->root_fd, HOST_GLOBAL_PATH, O_RDWR | O_CLOEXEC);
	if (h->global_fd < 0)
		return -errno;
	r = write_whole(h->global_fd, &us, sizeof(us));
	if (r < 0) {
		close(h->global_fd);
		h->global_fd = -1;
	}
	return r;
}

/* The bytes of a tree's file before us. -EFBIG when they are more than a record holds. */
static int read_prior(const struct host *h, struct restore_global *g)
{
	char bytes[RESTORE_BYTES_MAX + 2];
	int n = readfile_at(h->root_fd, HOST_GLOBAL_PATH, bytes, sizeof(bytes));

	if (n < 0)
		return (int)n;
	if (n > (ssize_t)RESTORE_BYTES_MAX)
		return -EFBIG;
	memcpy(g->prior, bytes, (size_t)n);
	g->n_prior = (uint8_t)n;
	return 0;
}

static int set_tree(struct host *h, uint64_t ns)
{
	struct restore_global g = h->tree;
	int32_t us;
	int r;

	if (ns == LATENCY_NONE) {
		if (g.n_ours == 0)
			return 0;
		r = write_file(h->root_fd, HOST_GLOBAL_PATH, g.prior, g.n_prior);
		if (r == 0)
			h->tree = (struct restore_global){.n_ours = 0};
		return r;
	}
	if (g.n_ours == 0) {
		r = read_prior(h, &g);
		if (r < 0)
			return r;
	}
	us = to_device(MIN_OF(ns, from_bytes(g.prior, g.n_prior)));
	g.n_ours = 1;
	g.ours[0] = ns;
	/* Noted first: a write that fails half-way has emptied the file, and the way back needs this. */
	h->tree = g;
	return write_file(h->root_fd, HOST_GLOBAL_PATH, &us, sizeof(us));
}

static int set_global(struct host *h, uint64_t ns)
{
	bool device = false;
	int r = is_device(h->root_fd, &device);

	/* Letting go needs no file: the descriptor is all there is. */
	if (r < 0 && ns != LATENCY_NONE)
		return r;
	r = device || h->global_fd >= 0 ? set_device(h, ns) : set_tree(h, ns);
	if (r == 0)
		h->global_ns = ns;
	return r;
}

/* The effective value: of all requests on a device, of the file's text in a tree. */
static int read_effective(const struct host *h, uint64_t *ret)
{
	uint8_t bytes[sizeof(int32_t) + 1];
	ssize_t n;

	if (h->global_fd >= 0) {
		/* pread: a second read of the same descriptor yields nothing. */
		n = pread(h->global_fd, bytes, sizeof(int32_t), 0);
		if (n < 0)
			return -errno;
	} else {
		n = readfile_at(h->root_fd, HOST_GLOBAL_PATH, (char *)bytes, sizeof(bytes));
		if (n < 0)
			return (int)n;
	}
	if (n != sizeof(int32_t))
		return -EBADMSG;
	*ret = from_bytes(bytes, (size_t)n);
	return 0;
}

/* Ours stands when the effective value is not looser than it. */
static int get_global(const struct host *h, const struct change *c, uint64_t *ret)
{
	uint64_t effective = LATENCY_NONE;
	int r;

	if (h->global_ns == LATENCY_NONE && h->tree.n_ours == 0) {
		*ret = LATENCY_NONE;
		return 0;
	}
	r = read_effective(h, &effective);
	if (r < 0)
		return r;
	if (effective <= (uint64_t)to_device(h->global_ns) * NSEC_PER_USEC)
		effective = h->global_ns;
	*ret = effective;
	(void)c;
	return 0;
}

/* ---- the actuator ---- */

static int host_set(void *data, const struct change *c, uint64_t value)
{
	struct host *h = data;

	switch ((enum knob_kind)c->kind) {
	case KNOB_QOS:
	case KNOB_DISABLE:
	case KNOB_HOST:
		return set_file(h, c, value);
	case KNOB_GLOBAL:
		return set_global(h, value);
	}
	return -EINVAL;
}

static int host_get(void *data, const struct change *c, uint64_t *ret)
{
	const struct host *h = data;

	switch ((enum knob_kind)c->kind) {
	case KNOB_QOS:
	case KNOB_DISABLE:
	case KNOB_HOST:
		return get_file(h, c, ret);
	case KNOB_GLOBAL:
		return get_global(h, c, ret);
	}
	return -EINVAL;
}

static const struct actuator_ops host_ops = {.set = host_set, .get = host_get};

struct actuator host_actuator(struct host *h)
{
	return (struct actuator){.ops = &host_ops, .data = h};
}

void host_init(struct host *h, int root_fd)
{
	*h = (struct host){.root_fd = root_fd, .global_fd = -1, .global_ns = LATENCY_NONE};
}

void host_done(struct host *h)
{
	if (h->global_fd >= 0)
		close(h->global_fd);
	h->global_fd = -1;
}

int host_adopt(struct host *h, const struct restore_global *left)
{
	uint64_t prior = from_bytes(left->prior, left->n_prior);
	char bytes[RESTORE_BYTES_MAX];
	bool device = false;
	int32_t us;
	ssize_t n;
	int r;

	if (left->n_ours == 0)
		return 0;
	r = is_device(h->root_fd, &device);
	if (r < 0 || device)
		return r;
	n = readfile_at(h->root_fd, HOST_GLOBAL_PATH, bytes, sizeof(bytes));
	if (n == 0 && left->n_prior > 0)
		return write_file(h->root_fd, HOST_GLOBAL_PATH, left->prior, left->n_prior);
	if (n != sizeof(us))
		return n < 0 ? (int)n : 0;
	memcpy(&us, bytes, sizeof(us));
	for (uint8_t i = 0; i < left->n_ours; i++) {
		if (us != to_device(MIN_OF(left->ours[i], prior)))
			continue;
		h->tree = *left;
		h->tree.n_ours = 1;
		h->tree.ours[0] = h->global_ns = left->ours[i];
		return 0;
	}
	return 0;
}

int host_note_global(const struct host *h, const struct changes *c, struct restore_global *ret)
{
	struct restore_global g = h->tree;
	bool device = false;
	int r;

	for (uint32_t i = 0; i < c->n; i++) {
		if (c->v[i].kind != KNOB_GLOBAL || c->v[i].to == LATENCY_NONE)
			continue;
		r = is_device(h->root_fd, &device);
		if (r < 0)
			return r;
		if (device)
			break;
		if (g.n_ours == 0) {
			r = read_prior(h, &g);
			if (r < 0)
				return r;
		}
		g.ours[g.n_ours++] = c->v[i].to;
		break;
	}
	*ret = g;
	return 0;
}

void host_read_global(const struct host *h, struct machine *m)
{
	uint64_t effective = LATENCY_NONE;

	if (!m->has_global || read_effective(h, &effective) < 0)
		return;
	m->global_ns = effective;
	if (h->tree.n_ours)
		m->global_others_ns = from_bytes(h->tree.prior, h->tree.n_prior);
	else if (h->global_ns == LATENCY_NONE || to_device(effective) < to_device(h->global_ns))
		m->global_others_ns = effective;
	else
		m->global_others_ns = LATENCY_NONE;
}

const char *host_knob_name(const struct change *c, char *buf, size_t size)
{
	switch ((enum knob_kind)c->kind) {
	case KNOB_QOS:
		snprintf(buf, size, "pm_qos_resume_latency_us");
		break;
	case KNOB_DISABLE:
		snprintf(buf, size, "state%u/disable", machine_file_of(c->own_row, c->state));
		break;
	case KNOB_GLOBAL:
		snprintf(buf, size, "cpu_dma_latency");
		break;
	case KNOB_HOST:
		snprintf(buf, size, "%s", machine_knob_name(c->state));
		break;
	}
	return buf;
}

const char *host_knob_path(const struct change *c, char *buf, size_t size)
{
	switch ((enum knob_kind)c->kind) {
	case KNOB_QOS:
		return sysfs_qos_path(c->cpu, buf, size);
	case KNOB_DISABLE:
		return sysfs_disable_path(c->cpu, machine_file_of(c->own_row, c->state), buf, size);
	case KNOB_HOST:
		return sysfs_knob_path(c->state, buf, size);
	case KNOB_GLOBAL:
		snprintf(buf, size, HOST_GLOBAL_PATH);
		break;
	}
	return buf;
}
