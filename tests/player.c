/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "player.h"

static uint32_t state_index(const struct trace *t, const char *name)
{
	const char *p = t->states;

	for (uint32_t i = 0; *p; i++) {
		size_t n;

		p += strspn(p, " ,");
		n = strcspn(p, " ");
		if (n == strlen(name) && strncmp(p, name, n) == 0)
			return i;
		p += strcspn(p, ",");
	}
	ck_abort_msg("no state %s in \"%s\"", name, t->states);
	return 0;
}

static void parse_growth(struct trace *t, const char *line, bool off)
{
	struct trace_block *b = &t->blocks[t->n - 1];
	struct growth g;
	char name[32];

	ck_assert_msg(sscanf(line, "%31s %lf %lf %lf", name, &g.usage, &g.time_us, &g.above) == 4,
		      "\"%s\"", line);
	(off ? b->off : b->states)[state_index(t, name)] = g;
}

static void parse_line(struct trace *t, const char *line, bool *off)
{
	struct trace_block *b = &t->blocks[t->n];

	if (line[0] == '#' || line[0] == '\0')
		return;
	if (strncmp(line, "states ", 7) == 0) {
		snprintf(t->states, sizeof(t->states), "%s", line + 7);
	} else if (strncmp(line, "for ", 4) == 0) {
		ck_assert_uint_lt(t->n, TRACE_BLOCKS_MAX);
		*b = (struct trace_block){.has_off = false};
		ck_assert_int_eq(sscanf(line + 4, "%lf", &b->seconds), 1);
		t->seconds += b->seconds;
		t->n++;
		*off = false;
	} else if (streq(line, "off")) {
		t->blocks[t->n - 1].has_off = *off = true;
	} else {
		parse_growth(t, line, *off);
	}
}

void trace_parse(const char *text, struct trace *ret)
{
	bool off = false;

	*ret = (struct trace){.n = 0};
	while (*text) {
		size_t n = strcspn(text, "\n");
		char line[256];

		ck_assert_uint_lt(n, sizeof(line));
		snprintf(line, sizeof(line), "%.*s", (int)n, text);
		parse_line(ret, line, &off);
		text += n + (text[n] == '\n');
	}
	ck_assert_uint_gt(ret->n, 0);
}

void trace_load(const char *name, struct trace *ret)
{
	char path[64];
	char *text;

	snprintf(path, sizeof(path), "data/guard/%s.trace", name);
	text = test_read(TEST_SOURCE_DIR, path);
	trace_parse(text, ret);
	free(text);
}

void player_init(struct player *p, const struct trace *t, uint32_t n_cpus)
{
	*p = (struct player){.trace = t, .n_cpus = n_cpus};
	p->counts = calloc((size_t)n_cpus * MACHINE_STATES_MAX, sizeof(*p->counts));
	ck_assert_ptr_nonnull(p->counts);
}

void player_done(struct player *p)
{
	free(p->counts);
}

void player_reset(struct player *p, uint32_t cpu)
{
	memset(&p->counts[cpu * MACHINE_STATES_MAX], 0, MACHINE_STATES_MAX * sizeof(*p->counts));
}

static void add(struct growth *to, const struct growth *g, double seconds)
{
	to->usage += g->usage * seconds;
	to->time_us += g->time_us * seconds;
	to->above += g->above * seconds;
}

static void grow(struct player *p, uint32_t cpu, const struct trace_block *b, double seconds)
{
	const struct plan_row *row = plan_row_of(p->plan, cpu);
	const struct idle_table *table = &p->machine->tables[row->table];
	struct growth *counts = &p->counts[cpu * MACHINE_STATES_MAX];
	bool deepest_off = !row->states[table->n - 1].enabled;
	const struct growth *states = b->has_off && deepest_off ? b->off : b->states;

	for (uint32_t i = 0; i < table->n; i++) {
		struct growth g = states[i];
		uint32_t to = i;

		while (to > 0 && !row->states[to].enabled)
			to--;
		if (to != i && g.usage > 0) {
			double mean_ns = g.time_us * 1000 / g.usage;

			g.above = mean_ns < (double)table->states[to].target_residency_ns ? g.usage
											  : 0;
		}
		add(&counts[to], &g, seconds);
	}
}

/* The block at a moment, and how long it still lasts. */
static const struct trace_block *block_at(const struct trace *t, double at, double *ret_left)
{
	double end = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		end += t->blocks[i].seconds;
		if (at < end - 1e-9) {
			*ret_left = end - at;
			return &t->blocks[i];
		}
	}
	return NULL;
}

void player_advance(struct player *p, double seconds)
{
	while (seconds > 1e-9) {
		double left, step;
		const struct trace_block *b = block_at(p->trace, p->now, &left);

		if (!b) {
			p->now = 0;
			continue;
		}
		step = MIN_OF(left, seconds);
		for (uint32_t cpu = 0; cpu < p->n_cpus; cpu++)
			grow(p, cpu, p->n_playing && cpu >= p->n_playing ? p->trace->blocks : b,
			     step);
		p->now += step;
		seconds -= step;
	}
}

int player_read(void *data, const struct counter *c, uint64_t *ret)
{
	struct player *p = data;
	const struct growth *g = &p->counts[c->cpu * MACHINE_STATES_MAX + c->state];

	p->n_reads++;
	if (p->lacks & 1U << c->file)
		return -ENOENT;
	switch ((enum counter_file)c->file) {
	case COUNTER_USAGE:
		*ret = (uint64_t)g->usage;
		break;
	case COUNTER_TIME:
		*ret = (uint64_t)g->time_us;
		break;
	case COUNTER_ABOVE:
		*ret = (uint64_t)g->above;
		break;
	case COUNTER_REJECTED:
		*ret = 0;
		break;
	}
	return 0;
}
