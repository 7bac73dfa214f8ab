// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/capability.h>
#include <time.h>
#include <unistd.h>
#include "contract.h"
#include "host.h"
#include "tap.h"

#define A(x)	CPUIDLE_POLICY_A_##x
#define RULE(x) CPUIDLE_POLICY_RULE_##x
#define CMD(x)	CPUIDLE_POLICY_CMD_##x
#define ROWS	64

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

/* ---- latency requests ---- */

static int64_t limit_of(uint32_t id, int cpu)
{
	struct wire_limit limits[ROWS];
	int i, n = wire_limits(&other, limits, ROWS);

	for (i = 0; i < n && i < ROWS; i++)
		if (limits[i].id == id && limits[i].mask0 & 1u << cpu)
			return limits[i].ns;
	return -1;
}

static void test_qos_refused(void)
{
	uint32_t one = 1, far[8] = { 0 };
	uint32_t id;

	far[7] = 1u << 31;
	refused(&own, wire_qos(&own, 0, &one, 1, 1000), EINVAL, "id 0", "request 0");
	refused(&own, wire_qos(&own, 1, far, 8, 1000), ERANGE, "cannot exist", "far CPU");
	refused(&own, wire_qos(&own, 1, &one, 1, 1LL << 62), ERANGE, "leave", "latency too long");
	refused(&other, wire_qos(&other, 1, &one, 1, 1000), EBUSY, "held by", "another's request");
	for (id = 1; id <= CPUIDLE_POLICY_QOS_MAX; id++)
		if (wire_qos(&own, id, &one, 1, 1000000))
			break;
	tap_ok(id == CPUIDLE_POLICY_QOS_MAX + 1, "%u ids", id - 1);
	refused(&own, wire_qos(&own, 1000, &one, 1, 1), ENOSPC, "too many", "one more");
	for (id = 1; id <= CPUIDLE_POLICY_QOS_MAX; id++)
		wire_qos(&own, id, &one, 1, -1);
	tap_ok(limit_of(0, 0) == -1, "all taken back, no limit is left");
}

#define PM_QOS_FILE "/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us"

static void test_qos(void)
{
	uint32_t one = 1;
	char text[32];

	test_qos_refused();
	host_write(PM_QOS_FILE, "50");
	tap_ok(limit_of(0, 0) == 50000, "the user's own limit is seen");
	tap_ok(!wire_qos(&own, 7, &one, 1, 20999), "20.999 us for id 7");
	tap_ok(limit_of(7, 0) == 20999, "given back as asked");
	tap_ok(limit_of(0, 0) == 20000, "in force rounded down");
	tap_ok(!wire_qos(&own, 8, &one, 1, 0), "0 for id 8");
	tap_ok(limit_of(0, 0) == 0, "zero means zero");
	host_read(PM_QOS_FILE, text, sizeof(text));
	tap_ok(!strcmp(text, "50"), "the user's file still says 50");
	tap_ok(!wire_qos(&own, 8, &one, 1, -1) && limit_of(0, 0) == 20000, "id 8 taken back");
	tap_ok(!wire_qos(&own, 7, &one, 1, 80000) && limit_of(0, 0) == 50000,
	       "a looser request does not loosen the user's");
	tap_ok(!wire_qos(&own, 7, &one, 1, 10000), "id 7 again");
	wire_simple(&own, CMD(LEASE_DROP));
	tap_ok(limit_of(0, 0) == 50000 && limit_of(7, 0) == -1, "gone with the lease");
	host_write(PM_QOS_FILE, "0");
	tap_ok(limit_of(0, 0) == -1, "the user's taken back");
	wire_take(&own, "contract", 60000, 0);
}

/* ---- events ---- */

static bool event(struct wire *w, uint8_t cmd, struct wire_reply *r)
{
	static struct wire_msg m;
	uint64_t end = now_ms() + 3000;

	while (now_ms() < end) {
		if (wire_event(w, &m, 3000))
			continue;
		wire_parse(&m.h, r);
		if (r->cmd == cmd)
			return true;
	}
	return false;
}

static void test_events(void)
{
	const struct nlattr *tb[CPUIDLE_POLICY_RULE_MAX + 1];
	struct wire_reply r;
	struct wire ear;
	uint32_t one = 1;

	wire_open(&ear);
	tap_ok(!wire_join(&ear), "joined the events");
	if (no_driver) {
		set(&own, "own=1");
		tap_ok(event(&ear, CMD(DRIVER_NTF), &r), "DRIVER_NTF: own driver");
	}
	set(&own, "cpus=0 count=1");
	tap_ok(event(&ear, CMD(CONFIG_NTF), &r) && r.tb[A(RULE)], "CONFIG_NTF with a row");
	wire_parse_nest(r.tb[A(RULE)], tb, CPUIDLE_POLICY_RULE_MAX);
	tap_ok(wire_u32(tb[RULE(CPUMASK)]) == 1 && wire_u32(tb[RULE(COUNT)]) == 1,
	       "that is the row that changed");
	tap_ok(event(&ear, CMD(DRIVER_NTF), &r) && wire_u32(r.tb[A(ATTACHED)]) == 1,
	       "DRIVER_NTF: attached");
	wire_qos(&own, 1, &one, 1, 5000);
	host_write(PM_QOS_FILE, "3");
	do {
		if (!tap_ok(event(&ear, CMD(QOS_NTF), &r), "QOS_NTF after another's write"))
			break;
		wire_parse_nest(r.tb[A(QOS)], tb, CPUIDLE_POLICY_QOS_ATTR_MAX);
	} while (wire_u64(tb[CPUIDLE_POLICY_QOS_LATENCY_NS]) != 3000);
	tap_ok(wire_u64(tb[CPUIDLE_POLICY_QOS_LATENCY_NS]) == 3000 &&
		       !wire_u32(tb[CPUIDLE_POLICY_QOS_ID]),
	       "with the limit now in force (%llu ns)",
	       (unsigned long long)wire_u64(tb[CPUIDLE_POLICY_QOS_LATENCY_NS]));
	host_write(PM_QOS_FILE, "0");
	event(&ear, CMD(QOS_NTF), &r);
	wire_simple(&own, CMD(LEASE_DROP));
	tap_ok(event(&ear, CMD(LEASE_NTF), &r) &&
		       wire_u32(r.tb[A(EVENT)]) == CPUIDLE_POLICY_LEASE_DROPPED &&
		       !strcmp(wire_str(r.tb[A(OWNER)]), "contract"),
	       "LEASE_NTF: dropped");
	if (access("/sys/devices/system/cpu/cpu1/online", W_OK) == 0) {
		host_write("/sys/devices/system/cpu/cpu1/online", "0");
		tap_ok(event(&ear, CMD(HOTPLUG_NTF), &r) && wire_u32(r.tb[A(CPUMASK)]) == 2 &&
			       !(wire_u32(r.tb[A(ONLINE)]) & 2),
		       "HOTPLUG_NTF: CPU 1 went");
		host_write("/sys/devices/system/cpu/cpu1/online", "1");
		tap_ok(event(&ear, CMD(HOTPLUG_NTF), &r) && wire_u32(r.tb[A(ONLINE)]) & 2,
		       "HOTPLUG_NTF: CPU 1 came");
	}
	wire_close(&ear);
}

