/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render.h"

char *render_finish(struct render *r)
{
	return buf_finish(&r->buf);
}

static const char *latency(uint64_t ns, char *buf)
{
	return units_format_latency(ns, buf, LATENCY_TEXT_MAX);
}

/* LATENCY_NONE is what a state has whose file could not be read. */
static const char *state_latency(uint64_t ns, char *buf)
{
	return ns == LATENCY_NONE ? "?" : latency(ns, buf);
}

/* Column widths over all rows, so that the rows line up. */
struct widths {
	int name, latency, residency, class, mode, requested, effective, layer;
};

static void widen(int *w, const char *text)
{
	*w = MAX_OF(*w, (int)strlen(text));
}

static struct widths measure(const struct view *view)
{
	struct widths w = {};
	char buf[LATENCY_TEXT_MAX];

	for (uint32_t r = 0; r < view->n; r++) {
		const struct view_row *row = &view->rows[r];

		for (uint32_t i = 0; i < row->n_states; i++) {
			const struct view_state *s = &row->states[i];

			widen(&w.name, s->name);
			widen(&w.latency, state_latency(s->exit_latency_ns, buf));
			widen(&w.residency, state_latency(s->target_residency_ns, buf));
			widen(&w.class, s->class);
		}
		for (uint32_t i = 0; i < row->n_modes; i++) {
			widen(&w.mode, row->modes[i].name);
			widen(&w.requested, row->modes[i].requested);
			widen(&w.effective, row->modes[i].effective);
		}
		for (uint32_t i = 0; i < row->n_layers; i++)
			widen(&w.layer, row->layers[i].name);
	}
	return w;
}

/* Is the limit that of the row's own profile? Then the header has said it all. */
static bool limit_is_own(const struct view_row *row)
{
	size_t n = strlen(row->profile);
	const char *p = row->limit_source;

	return strncmp(p, "profile ", 8) == 0 && strncmp(p + 8, row->profile, n) == 0 &&
	       strncmp(p + 8 + n, " (", 2) == 0;
}

static void put_header(struct render *r, const struct view_row *row)
{
	char limit[LATENCY_TEXT_MAX];
	bool one = !strpbrk(row->cpus, ",-");

	if (r->buf.n > 0)
		buf_puts(&r->buf, "\n");
	buf_printf(&r->buf, "CPU%s %s: profile %s, limit %s", one ? "" : "s", row->cpus,
		   row->profile, latency(row->limit_ns, limit));
	if (row->limit_ns != LATENCY_NONE && !limit_is_own(row))
		buf_printf(&r->buf, ", by %s", row->limit_source);
	if (!row->online)
		buf_puts(&r->buf, ", once online");
	buf_puts(&r->buf, "\n");
}

static void put_states(struct render *r, const struct view_row *row, const struct widths *w)
{
	char e[LATENCY_TEXT_MAX], t[LATENCY_TEXT_MAX];

	for (uint32_t i = 0; i < row->n_states; i++) {
		const struct view_state *s = &row->states[i];

		buf_printf(&r->buf, "  %" PRIu32 " %-*s  %-3s  %*s/%-*s  %-*s  %s\n", s->index,
			   w->name, s->name, s->enabled ? "on" : "off", w->latency,
			   state_latency(s->exit_latency_ns, e), w->residency,
			   state_latency(s->target_residency_ns, t), w->class, s->class, s->reason);
	}
	if (row->n_states == 0)
		buf_printf(&r->buf, "  no idle states: %s\n",
			   row->online ? "there is no cpuidle driver for these CPUs" : "offline");
}

/* In a plan only what the operator asked for, or gets, beyond the kernel's own way. */
static bool is_plain(const struct view_mode *m)
{
	bool plain = streq(m->effective, "off") || streq(m->effective, "native");

	return plain && (streq(m->requested, m->effective) || streq(m->requested, "auto"));
}

static void put_modes(struct render *r, const struct view_row *row, const struct widths *w,
		      bool all)
{
	for (uint32_t i = 0; i < row->n_modes; i++) {
		const struct view_mode *m = &row->modes[i];

		if (all || !is_plain(m))
			buf_printf(&r->buf, "  %-*s  %*s -> %-*s  %s\n", w->mode, m->name,
				   w->requested, m->requested, w->effective, m->effective,
				   m->reason);
	}
}

