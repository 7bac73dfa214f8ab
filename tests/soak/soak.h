/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SOAK_H
#define SOAK_H

#include <stdint.h>

#include "model.h"

/* Waits at most so long until the kernel is what the model says; else the difference comes into why. */
bool soak_settles(struct model *m, unsigned ms, char *why);

/* ask.c: do daemon and client say the same? Waits as long as they are not up to date. */
bool soak_daemon_agrees(const struct model *m, char *why);
bool soak_client_agrees(const struct model *m, char *why);

/* lies.c: the model is told something else than what was done, and has to be caught at it. TAP. */
void soak_lies(struct model *m);

/*
 * times.c: in us. Of more than fit the first ones are kept.
 */
#define TIMES_MAX 2048U

struct soak_times {
	uint32_t v[TIMES_MAX];
	unsigned n;
	uint64_t best, worst;
};

void soak_time(struct soak_times *t, uint64_t us);
uint64_t soak_median(const struct soak_times *t);

/*
 * Says in what time it was free, if it ever was. soon: judges the shortest, since what takes its time by itself takes it
 * each time, and the machine below may be a busy one. TAP.
 */
void soak_judge_freed(const struct soak_times *t, const char *what, bool soon);

/* freed.c: holders, and the daemon, killed while a hold is the limit in force. TAP. */
void soak_freed(struct model *m);

#endif
