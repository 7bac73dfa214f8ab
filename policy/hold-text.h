/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_HOLD_TEXT_H
#define CPUIDLED_HOLD_TEXT_H

#include "buf.h"
#include "hold.h"

/* Holds in words: for explain, for list-holds, for the log. */

/* "C1Interrupts=window HaltPoll=off": the modes that are given, as policy text. */
void hold_put_modes(struct buf *b, const struct settings *modes);

/*
 * The other way: lines of KEY=VALUE. What is no mode, or no value of one, becomes an error in diags, in the words a
 * file's would have. 0, -EBADMSG, -ENOMEM.
 */
int hold_parse_modes(const char *text, struct diag_list *diags, struct settings *ret);

/* "latency limit 10us, profile low-latency, C1Interrupts=window": what it asks for. */
void hold_put_ask(struct buf *b, const struct holds *h, const struct hold *hold);

/* "fio (pid 123, uid 0, fio.service)": who has it. */
void hold_put_owner(struct buf *b, const struct hold *hold);

/* "2026-11-30T17:25:03Z" */
void hold_put_time(struct buf *b, uint64_t us);

/* The hold whose limit this is for some of cpus; NULL: none, so it comes from a profile that is held. */
const struct hold *hold_deciding(const struct holds *h, const struct cpuset *cpus,
				 uint64_t limit_ns);

#endif
