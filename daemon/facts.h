/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_FACTS_H
#define CPUIDLED_FACTS_H

#include "machine.h"

#define FACTS_HALTPOLL "sys/module/haltpoll/parameters/guest_halt_poll_"

/*
 * What is the same for all CPUs of a host: driver, governor, processor features, guest or not, requests on
 * /dev/cpu_dma_latency, kernel release and command line. Part of sysfs_read_machine().
 *
 * root_fd is the root directory, cpu_dir sys/devices/system/cpu below it. m has its CPUs marked as present.
 * Files that are not there leave their fact unknown. 0 or -ENOMEM.
 */
int facts_read(int root_fd, int cpu_dir, struct diag_list *diags, struct machine *m);

#endif
