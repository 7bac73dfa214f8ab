/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "foreign.h"

void foreign_done(struct foreign *f)
{
	free(f->reasserted);
	*f = (struct foreign){.n_cpus = 0};
}

/* Counts one more for the CPU; false when it has had its share. */
static bool may_reassert(struct foreign *f, const struct machine *m, uint32_t cpu, uint64_t now_ns)
{
	if (f->n_cpus != m->n_cpus) {
		foreign_done(f);
		f->reasserted = calloc(m->n_cpus, sizeof(*f->reasserted));
		if (!f->reasserted)
			return false;
		f->n_cpus = m->n_cpus;
		f->window_ns = now_ns;
	}
	if (now_ns - f->window_ns >= FOREIGN_WINDOW_NS) {
		memset(f->reasserted, 0, f->n_cpus * sizeof(*f->reasserted));
		f->window_ns = now_ns;
	}
	if (f->reasserted[cpu] >= FOREIGN_REASSERTS_MAX)
		return false;
	f->reasserted[cpu]++;
	return true;
}

static enum foreign_verdict answer_looser(struct foreign *f, enum foreign_write answer,
					  const struct machine *m, uint32_t cpu, uint64_t now_ns)
{
	switch (answer) {
	case FOREIGN_YIELD:
		return VERDICT_YIELDED;
	case FOREIGN_ALERT:
		return VERDICT_ALERT;
	case FOREIGN_REASSERT:
		return may_reassert(f, m, cpu, now_ns) ? VERDICT_REASSERT : VERDICT_TOO_OFTEN;
	}
	return VERDICT_ALERT;
}

/* Takes what stands and what others want from the row of the CPU; both become found. */
static void take_over(struct machine_cpu *cpu, const struct change *c, uint64_t found,
		      uint64_t *ret_now, uint64_t *ret_prior)
{
	uint16_t bit = (uint16_t)(1U << c->state);

	if (c->kind == KNOB_QOS) {
		*ret_now = cpu->qos_ns;
		*ret_prior = cpu->qos_prior_ns;
		cpu->qos_ns = cpu->qos_prior_ns = found;
		return;
	}
	*ret_now = (cpu->disabled & bit) != 0;
	*ret_prior = (cpu->disabled_prior & bit) != 0;
	if (found) {
		cpu->disabled |= bit;
		cpu->disabled_prior |= bit;
	} else {
		cpu->disabled &= (uint16_t)~bit;
		cpu->disabled_prior &= (uint16_t)~bit;
	}
}

/* Does the file at a allow deeper sleep than at b? */
static bool looser(uint8_t kind, uint64_t a, uint64_t b)
{
	return kind == KNOB_QOS ? a > b : a < b;
}

/* Neither longer nor deeper is a promise to anybody here: any other value is theirs instead of ours. */
static enum foreign_verdict judge_knob(struct foreign *f, enum foreign_write answer,
				       struct machine *m, struct change *c, uint64_t found,
				       uint64_t now_ns)
{
	struct machine_knob *k = &m->knobs[c->state];
	bool ours = k->now != k->prior;
	enum foreign_verdict verdict;

	c->from = k->now;
	c->to = found;
	if (found == k->now)
		return VERDICT_SAME;
	k->now = k->prior = found;
	if (!ours) {
		/* What we complained about is over once theirs is as ours was. */
		k->left = k->left && (answer == FOREIGN_YIELD || found != k->ours);
		return VERDICT_ADOPTED;
	}
	verdict = answer_looser(f, answer, m, 0, now_ns);
	k->left = verdict != VERDICT_REASSERT;
	k->ours = c->from;
	return verdict;
}

enum foreign_verdict foreign_judge(struct foreign *f, enum foreign_write answer, struct machine *m,
				   struct change *c, uint64_t found, uint64_t limit_ns,
				   uint64_t now_ns)
{
	struct machine_cpu *cpu = &m->cpus[c->cpu];
	uint16_t bit = (uint16_t)(1U << (c->kind == KNOB_QOS ? MACHINE_BIT_QOS : c->state));
	struct machine_cpu before = *cpu;
	enum foreign_verdict verdict;
	uint64_t now, prior;

	if (c->kind == KNOB_HOST)
		return judge_knob(f, answer, m, c, found, now_ns);
	take_over(cpu, c, found, &now, &prior);
	c->from = now;
	c->to = found;
	if (found == now) {
		*cpu = before;
		return VERDICT_SAME;
	}
	if (now == prior || !looser(c->kind, found, now)) {
		/* A default-off state we had switched on and somebody switched off: off it stays. */
		if (now != prior && c->kind == KNOB_DISABLE)
			cpu->left |= bit;
		/* What we complained about is over once theirs is as strict as ours. */
		else if (answer != FOREIGN_YIELD && (c->kind == KNOB_DISABLE || found <= limit_ns))
			cpu->left &= (uint16_t)~bit;
		return VERDICT_ADOPTED;
	}
	verdict = answer_looser(f, answer, m, c->cpu, now_ns);
	if (verdict != VERDICT_REASSERT)
		cpu->left |= bit;
	return verdict;
}

uint32_t foreign_forget(struct machine *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_cpus; i++) {
		n += (uint32_t)__builtin_popcount(m->cpus[i].left);
		m->cpus[i].left = 0;
	}
	for (uint32_t i = 0; i < HOST_KNOBS; i++) {
		n += m->knobs[i].left;
		m->knobs[i].left = false;
	}
	return n;
}

uint32_t foreign_count_looser(const struct machine *m, const struct plan *plan)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < HOST_KNOBS; i++)
		n += m->knobs[i].left;
	for (uint32_t i = 0; i < MIN_OF(m->n_cpus, plan->n_cpus); i++) {
		const struct machine_cpu *cpu = &m->cpus[i];
		const struct plan_row *row = plan_row_of(plan, i);
		uint16_t states = cpu->left & (uint16_t) ~(1U << MACHINE_BIT_QOS);

		if (!cpu->left || !row)
			continue;
		n += cpu->left >> MACHINE_BIT_QOS && cpu->qos_ns > row->policy_limit_ns;
		n += (uint32_t)__builtin_popcount(states & (uint16_t)~cpu->disabled);
	}
	return n;
}

const char *foreign_verdict_text(enum foreign_verdict verdict)
{
	switch (verdict) {
	case VERDICT_SAME:
		return "the same as before";
	case VERDICT_ADOPTED:
		return "taken as what others ask for";
	case VERDICT_REASSERT:
		return "looser than ours, which is set again";
	case VERDICT_YIELDED:
		return "looser than ours; yielding until the next reload";
	case VERDICT_ALERT:
		return "looser than ours and left standing (OnForeignWrite=alert)";
	case VERDICT_TOO_OFTEN:
		return "looser than ours and set too often, left standing for now";
	case VERDICT_N:
		break;
	}
	return "";
}
