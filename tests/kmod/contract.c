// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
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
#include "snapshot.h"
#include "tap.h"
#include "wire.h"

#define A(x)	CPUIDLE_POLICY_A_##x
#define RULE(x) CPUIDLE_POLICY_RULE_##x
#define CMD(x)	CPUIDLE_POLICY_CMD_##x
#define ROWS	64

static struct wire own, other; /* the owner's socket, and somebody else's */
static struct wire_caps caps;
static struct snapshot host; /* before anything was asked for */
static bool can_read;	     /* the kernel's memory */
static bool no_driver;	     /* the machine has none: OWN_DRIVER must be asked for */

/* The call must fail so, with such words. */
static void refused(struct wire *w, int ret, int err, const char *text, const char *what)
{
	if (!tap_ok(ret == -err && strstr(w->text, text), "refused: %s", what))
		tap_note("got %d \"%s\", wanted %d \"%s\"", ret, w->text, -err, text);
}

static int set(struct wire *w, const char *text)
{
	struct wire_row row;

	if (!wire_parse_row(text, &row)) {
		tap_ok(false, "test bug: row \"%s\"", text);
		return -EINVAL;
	}
	return wire_set(w, &row, 1);
}

static uint32_t generation(void)
{
	struct wire_caps c;

	wire_caps(&other, &c);
	return c.generation;
}

