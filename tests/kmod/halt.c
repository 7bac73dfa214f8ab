// SPDX-License-Identifier: GPL-2.0-only
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "halt.h"
#include "host.h"
#include "tap.h"
#include "wire.h"

#define HALT_MAX   200000 /* ns, as HaltPoll=auto asks for */
#define HALT_START 50000
#define ROUNDS	   4000
#define TRIES	   10 /* of what an emulated CPU that is away too often may miss once */

static struct wire own;
static struct wire_caps caps;

#define set(...) wire_ask(&own, __VA_ARGS__)

/* ---- haltpoll ---- */

static int to[2], from[2];

static void *halt_echo(void *unused)
{
	char byte;

	(void)unused;
	host_pin(1);
	while (read(to[0], &byte, 1) == 1 && byte != 'q')
		if (write(from[1], &byte, 1) != 1)
			break;
	return NULL;
}

/*
 * CPU 0 waits for CPU 1 again and again, some microseconds each time. How long it polled at the most: what
 * it is at one moment says little on a busy machine, where an emulated CPU is away for longer at times.
 */
static bool halt_rounds(uint64_t *longest)
{
	pthread_t echo;
	char byte = 'x';
	int i;

	host_pin(0);
	if (pipe(to) || pipe(from) || pthread_create(&echo, NULL, halt_echo, NULL))
		return false;
	for (i = 0; i < ROUNDS; i++) {
		if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
			break;
		if (i % 64 == 0 && wire_stats_of(&own, 0).poll_ns > *longest)
			*longest = wire_stats_of(&own, 0).poll_ns;
	}
	byte = 'q';
	if (write(to[1], &byte, 1) != 1)
		return false;
	pthread_join(echo, NULL);
	return i == ROUNDS;
}

static void halt_sleep(unsigned int ms, unsigned int times)
{
	while (times--)
		usleep(ms * 1000);
}

static bool halt_begin(void)
{
	if (!tap_ok(!wire_open(&own), "the family is there"))
		return false;
	tap_ok(!wire_take(&own, "halt", 600000, 0), "lease taken");
	wire_caps(&own, &caps);
	if (!caps.driver[0]) {
		tap_ok(!set("own=1"), "own driver");
		wire_caps(&own, &caps);
	}
	return true;
}

/* Only the first state that halts: a deeper one of an emulator may return at once. */
static uint32_t halt_off(void)
{
	return ((1u << caps.n_states) - 1) & ~3u;
}

/*
 * Rounds until it polls as long as it begins with and finds work by that. What must not be is told of all
 * of them.
 */
static void halt_grow(void)
{
	struct wire_stats before, after = { 0 };
	uint64_t polls, longest = 0;
	unsigned int tries = 0;
	bool good;

	before = wire_stats_of(&own, 0);
	polls = host_state(0, 0, "usage");
	do {
		good = halt_rounds(&longest);
		after = wire_stats_of(&own, 0);
	} while (good && ++tries < TRIES &&
		 (after.poll_hits == before.poll_hits || longest < HALT_START * 9 / 10));
	polls = host_state(0, 0, "usage") - polls;
	tap_ok(good, "%u times %u rounds with CPU 1 over a pipe", tries, ROUNDS);
	/* most of them; an emulator's CPU on a busy machine is away for longer than it may poll */
	tap_ok(after.poll_hits - before.poll_hits > 0, "%llu polls found work",
	       (unsigned long long)(after.poll_hits - before.poll_hits));
	tap_ok(longest >= HALT_START * 9 / 10 && longest <= HALT_MAX,
	       "it polled up to %llu ns, of %u", (unsigned long long)longest, HALT_MAX);
	tap_ok(polls >= after.poll_hits + after.poll_misses - before.poll_hits - before.poll_misses,
	       "each is an entry into POLL in sysfs (%llu)", (unsigned long long)polls);
}

