/* SPDX-License-Identifier: GPL-2.0-only */
/* host - files of sysfs, and where a test's threads run */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_CPU "/sys/devices/system/cpu/"

/* The first line of a file, without its end. False, and an empty text, when there is none. */
bool host_read(const char *path, char *text, size_t size);

/* False, with a note, when it is not taken whole. */
bool host_write(const char *path, const char *text);

/* A number of a CPU's state: "usage", "time", "disable" ...; UINT64_MAX when there is none. */
uint64_t host_state(unsigned int cpu, unsigned int state, const char *file);

void host_disable(unsigned int cpu, unsigned int state, bool disable);

void host_pin(unsigned int cpu);

#endif /* HOST_H */
