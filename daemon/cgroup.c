/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "readfile.h"

struct reader {
	int root_fd;
	const struct cgroup_query *query;
	const struct cgroup_watcher *watcher;
	struct cgroups *ret;
	uint32_t n_dirs;
	char path[CGROUP_PATH_MAX]; /* of what is being looked at, from the root directory */
	size_t n;
};

/* Files that say where the processes of a control group may run, or of which the kernel tells nothing itself. */
static const char *const cpu_files[] = {"cpuset.cpus", "cpuset.cpus.effective",
					"cpuset.cpus.partition", "cgroup.subtree_control"};

bool cgroup_wanted(const struct cgroup_query *q)
{
	for (size_t i = 0; i < ARRAY_SIZE(q->policies); i++)
		if (q->policies[i] && q->policies[i]->n_workloads > 0)
			return true;
	return false;
}

bool cgroup_may_be_below(const struct cgroup_query *q, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(q->policies); i++)
		if (q->policies[i] && workload_any_below(q->policies[i], path))
			return true;
	return false;
}

bool cgroup_matches(const struct cgroup_query *q, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(q->policies); i++)
		if (q->policies[i] && workload_any_matches(q->policies[i], path))
			return true;
	return false;
}

/* ---- one place of the hierarchy ---- */

/* The path below the hierarchy: "" for its root. */
static const char *below(const struct reader *rd)
{
	return rd->path + strlen(CGROUP_ROOT);
}

static void announce(const struct reader *rd, enum cgroup_part part)
{
	if (rd->watcher)
		rd->watcher->about_to_read(rd->watcher->data, part, rd->path);
}

/* Appends "/name"; false when there is no room. cut_to() takes it off again. */
static bool descend(struct reader *rd, const char *name)
{
	size_t n = strlen(name);

	if (rd->n + 1 + n >= sizeof(rd->path))
		return false;
	rd->path[rd->n] = '/';
	memcpy(rd->path + rd->n + 1, name, n + 1);
	rd->n += n + 1;
	return true;
}

static void cut_to(struct reader *rd, size_t n)
{
	rd->n = n;
	rd->path[n] = '\0';
}

/* Without that file (in a recording) it counts as alive. */
static bool read_populated(struct reader *rd)
{
	size_t n = rd->n;
	char text[128];
	int r = -ENOENT;

	if (descend(rd, "cgroup.events")) {
		announce(rd, CGROUP_FILE);
		r = readfile_at(rd->root_fd, rd->path, text, sizeof(text));
	}
	cut_to(rd, n);
	return r < 0 || !strstr(text, "populated 0");
}

static int read_list(struct reader *rd, const char *file, struct cpuset *ret)
{
	size_t n = rd->n;
	int r = -ENOENT;

	if (descend(rd, file))
		r = readfile_list(rd->root_fd, rd->path, rd->query->machine->n_cpus, ret);
	cut_to(rd, n);
	return r;
}

static void announce_cpu_files(struct reader *rd)
{
	size_t n = rd->n;

	for (size_t i = 0; i < ARRAY_SIZE(cpu_files); i++) {
		if (descend(rd, cpu_files[i]))
			announce(rd, CGROUP_FILE);
		cut_to(rd, n);
	}
}

/* Those of set that are offline. */
static void keep_offline(const struct machine *machine, struct cpuset *set)
{
	for (uint32_t cpu = 0; cpu < machine->n_cpus; cpu++)
		if (!machine->cpus[cpu].present || machine->cpus[cpu].online)
			cpuset_del(set, cpu);
}

