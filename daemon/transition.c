/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transition.h"

#include "sysfs.h"

/* What stands after c was carried out. The host remembers the global request itself. */
static void note(struct machine *m, const struct change *c)
{
	uint16_t bit = (uint16_t)(1U << (c->kind == KNOB_QOS ? MACHINE_BIT_QOS : c->state));
	struct machine_cpu *cpu = &m->cpus[c->cpu];

	switch ((enum knob_kind)c->kind) {
	case KNOB_HOST:
		m->knobs[c->state].now = c->to;
		m->knobs[c->state].cut = false;
		return;
	case KNOB_QOS:
		cpu->qos_ns = c->to;
		break;
	case KNOB_DISABLE:
		cpu->disabled = (uint16_t)(c->to ? cpu->disabled | bit : cpu->disabled & ~bit);
		break;
	case KNOB_GLOBAL:
		return;
	}
	cpu->cut &= (uint16_t)~bit;
}

/* The record before the first write: priors, what is ours, what will be. */
static int record_ahead(const struct transition *t, const struct machine *m,
			const struct changes *c)
{
	_cleanup_(restore_done) struct restore_record record = {.n = 0};
	int r = restore_plan(m, c, &record);

	if (r < 0)
		return r;
	r = host_note_global(t->host, c, &record.global);
	return r < 0 ? r : restore_save(t->root_fd, &record);
}

int transition_record(const struct transition *t, const struct machine *m)
{
	_cleanup_(restore_done) struct restore_record record = {.n = 0};
	int r = restore_current(m, &record);

	if (r < 0)
		return r;
	record.global = t->host->tree;
	return restore_save(t->root_fd, &record);
}

/* Ends at a step; at is the file it was about, if any. */
static int ended(struct transition_result *ret, enum transition_step step, int error,
		 const struct changes *c, uint32_t at)
{
	ret->step = step;
	ret->error = error;
	if (at < c->n)
		ret->at = c->v[at];
	return error;
}

/* After a rollback: the shorter record, unless something is left for which the long one is needed. */
static void record_rollback(const struct transition *t, const struct machine *m,
			    struct transition_result *ret)
{
	if (ret->n_left == 0)
		ret->record_error = transition_record(t, m);
}

/* The two parts of c, between which the module has its turn. */
static struct changes tightening(const struct changes *c)
{
	return (struct changes){.v = c->v, .n = c->n_tighten, .n_tighten = c->n_tighten};
}

static struct changes loosening(const struct changes *c)
{
	/* Without any change there is no array, and no address in it. */
	if (c->n == c->n_tighten)
		return (struct changes){.n = 0};
	return (struct changes){.v = c->v + c->n_tighten, .n = c->n - c->n_tighten};
}

/*
 * The module's own state came or went: files of the states behind it have other names now, and none of them
 * may be taken for its neighbour.
 */
static void renumber(const struct transition *t, const struct changes *c)
{
	int own_row = t->module.own_row ? t->module.own_row(t->module.data) : -1;

	for (uint32_t i = 0; own_row >= 0 && i < c->n; i++)
		c->v[i].own_row = (uint8_t)own_row;
}

/* Undoes the first n of c, and the module's part where ret says that it was done; in reverse order. */
static void roll_back(const struct transition *t, const struct changes *c, uint32_t n,
		      struct transition_result *ret)
{
	struct changes tighten = tightening(c), loosen = loosening(c);

	if (n > tighten.n)
		ret->n_left += apply_rollback(&t->actuator, &loosen, n - tighten.n);
	if (ret->module_changed) {
		ret->n_left += t->module.back(t->module.data) < 0;
		renumber(t, c);
	}
	ret->module_changed = false;
	ret->n_left += apply_rollback(&t->actuator, &tighten, MIN_OF(n, tighten.n));
}

static int verify(const struct transition *t, const struct changes *c,
		  struct transition_result *ret)
{
	struct apply_result seen = {.failed = UINT32_MAX, .first_differs = UINT32_MAX};
	int r;

	/*
	 * Events up to here are of our own writes or of somebody else's, which the reading then finds. When
	 * all is well their marks go; whatever comes later leaves a new one.
	 */
	if (t->watch)
		(void)watch_collect(t->watch);
	r = apply_verify(&t->actuator, c, &seen);
	if (r == 0) {
		if (t->watch)
			watch_forget(t->watch, c);
		return 0;
	}
	ret->found = seen.found;
	return ended(ret, STEP_VERIFY, r, c, seen.failed < c->n ? seen.failed : seen.first_differs);
}

