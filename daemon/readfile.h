/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_READFILE_H
#define CPUIDLED_READFILE_H

#include "cpuset.h"

/*
 * Small files of the kernel: one openat, one read, one close. Their size is not known before (sysfs claims
 * 4096 for each), so the buffer decides how much is looked at.
 */

/* Returns the length; buf is terminated. -errno. */
int readfile_at(int dir, const char *path, char *buf, size_t size);

/* As above, up to the first newline. */
int readfile_line(int dir, const char *path, char *buf, size_t size);

/* A decimal number. -EINVAL for anything else. */
int readfile_u64(int dir, const char *path, uint64_t *ret);

/* A switch (1, 0, Y, N): 1 or 0, -1 where there is no such file. */
int8_t readfile_switch(int dir, const char *path);

#define READFILE_LIST_MAX 32768U /* a list of every second of CPU_MAX CPUs has less */

/*
 * A kernel CPU list as a set of CPUs below n, in place of what ret held. -ENOENT and other -errno of reading,
 * -EINVAL for something else than a list, -ENOMEM.
 */
int readfile_list(int dir, const char *path, uint32_t n, struct cpuset *ret);

#define READFILE_CPU_PATH_MAX 80U

/* Makes "cpuN/TAIL" in buf, which has READFILE_CPU_PATH_MAX bytes. TAIL is a literal of at most 60. */
const char *readfile_cpu_path(uint32_t cpu, const char *tail, char *buf);

#endif
