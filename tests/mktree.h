/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_MKTREE_H
#define CPUIDLED_MKTREE_H

#include "testlib.h"

/*
 * Trees for hosts that nobody recorded. mktree_host() makes one whose CPUs 0..n-1 are online and have a PM
 * QoS file; mktree_states() lays idle states below some of them, mktree_drop() takes files away, and
 * test_write() puts anything else where it belongs.
 */
void mktree_host(const char *root, unsigned n_cpus);

/*
 * "POLL 0/0, C1 1/1 MWAIT 0x00, C3! 33/100 MWAIT 0x10": names, exit latency and target residency in us,
 * desc; "!" is off by default, "_" in a name stands for a blank.
 */
void mktree_states(const char *root, unsigned first, unsigned last, const char *states);

/* Removes a file or an empty directory, fmt below root. */
void mktree_drop(const char *root, const char *path);

/* Path of a file of one CPU: "sys/devices/system/cpu/cpuN/TAIL" in a static buffer. */
const char *mktree_cpu(unsigned cpu, const char *tail);

#endif
