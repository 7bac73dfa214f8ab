/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_RESTORE_H
#define CPUIDLED_RESTORE_H

#include "diff.h"

/*
 * What the host had before us, kept where a kill -9 cannot take it: ROOT/run/cpuidled/restore. Written
 * whole (new file, rename) before the first write of an apply, so that at every moment each file of
 * the host holds either what it had or one of the values noted here as ours. An apply whose record cannot
 * be written does not take place.
 *
 * Text, one item a line, made for people, too:
 *   cpuidled-restore 1 BOOT-ID                boot_id of the kernel; "-" where there is none (a tree)
 *   qos CPUS PRIOR OURS [OURS-NEXT]           CPUS is 4 or 0-447; latencies as in the policy: 20us, 0, none
 *   disable CPUS STATE PRIOR OURS [OURS-NEXT] 0 or 1
 *   host FILE PRIOR OURS [OURS-NEXT]          enable_c02, max_time or guest_halt_poll_ns, numbers as that has them
 *   global BYTES OURS [OURS-NEXT]             only in a tree; the file's bytes before us in hex, "-": empty
 */
#define RESTORE_DIR  "run/cpuidled" /* below the root */
#define RESTORE_FILE RESTORE_DIR "/restore"

struct restore_item {
	uint64_t prior;
	uint64_t ours[2]; /* what we had written, and what a running apply is about to write */
	uint16_t cpu, last; /* CPUs cpu..last, all the same */
	uint8_t state;
	uint8_t kind; /* KNOB_QOS or KNOB_DISABLE: the global request dies with its file descriptor */
	uint8_t n_ours; /* 1 or 2 */
};

#define RESTORE_BYTES_MAX 16U

/*
 * dev/cpu_dma_latency of a recorded tree. The device of a kernel forgets our request when we die; this
 * regular file does not, so its content before us is kept here.
 */
struct restore_global {
	uint8_t n_ours; /* 0: not ours */
	uint8_t n_prior;
	uint8_t prior[RESTORE_BYTES_MAX];
	uint64_t ours[2];
};

struct restore_record {
	struct restore_item *items; /* ordered by kind, state, cpu; owned */
	uint32_t n;
	struct restore_item knobs[HOST_KNOBS]; /* n_ours 0: not ours */
	struct restore_global global;
};

void restore_done(struct restore_record *r);
bool restore_is_empty(const struct restore_record *r);

/* Takes one more item, as a longer range where it continues the last one. -ENOMEM. */
int restore_append(struct restore_record *r, const struct restore_item *item);

/*
 * Reads the record left by this or an earlier run. 0 with an empty one when there is none or it is of an
 * earlier boot; -EBADMSG when it is damaged (what could be read is in ret), -errno.
 */
int restore_load(int root_fd, struct restore_record *ret);

/* Writes it, or removes the file when it is empty. -errno; the old one then stands. */
int restore_save(int root_fd, const struct restore_record *r);

/* Makes ROOT/run/cpuidled. -errno. */
int restore_make_dir(int root_fd);

/*
 * Tells the machine which values are ours: where a file still holds one of ours[], its prior value becomes
 * the item's; where it holds anything else, somebody else wrote it since and it is theirs. n_foreign counts
 * the latter. An empty file (machine_cpu.cut; the kernel never shows one) counts as ours and is taken for
 * what it had before; the next diff writes it in any case.
 */
void restore_overlay(const struct restore_record *r, struct machine *m, uint32_t *n_foreign);

/* The record for going from where the machine stands to what c will write. -ENOMEM. */
int restore_plan(const struct machine *m, const struct changes *c, struct restore_record *ret);

/* The record of what is ours in m as it stands (prior differs from now). -ENOMEM. */
int restore_current(const struct machine *m, struct restore_record *ret);

#endif