void render_plan(struct render *r, const struct view *view)
{
	struct widths w = measure(view);

	for (uint32_t i = 0; i < view->n; i++) {
		put_header(r, &view->rows[i]);
		put_states(r, &view->rows[i], &w);
		put_modes(r, &view->rows[i], &w, false);
	}
}

void render_explain(struct render *r, const struct view *view)
{
	struct widths w = measure(view);

	for (uint32_t i = 0; i < view->n; i++) {
		const struct view_row *row = &view->rows[i];

		put_header(r, row);
		buf_puts(&r->buf, " what decides, from the bottom up\n");
		for (uint32_t l = 0; l < row->n_layers; l++)
			buf_printf(&r->buf, "  %-*s  %s\n", w.layer, row->layers[l].name,
				   row->layers[l].text);
		buf_puts(&r->buf, " states (exit latency/target residency)\n");
		put_states(r, row, &w);
		buf_puts(&r->buf, " modes (asked for -> in effect)\n");
		put_modes(r, row, &w, true);
	}
}

/* Changes ----------------------------------------------------------------------------------------- */

static bool same_write(const struct change *a, const struct change *b)
{
	return a->kind == b->kind && a->state == b->state && a->from == b->from && a->to == b->to;
}

static void put_knob(struct render *r, const struct machine *m, const struct change *c)
{
	const struct idle_table *table = machine_table(m, c->cpu);

	switch ((enum knob_kind)c->kind) {
	case KNOB_QOS:
		buf_puts(&r->buf, "power/pm_qos_resume_latency_us");
		break;
	case KNOB_GLOBAL:
		buf_puts(&r->buf, "/dev/cpu_dma_latency");
		break;
	case KNOB_DISABLE:
		buf_printf(&r->buf, "cpuidle/state%u/disable",
			   machine_file_of(c->own_row, c->state));
		if (table && c->state < table->n)
			buf_printf(&r->buf, " (%s)", table->states[c->state].name);
		break;
	case KNOB_HOST:
		buf_puts(&r->buf, machine_knob_name(c->state));
		break;
	}
}

static void put_values(struct render *r, const struct change *c)
{
	char from[LATENCY_TEXT_MAX], to[LATENCY_TEXT_MAX];

	if (c->kind == KNOB_DISABLE || c->kind == KNOB_HOST)
		buf_printf(&r->buf, ": %" PRIu64 " -> %" PRIu64 "\n", c->from, c->to);
	else
		buf_printf(&r->buf, ": %s -> %s\n", latency(c->from, from), latency(c->to, to));
}

/* One line for the write at and all later ones like it, which are marked as done. */
static void put_group(struct render *r, const struct machine *m, const struct changes *c,
		      uint32_t at, uint32_t end, struct cpuset *cpus, bool *done)
{
	char *list;

	cpuset_clear(cpus);
	for (uint32_t i = at; i < end; i++)
		if (!done[i] && same_write(&c->v[at], &c->v[i])) {
			done[i] = true;
			cpuset_add(cpus, c->v[i].cpu);
		}
	if (knob_is_of_cpu(c->v[at].kind)) {
		list = cpuset_to_string(cpus);
		if (!list) {
			r->buf.failed = true;
			return;
		}
		buf_printf(&r->buf, "  CPU%s %s: ", strpbrk(list, ",-") ? "s" : "", list);
		free(list);
	} else {
		buf_puts(&r->buf, "  ");
	}
	put_knob(r, m, &c->v[at]);
	put_values(r, &c->v[at]);
}

static void put_part(struct render *r, const struct machine *m, const struct changes *c,
		     uint32_t from, uint32_t end, struct cpuset *cpus, bool *done)
{
	if (from == end)
		return;
	buf_puts(&r->buf, from == 0 && c->n_tighten > 0 ? "first what takes away\n"
							: "then what gives back\n");
	for (uint32_t i = from; i < end; i++)
		if (!done[i])
			put_group(r, m, c, i, end, cpus, done);
}

void render_changes(struct render *r, const struct machine *machine, const struct changes *changes)
{
	_cleanup_(cpuset_done) struct cpuset cpus = {};
	_cleanup_free_ bool *done = calloc(changes->n + 1, sizeof(*done));

	if (!done || cpuset_init(&cpus, machine->n_cpus) < 0) {
		r->buf.failed = true;
		return;
	}
	if (changes->n == 0)
		buf_puts(&r->buf, "nothing to be written\n");
	put_part(r, machine, changes, 0, changes->n_tighten, &cpus, done);
	put_part(r, machine, changes, changes->n_tighten, changes->n, &cpus, done);
}
