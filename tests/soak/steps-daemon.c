/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "look.h"
#include "steps-private.h"
#include "world.h"

#define CLIENT "/usr/bin/cpuidlectl"
#define DAEMON "/usr/sbin/cpuidled"

/* The daemon gives a file up that is fought over more than ten times a minute. */
#define INSIST_MAX 5U
#define INSIST_WINDOW \
	300U /* calls, well over a minute; half of it may lie on either side of its end */

bool may_insist(const struct model *m, unsigned cpu)
{
	static unsigned calls, used[CPUS];

	if (++calls % INSIST_WINDOW == 0)
		memset(used, 0, sizeof(used));
	return m->module || !m->alive || used[cpu]++ < INSIST_MAX;
}

/* ---- policies ---- */

struct page {
	char text[4096];
	size_t n;
};

static void put(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct page *p, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	p->n += (size_t)vsnprintf(p->text + p->n, sizeof(p->text) - p->n, fmt, args);
	va_end(args);
}

/* Now and then below a microsecond, which the kernel can only take for zero. */
static void put_limit(struct page *p, const char *key, int us)
{
	if (us == NO_LIMIT)
		put(p, "%s=none\n", key);
	else if (us == 0 && steps_random(2))
		put(p, "%s=400ns\n", key);
	else
		put(p, "%s=%dus\n", key, us);
}

static void put_profile(struct page *p, const char *name, const struct demand *d)
{
	put(p, "[Profile %s]\n", name);
	put_limit(p, "LatencyLimit", d->us);
	put(p, "DisableStates=\n%s", d->off ? "DisableStates=C2\n" : "");
}

static void put_group(struct page *p, const char *name, const struct group *g)
{
	char list[16];

	put_profile(p, name, &g->demand);
	put(p, "[Group %s]\nCPUs=%s\nProfile=%s\n", name,
	    g->cpus == CPUS_MASK ? "all" : world_list(g->cpus, list), name);
}

static struct demand any_demand(void)
{
	struct demand d = {.us = steps_random(4) ? any_limit() : NO_LIMIT};

	d.off = steps_random(4) == 0;
	return d;
}

/* Which control groups, and how that is said. */
static const struct {
	unsigned matches;
	const char *glob;
} globs[] = {{0xf, "/soak/*"}, {0x3, "/soak/g[01]"}, {0x8, "/soak/g3"}, {0x4, "/s*k/?2"}};

static void write_policy(const struct policy_text *t)
{
	struct page p = {.n = 0};
	char name[8];

	put(&p, "[Daemon]\nDefaultProfile=fallback\n");
	put_limit(&p, "GlobalLatencyLimit", t->global_us);
	put_profile(&p, "fallback", &t->fallback);
	for (unsigned i = 0; i < N_GROUPS; i++) {
		snprintf(name, sizeof(name), "g%u", i);
		if (t->groups[i].cpus)
			put_group(&p, name, &t->groups[i]);
	}
	for (unsigned i = 0; i < N_WORKLOADS; i++) {
		const struct workload *w = &t->workloads[i];

		if (!w->matches)
			continue;
		snprintf(name, sizeof(name), "w%u", i);
		put_profile(&p, name, &w->demand);
		for (unsigned k = 0; k < sizeof(globs) / sizeof(*globs); k++)
			if (globs[k].matches == w->matches)
				put(&p, "[Workload %s]\nCgroup=%s\nCPUs=%s\nProfile=%s\n", name,
				    globs[k].glob, w->all ? "all" : "cpuset", name);
	}
	must(world_write(POLICY_FILE, p.text), "the policy is written");
}

static struct policy_text any_policy(void)
{
	struct policy_text t = {.global_us = NO_LIMIT, .fallback = {.us = NO_LIMIT}};

	if (steps_random(4) == 0)
		t.fallback = any_demand();
	if (steps_random(6) == 0)
		t.global_us = any_limit();
	for (unsigned i = 0; i < N_GROUPS; i++)
		if (steps_random(2))
			t.groups[i] = (struct group){any_cpus(), any_demand()};
	for (unsigned i = 0; i < N_WORKLOADS; i++) {
		struct workload *w = &t.workloads[i];

		if (steps_random(4) == 0)
			continue;
		w->matches = globs[steps_random(sizeof(globs) / sizeof(*globs))].matches;
		w->all = steps_random(5) == 0;
		w->demand = any_demand();
	}
	return t;
}

static void describe(const struct policy_text *t, const char *what, char *text)
{
	int n = snprintf(text, TEXT_MAX, "%s: else %d%s, global %d", what, t->fallback.us,
			 t->fallback.off ? " off" : "", t->global_us);

	for (unsigned i = 0; i < N_GROUPS && n < TEXT_MAX; i++)
		if (t->groups[i].cpus)
			n += snprintf(text + n, (size_t)(TEXT_MAX - n), ", CPUs %#x %d%s",
				      t->groups[i].cpus, t->groups[i].demand.us,
				      t->groups[i].demand.off ? " off" : "");
	for (unsigned i = 0; i < N_WORKLOADS && n < TEXT_MAX; i++)
		if (t->workloads[i].matches)
			n += snprintf(text + n, (size_t)(TEXT_MAX - n),
				      ", control groups %#x%s %d%s", t->workloads[i].matches,
				      t->workloads[i].all ? " (all)" : "",
				      t->workloads[i].demand.us,
				      t->workloads[i].demand.off ? " off" : "");
}

