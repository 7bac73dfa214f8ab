/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scene.h"

#include "cgroup-watch.h"
#include "mktree.h"
#include "render.h"
#include "sysfs.h"

#include <poll.h>
#include <unistd.h>

#define SKX "POLL 0/0, C1 2/2 MWAIT 0x00, C1E 10/20 MWAIT 0x01, C6 133/600 MWAIT 0x20"
#define US  NSEC_PER_USEC
#define ID  "4c01db0b339c9a3b7b0c1ffd2a8e3b2b1c1d6a5f4e3d2c1b0a9f8e7d6c5b4a39"

#define TWO                                                                       \
	"[Profile tight]\nLatencyLimit=2us\n[Profile loose]\nLatencyLimit=10us\n" \
	"[Profile quiet]\nDisableStates=C6\n[Workload db]\nUnit=db.service\n"     \
	"Profile=tight\n[Workload web]\nUnit=web@*.service\nProfile=loose\n"      \
	"[Group g]\nCPUs=0-1\nProfile=quiet\n"

static struct scene s;
static struct cgroups groups;
static struct cgroup_watch w;
static char root[512];
static int root_fd = -1;

static void close_all(void)
{
	cgroup_watch_done(&w);
	cgroups_done(&groups);
	scene_done(&s);
	if (root_fd >= 0)
		close(root_fd);
	root_fd = -1;
}

static void prepare(void)
{
	w = (struct cgroup_watch){.fd = -1};
}

/* ---- matching ---- */

static const struct {
	const char *line, *path;
	bool matches;
} matching[] = {
	{"Unit=db.service", "/system.slice/db.service", true},
	{"Unit=db.service", "/db.service", true},
	{"Unit=db.service", "/a.slice/a-b.slice/db.service", true},
	{"Unit=db.service", "/system.slice/db.service/worker", false},
	{"Unit=db.service", "/system.slice/xdb.service", false},
	/* not the system's units */
	{"Unit=db.service", "/user.slice/user-1000.slice/user@1000.service/app.slice/db.service",
	 false},
	{"Unit=db.service", "/machine.slice/libpod-" ID ".scope/system.slice/db.service", false},
	{"Unit=db@*.service", "/system.slice/system-db.slice/db@main.service", true},
	/* escaped by systemd: in the name of the unit, and where it looks like a file of the kernel */
	{"Unit=dev-disk-by\\x2dlabel-a.service", "/system.slice/dev-disk-by\\x2dlabel-a.service",
	 true},
	{"Unit=dev-disk-by\\x2dlabel-*.service", "/system.slice/dev-disk-by\\x2dlabel-a.service",
	 true},
	{"Unit=dev-disk-by\\x2dlabel-a.service", "/system.slice/dev-disk-byx2dlabel-a.service",
	 false},
	{"Unit=cpu.service", "/system.slice/_cpu.service", true},
	{"Unit=_x.service", "/system.slice/__x.service", true},
	{"Slice=machine.slice", "/machine.slice", true},
	{"Slice=machine.slice", "/machine.slice/a.scope", false},
	{"Slice=a-b.slice", "/a.slice/a-b.slice", true},
	{"Slice=app.slice", "/user.slice/user-1000.slice/user@1000.service/app.slice", false},
	{"Cgroup=/kubepods.slice/*", "/kubepods.slice/x.slice", true},
	{"Cgroup=/kubepods.slice/*", "/kubepods.slice/x.slice/y.scope", false},
	{"Cgroup=/kubepods.slice/*", "/kubepods.slice", false},
	{"Cgroup=/a/b\\x2dc", "/a/b\\x2dc", true},
	{"Cgroup=/*/b[0-9]", "/a/b7", true},
	{"Container=4c01db0b339c", "/system.slice/docker-" ID ".scope", true},
	{"Container=" ID, "/machine.slice/libpod-" ID ".scope", true},
	{"Container=4c01", "/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope", true},
	{"Container=4c01", "/kubepods.slice/kubepods-pod1.slice/crio-" ID ".scope", true},
	{"Container=4C01", "/docker/" ID, true},
	{"Container=4c02", "/docker/" ID, false},
	{"Container=4c01", "/machine.slice/libpod-conmon-" ID ".scope", false},
	{"Container=4c01", "/machine.slice/docker-" ID ".scope/init", false},
	{"Container=4c01", "/system.slice/4c01db0b339c", false},
};

static struct policy *one(const char *line)
{
	char text[512];

	snprintf(text, sizeof(text), "[Workload w]\n%s\nProfile=balanced\n", line);
	return scene_policy(text);
}

