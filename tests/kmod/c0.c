// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "c0.h"
#include "host.h"
#include "snapshot.h"
#include "tap.h"
#include "wire.h"

#define CPUS   8
#define STATES 12

/* What sysfs says of one CPU's states. */
struct c0_view {
	unsigned int n;
	char name[STATES][32];
	uint64_t usage[STATES], time[STATES];
};

static struct wire own;
static struct wire_caps caps, plain; /* now, and before anything was asked for */
static unsigned int cpus;
static bool no_driver;

#define set(...) wire_ask(&own, __VA_ARGS__)

static void look(unsigned int cpu, struct c0_view *v)
{
	char path[128];

	for (v->n = 0; v->n < STATES; v->n++) {
		snprintf(path, sizeof(path), HOST_CPU "cpu%u/cpuidle/state%u/name", cpu, v->n);
		if (!host_read(path, v->name[v->n], sizeof(v->name[0])))
			break;
		v->usage[v->n] = host_state(cpu, v->n, "usage");
		v->time[v->n] = host_state(cpu, v->n, "time");
	}
}

/*
 * Bochs 3.0 ends every CPU's wait when any CPU arms its monitor: two idle CPUs keep each other busy, which
 * is slow to emulate, and says nothing about how long a wait lasts. There, less time must do.
 */
static void pass(unsigned int ms)
{
	struct timespec ts;

	if (cpus > 1)
		ms = ms / 10 + 2;
	ts.tv_sec = ms / 1000;
	ts.tv_nsec = ms % 1000 * 1000000;
	nanosleep(&ts, NULL);
}

/* The first state that halts, by the number it has without ours. */
static unsigned int c1(void)
{
	unsigned int i;

	for (i = 0; i < plain.n_states; i++)
		if (plain.flags[i] & CPUIDLE_POLICY_SF_C1)
			return i;
	return 0;
}

static uint32_t all_but(unsigned int state)
{
	return ((1u << plain.n_states) - 1) & ~(1u << state);
}

/* ---- in place of POLL and of C1 ---- */

/* CPU 0 has nothing but @state, waits in it as @row says, and each entry is a UMWAIT. */
static void test_backend(const char *what, unsigned int state, const char *row)
{
	struct c0_view before, after;
	uint64_t w, used, us;
	unsigned int i;
	bool others = false;

	tap_ok(!set("cpus=0-%u off=%#x count=1 %s", cpus - 1, all_but(state), row), "%s: %s", what,
	       own.text);
	pass(20);
	look(0, &before);
	w = wire_stats_of(&own, 0).c0_waits;
	pass(300);
	look(0, &after);
	w = wire_stats_of(&own, 0).c0_waits - w;
	used = after.usage[state] - before.usage[state];
	us = after.time[state] - before.time[state];
	for (i = 0; i < after.n; i++)
		others |= i != state && after.usage[i] != before.usage[i];
	tap_ok(used && w && w <= used + 5 && w + 5 >= used, "%s: %llu entries, %llu waits by UMWAIT",
	       what, (unsigned long long)used, (unsigned long long)w);
	tap_ok(!others, "%s: no other state is used", what);
	if (cpus > 1)
		return;
	tap_ok(us > 200000 && us < 400000, "%s: %llu us of 300000 in it", what,
	       (unsigned long long)us);
	/* POLL's own limit would end it after 250 us at the latest */
	tap_ok(us > 500 * used, "%s: %llu us at a time", what,
	       (unsigned long long)(used ? us / used : 0));
}

static void test_backends(void)
{
	test_backend("POLL in C0.2", 0, "poll=2 c1=0");
	test_backend("POLL in C0.1", 0, "poll=1 c1=0");
	test_backend("C1 in C0.2", c1(), "poll=0 c1=2");
	test_backend("C1 in C0.1", c1(), "poll=0 c1=1");
	tap_ok(!set("cpus=0-%u off=0 poll=0 c1=0 count=1", cpus - 1), "all native again");
}

/* With deeper states at hand POLL does not last longer than the kernel's own. */
static void test_poll_limit(void)
{
	struct c0_view before, after;
	uint64_t used, us;

	tap_ok(!set("cpus=0 off=%#x poll=2", all_but(0) & ~(1u << (plain.n_states - 1))),
	       "POLL in C0.2 beside the deepest state");
	look(0, &before);
	pass(300);
	look(0, &after);
	used = after.usage[0] - before.usage[0];
	us = after.time[0] - before.time[0];
	tap_ok(us <= used * 300, "POLL: %llu entries, %llu us in all", (unsigned long long)used,
	       (unsigned long long)us);
	tap_ok(!set("cpus=0 off=0 poll=0"), "and native again");
}

/* ---- as a state of its own ---- */

static bool same_but_row(const struct c0_view *before, const struct c0_view *now, const char *name)
{
	unsigned int i, k;

	if (now->n != before->n + 1 || strcmp(now->name[1], name)) {
		tap_note("%u states, state1 is %s", now->n, now->name[1]);
		return false;
	}
	for (i = 0; i < before->n; i++) {
		k = i ? i + 1 : 0;
		if (strcmp(before->name[i], now->name[k]) || now->usage[k] < before->usage[i] ||
		    now->time[k] < before->time[i]) {
			tap_note("state%u %s is not what state%u %s was", k, now->name[k], i,
				 before->name[i]);
			return false;
		}
	}
	return true;
}