/* ---- the dead man ---- */

static bool wait_clear(uint64_t ms)
{
	uint64_t end = now_ms() + ms;

	while (now_ms() < end)
		if (all_clear())
			return true;
	return false;
}

static void test_expiry(void)
{
	struct snapshot s;
	uint64_t start = now_ms(), took;

	wire_take(&own, "contract", 300, 0);
	set(&own, no_driver ? "own=1 cpus=0 count=1 off=2" : "cpus=0 count=1 off=2");
	tap_ok(!all_clear(), "a row that will expire");
	tap_ok(wait_clear(3000), "it is gone");
	took = now_ms() - start;
	tap_ok(took >= 290 && took < 2500, "after its time (%llu ms)", (unsigned long long)took);
	refused(&own, wire_simple(&own, CMD(LEASE_RENEW)), ENOLCK, "no lease", "RENEW after it");
	wait_until_detached();
	if (can_read && !no_driver && snapshot_take(&s))
		tap_ok(snapshot_equal(&s, &host), "the kernel's memory is as before");
}

/* A child that takes the lease, sets a row and a limit, says so, and waits to be killed. */
static pid_t daemon_start(uint32_t grace)
{
	uint32_t one = 1;
	struct wire w;
	int fds[2];
	char c = 0;
	pid_t pid;

	if (pipe(fds))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!wire_open(&w) && !wire_take(&w, "daemon", 60000, grace) &&
		    !set(&w, no_driver ? "own=1 cpus=0 count=1 off=2" : "cpus=0 count=1 off=2") &&
		    !wire_qos(&w, 3, &one, 1, 7000))
			c = 1;
		if (write(fds[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	close(fds[1]);
	if (read(fds[0], &c, 1) != 1 || !c)
		tap_ok(false, "daemon started");
	close(fds[0]);
	return pid;
}

static void test_kill(void)
{
	struct snapshot s;
	uint64_t start;
	pid_t pid;

	pid = daemon_start(60000);
	tap_ok(!all_clear() && limit_of(3, 0) == 7000, "a daemon with a row and a limit");
	start = now_ms();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tap_ok(all_clear() && limit_of(0, 0) == -1, "kill -9: everything is back when it is reaped");
	tap_note("%llu ms from kill to clear", (unsigned long long)(now_ms() - start));
	tap_ok(attached(), "the hook waits for a successor");
	usleep(300000);
	if (can_read && snapshot_take(&s))
		tap_ok(!snapshot_any_veto(&s), "without any veto left");
	tap_ok(!wire_take(&own, "contract", 60000, 0), "who takes the lease at once");
	wait_until_detached();
	tap_ok(!attached(), "and has the hook removed by a grace of 0");
	if (can_read && !no_driver && snapshot_take(&s))
		tap_ok(snapshot_equal(&s, &host), "the kernel's memory is as before");
	wire_simple(&own, CMD(LEASE_DROP));
}

/* ---- who may ---- */

static int drop_to(uint32_t cap)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2] = { { 0 } };

	if (cap < 32) {
		d[0].effective = 1u << cap;
		d[0].permitted = 1u << cap;
	}
	return syscall(SYS_capset, &h, d);
}

static void test_who(void)
{
	struct wire_caps c;
	struct wire w;
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		if (drop_to(CAP_NET_ADMIN) || wire_open(&w) || wire_caps(&w, &c))
			_exit(1);
		if (wire_take(&w, "weak", 1000, 0) != -EPERM || !strstr(w.text, "CAP_SYS_ADMIN"))
			_exit(2);
		if (!wire_join(&w))
			_exit(3);
		wire_close(&w);
		if (drop_to(99) || wire_open(&w))
			_exit(4);
		if (wire_caps(&w, &c) != -EPERM || wire_simple(&w, CMD(LEASE_DROP)) != -EPERM)
			_exit(5);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	tap_ok(!status, "CAP_NET_ADMIN may read, CAP_SYS_ADMIN may write, others nothing (%d)",
	       WEXITSTATUS(status));
}

void contract_owner(void)
{
	test_qos();
	test_events();
	test_expiry();
	test_kill();
	test_who();
}