/* From here upwards: the first effective set, the first configured one; the path is left at the root. */
static int climb(struct reader *rd, struct cpuset *effective, struct cpuset *configured)
{
	bool have_effective = false, have_configured = false;

	for (;;) {
		int r = 0;

		announce_cpu_files(rd);
		if (!have_effective) {
			r = read_list(rd, "cpuset.cpus.effective", effective);
			have_effective = r == 0;
		}
		if (r != -ENOMEM && !have_configured) {
			r = read_list(rd, "cpuset.cpus", configured);
			have_configured = r == 0 && cpuset_count(configured) > 0;
		}
		if (r == -ENOMEM)
			return r;
		if (!*below(rd))
			break;
		cut_to(rd, (size_t)(strrchr(rd->path, '/') - rd->path));
	}
	if (!have_configured)
		cpuset_fill(configured);
	if (!have_effective)
		cpuset_or(effective, configured);
	return 0;
}

/* The path is as before when this returns. */
static int read_cpus(struct reader *rd, struct cpuset *ret)
{
	uint32_t n_cpus = rd->query->machine->n_cpus;
	_cleanup_(cpuset_done) struct cpuset effective = {.size = 0}, configured = {.size = 0};
	_cleanup_free_ char *path = strndup(rd->path, rd->n);
	int r = path ? cpuset_init(&effective, n_cpus) : -ENOMEM;

	if (r == 0)
		r = cpuset_init(&configured, n_cpus);
	if (r == 0)
		r = climb(rd, &effective, &configured);
	if (path) {
		rd->n = strlen(path);
		memcpy(rd->path, path, rd->n + 1);
	}
	if (r < 0)
		return r;
	keep_offline(rd->query->machine, &configured);
	cpuset_or(&effective, &configured);
	*ret = effective;
	effective = (struct cpuset){.size = 0};
	return 0;
}

static int read_match(struct reader *rd)
{
	_cleanup_(cpuset_done) struct cpuset cpus = {.size = 0};
	bool populated;
	int r;

	announce(rd, CGROUP_DIR);
	populated = read_populated(rd);
	r = read_cpus(rd, &cpus);
	return r < 0 ? r : cgroups_add(rd->ret, below(rd), populated, &cpus);
}

/* ---- all of it ---- */

static int is_dir(const struct dirent *e)
{
	return e->d_type == DT_DIR && e->d_name[0] != '.';
}

static int list(struct reader *rd);

static int look_at(struct reader *rd, const char *name)
{
	size_t n = rd->n;
	int r = 0;

	if (descend(rd, name)) {
		if (cgroup_matches(rd->query, below(rd)))
			r = read_match(rd);
		if (r == 0 && cgroup_may_be_below(rd->query, below(rd)))
			r = list(rd);
	}
	cut_to(rd, n);
	return r;
}

/* In the order of names, so that the same hierarchy is the same list. */
static int list(struct reader *rd)
{
	struct dirent **v = NULL;
	int n, r = 0;

	if (rd->n_dirs == CGROUP_DIRS_MAX) {
		rd->ret->cut = true;
		return 0;
	}
	rd->n_dirs++;
	announce(rd, CGROUP_DIR);
	n = scandirat(rd->root_fd, rd->path, &v, is_dir, alphasort);
	if (n < 0)
		return errno == ENOMEM ? -ENOMEM : 0;
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = look_at(rd, v[i]->d_name);
		free(v[i]);
	}
	free(v);
	return r;
}

int cgroup_read(int root_fd, const struct cgroup_query *q, const struct cgroup_watcher *watcher,
		struct cgroups *ret)
{
	struct reader rd = {
		.root_fd = root_fd,
		.query = q,
		.watcher = watcher,
		.ret = ret,
		.path = CGROUP_ROOT,
		.n = strlen(CGROUP_ROOT),
	};
	int r;

	*ret = (struct cgroups){.n = 0};
	if (!cgroup_wanted(q))
		return 0;
	if (faccessat(root_fd, CGROUP_ROOT "/cgroup.controllers", F_OK, 0) < 0) {
		ret->absent = true;
		return 0;
	}
	r = list(&rd);
	if (r < 0)
		cgroups_done(ret);
	return r;
}
