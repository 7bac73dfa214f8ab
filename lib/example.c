/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds a latency limit for as long as it has work to do.
 *
 *   cc -o example example.c $(pkg-config --cflags --libs libcpuidled)
 *   ./example 2-5 10000
 */
#include <cpuidled.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct cpuidled_ask ask = CPUIDLED_ASK;
	struct cpuidled *c;
	int64_t id;
	int r;

	if (argc < 3) {
		fprintf(stderr, "usage: %s CPUS NANOSECONDS [SOCKET]\n", argv[0]);
		return 2;
	}
	r = cpuidled_open(argv[3], &c);
	if (r < 0) {
		fprintf(stderr, "no cpuidled: %s\n", strerror(-r));
		return 4;
	}
	ask.cpus = argv[1];
	ask.latency_ns = strtoull(argv[2], NULL, 10);
	ask.reason = "an example";
	id = cpuidled_hold(c, &ask);
	if (id < 0) {
		fprintf(stderr, "not held: %s\n", cpuidled_error(c));
		cpuidled_close(c);
		return 1;
	}
	printf("hold %" PRId64 " stands; press Enter to end it\n", id);
	fflush(stdout);
	(void)getchar();
	cpuidled_close(c);
	return 0;
}
