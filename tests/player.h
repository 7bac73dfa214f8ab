/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_PLAYER_H
#define CPUIDLED_PLAYER_H

#include "scene.h"

#include "counters.h"

/* Counter traces (tests/data/guard/README) and a machine that plays them: all CPUs alike. */
#define TRACE_BLOCKS_MAX 16U

struct growth { /* a second */
	double usage, time_us, above;
};

struct trace_block {
	double seconds;
	struct growth states[MACHINE_STATES_MAX], off[MACHINE_STATES_MAX];
	bool has_off; /* what happens while the deepest state is off */
};

struct trace {
	char states[256];
	struct trace_block blocks[TRACE_BLOCKS_MAX];
	uint32_t n;
	double seconds;
};

struct player {
	const struct trace *trace;
	uint32_t n_cpus;
	struct growth *counts; /* n_cpus times MACHINE_STATES_MAX */
	double now; /* s from the beginning of the trace, which begins again at its end */
	uint32_t
		n_playing; /* CPUs below this play the trace, the others its first block; 0: all do */
	unsigned lacks; /* bits of enum counter_file: counters this kernel does not have */
	uint64_t n_reads;
	const struct machine *machine; /* whose states are off, and instead of what */
	const struct plan *plan;
};

/* Reads tests/data/guard/NAME.trace; aborts when it cannot be. */
void trace_load(const char *name, struct trace *ret);
/* The same from text. */
void trace_parse(const char *text, struct trace *ret);

void player_init(struct player *p, const struct trace *t, uint32_t n_cpus);
void player_done(struct player *p);
/* Time passes: the counters grow. */
void player_advance(struct player *p, double seconds);
/* A CPU went and came back: it counts from zero. */
void player_reset(struct player *p, uint32_t cpu);
/* counter_read; data is the player. */
int player_read(void *data, const struct counter *c, uint64_t *ret);

#endif
