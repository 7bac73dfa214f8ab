/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload.h"

#include <fnmatch.h>

#define NAMED_MAX 3U /* control groups that are told by name with one workload */

/* ---- control groups ---- */

void cgroups_done(struct cgroups *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		free(g->v[i].path);
		cpuset_done(&g->v[i].cpus);
	}
	free(g->v);
	*g = (struct cgroups){.n = 0};
}

int cgroups_add(struct cgroups *g, const char *path, bool populated, struct cpuset *cpus)
{
	char *copy;

	if (g->n == g->cap) {
		uint32_t cap = g->cap * 2 + 4;
		struct cgroup *v = reallocarray(g->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		g->v = v;
		g->cap = cap;
	}
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	g->v[g->n++] = (struct cgroup){.path = copy, .populated = populated, .cpus = *cpus};
	*cpus = (struct cpuset){.size = 0};
	return 0;
}

bool cgroups_equal(const struct cgroups *a, const struct cgroups *b)
{
	if (a->n != b->n || a->absent != b->absent || a->cut != b->cut)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!streq(a->v[i].path, b->v[i].path) || a->v[i].populated != b->v[i].populated ||
		    !cpuset_equal(&a->v[i].cpus, &b->v[i].cpus))
			return false;
	return true;
}

/* ---- paths ---- */

/* One component of a path: up to the next "/", without what cg_escape() put in front. */
struct component {
	const char *text;
	size_t n;
};

static bool next_component(const char **path, struct component *ret)
{
	const char *p = *path;

	while (*p == '/')
		p++;
	if (!*p)
		return false;
	ret->n = strcspn(p, "/");
	*path = p + ret->n;
	ret->text = *p == '_' ? p + 1 : p;
	ret->n -= *p == '_';
	return true;
}

static bool ends_with(const struct component *c, const char *suffix)
{
	size_t n = strlen(suffix);

	return c->n > n && memcmp(c->text + c->n - n, suffix, n) == 0;
}

static bool is_slice(const struct component *c)
{
	return ends_with(c, ".slice");
}

/* The last component, if all before it are slices. */
static bool last_below_slices(const char *path, struct component *ret)
{
	struct component c = {.n = 0};
	bool first = true;

	while (next_component(&path, ret)) {
		if (!first && !is_slice(&c))
			return false;
		c = *ret;
		first = false;
	}
	return !first;
}

static bool only_slices(const char *path)
{
	struct component c;

	while (next_component(&path, &c))
		if (!is_slice(&c))
			return false;
	return true;
}

/* Names of units have backslashes of their own: "a\x2db.service". */
static bool glob_matches(const char *glob, const struct component *c)
{
	char name[256];

	if (c->n >= sizeof(name))
		return false;
	memcpy(name, c->text, c->n);
	name[c->n] = '\0';
	return fnmatch(glob, name, FNM_NOESCAPE) == 0;
}

static const char *last_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The id in the name of a container's control group, NULL: it is none. */
static const char *container_id(const char *name, size_t *ret_n)
{
	static const char *const engines[] = {"docker-", "libpod-", "cri-containerd-", "crio-"};
	const char *id = name;

	for (size_t i = 0; i < ARRAY_SIZE(engines); i++)
		if (strncmp(name, engines[i], strlen(engines[i])) == 0)
			id = name + strlen(engines[i]);
	*ret_n = strspn(id, "0123456789abcdef");
	if (id != name)
		return *ret_n > 0 && streq(id + *ret_n, ".scope") ? id : NULL;
	/* Without systemd: the bare id, which all engines make of 64 digits. */
	return *ret_n == 64 && !id[64] ? id : NULL;
}

static bool container_matches(const char *wanted, const char *path)
{
	size_t n, n_wanted = strlen(wanted);
	const char *id = container_id(last_of(path), &n);

	return id && n_wanted <= n && strncasecmp(id, wanted, n_wanted) == 0;
}

bool workload_matches(const struct workload *w, const char *path)
{
	struct component last;

	if (!w->match)
		return false;
	switch (w->kind) {
	case WORKLOAD_UNIT:
		return last_below_slices(path, &last) && !is_slice(&last) &&
		       glob_matches(w->match, &last);
	case WORKLOAD_SLICE:
		return only_slices(path) && last_below_slices(path, &last) &&
		       glob_matches(w->match, &last);
	case WORKLOAD_CGROUP:
		return fnmatch(w->match, path, FNM_NOESCAPE | FNM_PATHNAME) == 0;
	case WORKLOAD_CONTAINER:
		return container_matches(w->match, path);
	case WORKLOAD_KINDS:
		break;
	}
	return false;
}

