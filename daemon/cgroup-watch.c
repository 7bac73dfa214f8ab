/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup-watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#define EVENTS_BYTES 8192U
#define READS_MAX    64U /* of one cgroup_watch_collect() */
#define DIR_EVENTS \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR)
#define FILE_EVENTS (IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF)

int cgroup_watch_init(struct cgroup_watch *w, const char *root, int root_fd)
{
	size_t n = strlen(root);

	while (n > 0 && root[n - 1] == '/')
		n--;
	*w = (struct cgroup_watch){.fd = -1, .root_fd = root_fd, .prefix = strndup(root, n)};
	return w->prefix ? 0 : -ENOMEM;
}

void cgroup_watch_done(struct cgroup_watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	for (uint32_t i = 0; i < w->n_marks; i++)
		free(w->marks[i].path);
	free(w->marks);
	cgroups_done(&w->found);
	free(w->prefix);
	*w = (struct cgroup_watch){.fd = -1};
}

/* ---- marks ---- */

/* The place of a descriptor, or where it would be. */
static uint32_t place_of(const struct cgroup_watch *w, int wd)
{
	uint32_t low = 0, high = w->n_marks;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (w->marks[mid].wd < wd)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct cgroup_mark *find(const struct cgroup_watch *w, int wd)
{
	uint32_t at = place_of(w, wd);

	return at < w->n_marks && w->marks[at].wd == wd ? &w->marks[at] : NULL;
}

/* New descriptors are mostly the largest so far, so little is moved. */
static struct cgroup_mark *insert(struct cgroup_watch *w, int wd)
{
	uint32_t at = place_of(w, wd);

	if (w->n_marks == w->cap_marks) {
		uint32_t cap = w->cap_marks * 2 + 16;
		struct cgroup_mark *v = reallocarray(w->marks, cap, sizeof(*v));

		if (!v)
			return NULL;
		w->marks = v;
		w->cap_marks = cap;
	}
	memmove(&w->marks[at + 1], &w->marks[at], (w->n_marks - at) * sizeof(*w->marks));
	w->n_marks++;
	w->marks[at] = (struct cgroup_mark){.wd = wd};
	return &w->marks[at];
}

static void forget(struct cgroup_watch *w, struct cgroup_mark *m)
{
	uint32_t at = (uint32_t)(m - w->marks);

	free(m->path);
	memmove(m, m + 1, (w->n_marks - at - 1) * sizeof(*m));
	w->n_marks--;
}

static int remember(struct cgroup_watch *w, int wd, enum cgroup_part part, const char *path)
{
	struct cgroup_mark *m = find(w, wd);
	char *below = NULL;

	if (!m && part == CGROUP_DIR) {
		below = strdup(path + strlen(CGROUP_ROOT));
		if (!below)
			return -ENOMEM;
	}
	if (!m)
		m = insert(w, wd);
	if (!m) {
		free(below);
		return -ENOMEM;
	}
	if (below) {
		m->path = below;
		m->dir = true;
	}
	m->round = w->round;
	return 0;
}

static void watch_place(void *data, enum cgroup_part part, const char *path)
{
	struct cgroup_watch *w = data;
	char full[2 * CGROUP_PATH_MAX];
	int wd, r = 0;

	if (w->fd < 0)
		return;
	snprintf(full, sizeof(full), "%s/%s", w->prefix, path);
	wd = inotify_add_watch(w->fd, full, part == CGROUP_DIR ? DIR_EVENTS : FILE_EVENTS);
	if (wd < 0)
		r = -errno;
	else
		r = remember(w, wd, part, path);
	/* What is not there, or has just gone: its directory tells. */
	if (r < 0 && r != -ENOENT && r != -ENODEV && r != -ENOTDIR && w->n_failed++ == 0)
		w->error = r;
}

/* Lets go what this round did not ask for; the kernel confirms each with IN_IGNORED, which finds no mark. */
static void sweep(struct cgroup_watch *w)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->n_marks; i++) {
		if (w->marks[i].round == w->round) {
			w->marks[kept++] = w->marks[i];
			continue;
		}
		(void)inotify_rm_watch(w->fd, w->marks[i].wd);
		free(w->marks[i].path);
	}
	w->n_marks = kept;
}

/* ---- reading ---- */

int cgroup_watch_read(struct cgroup_watch *w, const struct cgroup_query *q, bool *ret_changed)
{
	const struct cgroup_watcher watcher = {.about_to_read = watch_place, .data = w};
	struct cgroups found;
	int r;

	w->n_failed = 0;
	w->round++;
	if (w->fd < 0 && cgroup_wanted(q)) {
		w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		if (w->fd < 0) {
			w->n_failed = 1;
			w->error = -errno;
		}
	}
	/* What comes from now on is news again. */
	w->stale = false;
	r = cgroup_read(w->root_fd, q, &watcher, &found);
	if (r < 0) {
		w->stale = true;
		return r;
	}
	if (w->fd >= 0)
		sweep(w);
	*ret_changed = !cgroups_equal(&found, &w->found);
	cgroups_done(&w->found);
	w->found = found;
	return 0;
}

/* ---- events ---- */

/* Is it about a control group that could matter? Others come and go all the time. */
static bool concerns(const struct cgroup_query *q, const struct cgroup_mark *m,
		     const struct inotify_event *e)
{
	char path[CGROUP_PATH_MAX + 256];

	if (!m->dir)
		return true;
	if (!e->len)
		return (e->mask & IN_DELETE_SELF) != 0;
	/* In the kernel its files come with it; in a recording one by one. */
	if (!(e->mask & IN_ISDIR))
		return e->mask & IN_CREATE && cgroup_matches(q, m->path);
	snprintf(path, sizeof(path), "%s/%s", m->path, e->name);
	return cgroup_matches(q, path) || cgroup_may_be_below(q, path);
}

static void take(struct cgroup_watch *w, const struct cgroup_query *q,
		 const struct inotify_event *e)
{
	struct cgroup_mark *m;

	if (e->mask & IN_Q_OVERFLOW) {
		w->stale = true;
		return;
	}
	m = find(w, e->wd);
	if (!m)
		return;
	w->stale |= concerns(q, m, e);
	if (e->mask & IN_IGNORED)
		forget(w, m);
}

bool cgroup_watch_collect(struct cgroup_watch *w, const struct cgroup_query *q)
{
	_Alignas(struct inotify_event) char buf[EVENTS_BYTES];

	for (uint32_t i = 0; w->fd >= 0 && i < READS_MAX; i++) {
		ssize_t n = read(w->fd, buf, sizeof(buf));

		if (n <= 0)
			break;
		for (size_t at = 0; at < (size_t)n;) {
			const struct inotify_event *e = (const void *)(buf + at);

			take(w, q, e);
			at += sizeof(*e) + e->len;
		}
	}
	return w->stale;
}