static int write_files(const struct transition *t, const struct changes *c, uint32_t first,
		       const struct changes *part, struct transition_result *ret)
{
	struct apply_result applied;
	int r = apply_run(&t->actuator, part, &applied);

	ret->n_written += applied.n_written;
	if (r == 0)
		return 0;
	ret->n_left = applied.n_not_rolled_back;
	roll_back(t, c, first, ret);
	return ended(ret, STEP_APPLY, r, c, first + applied.failed);
}

static int set_module(const struct transition *t, const struct changes *c,
		      const struct module_rows *want, struct transition_result *ret)
{
	int r = t->module.set && want ? t->module.set(t->module.data, want) : 0;

	ret->module_changed = r > 0;
	if (r > 0)
		renumber(t, c);
	if (r >= 0)
		return 0;
	ret->words = t->module.text(t->module.data);
	roll_back(t, c, c->n_tighten, ret);
	return ended(ret, STEP_MODULE, r, c, UINT32_MAX);
}

static int carry_out(const struct transition *t, const struct changes *c,
		     const struct module_rows *want, struct transition_result *ret)
{
	struct changes tighten = tightening(c), loosen = loosening(c);
	int r = write_files(t, c, 0, &tighten, ret);

	if (r == 0)
		r = set_module(t, c, want, ret);
	if (r == 0)
		r = write_files(t, c, tighten.n, &loosen, ret);
	if (r < 0 || c->n == 0)
		return r;
	r = verify(t, c, ret);
	if (r < 0)
		roll_back(t, c, c->n, ret);
	return r;
}

int transition_run(const struct transition *t, struct machine *m, const struct changes *c,
		   const struct module_rows *want, struct transition_result *ret)
{
	int r = 0;

	*ret = (struct transition_result){.step = STEP_DONE};
	if (c->n > 0)
		r = record_ahead(t, m, c);
	if (r < 0)
		return ended(ret, STEP_RECORD, r, c, UINT32_MAX);
	r = carry_out(t, c, want, ret);
	if (c->n == 0)
		return r;
	if (r < 0) {
		record_rollback(t, m, ret);
		return r;
	}
	for (uint32_t i = 0; i < c->n; i++)
		note(m, &c->v[i]);
	ret->record_error = transition_record(t, m);
	return 0;
}

int transition_undo(const struct transition *t, struct machine *m, struct transition_result *ret)
{
	_cleanup_(changes_done) struct changes c = {.n = 0};
	_cleanup_free_ bool *done = NULL;
	struct apply_result applied;
	uint32_t failed;
	int r;

	*ret = (struct transition_result){.step = STEP_DONE};
	r = diff_undo(m, t->host->global_ns, &c);
	if (r < 0)
		return ended(ret, STEP_RECORD, r, &c, UINT32_MAX);
	/* Without memory for it every file counts as still ours: the record then says more, not less. */
	done = calloc(c.n + 1, sizeof(*done));
	failed = apply_all(&t->actuator, &c, done, &applied);
	ret->n_written = applied.n_written;
	for (uint32_t i = 0; i < c.n; i++)
		if (done && done[i])
			note(m, &c.v[i]);
	if (failed)
		ended(ret, STEP_APPLY, applied.error, &c, applied.failed);
	ret->record_error = transition_record(t, m);
	return (int)failed;
}

int transition_restore(const struct transition *t, struct transition_leftover *leftover,
		       struct transition_result *ret)
{
	_cleanup_(restore_done) struct restore_record left = {.n = 0};
	_cleanup_(machine_freep) struct machine *m = NULL;
	int r = restore_load(t->root_fd, &left);

	*ret = (struct transition_result){.step = STEP_DONE};
	*leftover = (struct transition_leftover){.damaged = r == -EBADMSG};
	if (r < 0 && r != -EBADMSG)
		return r;
	if (restore_is_empty(&left))
		return 0;
	r = sysfs_read_machine(t->root_fd, 0, NULL, &m);
	if (r < 0)
		return r;
	restore_overlay(&left, m, &leftover->n_foreign);
	(void)host_adopt(t->host, &left.global);
	host_read_global(t->host, m);
	return transition_undo(t, m, ret);
}