/* Fifty long waits end it. One that an emulator cuts short begins it anew. */
static void halt_shrink(void)
{
	struct wire_stats before, after;
	unsigned int tries = 0;

	do {
		before = wire_stats_of(&own, 0);
		halt_sleep(20, 50);
		after = wire_stats_of(&own, 0);
	} while (++tries < TRIES &&
		 (after.poll_ns >= HALT_START || after.poll_misses - before.poll_misses >= 40));
	tap_ok(after.poll_ns < HALT_START, "after %u times fifty long waits it polls %llu ns", tries,
	       (unsigned long long)after.poll_ns);
	tap_ok(after.poll_misses - before.poll_misses < 40, "having polled in vain %llu times",
	       (unsigned long long)(after.poll_misses - before.poll_misses));
}

int halt_poll(void)
{
	struct wire_stats before, after;
	uint64_t longest = 0;

	if (!halt_begin())
		return tap_failed;
	tap_ok(caps.features & CPUIDLE_POLICY_F_HALTPOLL, "haltpoll is possible here");
	tap_ok(!set("cpus=0-1 off=%#x count=1", halt_off()), "counting: %s", own.text);
	tap_ok(!set("cpus=0 haltpoll=%u", HALT_MAX), "CPU 0 polls up to 200 us: %s", own.text);
	usleep(100000);
	halt_grow();
	tap_ok(!wire_stats_of(&own, 1).poll_hits && !wire_stats_of(&own, 1).poll_misses, "CPU 1 does not poll");

	halt_shrink();

	tap_ok(!set("cpus=0 haltpoll=0"), "off again");
	before = wire_stats_of(&own, 0);
	halt_rounds(&longest);
	after = wire_stats_of(&own, 0);
	tap_ok(after.poll_hits == before.poll_hits && after.poll_misses == before.poll_misses &&
		       !after.poll_ns,
	       "and it polls no more");
	wire_close(&own);
	return tap_failed;
}

/* ---- I/O port ---- */

static unsigned int port_state(void)
{
	unsigned int i;

	for (i = 0; i < caps.n_states; i++)
		if (caps.flags[i] & CPUIDLE_POLICY_SF_IOPORT)
			return i;
	return 0;
}

int halt_port(void)
{
	struct wire_stats before, after;
	unsigned int state;
	uint64_t used;

	if (!halt_begin())
		return tap_failed;
	wire_caps(&own, &caps); /* measured with the lease */
	state = port_state();
	tap_ok(state && caps.features & CPUIDLE_POLICY_F_IOPORT, "a state behind an I/O port: %s",
	       caps.name[state]);
	tap_note("dummy wait measured: %d", !!(caps.features & CPUIDLE_POLICY_F_DUMMY_WAIT));
	tap_ok(!set("cpus=0 count=1"), "counting");
	usleep(300000);
	after = wire_stats_of(&own, 0);
	tap_ok(after.entry[state] > 100 && !after.ioports, "native: %llu entries",
	       (unsigned long long)after.entry[state]);
	tap_ok(!set("cpus=0 ioport=1"), "direct: %s", own.text);
	before = wire_stats_of(&own, 0);
	used = host_state(0, state, "usage");
	usleep(300000);
	used = host_state(0, state, "usage") - used;
	after = wire_stats_of(&own, 0);
	tap_ok(after.ioports > 100, "direct: %llu entries", (unsigned long long)after.ioports);
	tap_ok(after.ioports - before.ioports <= used + 2 &&
		       after.ioports - before.ioports + 200 >= used * 9 / 10,
	       "which are those sysfs counts (%llu)", (unsigned long long)used);
	tap_ok(!set("cpus=0 ioport=0"), "native again");
	after = wire_stats_of(&own, 0);
	usleep(50000);
	tap_ok(wire_stats_of(&own, 0).ioports == after.ioports, "none is direct any more");
	tap_note("entries %llu direct %llu", (unsigned long long)host_state(0, state, "usage"),
		 (unsigned long long)after.ioports);
	wire_close(&own);
	return tap_failed;
}