static bool attached(void)
{
	struct wire_caps c;

	wire_caps(&other, &c);
	return c.attached;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

/* ---- caps and lease ---- */

static void test_caps(void)
{
	tap_ok(!wire_caps(&other, &caps), "CAPS_GET");
	tap_ok(caps.version == CPUIDLE_POLICY_VERSION, "version");
	tap_ok(caps.nr_cpus >= 1 && caps.nr_cpus <= WIRE_CPUS, "%u CPUs", caps.nr_cpus);
	tap_ok(caps.n_states >= 2, "%u states of %s", caps.n_states,
	       caps.driver[0] ? caps.driver : "the own driver");
	tap_ok(!caps.attached && !caps.own, "nothing is hooked");
	tap_ok(!caps.reason[0], "policy is possible here");
	no_driver = !caps.driver[0];
	if (can_read)
		tap_ok(!snapshot_foreign(&host), "no ->enter outside of the kernel's text");
}

static void test_lease(void)
{
	char name[64];

	refused(&own, set(&own, "cpus=0 count=1"), ENOLCK, "no lease", "CONFIG_SET without lease");
	refused(&own, wire_simple(&own, CMD(LEASE_RENEW)), ENOLCK, "no lease", "RENEW without one");
	refused(&own, wire_simple(&own, CMD(LEASE_DROP)), ENOLCK, "no lease", "DROP without one");
	refused(&own, wire_take(&own, "t", 99, 0), ERANGE, "range", "lease of 99 ms");
	refused(&own, wire_take(&own, "t", 600001, 0), ERANGE, "range", "lease over 10 min");
	refused(&own, wire_take(&own, "t", 1000, 600001), ERANGE, "range", "grace over 10 min");
	refused(&own, wire_take(&own, "", 1000, 0), EINVAL, "printable", "empty owner");
	refused(&own, wire_take(&own, "a\nb", 1000, 0), EINVAL, "printable", "unprintable owner");
	tap_ok(wire_take(&own, "0123456789012345678901234567890x", 1000, 0) < 0,
	       "refused: owner of 32 characters");
	refused(&own, wire_simple(&own, CMD(LEASE_TAKE)), EINVAL, "required", "TAKE without more");
	tap_ok(!wire_take(&own, "contract", 60000, 0), "lease taken");
	refused(&other, wire_take(&other, "second", 60000, 0), EBUSY, "held by contract",
		"a second owner, with the first one's name");
	snprintf(name, sizeof(name), "(pid %d)", getpid());
	tap_ok(strstr(other.text, name), "and his pid");
	refused(&other, set(&other, "cpus=0 count=1"), EBUSY, "contract", "another's CONFIG_SET");
	refused(&other, wire_simple(&other, CMD(LEASE_RENEW)), EBUSY, "contract", "his RENEW");
	refused(&other, wire_simple(&other, CMD(LEASE_DROP)), EBUSY, "contract", "his DROP");
	tap_ok(!wire_take(&own, "contract", 60000, 0), "taken again by the owner");
	tap_ok(!wire_simple(&own, CMD(LEASE_RENEW)), "renewed");
	wire_caps(&other, &caps);
	tap_ok(!strcmp(caps.owner, "contract") && caps.pid == (uint32_t)getpid() &&
		       caps.left_ms > 50000,
	       "CAPS_GET names the owner");
}

/* ---- malformed messages ---- */

static void test_malformed(void)
{
	static struct wire_msg m;
	uint32_t mask = 1, gen = generation();
	struct nlattr *nest;
	unsigned int cmd;

	for (cmd = 1; cmd <= CMD(HIST_GET); cmd++) {
		bool dump = cmd == CMD(CONFIG_GET) || cmd == CMD(QOS_GET) || cmd == CMD(STATS_GET);

		wire_begin(&own, &m, cmd, dump ? NLM_F_DUMP | NLM_F_ACK : 0);
		wire_put_u32(&m, A(MAX) + 7, 1);
		tap_ok(wire_talk(&own, &m, NULL, NULL) == -EINVAL, "refused: unknown attribute, %u",
		       cmd);
	}
	wire_begin(&own, &m, CMD(CONFIG_SET), 0);
	refused(&own, wire_talk(&own, &m, NULL, NULL), EINVAL, "nothing to set", "empty SET");
	wire_begin(&own, &m, CMD(CONFIG_SET), 0);
	wire_nest_end(&m, wire_nest(&m, A(RULE)));
	refused(&own, wire_talk(&own, &m, NULL, NULL), EINVAL, "CPUMASK", "empty rule");
	wire_begin(&own, &m, CMD(CONFIG_SET), 0);
	nest = wire_put(&m, A(RULE), NULL, 0); /* without the flag */
	wire_put(&m, RULE(CPUMASK), &mask, 4);
	wire_nest_end(&m, nest);
	refused(&own, wire_talk(&own, &m, NULL, NULL), EINVAL, "NLA_F_NESTED", "nest unflagged");
	wire_begin(&own, &m, CMD(CONFIG_SET), 0);
	nest = wire_nest(&m, A(RULE));
	wire_put(&m, RULE(CPUMASK), &mask, 3);
	wire_nest_end(&m, nest);
	refused(&own, wire_talk(&own, &m, NULL, NULL), EINVAL, "whole u32", "3 bytes of CPUs");
	wire_begin(&own, &m, CMD(CONFIG_SET), 0);
	nest = wire_nest(&m, A(RULE));
	wire_put(&m, RULE(CPUMASK), &mask, 4);
	wire_put(&m, RULE(COUNT), "\1", 1);
	wire_nest_end(&m, nest);
	refused(&own, wire_talk(&own, &m, NULL, NULL), EINVAL, "length", "u8 for a u32");
	tap_ok(own.offset > 0, "with the place of the bad attribute");
	refused(&own, wire_simple(&own, CMD(MEASURE_SET)), EOPNOTSUPP, "not in this version",
		"MEASURE_SET");
	refused(&own, wire_simple(&own, CMD(HIST_GET)), EOPNOTSUPP, "not in this version",
		"HIST_GET");
	tap_ok(generation() == gen, "nothing changed by any of them");
}

/* ---- rules ---- */

struct rule_case {
	const char *row;
	int err;
	const char *text;
};

static const struct rule_case rules[] = {
	{ "cpus=1023 count=1", ERANGE, "cannot exist" },
	{ "cpus=0 window=1", EOPNOTSUPP, "polling" },
	{ "cpus=0 window=0x80000000", EINVAL, "no such state" },
	{ "cpus=0 off=0x400", EINVAL, "no such state" },
	{ "cpus=0 bcast=3", EINVAL, "unknown" },
	{ "cpus=0 count=2", EINVAL, "0 or 1" },
	{ "cpus=0 sti=1", EOPNOTSUPP, "STI;MWAIT" },
	{ "cpus=0 poll=1", EOPNOTSUPP, "not in this version" },
	{ "cpus=0 poll=3", EOPNOTSUPP, "not in this version" },
	{ "cpus=0 poll=4", EINVAL, "unknown" },
	{ "cpus=0 c1=2", EOPNOTSUPP, "not in this version" },
	{ "cpus=0 row=1", EOPNOTSUPP, "not in this version" },
	{ "cpus=0 haltpoll=200000", EOPNOTSUPP, "not in this version" },
	{ "cpus=0 ioport=1", EOPNOTSUPP, "not in this version" },
	{ "cpus=0 ioport=2", EINVAL, "unknown" },
};

static void test_rules(void)
{
	struct wire_row rows[2];
	uint32_t gen = generation();
	char text[64];
	unsigned int i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		refused(&own, set(&own, rules[i].row), rules[i].err, rules[i].text, rules[i].row);
	snprintf(text, sizeof(text), "cpus=0 off=%#x", (1u << caps.n_states) - 1);
	refused(&own, set(&own, text), EINVAL, "no state at all", "every state off");
	tap_ok(own.offset > 0, "with the place of the bad attribute");
	/* a good rule beside a bad one */
	wire_parse_row("cpus=0 count=1", &rows[0]);
	wire_parse_row("cpus=0 window=1", &rows[1]);
	refused(&own, wire_set(&own, rows, 2), EOPNOTSUPP, "polling", "a good and a bad rule");
	tap_ok(generation() == gen, "nothing changed by any of them");
	tap_ok(!attached(), "and nothing is hooked");
}

static void test_own_driver(void)
{
	if (!no_driver) {
		refused(&own, set(&own, "own=1"), EBUSY, "has a cpuidle driver",
			"an own driver beside the kernel's");
		return;
	}
	refused(&own, set(&own, "cpus=0 count=1"), ENODEV, "OWN_DRIVER", "rows without driver");
	tap_ok(!set(&own, "own=1"), "own driver");
	wire_caps(&other, &caps);
	tap_ok(caps.own && !strcmp(caps.driver, "cpuidle_policy"), "it is the kernel's driver now");
	tap_ok(!caps.attached, "not hooked while no row needs it");
	tap_ok(!access("/sys/devices/system/cpu/cpu0/cpuidle/state1/usage", R_OK), "sysfs rows");
	if (can_read)
		snapshot_take(&host);
}

static void test_commit(void)
{
	static struct wire_row got[ROWS];
	struct wire_row rows[2];
	struct snapshot s;
	uint32_t gen = generation();
	char all[32];
	int n;

	snprintf(all, sizeof(all), "cpus=0-%u count=1", caps.nr_cpus - 1);
	tap_ok(!set(&own, all), "count on every CPU");
	tap_ok(generation() == gen + 1, "generation grew by one");
	tap_ok(!set(&own, all) && generation() == gen + 1, "the same again changes nothing");
	n = wire_rows(&other, got, ROWS);
	tap_ok(n == 1 && got[0].value[RULE(COUNT)] == 1, "CONFIG_GET: one row for all (%d)", n);
	tap_ok(got[0].given == 0xffc && got[0].words == (caps.nr_cpus + 31) / 32,
	       "with every field and a whole set of CPUs");
	if (can_read && snapshot_take(&s))
		tap_ok(snapshot_foreign(&s) >= s.states, "every ->enter is replaced");
	wire_parse_row("cpus=0 off=2", &rows[0]);
	rows[0].given |= 1u << RULE(BROADCAST);
	rows[0].value[RULE(BROADCAST)] = CPUIDLE_POLICY_BROADCAST_AVOID;
	tap_ok(!wire_set(&own, rows, 1), "two fields on CPU 0");
	n = wire_rows(&other, got, ROWS);
	tap_ok(n == (caps.nr_cpus > 1 ? 2 : 1), "rows group by what they say (%d)", n);
	tap_ok(got[0].value[RULE(STATES_OFF)] == 2 && got[0].value[RULE(COUNT)] == 1 &&
		       got[0].value[RULE(BROADCAST)] == CPUIDLE_POLICY_BROADCAST_AVOID,
	       "a field left out keeps its value");
	usleep(100000);
	if (can_read && snapshot_take(&s)) {
		tap_ok(snapshot_vetoed(&s, 0, 1), "CPU 0 carries the veto of state 1");
		tap_ok(caps.nr_cpus < 2 || !snapshot_vetoed(&s, 1, 1), "CPU 1 does not");
	}
}

static void test_generation(void)
{
	static struct wire_msg m;
	uint32_t gen = generation();
	struct wire_row row;
	int i, ret;

	for (i = 0; i < 2; i++) {
		wire_parse_row("cpus=0 off=0", &row);
		wire_begin(&own, &m, CMD(CONFIG_SET), 0);
		wire_put_u32(&m, A(GENERATION), gen - 1 + i);
		wire_put_row(&m, &row);
		ret = wire_talk(&own, &m, NULL, NULL);
		if (i)
			tap_ok(!ret, "current generation");
		else
			refused(&own, ret, ESTALE, "changed since", "old generation");
	}
}

static void test_back(void)
{
	struct snapshot s;
	char text[64];

	snprintf(text, sizeof(text), "cpus=0-%u off=0 bcast=auto count=0 window=0 sti=0",
		 caps.nr_cpus - 1);
	tap_ok(!set(&own, text), "all rows back to the host's settings");
	tap_ok(!attached(), "no hook is left");
	if (can_read && snapshot_take(&s))
		tap_ok(snapshot_equal(&s, &host), "the kernel's memory is as before");
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
	uint32_t one = 1, far[32] = { 0 };
	uint32_t id;

	far[31] = 1u << 31;
	refused(&own, wire_qos(&own, 0, &one, 1, 1000), EINVAL, "id 0", "request 0");
	refused(&own, wire_qos(&own, 1, far, 32, 1000), ERANGE, "cannot exist", "far CPU");
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

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		tap_note("%s: %s", path, strerror(errno));
	close(fd);
}

static void read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = 0;
	close(fd);
}

