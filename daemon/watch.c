/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include "host.h"
#include "readfile.h"

#define EVENTS_BYTES 8192U /* one read; an event without name is 16 bytes */
#define READS_MAX    64U /* of one watch_collect(): more than the kernel's queue holds */
#define PATH_BYTES   4096U

/* A file in 32 bits: CPU and bit number; 0 is none. */
#define KNOB_NONE      0U
#define KNOB_GLOBAL_ID 1U
#define KNOB_HOST_ID   3U /* and 5: odd, as no CPU's file is */

static uint32_t knob_pack(uint32_t cpu, uint32_t bit)
{
	return (cpu << 8 | bit << 1 | 1U) + 1U;
}

static void knob_unpack(uint32_t id, uint32_t *cpu, uint32_t *bit)
{
	*cpu = (id - 1) >> 8;
	*bit = (id - 1) >> 1 & 0x7f;
}

static uint32_t bit_of(const struct change *c)
{
	return c->kind == KNOB_QOS ? MACHINE_BIT_QOS : c->state;
}

static struct change knob(const struct watch *w, uint32_t cpu, uint32_t bit)
{
	return (struct change){
		.own_row = w->own_row,
		.cpu = (uint16_t)cpu,
		.state = bit == MACHINE_BIT_QOS ? 0 : (uint8_t)bit,
		.kind = bit == MACHINE_BIT_QOS ? KNOB_QOS : KNOB_DISABLE,
	};
}

/* Descriptors come in ascending order, so the array follows them. */
static int remember(struct watch *w, int wd, uint32_t id)
{
	uint32_t at = (uint32_t)wd, n = w->n_knobs;

	if (at >= n) {
		uint32_t *knobs;

		n = MAX_OF(at + 1, n * 2);
		knobs = realloc(w->knob_of, sizeof(*knobs) * n);
		if (!knobs)
			return -ENOMEM;
		memset(knobs + w->n_knobs, 0, sizeof(*knobs) * (n - w->n_knobs));
		w->knob_of = knobs;
		w->n_knobs = n;
	}
	w->knob_of[at] = id;
	return 0;
}

/* The watch of a file that is no more: not every kernel tells that it is gone with it. */
static void drop_old(struct watch *w, uint32_t id)
{
	for (uint32_t wd = 0; wd < w->n_knobs; wd++) {
		if (w->knob_of[wd] != id)
			continue;
		(void)inotify_rm_watch(w->fd, (int)wd);
		w->knob_of[wd] = KNOB_NONE;
	}
}

static bool is_known(const struct watch *w, int wd, uint32_t id)
{
	return (uint32_t)wd < w->n_knobs && w->knob_of[wd] == id;
}

enum added {
	ADD_FAILED,
	ADD_SAME, /* it is watched already, and is the same file still */
	ADD_NEW,
};

/* again: there has been one for a file of that name. */
static enum added add(struct watch *w, const struct change *c, uint32_t id, uint32_t mask,
		      bool again)
{
	char path[PATH_BYTES], below[HOST_PATH_MAX];
	int wd, r = 0;

	snprintf(path, sizeof(path), "%s/%s", w->prefix, host_knob_path(c, below, sizeof(below)));
	wd = inotify_add_watch(w->fd, path, mask);
	if (wd >= 0 && is_known(w, wd, id))
		return ADD_SAME;
	if (wd >= 0 && again)
		drop_old(w, id);
	if (wd < 0)
		r = -errno;
	else
		r = remember(w, wd, id);
	if (r == 0)
		return ADD_NEW;
	if (r != -ENOENT && r != -ENODEV && w->n_failed++ == 0)
		w->error = r;
	return ADD_FAILED;
}

static uint32_t add_cpu(struct watch *w, uint32_t cpu, uint32_t bit)
{
	struct change c = knob(w, cpu, bit);
	uint32_t mask = IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF;
	bool again = w->renewed[cpu] >> bit & 1;
	enum added added = ADD_FAILED;

	if (!(w->watched[cpu] >> bit & 1))
		added = add(w, &c, knob_pack(cpu, bit), mask, again);
	if (added == ADD_FAILED)
		return 0;
	w->watched[cpu] |= (uint16_t)(1U << bit);
	w->renewed[cpu] &= (uint16_t) ~(1U << bit);
	return added == ADD_NEW;
}

static void add_global(struct watch *w)
{
	struct change c = {.kind = KNOB_GLOBAL};

	/* A request ends with its descriptor: closing is news, too. */
	if (!w->global_watched)
		w->global_watched =
			add(w, &c, KNOB_GLOBAL_ID, IN_MODIFY | IN_CLOSE_WRITE, false) != ADD_FAILED;
}

