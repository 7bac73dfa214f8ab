/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"
#include "tap.h"

#define FREE_WITHIN_US 100000 /* what a killed holder had */

void soak_time(struct soak_times *t, uint64_t us)
{
	if (us > t->worst)
		t->worst = us;
	if (!t->n || us < t->best)
		t->best = us;
	if (t->n < TIMES_MAX)
		t->v[t->n++] = (uint32_t)us;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t soak_median(const struct soak_times *t)
{
	struct soak_times sorted = *t;

	if (!t->n)
		return 0;
	qsort(sorted.v, sorted.n, sizeof(*sorted.v), compare);
	return sorted.v[sorted.n / 2];
}

void soak_judge_freed(const struct soak_times *t, const char *what, bool soon)
{
	tap_ok(t->n > 0 && (!soon || t->best < FREE_WITHIN_US),
	       "kill -9 of %s %u times: freed after %.1f ms at best, %.1f ms in the middle, %.1f ms at worst",
	       what, t->n, (double)t->best / 1000, (double)soak_median(t) / 1000,
	       (double)t->worst / 1000);
}