#define PM_QOS_FILE "/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us"

static void test_qos(void)
{
	uint32_t one = 1;
	char text[32];

	test_qos_refused();
	write_file(PM_QOS_FILE, "50");
	tap_ok(limit_of(0, 0) == 50000, "the user's own limit is seen");
	tap_ok(!wire_qos(&own, 7, &one, 1, 20999), "20.999 us for id 7");
	tap_ok(limit_of(7, 0) == 20999, "given back as asked");
	tap_ok(limit_of(0, 0) == 20000, "in force rounded down");
	tap_ok(!wire_qos(&own, 8, &one, 1, 0), "0 for id 8");
	tap_ok(limit_of(0, 0) == 0, "zero means zero");
	read_file(PM_QOS_FILE, text, sizeof(text));
	tap_ok(!strcmp(text, "50\n"), "the user's file still says 50");
	tap_ok(!wire_qos(&own, 8, &one, 1, -1) && limit_of(0, 0) == 20000, "id 8 taken back");
	tap_ok(!wire_qos(&own, 7, &one, 1, 80000) && limit_of(0, 0) == 50000,
	       "a looser request does not loosen the user's");
	tap_ok(!wire_qos(&own, 7, &one, 1, 10000), "id 7 again");
	wire_simple(&own, CMD(LEASE_DROP));
	tap_ok(limit_of(0, 0) == 50000 && limit_of(7, 0) == -1, "gone with the lease");
	write_file(PM_QOS_FILE, "0");
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
	write_file(PM_QOS_FILE, "3");
	do {
		if (!tap_ok(event(&ear, CMD(QOS_NTF), &r), "QOS_NTF after another's write"))
			break;
		wire_parse_nest(r.tb[A(QOS)], tb, CPUIDLE_POLICY_QOS_ATTR_MAX);
	} while (wire_u64(tb[CPUIDLE_POLICY_QOS_LATENCY_NS]) != 3000);
	tap_ok(wire_u64(tb[CPUIDLE_POLICY_QOS_LATENCY_NS]) == 3000 &&
		       !wire_u32(tb[CPUIDLE_POLICY_QOS_ID]),
	       "with the limit now in force (%llu ns)",
	       (unsigned long long)wire_u64(tb[CPUIDLE_POLICY_QOS_LATENCY_NS]));
	write_file(PM_QOS_FILE, "0");
	event(&ear, CMD(QOS_NTF), &r);
	wire_simple(&own, CMD(LEASE_DROP));
	tap_ok(event(&ear, CMD(LEASE_NTF), &r) &&
		       wire_u32(r.tb[A(EVENT)]) == CPUIDLE_POLICY_LEASE_DROPPED &&
		       !strcmp(wire_str(r.tb[A(OWNER)]), "contract"),
	       "LEASE_NTF: dropped");
	if (access("/sys/devices/system/cpu/cpu1/online", W_OK) == 0) {
		write_file("/sys/devices/system/cpu/cpu1/online", "0");
		tap_ok(event(&ear, CMD(HOTPLUG_NTF), &r) && wire_u32(r.tb[A(CPUMASK)]) == 2 &&
			       !(wire_u32(r.tb[A(ONLINE)]) & 2),
		       "HOTPLUG_NTF: CPU 1 went");
		write_file("/sys/devices/system/cpu/cpu1/online", "1");
		tap_ok(event(&ear, CMD(HOTPLUG_NTF), &r) && wire_u32(r.tb[A(ONLINE)]) & 2,
		       "HOTPLUG_NTF: CPU 1 came");
	}
	wire_close(&ear);
}

