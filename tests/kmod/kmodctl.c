// SPDX-License-Identifier: GPL-2.0-only
/*
 * kmodctl - talk to the module without any library; for test guests, statically linked
 *
 *	kmodctl contract		hold the module to its header (TAP)
 *	kmodctl modes			see each mode do what it says (TAP)
 *	kmodctl c0			the same for C0.1 and C0.2 (TAP)
 *	kmodctl timers COUNT ROW...	with those rows: is each of so many timers seen at once? (TAP)
 *	kmodctl wakes COUNT ROW...	the same for wake-ups by another CPU (TAP)
 *	kmodctl haltpoll		polling before a halt (TAP)
 *	kmodctl ioport			entry by reading a port alone (TAP)
 *	kmodctl fuzz SEED COUNT		random and mutated messages (TAP)
 *	kmodctl stress SEED COUNT	attach, detach, lease races (TAP)
 *	kmodctl caps|config|stats|qos	print
 *	kmodctl hold OPTIONS ROW...	take the lease, set the rows, say "ready", wait for a signal;
 *					lines on standard input are further rows
 *	kmodctl try ROW...		as hold, but print the result and end
 *	kmodctl snapshot		what the kernel's memory says (see snapshot.h)
 *	kmodctl monitor			print events, and when they came
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "c0.h"
#include "contract.h"
#include "fuzz.h"
#include "halt.h"
#include "modes.h"
#include "snapshot.h"
#include "tap.h"
#include "wakes.h"
#include "wire.h"

static int tap_end(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}

static int say(struct wire *w, int ret)
{
	printf("%d %s%s%s\n", ret, strerror(-ret), w->text[0] ? ": " : "", w->text);
	fflush(stdout);
	return ret ? 1 : 0;
}

static int cmd_caps(struct wire *w)
{
	struct wire_caps c;
	unsigned int i;

	if (wire_caps(w, &c))
		return 1;
	printf("version %u features %#llx cpus %u generation %u\n", c.version,
	       (unsigned long long)c.features, c.nr_cpus, c.generation);
	printf("driver %s attached %u own %u\n", c.driver[0] ? c.driver : "none", c.attached, c.own);
	if (c.has_umwait_control)
		printf("umwait_control %#x\n", c.umwait_control);
	if (c.c0_reason[0])
		printf("no C0.x: %s\n", c.c0_reason);
	if (c.row_reason[0])
		printf("no row: %s\n", c.row_reason);
	if (c.reason[0])
		printf("reason %s\n", c.reason);
	if (c.owner[0])
		printf("owner %s pid %u left %u ms\n", c.owner, c.pid, c.left_ms);
	for (i = 0; i < c.n_states; i++)
		printf("state %u %s latency %llu flags %#x\n", i, c.name[i],
		       (unsigned long long)c.latency[i], c.flags[i]);
	return 0;
}

static int cmd_config(struct wire *w)
{
	static struct wire_row rows[256];
	int i, k, n = wire_rows(w, rows, 256);

	for (i = 0; i < n; i++) {
		printf("cpus");
		for (k = rows[i].words - 1; k >= 0; k--)
			printf(" %08x", rows[i].mask[k]);
		printf(" window %#x sti %#x off %#x bcast %u count %u poll %u c1 %u row %u haltpoll %u ioport %u generation %u\n",
		       rows[i].value[CPUIDLE_POLICY_RULE_IRQ_WINDOW],
		       rows[i].value[CPUIDLE_POLICY_RULE_STI_MWAIT],
		       rows[i].value[CPUIDLE_POLICY_RULE_STATES_OFF],
		       rows[i].value[CPUIDLE_POLICY_RULE_BROADCAST],
		       rows[i].value[CPUIDLE_POLICY_RULE_COUNT],
		       rows[i].value[CPUIDLE_POLICY_RULE_POLL_BACKEND],
		       rows[i].value[CPUIDLE_POLICY_RULE_C1_BACKEND],
		       rows[i].value[CPUIDLE_POLICY_RULE_C0_ROW],
		       rows[i].value[CPUIDLE_POLICY_RULE_HALTPOLL_NS],
		       rows[i].value[CPUIDLE_POLICY_RULE_IOPORT], rows[i].generation);
	}
	return n < 0;
}

static int cmd_stats(struct wire *w)
{
	static struct wire_stats stats[WIRE_CPUS];
	int i, n = wire_stats(w, stats, WIRE_CPUS);
	unsigned int k;

	for (i = 0; i < n; i++) {
		printf("cpu %u waits %llu rearms %llu vetoed %#x windows %llu sti %llu broadcasts %llu"
		       " entries",
		       stats[i].cpu, (unsigned long long)stats[i].c0_waits,
		       (unsigned long long)stats[i].c0_rearms, stats[i].vetoed, (unsigned long long)stats[i].windows,
		       (unsigned long long)stats[i].sti_mwaits,
		       (unsigned long long)stats[i].broadcasts);
		for (k = 0; k < stats[i].n_states; k++)
			printf(" %llu", (unsigned long long)stats[i].entry[k]);
		printf(" hits %llu misses %llu polled %llu ioports %llu\n",
		       (unsigned long long)stats[i].poll_hits,
		       (unsigned long long)stats[i].poll_misses,
		       (unsigned long long)stats[i].poll_ns, (unsigned long long)stats[i].ioports);
	}
	return n < 0;
}

static int cmd_qos(struct wire *w)
{
	static struct wire_limit limits[256];
	int i, n = wire_limits(w, limits, 256);

	for (i = 0; i < n; i++)
		printf("id %u cpus %08x latency %lld\n", limits[i].id, limits[i].mask0,
		       (long long)limits[i].ns);
	return n < 0;
}

static int cmd_snapshot(void)
{
	struct snapshot s;

	if (!snapshot_take(&s))
		return 1;
	snapshot_print(&s);
	return 0;
}

static int set_text(struct wire *w, const char *text)
{
	struct wire_row row;

	if (!wire_parse_row(text, &row)) {
		printf("bad row \"%s\"\n", text);
		return -EINVAL;
	}
	return wire_set(w, &row, 1);
}

static int set_words(struct wire *w, int argc, char **argv)
{
	static struct wire_row rows[64];
	int i;

	for (i = 0; i < argc && i < 64; i++)
		if (!wire_parse_row(argv[i], &rows[i]))
			return -EINVAL;
	return wire_set(w, rows, i);
}

static int cmd_hold(struct wire *w, int argc, char **argv, bool stay)
{
	uint32_t lease = 600000, grace = 0;
	char line[256];
	int ret;

	for (; argc > 1 && argv[0][0] == '-'; argc -= 2, argv += 2) {
		if (!strcmp(argv[0], "-lease"))
			lease = strtoul(argv[1], NULL, 0);
		else if (!strcmp(argv[0], "-grace"))
			grace = strtoul(argv[1], NULL, 0);
		else
			return 2;
	}
	ret = wire_take(w, "kmodctl", lease, grace);
	if (!ret && argc)
		ret = set_words(w, argc, argv);
	if (ret || !stay)
		return say(w, ret);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		say(w, set_text(w, line));
	}
	for (;;)
		pause();
}

static int cmd_monitor(struct wire *w)
{
	struct timespec now;
	static struct wire_msg m;
	struct wire_reply r;

	if (wire_join(w))
		return 1;
	for (;;) {
		if (wire_event(w, &m, -1))
			continue;
		wire_parse(&m.h, &r);
		clock_gettime(CLOCK_MONOTONIC, &now);
		printf("event %u at %llu us\n", r.cmd,
		       now.tv_sec * 1000000ULL + now.tv_nsec / 1000);
		fflush(stdout);
	}
}

/* ---- stress ---- */