/* And each directory on the way to what matches is looked into, or it would not be found. */
START_TEST(paths_match)
{
	_cleanup_(policy_freep) struct policy *p = one(matching[_i].line);
	const char *path = matching[_i].path;
	char above[512];

	ck_assert(workload_matches(&p->workloads[0], path) == matching[_i].matches);
	for (size_t n = 0; matching[_i].matches && path[n]; n++) {
		if (path[n] != '/')
			continue;
		snprintf(above, sizeof(above), "%.*s", (int)n, path);
		ck_assert_msg(workload_may_be_below(&p->workloads[0], above), "%s", above);
	}
}
END_TEST

START_TEST(not_looked_into)
{
	static const struct {
		const char *line, *path;
	} cases[] = {
		{"Unit=a.service", "/system.slice/b.service"},
		{"Slice=a.slice", "/user.slice/user@1000.service"},
		{"Cgroup=/kubepods.slice/*", "/system.slice"},
		{"Cgroup=/kubepods.slice/*", "/kubepods.slice/x"},
		{"Container=4c01", "/system.slice/docker-" ID ".scope"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(policy_freep) struct policy *p = one(cases[i].line);

		ck_assert_msg(!workload_may_be_below(&p->workloads[0], cases[i].path), "%s in %s",
			      cases[i].line, cases[i].path);
	}
}
END_TEST

/* ---- plans ---- */

static void lives(const char *path, bool populated, const char *cpus)
{
	struct cpuset set;

	ck_assert_int_eq(cpuset_init(&set, 8), 0);
	ck_assert_int_eq(cpuset_parse(&set, cpus), 0);
	ck_assert_int_eq(cgroups_add(&groups, path, populated, &set), 0);
}

static void plan(const char *policy)
{
	struct machine *m;

	scene_done(&s); /* of the plan before */
	m = scene_host(8, SKX);
	m->cgroups = &groups;
	scene_set(&s, m, policy);
}

static const char *explain(uint32_t cpu)
{
	static char text[8192];
	_cleanup_(cpuset_done) struct cpuset set = {.size = 0};
	struct render r = {0};
	struct view v;
	char *made;

	ck_assert_int_eq(cpuset_init(&set, 8), 0);
	cpuset_add(&set, cpu);
	ck_assert_int_eq(view_make(s.policy, s.machine, s.plan, NULL, &set, VIEW_LAYERS, &v), 0);
	render_explain(&r, &v);
	made = render_finish(&r);
	view_done(&v);
	snprintf(text, sizeof(text), "%s", made);
	free(made);
	return text;
}

static void has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in\n%s", part, text);
}

START_TEST(overlapping)
{
	char *text;

	lives("/system.slice/db.service", true, "1-3");
	lives("/system.slice/web@a.service", true, "3-4");
	lives("/system.slice/web@b.service", true, "5");
	lives("/system.slice/web@c.service", false, "6");
	plan(TWO);
	ck_assert_str_eq(scene_states(&s, 0), "POLL C1 C1E");
	ck_assert(scene_row(&s, 0)->limit_ns == LATENCY_NONE);
	ck_assert(scene_row(&s, 1)->limit_ns == 2 * US);
	ck_assert_str_eq(scene_states(&s, 1), "POLL C1");
	ck_assert(scene_row(&s, 3)->limit_ns == 2 * US);
	ck_assert(scene_row(&s, 4)->limit_ns == 10 * US && scene_row(&s, 5)->limit_ns == 10 * US);
	ck_assert(scene_row(&s, 6)->limit_ns == LATENCY_NONE);
	ck_assert_str_eq(scene_states(&s, 7), "POLL C1 C1E C6");
	has(explain(3), "limit 2us, by profile tight of workload db (2us)");
	has(explain(3), "workload db");
	has(explain(3), "for Unit=db.service, which is /system.slice/db.service");
	has(explain(3), "; its modes do not hold: workload db comes first by its name");
	has(explain(4), "which is /system.slice/web@a.service, /system.slice/web@b.service");
	/* Two CPUs of the group against three. */
	has(explain(1), "its modes do not hold: group g has fewer CPUs (2 against 3)");
	text = workload_status(s.policy, s.machine);
	ck_assert_str_eq(text, "2 of 2 live: db on 1-3, web on 3-5");
	free(text);
}
END_TEST

START_TEST(priority_decides_modes)
{
	lives("/system.slice/a.service", true, "0-3");
	plan("[Profile m]\nEnableStates=C3\n[Profile n]\n[Workload a]\nUnit=a.service\nProfile=m\n"
	     "Priority=5\n[Group g]\nCPUs=0\nProfile=n\n");
	ck_assert_str_eq(s.policy->profiles[scene_row(&s, 0)->profile].name, "m");
	has(explain(0), "workload a has Priority=5 against 0");
}
END_TEST