bool step_policy(struct model *m, char *text)
{
	m->policy = any_policy();
	write_policy(&m->policy);
	describe(&m->policy, "policy for later", text);
	return true;
}

/* A signal tells nobody when it is done: it comes before the second of two questions that are asked after it. */
static void hang_up(void)
{
	int us[CPUS];

	world_daemon_signal(SIGHUP);
	must(world_plan(us) && world_plan(us), "the daemon answers after SIGHUP");
}

bool step_reload(struct model *m, char *text)
{
	bool by_signal = steps_random(3) == 0;

	m->policy = any_policy();
	write_policy(&m->policy);
	describe(&m->policy, by_signal ? "SIGHUP" : "reload", text);
	if (by_signal)
		hang_up();
	else
		must(world_call("Reload", NULL), "%s", text);
	return true;
}

static int client(const char *verb, const char *option, const char *value, const char *word)
{
	const char *argv[8] = {CLIENT, verb};
	unsigned n = 2;

	if (option) {
		argv[n++] = option;
		argv[n++] = value;
	}
	if (word)
		argv[n++] = word;
	return world_run(argv, NULL, 0);
}

bool step_reload_client(struct model *m, char *text)
{
	m->policy = any_policy();
	write_policy(&m->policy);
	describe(&m->policy, "cpuidlectl reload", text);
	must(client("reload", NULL, NULL, NULL) == 0, "%s", text);
	return true;
}

/* ---- what must change nothing ---- */

struct bad {
	const char *name, *text;
};

static const struct bad *any_bad_policy(void)
{
	static const struct bad bad[] = {
		{"unit", "[Profile p]\nLatencyLimit=20ux\n[Group a]\nCPUs=all\nProfile=p\n"},
		{"profile", "[Group a]\nCPUs=all\nProfile=nowhere\n"},
		{"selector", "[Profile p]\nLatencyLimit=1us\n[Group a]\nCPUs=0-\nProfile=p\n"},
		{"circle",
		 "[Profile p]\nBase=q\n[Profile q]\nBase=p\n[Daemon]\nDefaultProfile=p\n"},
		{"choice", "[Daemon]\nGlobalLatencyLimit=1us\nOnForeignWrite=perhaps\n"},
		{"backslash", "[Profile p]\nLatencyLimit=1us \\\n[Group a]\nCPUs=all\nProfile=p\n"},
		{"workload", "[Profile p]\nLatencyLimit=1us\n[Workload w]\nProfile=p\n"},
	};

	return &bad[steps_random(sizeof(bad) / sizeof(*bad))];
}

/* The good one is back before anything else may read it. */
static bool bad_reload(const struct model *m, unsigned way, const char *bad)
{
	bool refused = true;

	must(world_write(POLICY_FILE, bad), "the bad policy is written");
	if (way == 1)
		refused = client("reload", NULL, NULL, NULL) == 3;
	else
		refused = !world_call("Reload", NULL);
	write_policy(&m->policy);
	return refused;
}

bool step_bad_reload(struct model *m, char *text)
{
	const struct bad *bad = any_bad_policy();

	snprintf(text, TEXT_MAX, "reload of a bad policy: %s", bad->name);
	must(bad_reload(m, 0, bad->text), "refused: %s", text);
	return true;
}

bool step_bad_reload_client(struct model *m, char *text)
{
	const struct bad *bad = any_bad_policy();

	snprintf(text, TEXT_MAX, "cpuidlectl reload of a bad policy: %s", bad->name);
	must(bad_reload(m, 1, bad->text), "exit status 3: %s", text);
	return true;
}

bool step_bad_set(struct model *m, char *text)
{
	const struct bad *bad = any_bad_policy();

	(void)m;
	snprintf(text, TEXT_MAX, "bad settings: %s", bad->name);
	must(!world_call("Set", bad->text), "refused: %s", text);
	return true;
}

/* ---- settings ---- */

bool step_set(struct model *m, char *text)
{
	unsigned slot = steps_random(N_SETTINGS - 1);
	struct group g = {any_cpus(), any_demand()};
	struct page p = {.n = 0};
	char name[8];

	snprintf(name, sizeof(name), "s%u", slot);
	put_group(&p, name, &g);
	snprintf(text, TEXT_MAX, "settings %u: %d us%s on %#x", slot, g.demand.us,
		 g.demand.off ? " off" : "", g.cpus);
	must(world_call("Set", p.text), "%s", text);
	m->settings[slot] = g;
	return true;
}