static void test_row_comes(void)
{
	struct c0_view before, now;
	unsigned int cpu;

	look(0, &before);
	if (!tap_ok(!set("cpus=0 row=2 count=1"), "C0.2 as a state: %s", own.text))
		return;
	look(0, &now);
	tap_ok(same_but_row(&before, &now, "C0.2"),
	       "state1 is C0.2, every other state has moved up with its counters");
	tap_ok(host_state(0, 1, "latency") == 0 && host_state(0, 1, "residency") == 0,
	       "200 ns are 0 us in sysfs");
	wire_caps(&own, &caps);
	tap_ok(caps.n_states == plain.n_states + 1 && caps.flags[1] & CPUIDLE_POLICY_SF_C0 &&
		       caps.latency[1] == 200,
	       "CAPS knows it, with 200 ns");
	for (cpu = 1; cpu < cpus; cpu++)
		tap_ok(host_state(cpu, 1, "usage") == 0, "CPU %u has it, and does not use it", cpu);
}

static void test_row_used(void)
{
	struct c0_view before, now;
	unsigned int cpu, i;
	uint64_t w = wire_stats_of(&own, 0).c0_waits, other = 0;
	bool deeper = false;

	tap_ok(!set("cpus=0 off=%#x", all_but(0)), "nothing deeper for CPU 0");
	pass(20);
	look(0, &before);
	pass(300);
	look(0, &now);
	tap_ok(now.usage[1] > before.usage[1] &&
		       (cpus > 1 || now.time[1] - before.time[1] > 200000),
	       "C0.2: %llu entries, %llu us of 300000",
	       (unsigned long long)(now.usage[1] - before.usage[1]),
	       (unsigned long long)(now.time[1] - before.time[1]));
	tap_ok(wire_stats_of(&own, 0).c0_waits > w, "by UMWAIT");
	for (i = 2; i < now.n; i++)
		deeper |= now.usage[i] != before.usage[i];
	tap_ok(!deeper, "and nothing deeper");
	for (cpu = 1; cpu < cpus; cpu++)
		other += host_state(cpu, 1, "usage");
	tap_ok(!other, "no other CPU uses it");
	tap_ok(!set("cpus=0 off=0"), "deeper states again");
	/* the governor has seen none but short stays, and may want some more time */
	for (i = 0; i < 20; i++) {
		pass(300);
		look(0, &before);
		if (before.usage[before.n - 1] > now.usage[now.n - 1])
			break;
	}
	tap_ok(i < 20, "and they are used");
}

