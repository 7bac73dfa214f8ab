/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-private.h"

/* ---- setting ---- */

/* Do state numbers mean the same in both? */
bool kernel_same_table(const struct wire_caps *a, const struct wire_caps *b)
{
	if (!streq(a->driver, b->driver) || !streq(a->reason, b->reason) ||
	    a->n_states != b->n_states || a->own_driver != b->own_driver ||
	    a->can_own != b->can_own || a->can_window != b->can_window ||
	    a->can_sti_mwait != b->can_sti_mwait || a->can_states_off != b->can_states_off ||
	    a->can_broadcast != b->can_broadcast || a->can_qos != b->can_qos ||
	    a->can_haltpoll != b->can_haltpoll || a->can_ioport != b->can_ioport ||
	    a->dummy_wait != b->dummy_wait || a->host_poll != b->host_poll ||
	    a->can_c0 != b->can_c0 || a->can_c0_row != b->can_c0_row || a->own_row != b->own_row ||
	    memcmp(a->waitpkg, b->waitpkg, sizeof(a->waitpkg)) != 0)
		return false;
	for (uint32_t i = 0; i < a->n_states; i++)
		if (!streq(a->states[i].name, b->states[i].name) ||
		    a->states[i].window != b->states[i].window ||
		    a->states[i].sti_mwait != b->states[i].sti_mwait ||
		    a->states[i].c1 != b->states[i].c1 ||
		    a->states[i].ioport != b->states[i].ioport)
			return false;
	return true;
}

/* What one way through is made of. */
struct step {
	const struct module_rows *from, *to;
	bool tighten, config, loosen;
	bool back; /* whatever the generation is by now */
};

/* Shorter limits and the configuration in one go; the first has an answer only when it fails. */
static int first_half(struct kernel *k, const struct step *s, struct kernel_talk *t)
{
	_cleanup_(wire_out_done) struct wire_out o = {.n = 0};
	struct wire_head h;

	*t = (struct kernel_talk){.first = k->seq + 1};
	if (!s->tighten && !s->config)
		return 0;
	if (s->tighten) {
		h = kernel_head(k, !s->config);
		wire_put_qos(&o, &h, s->from, s->to, true);
	}
	if (s->config) {
		h = kernel_head(k, true);
		wire_put_config(&o, &h, s->from, s->to, s->back ? 0 : k->caps.generation);
	}
	return kernel_talk(k, &o, t);
}

static int second_half(struct kernel *k, const struct step *s, struct kernel_talk *t)
{
	_cleanup_(wire_out_done) struct wire_out o = {.n = 0};
	struct wire_head h;

	if (!s->loosen)
		return 0;
	h = kernel_head(k, true);
	*t = (struct kernel_talk){.first = h.seq};
	wire_put_qos(&o, &h, s->from, s->to, false);
	return kernel_talk(k, &o, t);
}

/* The configuration changed: the kernel counted one on. Wrong only if others changed it, too. */
static void count_on(struct kernel *k, bool changed)
{
	if (changed && ++k->caps.generation == 0)
		k->caps.generation = 1;
}

/* Back to s->from from where only part of s was done. False: it is not known what stands. */
static bool undo(struct kernel *k, const struct step *s, bool tightened, bool configured)
{
	struct step back = {
		.from = s->to,
		.to = s->from,
		.config = configured,
		.loosen = tightened,
		.back = true,
	};
	struct kernel_talk t;

	if (first_half(k, &back, &t) < 0)
		return false;
	return second_half(k, &back, &t) == 0;
}

/* -EBUSY is said for other reasons, too: ask again. */
static bool ends_lease(struct kernel *k, int error)
{
	struct kernel_talk t;

	return error == -ENOLCK || error == -ENOENT ||
	       (error == -EBUSY && kernel_ask(k, WIRE_LEASE_RENEW, &t) < 0);
}

