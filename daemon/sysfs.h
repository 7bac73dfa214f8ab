/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_SYSFS_H
#define CPUIDLED_SYSFS_H

#include "machine.h"

/*
 * The host below a root directory: reading it into a struct machine. The only place that knows how the
 * kernel's files spell a latency:
 *
 *   file                                   "0"            "n/a"   other
 *   cpuN/power/pm_qos_resume_latency_us    no constraint  zero    us, decimal
 *   /dev/cpu_dma_latency                   zero           -       us, 32-bit binary; 2000000000: none
 *
 * (Documentation/admin-guide/pm/cpuidle.rst, drivers/base/power/sysfs.c, kernel/power/qos.c)
 */

/* Opens root ("/" for this host) as a directory. */
int sysfs_open_root(const char *root, int *ret_fd);

/*
 * Reads the host. needs: or-ed enum selector_needs, to leave unread what no selector asks for. A host
 * without cpuidle, without PM QoS or with odd files is a valid machine; what could not be read becomes
 * a diagnostic (DIAG_WARNING, with the file's path). -ENODEV when there is no CPU at all, -ENOMEM,
 * -E2BIG for more than CPU_MAX CPUs.
 */
int sysfs_read_machine(int root_fd, unsigned needs, struct diag_list *diags, struct machine **ret);

/* Cheap test whether tables or CPUs may have changed since: online set, driver, governor. */
int sysfs_same_host(int root_fd, const struct machine *m, bool *ret);

/* Spelling of the per-CPU file, both ways. Limits below 1 us become "n/a": never looser than asked. */
const char *sysfs_format_qos(uint64_t ns, char *buf, size_t size); /* with newline */
int sysfs_parse_qos(const char *text, uint64_t *ret_ns);

/* Value of the per-CPU file a limit ends up as: whole microseconds downwards, 0 below 1 us. */
uint64_t sysfs_qos_granularity(uint64_t ns);

/* Relative path below the root of a knob's file, for messages and for opening. Returns buf. */
const char *sysfs_qos_path(uint32_t cpu, char *buf, size_t size);
/* state: N of stateN, see machine_file_of(). */
const char *sysfs_disable_path(uint32_t cpu, uint32_t state, char *buf, size_t size);
const char *sysfs_knob_path(enum host_knob which, char *buf, size_t size);

#endif
