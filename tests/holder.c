/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * holder SOCKET N CPUS NS [STEP]: takes N holds of CPUS over one connection by libcpuidled, each looser by STEP ns than
 * the one before, says "ready", and waits for the end of its standard input. SOCKET "-": whatever way there is. With
 * "news" as the last argument it says which holds others end. Reads nothing of the daemon otherwise.
 */
#include <cpuidled.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wait_for_news(struct cpuidled *c)
{
	struct pollfd fds[] = {{.fd = 0, .events = POLLIN},
			       {.fd = cpuidled_fd(c), .events = POLLIN}};
	char byte;

	for (;;) {
		int64_t id;

		while ((id = cpuidled_ended(c)) > 0) {
			printf("ended %" PRId64 "\n", id);
			fflush(stdout);
		}
		if (id < 0) {
			printf("gone: %s\n", cpuidled_error(c));
			return 4;
		}
		if (poll(fds, 2, -1) < 0)
			return 1;
		if (fds[0].revents && read(0, &byte, 1) <= 0)
			return 0;
	}
}

int main(int argc, char **argv)
{
	struct cpuidled_ask ask = CPUIDLED_ASK;
	struct cpuidled *c;
	unsigned long n, step;
	int r;

	if (argc < 5)
		return 2;
	r = cpuidled_open(strcmp(argv[1], "-") ? argv[1] : NULL, &c);
	if (r < 0) {
		printf("open: %s\n", strerror(-r));
		return 4;
	}
	n = strtoul(argv[2], NULL, 10);
	step = argc > 5 ? strtoul(argv[5], NULL, 10) : 0;
	ask.cpus = argv[3];
	ask.latency_ns = strtoull(argv[4], NULL, 10);
	ask.reason = "trading session open";
	ask.name = "matching-engine";
	for (unsigned long i = 0; i < n; i++, ask.latency_ns += step) {
		int64_t id = cpuidled_hold(c, &ask);

		if (id < 0) {
			printf("hold: %s (%d)\n", cpuidled_error(c), (int)id);
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	if (!strcmp(argv[argc - 1], "news"))
		r = wait_for_news(c);
	else
		while (getchar() != EOF)
			;
	cpuidled_close(c);
	return r;
}
