/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "restore.h"

void restore_done(struct restore_record *r)
{
	free(r->items);
	*r = (struct restore_record){.n = 0};
}

bool restore_is_empty(const struct restore_record *r)
{
	for (uint32_t i = 0; i < HOST_KNOBS; i++)
		if (r->knobs[i].n_ours)
			return false;
	return r->n == 0 && r->global.n_ours == 0;
}

/* ---- building ---- */

static bool extends(const struct restore_item *a, const struct restore_item *b)
{
	return a->kind == b->kind && a->state == b->state && a->last + 1U == b->cpu &&
	       a->prior == b->prior && a->n_ours == b->n_ours && a->ours[0] == b->ours[0] &&
	       a->ours[1] == b->ours[1];
}

int restore_append(struct restore_record *r, const struct restore_item *item)
{
	struct restore_item *items;

	if (r->n > 0 && extends(&r->items[r->n - 1], item)) {
		r->items[r->n - 1].last = item->last;
		return 0;
	}
	if ((r->n & (r->n - 1)) == 0) {
		items = realloc(r->items, sizeof(*items) * (r->n ? (size_t)r->n * 2 : 1));
		if (!items)
			return -ENOMEM;
		r->items = items;
	}
	r->items[r->n++] = *item;
	return 0;
}

/* now: what stands; next: what will. Nothing to remember where both are what others had. */
static void note_ours(struct restore_item *item, uint64_t now, uint64_t next)
{
	if (now != item->prior)
		item->ours[item->n_ours++] = now;
	if (next != item->prior && next != now)
		item->ours[item->n_ours++] = next;
}

static int note(struct restore_record *r, struct restore_item item, uint64_t now, uint64_t next)
{
	note_ours(&item, now, next);
	return item.n_ours ? restore_append(r, &item) : 0;
}

/* What a list of changes means for one CPU. */
struct cpu_next {
	uint64_t qos;
	uint16_t changed; /* bit i: stateI/disable flips; MACHINE_BIT_QOS */
};

static int note_qos(const struct machine *m, const struct cpu_next *next, struct restore_record *r)
{
	for (uint32_t i = 0; i < m->n_cpus; i++) {
		const struct machine_cpu *cpu = &m->cpus[i];
		bool changed = next && (next[i].changed & 1U << MACHINE_BIT_QOS);
		struct restore_item item = {
			.prior = cpu->qos_prior_ns,
			.cpu = (uint16_t)i,
			.last = (uint16_t)i,
			.kind = KNOB_QOS,
		};
		int error = note(r, item, cpu->qos_ns, changed ? next[i].qos : cpu->qos_ns);

		if (error < 0)
			return error;
	}
	return 0;
}

static int note_disable(const struct machine *m, const struct cpu_next *next, uint8_t state,
			struct restore_record *r)
{
	for (uint32_t i = 0; i < m->n_cpus; i++) {
		const struct machine_cpu *cpu = &m->cpus[i];
		uint64_t now = cpu->disabled >> state & 1;
		uint64_t flips = next ? next[i].changed >> state & 1 : 0;
		struct restore_item item = {
			.prior = cpu->disabled_prior >> state & 1,
			.cpu = (uint16_t)i,
			.last = (uint16_t)i,
			.state = state,
			.kind = KNOB_DISABLE,
		};
		int error = note(r, item, now, now ^ flips);

		if (error < 0)
			return error;
	}
	return 0;
}

/* States that are ours, or will be, on any CPU: on most hosts there is none to look at further. */
static uint32_t states_concerned(const struct machine *m, const struct cpu_next *next)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < m->n_cpus; i++)
		bits |= (uint32_t)(m->cpus[i].disabled ^ m->cpus[i].disabled_prior) |
			(next ? next[i].changed : 0U);
	return bits;
}

static int note_all(const struct machine *m, const struct cpu_next *next,
		    struct restore_record *ret)
{
	struct restore_record r = {.n = 0};
	uint32_t states = states_concerned(m, next);
	int error = note_qos(m, next, &r);

	for (uint8_t state = 0; error == 0 && state < MACHINE_STATES_MAX; state++)
		if (states >> state & 1)
			error = note_disable(m, next, state, &r);
	if (error < 0)
		restore_done(&r);
	else
		*ret = r;
	return error;
}

