/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_WATCH_H
#define CPUIDLED_WATCH_H

#include "diff.h"

/*
 * Notices writes of others to the files we govern, by inotify: no polling, no wake-up while nothing
 * happens. Events are marks on files, not values: whoever takes a mark reads the file. Files are watched
 * before they are first read, so that no write slips between.
 */
struct watch {
	int fd; /* inotify, non-blocking; for the loop */
	char *prefix; /* root without a trailing slash, owned */
	uint32_t *knob_of; /* by watch descriptor: which file that is */
	uint32_t n_knobs;
	uint16_t *watched, *dirty, *renewed; /* per CPU; bits as in machine_cpu.left */
	uint32_t n_cpus;
	uint32_t next; /* watch_take() goes on here */
	bool global_watched, global_dirty;
	uint8_t own_row; /* machine.own_row by which the states' files are named */
	uint8_t knobs_watched, knobs_dirty; /* bits: enum host_knob */
	uint32_t n_failed; /* files that could not be watched */
	int error; /* why the first one could not: -ENOSPC is fs.inotify.max_user_watches */
};

/*
 * Watches dev/cpu_dma_latency and the PM QoS file of each present CPU below root. Files that are not
 * there are no error. -errno when there can be no watching at all; w is then closed.
 */
int watch_init(struct watch *w, const char *root, int root_fd);
void watch_done(struct watch *w); /* also for one that is zero with fd -1 */

/*
 * Watches the disable files plan keeps as well and CPUs that have come since. What is new is marked, since
 * it may have been written after it was last read. Returns how many are new.
 */
uint32_t watch_follow(struct watch *w, const struct plan *plan);

/*
 * The host was read anew: the states' files may be others of the same name, which the kernel makes when a CPU comes back,
 * and not all kernels tell. watch_follow() looks which are, and marks those.
 */
void watch_renew(struct watch *w);

/* Is there a mark that nobody has taken yet? Its event is read: the descriptor will not tell again. */
bool watch_pending(const struct watch *w);

/* Turns events that have come into marks. Bounded; true when there is a mark. */
bool watch_collect(struct watch *w);

/* Marks files of a CPU (bits as in machine_cpu.left) that were found changed in another way. */
void watch_mark(struct watch *w, uint32_t cpu, uint16_t bits);

void watch_mark_knob(struct watch *w, enum host_knob which);

/* Takes the marks off the files of c: what came from our own writes. */
void watch_forget(struct watch *w, const struct changes *c);

/* Takes one mark off and says whose it was; false when there is none left. */
bool watch_take(struct watch *w, struct change *ret);

#endif
