/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_TALLY_H
#define CPUIDLED_TALLY_H

#include "counters.h"

/*
 * Reads the kernel's idle counters below a root. Files with a slot stay open, one pread each time; as many as the
 * limit for open files leaves room for, the rest costs openat, read and close. An open file does not keep a CPU
 * from going offline: it then reads ENODEV, and is opened anew.
 */
struct tally {
	int root_fd; /* borrowed */
	struct tally_slot *slots;
	uint32_t n;
	uint32_t n_open, max_open;
	uint8_t own_row; /* machine.own_row, by which states' files are named */
};

void tally_init(struct tally *t, int root_fd);
void tally_done(struct tally *t); /* closes all; usable again */

/* Makes room for n slots; all open files are closed when the number is another one. -ENOMEM: none is kept. */
int tally_size(struct tally *t, uint32_t n);

/* The files of states have other names from now on, or the same. */
void tally_renumber(struct tally *t, uint8_t own_row);

/* counter_read; data is the tally. -ENOENT, -ENODEV and other -errno; -EINVAL for what is no number. */
int tally_read(void *data, const struct counter *c, uint64_t *ret);

#endif
