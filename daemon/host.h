/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_HOST_H
#define CPUIDLED_HOST_H

#include "actuator.h"
#include "restore.h"

/*
 * The actuator over the files of a host. A per-CPU knob is one openat, one write, one close; nothing is
 * kept open. The global request is different on the two kinds of root:
 *
 *   the device of a kernel   stands as long as our descriptor is open, added to those of others by the
 *                            kernel, dies with us (kernel/power/qos.c)
 *   a file of a tree         holds the effective value; ours is written only if stricter, and its bytes
 *                            before us are kept to be put back
 */
struct host {
	int root_fd; /* borrowed */
	int global_fd; /* the held device, -1: none */
	uint64_t global_ns; /* what our request stands at, LATENCY_NONE: no request */
	struct restore_global
		tree; /* n_ours > 0: the file of a tree is ours, and what it held before */
};

void host_init(struct host *h, int root_fd);
void host_done(struct host *h); /* lets go of the device; touches no file */

struct actuator host_actuator(struct host *h); /* borrows h */

/*
 * Takes over what a dead predecessor left in the file of a tree (nothing to do for a device): h->global_ns
 * is what still stands, an emptied file is put back. -errno of that.
 */
int host_adopt(struct host *h, const struct restore_global *left);

/* The record's half of a change to the global request: what to note before c is carried out. -errno. */
int host_note_global(const struct host *h, const struct changes *c, struct restore_global *ret);

/*
 * Fills global_ns and global_others_ns of m: reads the device or file. While ours is the strictest the
 * kernel does not tell what others hold, and it makes no difference: LATENCY_NONE then.
 */
void host_read_global(const struct host *h, struct machine *m);

/* The kernel's name of a knob's file within its CPU, for messages: "state3/disable". Returns buf. */
const char *host_knob_name(const struct change *c, char *buf, size_t size);
/* Path below the root, for messages. Returns buf. */
const char *host_knob_path(const struct change *c, char *buf, size_t size);

#define HOST_GLOBAL_PATH "dev/cpu_dma_latency" /* below the root */
#define HOST_PATH_MAX	 96U

#endif