/* A child that fights for the lease, to be killed at any moment. */
static pid_t stress_child(unsigned int seed, unsigned int cpus)
{
	static const char *const forms[] = {
		"cpus=0-%u count=1",	      "cpus=%u off=2",
		"cpus=%u bcast=avoid count=1", "cpus=0-%u off=2 count=1",
		"cpus=0-%u off=0 count=0 bcast=auto",
	};
	uint32_t one = 1;
	struct wire w;
	char text[128];
	pid_t pid = fork();

	if (pid)
		return pid;
	srandom(seed);
	for (;;) {
		if (wire_open(&w))
			_exit(1);
		if (!wire_take(&w, "stress", 100 + random() % 400, random() % 2 * 20)) {
			int n = random() % 8;

			set_text(&w, "own=1");
			while (n--) {
				snprintf(text, sizeof(text), forms[random() % 5], cpus - 1);
				set_text(&w, text);
				wire_qos(&w, 1 + random() % 3, &one, 1, random() % 50000 - 1);
				if (!(random() % 4))
					wire_simple(&w, CPUIDLE_POLICY_CMD_LEASE_DROP);
			}
		}
		wire_close(&w);
	}
}

/* Attach and detach by the parent, while two children race for the lease and are killed. */
static int cmd_stress(unsigned int seed, unsigned int count)
{
	unsigned int attached = 0, i, tries;
	struct snapshot before, after;
	struct wire_caps caps;
	struct wire w;
	pid_t child[2];
	char text[64];
	bool read = snapshot_take(&before);

	if (wire_open(&w) || wire_caps(&w, &caps))
		return 1;
	srandom(seed);
	child[0] = stress_child(seed + 1, caps.nr_cpus);
	child[1] = stress_child(seed + 2, caps.nr_cpus);
	for (i = 0; i < count; i++) {
		for (tries = 0; wire_take(&w, "parent", 60000, 0) && tries < 10000; tries++)
			if (tries % 50 == 49)
				usleep(1000);
		set_text(&w, "own=1");
		snprintf(text, sizeof(text), "cpus=0-%u count=1 off=%u", caps.nr_cpus - 1,
			 (unsigned int)random() % 2 * 2);
		attached += !set_text(&w, text);
		if (random() % 2)
			usleep(random() % 5000);
		wire_simple(&w, CPUIDLE_POLICY_CMD_LEASE_DROP);
		if (i % 10 == 9) {
			kill(child[i / 10 % 2], SIGKILL);
			waitpid(child[i / 10 % 2], NULL, 0);
			child[i / 10 % 2] = stress_child(seed + 3 + i, caps.nr_cpus);
		}
	}
	for (i = 0; i < 2; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	for (i = 0; i < 500 && (wire_caps(&w, &caps) || caps.attached || caps.own); i++)
		usleep(10000);
	tap_ok(attached > count * 9 / 10, "%u of %u rounds attached", attached, count);
	tap_ok(!caps.attached && !caps.own && !caps.owner[0], "nothing is left");
	if (read && snapshot_take(&after))
		tap_ok(snapshot_equal(&before, &after), "the kernel's memory is as before");
	return tap_end();
}

int main(int argc, char **argv)
{
	const char *cmd = argc > 1 ? argv[1] : "";
	struct wire w;
	int ret;

	if (!strcmp(cmd, "snapshot"))
		return cmd_snapshot();
	if (!strcmp(cmd, "contract")) {
		contract_run();
		return tap_end();
	}
	if (!strcmp(cmd, "modes")) {
		modes_run();
		return tap_end();
	}
	if (!strcmp(cmd, "c0")) {
		c0_run();
		return tap_end();
	}
	if (!strcmp(cmd, "haltpoll")) {
		halt_poll();
		return tap_end();
	}
	if (!strcmp(cmd, "ioport")) {
		halt_port();
		return tap_end();
	}
	if (!strcmp(cmd, "timers") && argc >= 3) {
		wakes_timers(strtoul(argv[2], NULL, 0), argc - 3, argv + 3);
		return tap_end();
	}
	if (!strcmp(cmd, "wakes") && argc >= 3) {
		wakes_remote(strtoul(argv[2], NULL, 0), argc - 3, argv + 3);
		return tap_end();
	}
	if (!strcmp(cmd, "fuzz") && argc == 4) {
		fuzz_run(strtoul(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
		return tap_end();
	}
	if (!strcmp(cmd, "stress") && argc == 4)
		return cmd_stress(strtoul(argv[2], NULL, 0), strtoul(argv[3], NULL, 0));
	ret = wire_open(&w);
	if (ret) {
		printf("no family: %s\n", strerror(-ret));
		return 1;
	}
	if (!strcmp(cmd, "caps"))
		return cmd_caps(&w);
	if (!strcmp(cmd, "config"))
		return cmd_config(&w);
	if (!strcmp(cmd, "stats"))
		return cmd_stats(&w);
	if (!strcmp(cmd, "qos"))
		return cmd_qos(&w);
	if (!strcmp(cmd, "monitor"))
		return cmd_monitor(&w);
	if (!strcmp(cmd, "hold") || !strcmp(cmd, "try"))
		return cmd_hold(&w, argc - 2, argv + 2, !strcmp(cmd, "hold"));
	fprintf(stderr, "usage: the head of kmodctl.c\n");
	return 2;
}