static void test_row_governors(void)
{
	char all[128], now[32], *name, *save;
	struct c0_view v;

	if (!host_read(HOST_CPU "cpuidle/available_governors", all, sizeof(all)) ||
	    !host_read(HOST_CPU "cpuidle/current_governor", now, sizeof(now)))
		return;
	set("cpus=0 off=%#x", all_but(0));
	for (name = strtok_r(all, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		uint64_t before;

		if (!strcmp(name, "haltpoll") || !host_write(HOST_CPU "cpuidle/current_governor", name))
			continue;
		before = host_state(0, 1, "usage");
		pass(200);
		look(0, &v);
		tap_ok(!strcmp(v.name[1], "C0.2") && v.usage[1] > before, "governor %s uses it",
		       name);
	}
	host_write(HOST_CPU "cpuidle/current_governor", now);
	set("cpus=0 off=0");
}

/* A user's own choice moves along with its state, and comes back with it. */
static void test_row_disable(void)
{
	char path[128];
	unsigned int last = plain.n_states - 1;

	tap_ok(!set("cpus=0-%u row=0", cpus - 1), "the state goes: %s", own.text);
	snprintf(path, sizeof(path), HOST_CPU "cpu0/cpuidle/state%u/disable", last);
	host_write(path, "1");
	tap_ok(!set("cpus=0 row=1"), "and comes as C0.1: %s", own.text);
	tap_ok(host_state(0, last + 1, "disable") == 1 && host_state(0, last, "disable") == 0,
	       "a state disabled by its user stays so under its new number");
	tap_ok(!set("cpus=0 row=0"), "goes again");
	tap_ok(host_state(0, last, "disable") == 1, "and under its old one");
	host_write(path, "0");
}

static void test_row_hotplug(void)
{
	struct c0_view before, now;

	if (cpus < 2)
		return;
	look(1, &before);
	tap_ok(!set("cpus=0-1 row=2"), "the state on both CPUs");
	tap_ok(host_write(HOST_CPU "cpu1/online", "0"), "CPU 1 goes offline");
	pass(100);
	tap_ok(!set("cpus=0-1 row=0"), "the state goes meanwhile: %s", own.text);
	tap_ok(host_write(HOST_CPU "cpu1/online", "1"), "CPU 1 comes back");
	pass(100);
	look(1, &now);
	tap_ok(now.n == before.n && !strcmp(now.name[now.n - 1], before.name[before.n - 1]),
	       "with the states it had");
	tap_ok(!set("cpus=0-1 row=2"), "the state again");
	host_write(HOST_CPU "cpu1/online", "0");
	host_write(HOST_CPU "cpu1/online", "1");
	set("cpus=1 off=%#x", all_but(0));
	pass(200);
	tap_ok(host_state(1, 1, "usage") > 0, "CPU 1 uses it after being offline");
	set("cpus=0-1 row=0 off=0");
}

/* In and out, while every CPU has work in bursts. */
static void test_row_load(void)
{
	struct c0_view before, now;
	unsigned int i, good = 0, rounds = cpus > 1 ? 5 : 30;
	pid_t child[CPUS];

	look(0, &before);
	for (i = 0; i < cpus; i++) {
		child[i] = fork();
		while (!child[i])
			usleep(20 + host_state(i, 0, "usage") % 64);
	}
	for (i = 0; i < rounds; i++) {
		good += !set("cpus=0-%u row=%u", cpus - 1, 1 + i % 2);
		pass(3);
		good += !set("cpus=0-%u row=0", cpus - 1);
	}
	for (i = 0; i < cpus; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	look(0, &now);
	tap_ok(good == 2 * rounds, "%u times in and out under load: %s", rounds, own.text);
	tap_ok(now.n == before.n && now.usage[1] >= before.usage[1], "the states are as before");
}

/* The owner is killed: the state goes with him. */
static void test_row_dead_man(void)
{
	struct c0_view before, now;
	pid_t pid;
	int i, fds[2];
	char ready;

	look(0, &before);
	wire_close(&own);
	if (pipe(fds))
		return;
	pid = fork();
	if (!pid) {
		if (wire_open(&own) || wire_take(&own, "victim", 600000, 60000) ||
		    (no_driver && set("own=1")) || set("cpus=0 row=2 poll=2"))
			_exit(1);
		if (write(fds[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	tap_ok(read(fds[0], &ready, 1) == 1, "another owner puts the state in");
	look(0, &now);
	tap_ok(!strcmp(now.name[1], "C0.2"), "there it is");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (i = 0; i < 100; i++) {
		look(0, &now);
		if (now.n == before.n)
			break;
		pass(10);
	}
	tap_ok(now.n == before.n && strcmp(now.name[1], "C0.2"), "SIGKILL: gone within %d ms", i * 10);
	close(fds[0]);
}

static void test_row(void)
{
	struct snapshot before, after;
	bool read;

	/* what being hooked and hotplug leave behind is in the picture already */
	if (cpus > 1) {
		host_write(HOST_CPU "cpu1/online", "0");
		host_write(HOST_CPU "cpu1/online", "1");
	}
	pass(50);
	read = snapshot_take(&before);
	test_row_comes();
	test_row_used();
	test_row_governors();
	test_row_disable();
	test_row_hotplug();
	test_row_load();
	pass(50);
	if (read && snapshot_take(&after) &&
	    !tap_ok(snapshot_equal(&before, &after), "the kernel's memory is as before")) {
		snapshot_print(&before);
		snapshot_print(&after);
	}
	test_row_dead_man();
}

/* ---- where it cannot be ---- */

static void test_refused(void)
{
	tap_ok(caps.c0_reason[0], "the reason: %s", caps.c0_reason);
	tap_ok(set("cpus=0 poll=2") == -EOPNOTSUPP && !strcmp(own.text, caps.c0_reason),
	       "no POLL backend: %s", own.text);
	tap_ok(set("cpus=0 c1=2") == -EOPNOTSUPP, "no C1 backend: %s", own.text);
	tap_ok(set("cpus=0 row=2") == -EOPNOTSUPP, "no state: %s", own.text);
	wire_caps(&own, &caps);
	tap_ok(!caps.attached, "and nothing is hooked");
}

int c0_run(void)
{
	if (!tap_ok(!wire_open(&own), "the family is there"))
		return tap_failed;
	tap_ok(!wire_take(&own, "c0", 600000, 0), "lease taken");
	wire_caps(&own, &caps);
	no_driver = !caps.driver[0];
	if (no_driver) {
		tap_ok(!set("own=1"), "own driver");
		wire_caps(&own, &caps);
	}
	plain = caps;
	cpus = caps.nr_cpus < CPUS ? caps.nr_cpus : CPUS;
	if (!(caps.features & CPUIDLE_POLICY_F_C0)) {
		test_refused();
		return tap_failed;
	}
	tap_ok(!caps.c0_reason[0] && caps.has_umwait_control && caps.waitpkg[0] == (1u << cpus) - 1,
	       "every CPU has UMWAIT, umwait_control is %#x", caps.umwait_control);
	pass(500); /* the kernel's own work after booting */
	test_backends();
	test_poll_limit();
	if (caps.features & CPUIDLE_POLICY_F_C0_ROW)
		test_row();
	else
		tap_ok(set("cpus=0 row=2") == -EOPNOTSUPP && !strcmp(own.text, caps.row_reason),
		       "no state in this driver: %s", own.text);
	wire_close(&own);
	return tap_failed;
}
