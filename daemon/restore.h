/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_RESTORE_H
#define CPUIDLED_RESTORE_H

#include "diff.h"

/*
 * What the host had before us, kept where a kill -9 cannot take it: ROOT/run/cpuidled/restore. Written
 * whole (new file, rename) before the first write of an apply, so that at every moment each file of
 * the host holds either what it had or one of the values noted here as ours.
 *
 * Text, one item a line, made for people, too:
 *   cpuidled-restore 1 BOOT-ID
 *   qos CPU PRIOR OURS [OURS-NEXT]            latencies as in the policy: 20us, 0, none
 *   disable CPU STATE PRIOR OURS [OURS-NEXT]  0 or 1
 */
struct restore_item {
	uint64_t prior;
	uint64_t ours[2]; /* what we had written, and what a running apply is about to write */
	uint16_t cpu;
	uint8_t state;
	uint8_t kind; /* KNOB_QOS or KNOB_DISABLE: the global request dies with its file descriptor */
	uint8_t n_ours;
};

struct restore_record {
	struct restore_item *items; /* ordered by kind, cpu, state */
	uint32_t n;
};

void restore_done(struct restore_record *r);

/*
 * Reads the record left by this or an earlier run. 0 with n == 0 when there is none or it is of an earlier
 * boot; -EBADMSG when it is damaged (what could be read is in ret), -errno.
 */
int restore_load(int root_fd, struct restore_record *ret);

/* Writes it, or removes the file when it is empty. -errno. */
int restore_save(int root_fd, const struct restore_record *r);

/*
 * Tells the machine which values are ours: where a file still holds one of ours[], its prior value becomes
 * the item's; where it holds anything else, somebody else wrote it since and it is theirs. n_foreign counts
 * the latter. An empty file, which the kernel never shows, counts as ours (a write cut short in a tree).
 */
void restore_overlay(const struct restore_record *r, struct machine *m, uint32_t *n_foreign);

/* The record for going from where the machine stands to what c will write. -ENOMEM. */
int restore_plan(const struct machine *m, const struct changes *c, struct restore_record *ret);

/* The record of what is ours in m as it stands (prior differs from now). -ENOMEM. */
int restore_current(const struct machine *m, struct restore_record *ret);

#endif
