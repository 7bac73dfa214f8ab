// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "host.h"
#include "modes.h"
#include "snapshot.h"
#include "tap.h"
#include "wire.h"

#define CPUS 16

static struct wire own, other;
static struct wire_caps caps;
static struct wire_stats before[CPUS], after[CPUS];
static uint64_t usage_before[CPUS][16], usage_after[CPUS][16];
static unsigned int cpus;

#define set(...) wire_ask(&own, __VA_ARGS__)

static void clear(void)
{
	tap_ok(!set("cpus=0-%u window=0 sti=0 off=0 bcast=auto count=1", cpus - 1),
	       "nothing but counting");
}

static void usage(uint64_t (*u)[16])
{
	unsigned int cpu, i;

	for (cpu = 0; cpu < cpus; cpu++)
		for (i = 0; i < caps.n_states; i++)
			u[cpu][i] = host_state(cpu, i, "usage");
}

/*
 * A while in which the machine has little to do, but each CPU a little: a quiet one may sleep
 * through all of it.
 */
static void idle_on(unsigned int ms)
{
	while (ms > 10) {
		host_pin(ms / 10 % cpus);
		usleep(10000);
		ms -= 10;
	}
	usage(usage_after);
	wire_stats(&other, after, CPUS);
}

/* Both counters before and after that. */
static void idle(unsigned int ms)
{
	wire_stats(&other, before, CPUS);
	usage(usage_before);
	idle_on(ms);
}

/* As long as it takes for what is expected, up to ten seconds: an emulated CPU is away at times. */
#define idle_until(expected)                                                                       \
	do {                                                                                       \
		int more = 19;                                                                     \
		idle(500);                                                                         \
		while (!(expected) && more--)                                                      \
			idle_on(500);                                                              \
	} while (0)

static uint64_t entries(unsigned int cpu, unsigned int state)
{
	return after[cpu].entry[state] - before[cpu].entry[state];
}

static uint64_t used(unsigned int cpu, unsigned int state)
{
	return usage_after[cpu][state] - usage_before[cpu][state];
}

static uint64_t windows(unsigned int cpu)
{
	return after[cpu].windows - before[cpu].windows;
}

static void test_count(void)
{
	unsigned int cpu, i;
	uint64_t e, u;

	clear();
	idle(500);
	for (cpu = 0; cpu < cpus; cpu++) {
		for (e = u = i = 0; i < caps.n_states; i++) {
			e += entries(cpu, i);
			u += used(cpu, i);
		}
		tap_ok(e && e + 1 >= u, "CPU %u: counted %llu entries, the kernel %llu", cpu,
		       (unsigned long long)e, (unsigned long long)u);
	}
}

static void test_window(unsigned int state)
{
	clear();
	tap_ok(!set("cpus=0 window=%#x", 1u << state), "IRQ window on %s of CPU 0",
	       caps.name[state]);
	idle(500);
	tap_ok(windows(0) == entries(0, state), "a window for each of its %llu entries (%llu)",
	       (unsigned long long)entries(0, state), (unsigned long long)windows(0));
	tap_ok(cpus < 2 || !windows(1), "none on CPU 1");
}

static void test_windows(void)
{
	uint32_t all = 0;
	unsigned int i;

	for (i = 0; i < caps.n_states; i++) {
		if (!(caps.flags[i] & CPUIDLE_POLICY_SF_IRQ_WINDOW))
			continue;
		test_window(i);
		all |= 1u << i;
	}
	tap_ok(all != 0, "some state takes a window");
	tap_ok(!set("cpus=0-%u window=%#x", cpus - 1, all), "on every state of every CPU");
	idle_until(windows(0));
	tap_ok(windows(0) > 0, "%llu windows on CPU 0", (unsigned long long)windows(0));
}

static void test_mwait(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < caps.n_states; i++) {
		if (!(caps.flags[i] & CPUIDLE_POLICY_SF_STI_MWAIT))
			continue;
		n++;
		clear();
		/* all else off, so that this one is what the CPU does */
		tap_ok(!set("cpus=0 sti=%#x off=%#x", 1u << i,
			    ((1u << caps.n_states) - 1) & ~(1u << i)),
		       "STI;MWAIT in %s of CPU 0", caps.name[i]);
		idle(500);
		tap_ok(after[0].sti_mwaits > before[0].sti_mwaits,
		       "%llu of %llu entries waited so",
		       (unsigned long long)(after[0].sti_mwaits - before[0].sti_mwaits),
		       (unsigned long long)entries(0, i));
		tap_ok(set("cpus=0 window=%#x", 1u << i) == -EINVAL, "refused: both at once");
	}
	tap_ok(!!n == !!(caps.features & CPUIDLE_POLICY_F_STI_MWAIT),
	       "%u states take STI;MWAIT, as FEATURES say", n);
}

/* The deepest state that the CPUs use when left alone. */
static unsigned int favourite(void)
{
	unsigned int i, best = 0;

	clear();
	idle(500);
	for (i = 0; i < caps.n_states; i++)
		if (used(0, i) > used(0, best))
			best = i;
	return best;
}

