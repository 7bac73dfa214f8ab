/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two threads, each on a CPU of its own, wake each other in turns: over two pipes (as perf bench sched pipe does) or
 * over a futex. Each computes for a while before it answers, so that the other one waits for that long.
 *
 *	ipc-wake pipe|futex ROUNDS WORK		WORK: turns of an empty loop
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int there[2], back[2];
static _Atomic int turn;
static long rounds, work;
static int by_futex;

static void die(const char *what)
{
	fprintf(stderr, "ipc-wake: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void compute(void)
{
	for (long i = 0; i < work; i++)
		__asm__ volatile("");
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		die("sched_setaffinity");
}

static void wait_turn(int mine)
{
	while (atomic_load(&turn) != mine)
		if (syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !mine, NULL, NULL, 0) < 0 &&
		    errno != EAGAIN && errno != EINTR)
			die("futex");
}

static void give_turn(int other)
{
	atomic_store(&turn, other);
	if (syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) < 0)
		die("futex");
}

static void take(int fd, int mine)
{
	char c;

	if (by_futex)
		wait_turn(mine);
	else if (read(fd, &c, 1) != 1)
		die("read");
}

static void give(int fd, int other)
{
	if (by_futex)
		give_turn(other);
	else if (write(fd, "x", 1) != 1)
		die("write");
}

static void *partner(void *arg)
{
	pin(1);
	for (long i = 0; i < rounds; i++) {
		take(there[0], 1);
		compute();
		give(back[1], 0);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 4 || (strcmp(argv[1], "pipe") != 0 && strcmp(argv[1], "futex") != 0)) {
		fprintf(stderr, "usage: ipc-wake pipe|futex ROUNDS WORK\n");
		return 2;
	}
	by_futex = !strcmp(argv[1], "futex");
	rounds = strtol(argv[2], NULL, 10);
	work = strtol(argv[3], NULL, 10);
	if (rounds < 1 || pipe(there) < 0 || pipe(back) < 0)
		die("pipe");
	pin(0);
	if (pthread_create(&thread, NULL, partner, NULL))
		die("pthread_create");
	for (long i = 0; i < rounds; i++) {
		compute();
		give(there[1], 1);
		take(back[0], 0);
	}
	pthread_join(thread, NULL);
	return 0;
}
