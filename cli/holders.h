/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_HOLDERS_H
#define CPUIDLED_HOLDERS_H

#include "base.h"
#include "cmd.h"

/*
 * Who has /dev/cpu_dma_latency open for writing, as the kernel shows it below /proc/PID/fd: the client looks, with the
 * rights of whoever asks, so the daemon needs none for it. What each of them asks for the kernel does not tell, nor who
 * wrote a CPU's pm_qos_resume_latency_us, which nobody keeps open.
 */
struct holder {
	uint32_t pid;
	char name[32]; /* of the process */
	char *unit; /* systemd unit, NULL for none */
};

struct holders {
	struct holder *v;
	uint32_t n;
	uint32_t n_hidden; /* processes that may not be looked into */
};

/* Is the host that o asks about the one this runs on? */
bool holders_wanted(const struct options *o);

/* 0, or -errno when there is no /proc to look into. */
int holders_find(struct holders *ret);
void holders_done(struct holders *h);

/* "fio (pid 12, fio.service), qemu (pid 13); 42 processes cannot be looked into"; "" for none. NULL: out of memory. */
char *holders_text(const struct holders *h);

#endif