static void test_veto(void)
{
	unsigned int i = favourite();
	struct snapshot s;
	bool read;

	tap_ok(!set("cpus=0 off=%#x", 1u << i), "%s off on CPU 0", caps.name[i]);
	idle_until(cpus < 2 || used(1, i));
	tap_ok(!used(0, i), "CPU 0 does not use it (%llu)", (unsigned long long)used(0, i));
	tap_ok(cpus < 2 || used(1, i), "CPU 1 does");
	tap_ok(!host_state(0, i, "disable"), "the user's disable file still says 0");
	read = snapshot_take(&s);
	tap_ok(!read || snapshot_vetoed(&s, 0, i), "the kernel's word has our bit");
	host_disable(0, i, true);
	tap_ok(host_state(0, i, "disable") == 1, "the user disables it too");
	tap_ok(!set("cpus=0 off=0"), "ours taken back");
	idle(300);
	tap_ok(!used(0, i) && host_state(0, i, "disable") == 1, "the user's holds");
	host_disable(0, i, false);
	idle_until(used(0, i));
	tap_ok(used(0, i) > 0, "and the state is used again after that");
	if (read && snapshot_take(&s))
		tap_ok(!snapshot_any_veto(&s), "no bit of ours is left");
}

static uint64_t broadcasts(unsigned int cpu)
{
	return after[cpu].broadcasts - before[cpu].broadcasts;
}

/*
 * The question whether an entry is into broadcast is compiled in as a NOP, and becomes a jump only
 * while somebody counts and some CPU's timer stops.
 */
static void test_broadcast_key(bool stops)
{
	static unsigned char off[2048], on[2048];
	unsigned int i, first = 0, last = 0, n = 0;
	bool read;

	set("cpus=0-%u count=0", cpus - 1);
	read = snapshot_code("enter_look", off, sizeof(off));
	clear();
	if (!read || !snapshot_code("enter_look", on, sizeof(on))) {
		tap_note("the kernel's code cannot be read");
		return;
	}
	for (i = 0; i < sizeof(off); i++) {
		if (off[i] == on[i])
			continue;
		if (!n++)
			first = i;
		last = i;
	}
	if (!stops) {
		tap_ok(!n, "counting patches nothing in: no timer stops here");
		return;
	}
	tap_ok(n && last - first < 5, "counting patches one place, %#x of the slow way", first);
	tap_ok((off[first] == 0x0f && off[first + 1] == 0x1f) || /* NOP of five bytes */
		       (off[first] == 0x66 && off[first + 1] == 0x90), /* of two */
	       "a NOP before: %02x %02x %02x %02x %02x", off[first], off[first + 1], off[first + 2],
	       off[first + 3], off[first + 4]);
	tap_ok(on[first] == 0xe9 || on[first] == 0xeb, "a jump now: %02x", on[first]);
}

static void test_broadcast(void)
{
	bool stops = caps.features & CPUIDLE_POLICY_F_TIMER_STOPS;
	unsigned int i, n = 0;

	for (i = 0; i < caps.n_states; i++)
		n += !!(caps.flags[i] & CPUIDLE_POLICY_SF_TIMER_STOP);
	test_broadcast_key(n);
	idle_until(!stops || (broadcasts(0) && (cpus < 2 || broadcasts(1))));
	if (!stops) {
		tap_ok(!n && !broadcasts(0), "no timer stops, nothing is broadcast");
		tap_ok(!set("cpus=0 bcast=off"), "off is harmless and taken");
		tap_ok(!set("cpus=0 bcast=avoid"), "so is avoid");
		return;
	}
	tap_ok(n > 0, "timers stop in %u states", n);
	tap_ok(broadcasts(0) > 0 && (cpus < 2 || broadcasts(1) > 0),
	       "auto: %llu broadcasts of CPU 0", (unsigned long long)broadcasts(0));
	tap_ok(!set("cpus=0 bcast=avoid"), "avoid on CPU 0");
	idle_until(cpus < 2 || broadcasts(1));
	tap_ok(!broadcasts(0), "none of CPU 0 any more");
	tap_ok(cpus < 2 || broadcasts(1) > 0, "%llu of CPU 1",
	       (unsigned long long)broadcasts(1));
	tap_ok(set("cpus=1 bcast=off") == -EOPNOTSUPP && strstr(own.text, "C3STOP"),
	       "off is refused: %s", own.text);
	for (i = 0; i < caps.n_states; i++)
		if (caps.flags[i] & CPUIDLE_POLICY_SF_TIMER_STOP)
			tap_ok(set("cpus=0 window=%#x", 1u << i) == -EOPNOTSUPP &&
				       strstr(own.text, "timer"),
			       "window refused in %s: %s", caps.name[i], own.text);
}

int modes_run(void)
{
	if (!tap_ok(!wire_open(&own) && !wire_open(&other), "the family is there"))
		return tap_failed;
	tap_ok(!wire_take(&own, "modes", 600000, 0), "lease taken");
	wire_caps(&other, &caps);
	if (!caps.driver[0]) {
		tap_ok(!set("own=1"), "own driver");
		wire_caps(&other, &caps);
	}
	cpus = caps.nr_cpus < CPUS ? caps.nr_cpus : CPUS;
	test_count();
	test_windows();
	test_mwait();
	test_veto();
	test_broadcast();
	wire_close(&own);
	wire_close(&other);
	return tap_failed;
}