/* The first n components of the glob, as a glob of its own, against the path of n components. */
static bool glob_leads_below(const char *glob, const char *path)
{
	char head[4096];
	size_t n = 0;

	if (!*path)
		return true;
	for (const char *p = path; *p; p++) {
		if (*p != '/')
			continue;
		if (glob[n])
			n++;
		n += strcspn(glob + n, "/");
	}
	/* What matches ends where the glob ends. */
	if (!glob[n] || n >= sizeof(head))
		return false;
	memcpy(head, glob, n);
	head[n] = '\0';
	return fnmatch(head, path, FNM_NOESCAPE | FNM_PATHNAME) == 0;
}

bool workload_may_be_below(const struct workload *w, const char *path)
{
	if (!w->match)
		return false;
	switch (w->kind) {
	case WORKLOAD_UNIT:
	case WORKLOAD_SLICE:
		return only_slices(path);
	case WORKLOAD_CGROUP:
		return glob_leads_below(w->match, path);
	case WORKLOAD_CONTAINER:
		return !container_matches(w->match, path);
	case WORKLOAD_KINDS:
		break;
	}
	return false;
}

bool workload_any_matches(const struct policy *policy, const char *path)
{
	for (uint32_t i = 0; i < policy->n_workloads; i++)
		if (workload_matches(&policy->workloads[i], path))
			return true;
	return false;
}

bool workload_any_below(const struct policy *policy, const char *path)
{
	for (uint32_t i = 0; i < policy->n_workloads; i++)
		if (workload_may_be_below(&policy->workloads[i], path))
			return true;
	return false;
}

/* ---- CPUs ---- */

static bool lives_in(const struct workload *w, const struct cgroup *g)
{
	return g->populated && workload_matches(w, g->path);
}

static void keep_present(const struct machine *machine, struct cpuset *set)
{
	for (uint32_t cpu = 0; cpu < machine->n_cpus; cpu++)
		if (!machine->cpus[cpu].present)
			cpuset_del(set, cpu);
}

int workload_cpus(const struct workload *w, const struct machine *machine, struct cpuset *ret)
{
	const struct cgroups *g = machine->cgroups;
	int r = cpuset_init(ret, machine->n_cpus);

	for (uint32_t i = 0; r == 0 && g && i < g->n; i++) {
		if (!lives_in(w, &g->v[i]))
			continue;
		if (w->cpus == WORKLOAD_CPUS_ALL)
			cpuset_fill(ret);
		else
			cpuset_or(ret, &g->v[i].cpus);
	}
	if (r == 0)
		keep_present(machine, ret);
	return r;
}

/* ---- words ---- */

static const char *kind_name(const struct workload *w)
{
	static const char *const names[WORKLOAD_KINDS] = {"Unit", "Slice", "Cgroup", "Container"};

	return names[w->kind];
}

void workload_put(const struct workload *w, const struct machine *machine, struct buf *b)
{
	const struct cgroups *g = machine->cgroups;
	uint32_t n = 0;

	buf_printf(b, "%s=%s", kind_name(w), w->match);
	for (uint32_t i = 0; g && i < g->n; i++) {
		if (!lives_in(w, &g->v[i]))
			continue;
		if (n < NAMED_MAX)
			buf_printf(b, "%s%s", n ? ", " : ", which is ", g->v[i].path);
		n++;
	}
	if (n > NAMED_MAX)
		buf_printf(b, " and %u more", n - NAMED_MAX);
}

char *workload_status(const struct policy *policy, const struct machine *machine)
{
	struct buf live = {.n = 0}, all = {.n = 0};
	uint32_t n = 0;
	char *text;

	for (uint32_t i = 0; i < policy->n_workloads; i++) {
		_cleanup_(cpuset_done) struct cpuset set = {.size = 0};
		char cpus[256];

		if (workload_cpus(&policy->workloads[i], machine, &set) < 0)
			live.failed = true;
		else if (cpuset_count(&set) > 0 && cpuset_format(&set, cpus, sizeof(cpus)))
			buf_printf(&live, "%s%s on %s", n++ ? ", " : ": ",
				   policy->workloads[i].name, cpus);
	}
	text = buf_finish(&live);
	if (policy->n_workloads == 0)
		buf_puts(&all, WORKLOAD_STATUS_NONE);
	else
		buf_printf(&all, "%u of %u live%s", n, policy->n_workloads, text ? text : "");
	all.failed |= !text;
	free(text);
	return buf_finish(&all);
}

void workload_warn(const struct policy *policy, const struct machine *machine,
		   struct diag_list *diags)
{
	const struct cgroups *g = machine->cgroups;
	const struct workload *w = policy->workloads;

	if (policy->n_workloads == 0 || !g)
		return;
	if (g->absent)
		diag_add(diags, DIAG_WARNING, w->at.file, w->at.line,
			 "[Workload %s] cannot be followed: there is no cgroup v2 hierarchy at "
			 "sys/fs/cgroup; a [Group NAME] with its CPUs works there",
			 w->name);
	else if (g->cut)
		diag_add(
			diags, DIAG_WARNING, w->at.file, w->at.line,
			"there are more control groups than are looked at for workloads; name them "
			"more narrowly, such as by Cgroup=/machine.slice/*");
}
