// SPDX-License-Identifier: GPL-2.0-only
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "host.h"
#include "tap.h"
#include "wakes.h"
#include "wire.h"

/*
 * The tick mends a lost wake-up after at most 4 ms (250 Hz); one that is seen takes some
 * microseconds, also in an emulator, where time passes with the instructions.
 */
#define WAKES_LATE_NS 1000000
#define WAKES_SPREAD  4000 /* of the sender's pause, in rounds: longer than the way into idle */

struct wakes {
	unsigned int n, late;
	int64_t worst;
};

static uint32_t wakes_seed = 1;

static uint32_t wakes_below(uint32_t n)
{
	wakes_seed = wakes_seed * 1664525 + 1013904223;
	return (wakes_seed >> 8) % n;
}

static int64_t wakes_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void wakes_note(struct wakes *w, int64_t ns)
{
	w->n++;
	w->late += ns > WAKES_LATE_NS;
	if (ns > w->worst)
		w->worst = ns;
}

/* Timers of the one CPU, 20 to 120 us ahead. */
static void wakes_sleep(struct wakes *w, unsigned int count)
{
	struct timespec ts;
	int64_t until;

	host_pin(0);
	while (count--) {
		until = wakes_now() + 20000 + wakes_below(100000);
		ts.tv_sec = until / 1000000000;
		ts.tv_nsec = until % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		wakes_note(w, wakes_now() - until);
	}
}

/* ---- from CPU 0 to CPU 1 ---- */

static _Atomic uint32_t wakes_sent, wakes_seen;
static _Atomic int64_t wakes_at, wakes_seen_at;

static void *wakes_sleeper(void *unused)
{
	uint32_t last = 0, sent;

	(void)unused;
	host_pin(1);
	atomic_store(&wakes_seen, 1);
	for (;;) {
		sent = atomic_load(&wakes_sent);
		if (sent == last) {
			syscall(SYS_futex, &wakes_sent, FUTEX_WAIT_PRIVATE, last, NULL, NULL, 0);
			continue;
		}
		atomic_store(&wakes_seen_at, wakes_now());
		atomic_store(&wakes_seen, sent + 1);
		if (sent == UINT32_MAX)
			return NULL;
		last = sent;
	}
}

static void wakes_pause(uint32_t rounds)
{
	while (rounds--)
		__asm__ volatile("" ::: "memory");
}

static void wakes_send(uint32_t value)
{
	atomic_store(&wakes_at, wakes_now());
	atomic_store(&wakes_sent, value);
	syscall(SYS_futex, &wakes_sent, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	while (atomic_load(&wakes_seen) != value + 1)
		__asm__ volatile("" ::: "memory");
}

/*
 * The sender never sleeps: nothing but its store may wake the other CPU. What the sleeper sees before it
 * slept is no wake-up, and does no harm here.
 */
static bool wakes_exchange(struct wakes *w, unsigned int count)
{
	pthread_t sleeper;
	uint32_t i;

	host_pin(0);
	if (pthread_create(&sleeper, NULL, wakes_sleeper, NULL))
		return false;
	while (!atomic_load(&wakes_seen))
		usleep(1000);
	for (i = 1; i <= count; i++) {
		wakes_pause(wakes_below(WAKES_SPREAD));
		wakes_send(i);
		wakes_note(w, atomic_load(&wakes_seen_at) - atomic_load(&wakes_at));
	}
	wakes_send(UINT32_MAX);
	pthread_join(sleeper, NULL);
	return true;
}

/* The lease and the rows; false when they are not to be had. */
static bool wakes_begin(struct wire *w, int argc, char **argv)
{
	static struct wire_row rows[16];
	int i;

	if (!tap_ok(!wire_open(w), "the family is there"))
		return false;
	for (i = 0; i < argc && i < 16; i++)
		if (!wire_parse_row(argv[i], &rows[i]))
			return tap_ok(false, "bad row %s", argv[i]);
	tap_ok(!wire_take(w, "wakes", 600000, 0), "lease taken");
	return !argc || tap_ok(!wire_set(w, rows, i), "rows set: %s", w->text);
}

static void wakes_end(const struct wakes *seen, const char *what, unsigned int count,
		      uint64_t waits, bool rows)
{
	tap_ok(seen->n == count && !seen->late, "%u %s, %u of them late, the worst by %lld us",
	       seen->n, what, seen->late, (long long)seen->worst / 1000);
	tap_ok(!rows || waits >= count * 9ULL / 10, "%llu waits by UMWAIT ended so",
	       (unsigned long long)waits);
}

int wakes_timers(unsigned int count, int argc, char **argv)
{
	struct wakes seen = { 0 };
	uint64_t waits;
	struct wire w;

	if (!wakes_begin(&w, argc, argv))
		return tap_failed;
	waits = wire_stats_of(&w, 0).c0_waits;
	wakes_sleep(&seen, count);
	wakes_end(&seen, "timers", count, wire_stats_of(&w, 0).c0_waits - waits, argc);
	wire_close(&w);
	return tap_failed;
}

/* Rescheduling interrupts of CPU 1 so far. */
static unsigned long wakes_ipis(void)
{
	unsigned long cpu0, cpu1 = 0;
	char line[512];
	FILE *f = fopen("/proc/interrupts", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " RES: %lu %lu", &cpu0, &cpu1) == 2)
			break;
	if (f)
		fclose(f);
	return cpu1;
}

int wakes_remote(unsigned int count, int argc, char **argv)
{
	struct wakes seen = { 0 };
	unsigned long ipis;
	uint64_t waits;
	struct wire w;

	if (!wakes_begin(&w, argc, argv))
		return tap_failed;
	waits = wire_stats_of(&w, 1).c0_waits;
	ipis = wakes_ipis();
	tap_ok(wakes_exchange(&seen, count), "a thread sleeps on CPU 1");
	ipis = wakes_ipis() - ipis;
	wakes_end(&seen, "wake-ups by CPU 0", count, wire_stats_of(&w, 1).c0_waits - waits, argc);
	tap_ok(!argc || ipis < count / 50, "%lu of them took an interrupt, the others the store alone",
	       ipis);
	wire_close(&w);
	return tap_failed;
}