START_TEST(all_of_the_machine)
{
	lives("/system.slice/a.service", true, "0-3");
	plan("[Profile p]\nLatencyLimit=2us\n[Workload a]\nUnit=a.service\nCPUs=all\nProfile=p\n");
	ck_assert(scene_row(&s, 7)->limit_ns == 2 * US);
	groups.v[0].populated = false;
	plan("[Profile p]\nLatencyLimit=2us\n[Workload a]\nUnit=a.service\nCPUs=all\nProfile=p\n");
	ck_assert(scene_row(&s, 7)->limit_ns == LATENCY_NONE);
}
END_TEST

START_TEST(default_profile_is_for_the_rest)
{
	lives("/a.slice", true, "2");
	plan("[Daemon]\nDefaultProfile=d\n[Profile d]\nLatencyLimit=10us\n[Profile p]\n"
	     "[Workload a]\nSlice=a.slice\nProfile=p\n");
	ck_assert(scene_row(&s, 1)->limit_ns == 10 * US);
	ck_assert(scene_row(&s, 2)->limit_ns == LATENCY_NONE);
}
END_TEST

START_TEST(no_hierarchy)
{
	groups.absent = true;
	plan(TWO);
	ck_assert(scene_says(&s, DIAG_WARNING, "[Workload db] cannot be followed: there is no"));
}
END_TEST

/* ---- a tree ---- */

static void put(const char *path, const char *text)
{
	char full[600];

	snprintf(full, sizeof(full), "sys/fs/cgroup/%s", path);
	test_write(root, full, text);
}

static void drop(const char *path)
{
	char full[600];

	snprintf(full, sizeof(full), "sys/fs/cgroup/%s", path);
	mktree_drop(root, full);
}

static void make_tree(void)
{
	static unsigned n;

	snprintf(root, sizeof(root), "%s/host%u", test_tmpdir(), n++);
	put("cgroup.controllers", "cpuset cpu\n");
	put("cgroup.subtree_control", "cpuset\n");
	put("cpuset.cpus.effective", "0-6\n");
	put("system.slice/cpuset.cpus.effective", "0-5\n");
	put("system.slice/cpuset.cpus", "\n");
	put("system.slice/db.service/cgroup.events", "populated 1\nfrozen 0\n");
	put("system.slice/db.service/cpuset.cpus.effective", "1-2\n");
	put("system.slice/db.service/cpuset.cpus", "1-2,7\n");
	put("system.slice/db.service/memory.events", "low 0\n");
	put("system.slice/other.service/cgroup.events", "populated 1\n");
	ck_assert_int_eq(sysfs_open_root(root, &root_fd), 0);
	plan(TWO);
	/* 7 is offline. */
	s.machine->cpus[7].online = false;
	ck_assert_int_eq(cgroup_watch_init(&w, root, root_fd), 0);
}

static struct cgroup_query query(void)
{
	return (struct cgroup_query){.policies = {s.policy}, .machine = s.machine};
}

static bool reads_anew(void)
{
	struct cgroup_query q = query();
	bool changed = false;

	ck_assert_int_eq(cgroup_watch_read(&w, &q, &changed), 0);
	return changed;
}

/* "/system.slice/db.service + 1-2" of each that was found; "-" for one without processes. */
static const char *found(void)
{
	static char text[1024];
	char cpus[64];
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < w.found.n; i++) {
		cpuset_format(&w.found.v[i].cpus, cpus, sizeof(cpus));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %c %s", i ? "; " : "",
				      w.found.v[i].path, w.found.v[i].populated ? '+' : '-', cpus);
	}
	return text;
}

/* Is there news that matters? Whatever there is is taken. */
static bool news(void)
{
	struct pollfd p = {.fd = w.fd, .events = POLLIN};
	struct cgroup_query q = query();

	return poll(&p, 1, 0) == 1 && cgroup_watch_collect(&w, &q);
}

START_TEST(a_tree_is_read)
{
	make_tree();
	ck_assert(reads_anew());
	/* Configured and offline: it is there when it comes up. */
	ck_assert_str_eq(found(), "/system.slice/db.service + 1-2,7");
	ck_assert(!reads_anew());
	/* Without files of its own: those above, and what nobody configured is all. */
	drop("system.slice/db.service/cpuset.cpus.effective");
	drop("system.slice/db.service/cpuset.cpus");
	ck_assert(reads_anew());
	ck_assert_str_eq(found(), "/system.slice/db.service + 0-5,7");
	put("system.slice/db.service/cgroup.events", "populated 0\nfrozen 0\n");
	ck_assert(reads_anew());
	ck_assert_str_eq(found(), "/system.slice/db.service - 0-5,7");
}
END_TEST