/* cpuidlectl names a group by its selector: always the same one, so that it is one. */
bool step_set_client(struct model *m, char *text)
{
	struct group g = {0x6, {.us = any_limit()}};
	char limit[32];
	const char *const argv[] = {CLIENT, "set", "--cpus", "1-2", "Base=balanced", limit, NULL};

	snprintf(limit, sizeof(limit), "LatencyLimit=%dus", g.demand.us);
	snprintf(text, TEXT_MAX, "cpuidlectl set %s on 1-2", limit);
	must(world_run(argv, NULL, 0) == 0, "%s", text);
	m->settings[N_SETTINGS - 1] = g;
	return true;
}

bool step_reset(struct model *m, char *text)
{
	snprintf(text, TEXT_MAX, "reset of settings");
	must(world_call("ResetSettings", NULL), "%s", text);
	memset(m->settings, 0, sizeof(m->settings));
	return true;
}

/* ---- the daemon's life ---- */

static void dead(struct model *m)
{
	m->alive = false;
	model_forget_holds(m);
	memset(m->settings, 0, sizeof(m->settings));
}

bool steps_start(struct model *m, char *text)
{
	int status = 0;
	bool serves = world_daemon_start(&status);

	snprintf(text, TEXT_MAX, "the daemon starts");
	must(serves, "the daemon serves: exit status %d", status);
	m->alive = true;
	return true;
}

bool step_bad_start(struct model *m, char *text)
{
	const struct bad *bad = any_bad_policy();
	int status = 0;
	bool serves;

	snprintf(text, TEXT_MAX, "the daemon starts with a bad policy: %s", bad->name);
	must(world_write(POLICY_FILE, bad->text), "the bad policy is written");
	serves = world_daemon_start(&status);
	must(!serves && status == 3, "exit status %d: %s", status, text);
	write_policy(&m->policy);
	model_given_back(m);
	return true;
}

bool step_restore(struct model *m, char *text)
{
	const char *const argv[] = {DAEMON, "--restore", NULL};

	snprintf(text, TEXT_MAX, "cpuidled --restore");
	must(world_run(argv, NULL, 0) == 0, "%s", text);
	model_given_back(m);
	return true;
}

bool step_second(struct model *m, char *text)
{
	const char *const argv[] = {DAEMON, NULL};
	int status;

	(void)m;
	status = world_run(argv, NULL, 0);
	snprintf(text, TEXT_MAX, "a second daemon");
	must(status == 4, "exit status %d: %s", status, text);
	return true;
}

bool step_stop(struct model *m, char *text)
{
	int status = world_daemon_stop();

	snprintf(text, TEXT_MAX, "the daemon stops");
	must(status == 0, "exit status %d: %s", status, text);
	dead(m);
	model_given_back(m);
	return true;
}

bool step_kill(struct model *m, char *text)
{
	snprintf(text, TEXT_MAX, "kill -9 of the daemon");
	world_daemon_kill();
	dead(m);
	return true;
}

/* Killed while it works; what it left behind is for its successor. */
bool step_kill_amid(struct model *m, char *text)
{
	unsigned us = steps_random(40000);
	char policy[TEXT_MAX], start[TEXT_MAX];

	m->policy = any_policy();
	write_policy(&m->policy);
	world_daemon_signal(SIGHUP);
	usleep(us);
	world_daemon_kill();
	dead(m);
	steps_start(m, start);
	describe(&m->policy, "", policy);
	snprintf(text, TEXT_MAX, "SIGHUP, %u us later kill -9 and start%.*s", us, 400, policy);
	return true;
}

bool step_module(struct model *m, char *text)
{
	bool load = !m->module;

	/* there most of the time */
	if (!load && steps_random(3))
		return false;
	snprintf(text, TEXT_MAX, "the module is %s", load ? "loaded" : "unloaded");
	must(world_module(load), "%s", text);
	m->module = load;
	return true;
}

void steps_begin(struct model *m)
{
	char text[TEXT_MAX];

	write_policy(&m->policy);
	must(world_module(true), "the module is loaded");
	m->module = true;
	(void)steps_start(m, text);
}

bool steps_end_govern(struct model *m)
{
	char text[TEXT_MAX];

	if (!m->module) {
		must(world_module(true), "the module is loaded at the end");
		m->module = true;
	}
	return m->alive || steps_start(m, text);
}

void steps_end_others(struct model *m)
{
	for (unsigned cpu = 1; cpu < CPUS; cpu++)
		if (!(m->online >> cpu & 1))
			must(world_online(cpu, true), "CPU %u comes back", cpu);
	m->online = CPUS_MASK;
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		must(world_write_qos(cpu, NO_LIMIT), "CPU %u's limit goes", cpu);
		must(world_write_disable(cpu, false), "CPU %u's state comes", cpu);
		m->foreign_us[cpu] = NO_LIMIT;
		m->foreign_off[cpu] = false;
	}
	for (unsigned i = 0; i < N_REQUESTS; i++) {
		must(world_request(i, NO_LIMIT), "request %u goes", i);
		m->request_us[i] = NO_LIMIT;
	}
}

void steps_end_daemon(struct model *m)
{
	char text[TEXT_MAX];

	(void)step_stop(m, text);
}