static uint32_t add_knob(struct watch *w, uint8_t which)
{
	struct change c = {.kind = KNOB_HOST, .state = which};

	if (w->knobs_watched >> which & 1 ||
	    add(w, &c, KNOB_HOST_ID + 2U * which, IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF,
		false) == ADD_FAILED)
		return 0;
	w->knobs_watched |= (uint8_t)(1U << which);
	w->knobs_dirty |= (uint8_t)(1U << which);
	return 1;
}

/* The CPUs that may have files. */
static int read_present(int root_fd, struct cpuset *ret)
{
	_cleanup_free_ char *text = malloc(READFILE_LIST_MAX);
	uint32_t max;
	int r;

	if (!text)
		return -ENOMEM;
	r = readfile_line(root_fd, "sys/devices/system/cpu/present", text, READFILE_LIST_MAX);
	if (r < 0)
		return r;
	r = cpuset_list_max(text, &max);
	if (r < 0)
		return r;
	r = cpuset_init(ret, MIN_OF(max, CPU_MAX - 1) + 1);
	return r < 0 ? r : cpuset_parse_kernel(ret, text);
}

static int make_room(struct watch *w, const char *root, uint32_t n_cpus)
{
	size_t n = strlen(root);

	while (n > 0 && root[n - 1] == '/')
		n--;
	w->prefix = strndup(root, n);
	w->watched = calloc(n_cpus, sizeof(*w->watched));
	w->dirty = calloc(n_cpus, sizeof(*w->dirty));
	w->renewed = calloc(n_cpus, sizeof(*w->renewed));
	w->n_cpus = n_cpus;
	return w->prefix && w->watched && w->dirty && w->renewed ? 0 : -ENOMEM;
}

int watch_init(struct watch *w, const char *root, int root_fd)
{
	struct cpuset present = {.size = 0};
	int r;

	*w = (struct watch){.fd = -1};
	r = read_present(root_fd, &present);
	if (r == 0)
		r = make_room(w, root, present.size);
	if (r == 0) {
		w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		r = w->fd < 0 ? -errno : 0;
	}
	if (r < 0) {
		cpuset_done(&present);
		watch_done(w);
		return r;
	}
	add_global(w);
	cpuset_for_each(cpu, &present)
		add_cpu(w, cpu, MACHINE_BIT_QOS);
	cpuset_done(&present);
	return 0;
}

void watch_done(struct watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w->prefix);
	free(w->knob_of);
	free(w->watched);
	free(w->dirty);
	free(w->renewed);
	*w = (struct watch){.fd = -1};
}

/* The states' files have other names now: those that are watched are gone, or of another state. */
static void renumber(struct watch *w, uint8_t own_row)
{
	uint32_t cpu, bit;

	for (uint32_t wd = 0; wd < w->n_knobs; wd++) {
		uint32_t id = w->knob_of[wd];

		if (id == KNOB_NONE || id & 1)
			continue;
		knob_unpack(id, &cpu, &bit);
		if (bit == MACHINE_BIT_QOS)
			continue;
		(void)inotify_rm_watch(w->fd, (int)wd);
		w->knob_of[wd] = KNOB_NONE;
		w->watched[cpu] &= (uint16_t) ~(1U << bit);
	}
	w->own_row = own_row;
}

void watch_renew(struct watch *w)
{
	uint16_t states = (uint16_t) ~(1U << MACHINE_BIT_QOS);

	for (uint32_t cpu = 0; cpu < w->n_cpus; cpu++) {
		w->renewed[cpu] |= w->watched[cpu] & states;
		w->watched[cpu] &= (uint16_t)~states;
	}
}

uint32_t watch_follow(struct watch *w, const struct plan *plan)
{
	uint32_t n = 0;

	if (w->fd < 0)
		return 0;
	if (plan->own_row != w->own_row)
		renumber(w, plan->own_row);
	add_global(w);
	for (uint32_t i = 0; i < HOST_KNOBS; i++)
		n += plan->has_knob[i] ? add_knob(w, (uint8_t)i) : 0;
	for (uint32_t cpu = 0; cpu < MIN_OF(w->n_cpus, plan->n_cpus); cpu++) {
		const struct plan_row *row = plan_row_of(plan, cpu);
		uint32_t wanted = row ? row->disable_care : 0;

		if (row && row->has_qos)
			wanted |= 1U << MACHINE_BIT_QOS;
		wanted &= ~(uint32_t)w->watched[cpu];
		for (uint32_t bit = 0; wanted >> bit; bit++) {
			if (!(wanted >> bit & 1) || !add_cpu(w, cpu, bit))
				continue;
			w->dirty[cpu] |= (uint16_t)(1U << bit);
			n++;
		}
	}
	return n;
}