/* ---- the dead man ---- */

static bool all_clear(void)
{
	static struct wire_row rows[ROWS];
	int i, n = wire_rows(&other, rows, ROWS);
	unsigned int k;

	for (i = 0; i < n; i++)
		for (k = 0; k <= CPUIDLE_POLICY_RULE_MAX; k++)
			if (rows[i].value[k])
				return false;
	return n == 1;
}

static bool wait_clear(uint64_t ms)
{
	uint64_t end = now_ms() + ms;

	while (now_ms() < end)
		if (all_clear())
			return true;
	return false;
}

static void wait_until_detached(void)
{
	int i;

	for (i = 0; i < 300 && attached(); i++)
		usleep(10000);
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

static void test_end(void)
{
	struct snapshot s;

	wire_close(&own);
	wait_until_detached();
	tap_ok(all_clear() && !attached(), "nothing is left");
	if (can_read && snapshot_take(&s) && no_driver)
		tap_ok(!s.driver, "the own driver is gone");
}

int contract_run(void)
{
	if (!tap_ok(!wire_open(&own) && !wire_open(&other), "the family is there"))
		return tap_failed;
	can_read = snapshot_take(&host);
	test_caps();
	test_lease();
	test_malformed();
	test_own_driver();
	test_rules();
	test_commit();
	test_generation();
	test_back();
	test_qos();
	test_events();
	test_expiry();
	test_kill();
	test_who();
	test_end();
	return tap_failed;
}