START_TEST(a_tree_without_hierarchy)
{
	make_tree();
	drop("cgroup.controllers");
	ck_assert(reads_anew());
	ck_assert(w.found.absent && w.found.n == 0);
}
END_TEST

START_TEST(changes_are_noticed)
{
	make_tree();
	ck_assert(reads_anew());
	ck_assert(!news());
	put("system.slice/db.service/cpuset.cpus", "3\n");
	ck_assert(news());
	put("system.slice/db.service/cpuset.cpus.effective", "3\n");
	ck_assert(reads_anew());
	ck_assert_str_eq(found(), "/system.slice/db.service + 3");
	ck_assert(news()); /* of the writes before it was read */
	ck_assert(!reads_anew());
	put("system.slice/db.service/cgroup.events", "populated 0\n");
	ck_assert(news());
	ck_assert(reads_anew());
	/* above it */
	put("cgroup.subtree_control", "\n");
	ck_assert(news());
	ck_assert(!reads_anew());
}
END_TEST

START_TEST(comings_and_goings_are_noticed)
{
	make_tree();
	ck_assert(reads_anew());
	put("system.slice/web@a.service/cgroup.procs", "");
	ck_assert(news());
	ck_assert(reads_anew());
	ck_assert_uint_eq(w.found.n, 2);
	drop("system.slice/web@a.service/cgroup.procs");
	drop("system.slice/web@a.service");
	ck_assert(news());
	ck_assert(reads_anew());
	ck_assert_uint_eq(w.found.n, 1);
	ck_assert(!news());
	/* A slice may have one in it some day. */
	put("new.slice/cgroup.procs", "");
	ck_assert(news());
	ck_assert(!reads_anew());
	put("new.slice/db.service/cgroup.procs", "");
	ck_assert(news());
	ck_assert(reads_anew());
	ck_assert_uint_eq(w.found.n, 2);
}
END_TEST

/* Not as the kernel does it, but as whoever lays a tree out. */
START_TEST(files_may_come_later)
{
	make_tree();
	put("system.slice/web@a.service/cgroup.procs", "");
	ck_assert(reads_anew());
	(void)news();
	ck_assert(!reads_anew());
	put("system.slice/web@a.service/cpuset.cpus.effective", "4\n");
	ck_assert(news());
	ck_assert(reads_anew());
	ck_assert_str_eq(found(),
			 "/system.slice/db.service + 1-2,7; /system.slice/web@a.service + 4,7");
}
END_TEST

START_TEST(what_does_not_matter_is_no_news)
{
	make_tree();
	ck_assert(reads_anew());
	put("system.slice/foreign.service/cgroup.procs", "");
	put("system.slice/other.service/cgroup.events", "populated 0\n");
	put("system.slice/memory.high", "1\n");
	put("system.slice/db.service/memory.events", "low 1\n");
	ck_assert(!news());
}
END_TEST

/* Nobody asks any more: no marks are left, and nothing wakes anybody. */
START_TEST(no_workload_no_watch)
{
	make_tree();
	ck_assert(reads_anew());
	ck_assert_uint_gt(w.n_marks, 0);
	policy_free(s.policy);
	s.policy = scene_policy("[Daemon]\n");
	ck_assert(reads_anew());
	ck_assert_uint_eq(w.n_marks, 0);
	(void)news();
	put("system.slice/db.service/cpuset.cpus", "3\n");
	ck_assert(!news());
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("workload");
	TCase *c = tcase_create("workload");

	tcase_add_checked_fixture(c, prepare, close_all);
	tcase_add_loop_test(c, paths_match, 0, (int)ARRAY_SIZE(matching));
	tcase_add_test(c, not_looked_into);
	tcase_add_test(c, overlapping);
	tcase_add_test(c, priority_decides_modes);
	tcase_add_test(c, all_of_the_machine);
	tcase_add_test(c, default_profile_is_for_the_rest);
	tcase_add_test(c, no_hierarchy);
	tcase_add_test(c, a_tree_is_read);
	tcase_add_test(c, a_tree_without_hierarchy);
	tcase_add_test(c, changes_are_noticed);
	tcase_add_test(c, comings_and_goings_are_noticed);
	tcase_add_test(c, files_may_come_later);
	tcase_add_test(c, what_does_not_matter_is_no_news);
	tcase_add_test(c, no_workload_no_watch);
	suite_add_tcase(suite, c);
	return test_main(suite);
}