/* A half of s failed as t tells. Takes back what was done of it, or gives up what is ours. */
static int fail(struct kernel *k, const struct step *s, const struct kernel_talk *t, bool first)
{
	bool of_limit = !first || (s->tighten && t->failed == 1);
	int r = t->error;

	kernel_say_refused(k, of_limit ? "a latency limit" : "the configuration", t);
	if (t->failed > 0 && ends_lease(k, r)) {
		kernel_forget(k, KERNEL_FAILED);
		return r;
	}
	/* A refused first request leaves the second, which was on its way already. */
	if (t->failed == 0 && first)
		return r;
	if (t->failed >= 0 &&
	    undo(k, s, s->tighten && !(first && of_limit), s->config && (!first || of_limit)))
		return r;
	kernel_forget(k, KERNEL_FAILED);
	k->adrift = true;
	return r;
}

static int go(struct kernel *k, const struct step *s)
{
	struct kernel_talk t;
	int r = first_half(k, s, &t);

	if (r < 0)
		return fail(k, s, &t, true);
	count_on(k, s->config);
	r = second_half(k, s, &t);
	return r < 0 ? fail(k, s, &t, false) : 0;
}

/* The kernel's generation is not the one we knew: has the table changed, or only its number? */
static int refresh(struct kernel *k)
{
	struct wire_caps caps;
	bool same;
	int r = kernel_get_caps(k, &caps);

	if (r < 0)
		return r;
	same = kernel_same_table(&caps, &k->caps);
	k->caps = caps;
	return same ? 0 : -ESTALE;
}

static int copy_rows(const struct module_rows *from, struct module_rows *ret)
{
	struct module_rows r = *from;

	r.row_of = calloc(from->n_cpus + 1, sizeof(*r.row_of));
	r.rows = calloc(from->n_rows + 1, sizeof(*r.rows));
	if (!r.row_of || !r.rows) {
		free(r.row_of);
		free(r.rows);
		return -ENOMEM;
	}
	if (from->n_cpus)
		memcpy(r.row_of, from->row_of, from->n_cpus * sizeof(*r.row_of));
	if (from->n_rows)
		memcpy(r.rows, from->rows, from->n_rows * sizeof(*r.rows));
	*ret = r;
	return 0;
}

static bool is_nothing(const struct module_rows *want)
{
	static const struct module_rows none = {.n_cpus = 0};
	struct module_diff d;

	module_compare(&none, want, &d);
	return !d.n_tighten && !d.n_loosen && !d.n_modes && !d.own_driver;
}

static bool asks_row(const struct module_rows *rows)
{
	for (uint32_t i = 0; i < rows->n_rows; i++)
		if (rows->rows[i].row)
			return true;
	return false;
}

int kernel_set(struct kernel *k, const struct module_rows *want)
{
	_cleanup_(module_rows_done) struct module_rows next = {.n_cpus = 0};
	struct module_diff d;
	struct step s;
	int r;

	if (k->adrift && is_nothing(want)) {
		kernel_drop(k);
		return 0;
	}
	module_compare(&k->have, want, &d);
	s = (struct step){
		.from = &k->have,
		.to = want,
		.tighten = d.n_tighten > 0,
		.config = d.n_modes > 0 || d.own_driver || k->restate,
		.loosen = d.n_loosen > 0,
	};
	if (!s.tighten && !s.config && !s.loosen)
		return 0;
	if (k->standing != KERNEL_OURS)
		return -ENOLCK;
	/* Kept ready, so that nothing can fail once the kernel has done it. */
	r = copy_rows(want, &next);
	if (r < 0)
		return r;
	r = go(k, &s);
	if ((r == -ESTALE || r == -EAGAIN) && k->standing == KERNEL_OURS) {
		r = refresh(k);
		if (r == 0)
			r = go(k, &s);
	}
	if (r < 0)
		return r;
	k->restate = false;
	module_rows_done(&k->before);
	k->before = k->have;
	k->have = next;
	next = (struct module_rows){.n_cpus = 0};
	/* Another driver, or a state more or less: another table. */
	if (d.own_driver || asks_row(&k->have) != (k->caps.own_row != 0))
		(void)refresh(k);
	kernel_say_ours(k);
	return 1;
}

int kernel_back(struct kernel *k)
{
	_cleanup_(module_rows_done) struct module_rows before = {.n_cpus = 0};
	int r = copy_rows(&k->before, &before);

	return r < 0 ? r : kernel_set(k, &before);
}