static void mark_all(struct watch *w)
{
	memcpy(w->dirty, w->watched, w->n_cpus * sizeof(*w->dirty));
	w->global_dirty = w->global_watched;
	w->knobs_dirty = w->knobs_watched;
}

static void mark(struct watch *w, const struct inotify_event *e)
{
	uint32_t id = (uint32_t)e->wd < w->n_knobs ? w->knob_of[e->wd] : KNOB_NONE;
	uint32_t cpu, bit;

	if (e->mask & IN_Q_OVERFLOW) {
		mark_all(w);
		return;
	}
	if (id == KNOB_NONE)
		return;
	/* Replaced by another file of that name: watch_follow() finds the new one. */
	if (e->mask & IN_MOVE_SELF)
		(void)inotify_rm_watch(w->fd, e->wd);
	if (e->mask & IN_IGNORED)
		w->knob_of[e->wd] = KNOB_NONE;
	if (id == KNOB_GLOBAL_ID) {
		w->global_dirty = true;
		w->global_watched = !(e->mask & IN_IGNORED);
		return;
	}
	if (id & 1) {
		bit = 1U << (id - KNOB_HOST_ID) / 2;
		w->knobs_dirty |= (uint8_t)bit;
		if (e->mask & IN_IGNORED)
			w->knobs_watched &= (uint8_t)~bit;
		return;
	}
	knob_unpack(id, &cpu, &bit);
	w->dirty[cpu] |= (uint16_t)(1U << bit);
	if (e->mask & IN_IGNORED)
		w->watched[cpu] &= (uint16_t) ~(1U << bit);
}

bool watch_pending(const struct watch *w)
{
	for (uint32_t cpu = 0; cpu < w->n_cpus; cpu++)
		if (w->dirty[cpu])
			return true;
	return w->global_dirty || w->knobs_dirty;
}

bool watch_collect(struct watch *w)
{
	_Alignas(struct inotify_event) char buf[EVENTS_BYTES];

	if (w->fd < 0)
		return false;
	for (uint32_t i = 0; i < READS_MAX; i++) {
		ssize_t n = read(w->fd, buf, sizeof(buf));

		if (n <= 0)
			break;
		for (size_t at = 0; at < (size_t)n;) {
			const struct inotify_event *e = (const void *)(buf + at);

			mark(w, e);
			at += sizeof(*e) + e->len;
		}
	}
	w->next = 0;
	return watch_pending(w);
}

void watch_mark(struct watch *w, uint32_t cpu, uint16_t bits)
{
	if (cpu < w->n_cpus)
		w->dirty[cpu] |= bits;
}

void watch_mark_knob(struct watch *w, enum host_knob which)
{
	w->knobs_dirty |= (uint8_t)(w->knobs_watched & 1U << which);
}

void watch_forget(struct watch *w, const struct changes *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		if (c->v[i].kind == KNOB_GLOBAL)
			w->global_dirty = false;
		else if (c->v[i].kind == KNOB_HOST)
			w->knobs_dirty &= (uint8_t) ~(1U << c->v[i].state);
		else if (c->v[i].cpu < w->n_cpus)
			w->dirty[c->v[i].cpu] &= (uint16_t) ~(1U << bit_of(&c->v[i]));
	}
}

bool watch_take(struct watch *w, struct change *ret)
{
	if (w->global_dirty) {
		w->global_dirty = false;
		*ret = (struct change){.kind = KNOB_GLOBAL};
		return true;
	}
	if (w->knobs_dirty) {
		*ret = (struct change){.kind = KNOB_HOST};
		while (!(w->knobs_dirty >> ret->state & 1))
			ret->state++;
		w->knobs_dirty &= (uint8_t) ~(1U << ret->state);
		return true;
	}
	for (; w->next < w->n_cpus; w->next++) {
		uint16_t *dirty = &w->dirty[w->next];
		uint32_t bit = 0;

		if (!*dirty)
			continue;
		while (!(*dirty >> bit & 1))
			bit++;
		*dirty &= (uint16_t) ~(1U << bit);
		*ret = knob(w, w->next, bit);
		return true;
	}
	w->next = 0;
	return false;
}