static void note_change(const struct change *c, struct cpu_next *next)
{
	switch ((enum knob_kind)c->kind) {
	case KNOB_QOS:
		next[c->cpu].qos = c->to;
		next[c->cpu].changed |= 1U << MACHINE_BIT_QOS;
		break;
	case KNOB_DISABLE:
		next[c->cpu].changed |= (uint16_t)(1U << c->state);
		break;
	case KNOB_GLOBAL:
	case KNOB_HOST:
		break;
	}
}

/* c: what will be written, NULL: nothing. */
static void note_knobs(const struct machine *m, const struct changes *c, struct restore_record *ret)
{
	for (uint32_t i = 0; i < HOST_KNOBS; i++) {
		const struct machine_knob *k = &m->knobs[i];
		uint64_t next = k->now;

		for (uint32_t j = 0; c && j < c->n; j++)
			if (c->v[j].kind == KNOB_HOST && c->v[j].state == i)
				next = c->v[j].to;
		ret->knobs[i] = (struct restore_item){
			.kind = KNOB_HOST,
			.state = (uint8_t)i,
			.prior = k->prior,
		};
		note_ours(&ret->knobs[i], k->now, next);
	}
}

int restore_plan(const struct machine *m, const struct changes *c, struct restore_record *ret)
{
	_cleanup_free_ struct cpu_next *next = calloc(m->n_cpus, sizeof(*next));
	int r;

	if (!next)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n; i++)
		note_change(&c->v[i], next);
	r = note_all(m, next, ret);
	if (r == 0)
		note_knobs(m, c, ret);
	return r;
}

int restore_current(const struct machine *m, struct restore_record *ret)
{
	int r = note_all(m, NULL, ret);

	if (r == 0)
		note_knobs(m, NULL, ret);
	return r;
}

/* ---- telling the machine ---- */

static bool is_ours(const struct restore_item *item, uint64_t value)
{
	return value == item->ours[0] || (item->n_ours > 1 && value == item->ours[1]);
}

static void overlay_qos(const struct restore_item *item, struct machine_cpu *cpu, uint32_t *foreign)
{
	if (!cpu->has_qos)
		return;
	if (cpu->cut & 1U << MACHINE_BIT_QOS)
		cpu->qos_ns = cpu->qos_prior_ns = item->prior;
	else if (is_ours(item, cpu->qos_ns))
		cpu->qos_prior_ns = item->prior;
	else if (cpu->qos_ns != item->prior)
		++*foreign;
}

/* Both sides of a flag are known: where it stands at ours nobody can tell whose it is, so it is ours. */
static void overlay_disable(const struct restore_item *item, struct machine_cpu *cpu)
{
	uint16_t bit = (uint16_t)(1U << item->state);

	if (item->prior)
		cpu->disabled_prior |= bit;
	else
		cpu->disabled_prior &= (uint16_t)~bit;
	/* An offline CPU has no such file, and what it held is there again when the CPU comes back. */
	if (cpu->table == MACHINE_NO_TABLE)
		cpu->disabled =
			(uint16_t)(item->prior ? cpu->disabled & ~bit : cpu->disabled | bit);
	if (cpu->cut & bit)
		cpu->disabled = (uint16_t)((cpu->disabled & ~bit) | (cpu->disabled_prior & bit));
}

static void overlay_knob(const struct restore_item *item, struct machine_knob *k, uint32_t *foreign)
{
	if (!item->n_ours || !k->present)
		return;
	if (k->cut)
		k->now = k->prior = item->prior;
	else if (is_ours(item, k->now))
		k->prior = item->prior;
	else if (k->now != item->prior)
		++*foreign;
}

void restore_overlay(const struct restore_record *r, struct machine *m, uint32_t *n_foreign)
{
	*n_foreign = 0;
	for (uint32_t i = 0; i < HOST_KNOBS; i++)
		overlay_knob(&r->knobs[i], &m->knobs[i], n_foreign);
	for (uint32_t i = 0; i < r->n; i++) {
		const struct restore_item *item = &r->items[i];

		for (uint32_t cpu = item->cpu; cpu <= item->last && cpu < m->n_cpus; cpu++) {
			if (!m->cpus[cpu].present)
				continue;
			if (item->kind == KNOB_QOS)
				overlay_qos(item, &m->cpus[cpu], n_foreign);
			else
				overlay_disable(item, &m->cpus[cpu]);
		}
	}
}
