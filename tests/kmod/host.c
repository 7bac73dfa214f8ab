// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "host.h"
#include "tap.h"

bool host_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	return n > 0;
}

bool host_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (!good)
		tap_note("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return good;
}

static void host_path(char *path, size_t size, unsigned int cpu, unsigned int state,
		      const char *file)
{
	snprintf(path, size, HOST_CPU "cpu%u/cpuidle/state%u/%s", cpu, state, file);
}

uint64_t host_state(unsigned int cpu, unsigned int state, const char *file)
{
	char path[128], text[32];

	host_path(path, sizeof(path), cpu, state, file);
	return host_read(path, text, sizeof(text)) ? strtoull(text, NULL, 0) : UINT64_MAX;
}

void host_disable(unsigned int cpu, unsigned int state, bool disable)
{
	char path[128];

	host_path(path, sizeof(path), cpu, state, "disable");
	host_write(path, disable ? "1" : "0");
}

void host_pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}
