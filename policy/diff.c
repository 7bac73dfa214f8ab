/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diff.h"

/*
 * The same walk twice: once to count, once to fill in. want is NULL on the way back to what others had.
 */
struct walk {
	const struct plan *want;
	const struct machine *have;
	struct change *v; /* NULL while counting */
	uint32_t n_tighten, n_loosen;
	uint32_t tighten_at, loosen_at; /* where the next one of each kind goes */
};

bool knob_is_of_cpu(enum knob_kind kind)
{
	return kind == KNOB_QOS || kind == KNOB_DISABLE;
}

bool change_loosens(const struct change *c)
{
	switch ((enum knob_kind)c->kind) {
	case KNOB_QOS:
	case KNOB_GLOBAL:
		return c->to > c->from;
	case KNOB_HOST:
		/* A CPU that polls for a shorter time sleeps sooner. */
		if (c->state == HOST_HALTPOLL)
			return c->to < c->from;
		/* No limit of time is written as 0. */
		return c->state == HOST_UMWAIT_MAX ? c->to - 1 > c->from - 1 : c->to > c->from;
	case KNOB_DISABLE:
		break;
	}
	return c->to < c->from;
}

static void emit(struct walk *w, const struct change *c)
{
	bool loosens = change_loosens(c);

	if (w->v)
		w->v[loosens ? w->loosen_at++ : w->tighten_at++] = *c;
	else if (loosens)
		w->n_loosen++;
	else
		w->n_tighten++;
}

static void walk_qos(struct walk *w, uint32_t cpu, const struct plan_row *row)
{
	const struct machine_cpu *c = &w->have->cpus[cpu];
	uint64_t to = row ? row->qos_ns : c->qos_prior_ns;

	if (!c->has_qos || (to == c->qos_ns && !(c->cut & 1U << MACHINE_BIT_QOS)))
		return;
	emit(w, &(struct change){
			.kind = KNOB_QOS,
			.cpu = (uint16_t)cpu,
			.from = c->qos_ns,
			.to = to,
		});
}

static void walk_states(struct walk *w, uint32_t cpu, const struct plan_row *row)
{
	const struct machine_cpu *c = &w->have->cpus[cpu];
	const struct idle_table *table = machine_table(w->have, cpu);
	unsigned care = row ? row->disable_care : 0;
	unsigned to = (c->disabled_prior & ~care) | (row ? row->disable_mask & care : 0);
	unsigned differs = (to ^ c->disabled) | c->cut;

	for (uint32_t i = 0; table && i < table->n; i++)
		if (differs & 1U << i)
			emit(w, &(struct change){
					.kind = KNOB_DISABLE,
					.cpu = (uint16_t)cpu,
					.state = (uint8_t)i,
					.own_row = w->have->own_row,
					.from = c->disabled >> i & 1,
					.to = to >> i & 1,
				});
}

static void walk_knobs(struct walk *w)
{
	for (uint32_t i = 0; i < HOST_KNOBS; i++) {
		const struct machine_knob *k = &w->have->knobs[i];
		uint64_t to =
			w->want && w->want->knobs[i] != HOST_KEEP ? w->want->knobs[i] : k->prior;

		if (k->present && (to != k->now || k->cut))
			emit(w, &(struct change){
					.kind = KNOB_HOST,
					.state = (uint8_t)i,
					.from = k->now,
					.to = to,
				});
	}
}

static void walk_all(struct walk *w, uint64_t have_global_ns)
{
	uint64_t want_global_ns = w->want ? w->want->global_ns : LATENCY_NONE;

	if (want_global_ns != have_global_ns)
		emit(w, &(struct change){
				.kind = KNOB_GLOBAL,
				.from = have_global_ns,
				.to = want_global_ns,
			});
	walk_knobs(w);
	for (uint32_t cpu = 0; cpu < w->have->n_cpus; cpu++) {
		const struct plan_row *row = w->want ? plan_row_of(w->want, cpu) : NULL;

		if (!w->have->cpus[cpu].present || (w->want && !row))
			continue;
		walk_qos(w, cpu, row);
		walk_states(w, cpu, row);
	}
}

static int make(const struct plan *want, const struct machine *have, uint64_t have_global_ns,
		struct changes *ret)
{
	struct walk w = {.want = want, .have = have};
	uint32_t n;

	walk_all(&w, have_global_ns);
	n = w.n_tighten + w.n_loosen;
	if (n > 0) {
		w.v = calloc(n, sizeof(*w.v));
		if (!w.v)
			return -ENOMEM;
		w.loosen_at = w.n_tighten;
		walk_all(&w, have_global_ns);
	}
	*ret = (struct changes){.v = w.v, .n = n, .n_tighten = w.n_tighten};
	return 0;
}

int diff_make(const struct plan *want, const struct machine *have, uint64_t have_global_ns,
	      struct changes *ret)
{
	return make(want, have, have_global_ns, ret);
}

int diff_undo(const struct machine *have, uint64_t have_global_ns, struct changes *ret)
{
	return make(NULL, have, have_global_ns, ret);
}

void changes_done(struct changes *c)
{
	free(c->v);
	*c = (struct changes){};
}
