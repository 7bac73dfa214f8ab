/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "buf.h"
#include "nearest.h"
#include "policy-assign.h"
#include "policy.h"
#include "schema.h"

/* policy_finish(): what is written in several places is put together, and judged without a machine. */
struct finisher {
	struct policy *policy;
	struct diag_list *diags;
	uint8_t done[POLICY_PROFILES_MAX]; /* enum done */
};

enum done { DONE_NOT, DONE_RESOLVED, DONE_FAILED };

static void tell(const struct finisher *f, enum diag_severity severity, const struct place *at,
		 const char *fmt, ...) _printf_(4, 5);

static void tell(const struct finisher *f, enum diag_severity severity, const struct place *at,
		 const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	diag_add(f->diags, severity, at->file, at->line, "%s", text);
}

/* Index of a profile by name; an unknown one is reported as what stands in key. -ENOENT. */
static int look_up(const struct finisher *f, const char *key, const char *name,
		   const struct place *at, uint32_t *ret)
{
	struct nearest nearest = {.word = name};
	const struct profile *found = policy_profile(f->policy, name);

	if (found) {
		*ret = (uint32_t)(found - f->policy->profiles);
		return 0;
	}
	for (uint32_t i = 0; i < f->policy->n_profiles; i++)
		nearest_offer(&nearest, f->policy->profiles[i].name);
	if (nearest.found)
		tell(f, DIAG_ERROR, at, "%s=%s: there is no such profile; did you mean %s?", key,
		     name, nearest.found);
	else
		tell(f, DIAG_ERROR, at,
		     "%s=%s: there is no such profile; write a section [Profile %s]", key, name,
		     name);
	return -ENOENT;
}

static int merge_words(struct words *dst, const struct words *base, bool reset,
		       const struct words *own)
{
	int r = reset ? 0 : words_append(dst, base);

	return r < 0 ? r : words_append(dst, own);
}

/* own over base, into the zero-initialised dst. -E2BIG: a list became too long; -ENOMEM. */
static int merge(struct settings *dst, const struct settings *base, const struct settings *own)
{
	int r;

	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];
		const struct settings *from = own->given & row->bit ? own : base;
		size_t size;

		if (row->bit == 0 || row->type == TYPE_WORDS)
			continue;
		size = row->type == TYPE_CHOICE ? sizeof(uint8_t) : sizeof(uint64_t);
		memcpy((char *)dst + row->offset, (const char *)from + row->offset, size);
	}
	dst->given = base->given | own->given;
	r = merge_words(&dst->disable_states, &base->disable_states,
			own->given & SETTING_DISABLE_STATES_RESET, &own->disable_states);
	if (r < 0)
		return r;
	return merge_words(&dst->enable_states, &base->enable_states,
			   own->given & SETTING_ENABLE_STATES_RESET, &own->enable_states);
}

/* Profiles from one to its root, each the Base= of the one before. */
struct chain {
	uint32_t v[POLICY_PROFILES_MAX];
	uint32_t n;
};

static bool chain_has(const struct chain *c, uint32_t profile)
{
	for (uint32_t i = 0; i < c->n; i++) {
		if (c->v[i] == profile)
			return true;
	}
	return false;
}

static int tell_circle(const struct finisher *f, const struct chain *c, uint32_t again)
{
	const struct profile *profiles = f->policy->profiles;
	const struct profile *last = &profiles[c->v[c->n - 1]];
	struct buf b = {0};
	_cleanup_free_ char *way = NULL;
	uint32_t i = 0;

	while (c->v[i] != again)
		i++;
	for (; i < c->n; i++)
		buf_printf(&b, "%s -> ", profiles[c->v[i]].name);
	way = buf_finish(&b);
	if (!way)
		return -ENOMEM;
	tell(f, DIAG_ERROR, &last->base_at,
	     "Base=%s goes in a circle (%s%s); one of these profiles needs another base",
	     last->base, way, profiles[again].name);
	return 0;
}

/* Follows Base= from a profile to its root or to one that is done. *ret_done: how it ends. */
static int follow(struct finisher *f, uint32_t from, struct chain *c, uint8_t *ret_done)
{
	uint32_t at = from;

	*ret_done = DONE_RESOLVED;
	while (f->done[at] == DONE_NOT) {
		const struct profile *p = &f->policy->profiles[at];

		c->v[c->n++] = at;
		if (!p->base)
			return 0;
		if (look_up(f, "Base", p->base, &p->base_at, &at) < 0) {
			*ret_done = DONE_FAILED;
			return 0;
		}
		if (chain_has(c, at)) {
			*ret_done = DONE_FAILED;
			return tell_circle(f, c, at);
		}
	}
	*ret_done = f->done[at];
	return 0;
}

static int resolve(struct finisher *f, uint32_t i, const struct settings *defaults)
{
	struct profile *p = &f->policy->profiles[i];
	const struct settings *base = defaults;
	int r;

	if (p->base) {
		const struct profile *found = policy_profile(f->policy, p->base);

		base = found ? &found->resolved : defaults;
	}
	r = merge(&p->resolved, base, &p->own);
	if (r == -E2BIG) {
		tell(f, DIAG_ERROR, &p->at,
		     "[Profile %s] has more than %u states in a list, with those of its Base=; an empty "
		     "DisableStates= or EnableStates= drops the latter",
		     p->name, WORDS_MAX);
		return 0;
	}
	return r;
}

static int resolve_chain(struct finisher *f, uint32_t from, const struct settings *defaults)
{
	struct chain c = {.n = 0};
	uint8_t done;
	int r;

	r = follow(f, from, &c, &done);
	if (r < 0)
		return r;
	while (c.n > 0) {
		uint32_t i = c.v[--c.n];

		r = done == DONE_RESOLVED ? resolve(f, i, defaults) : 0;
		if (r < 0)
			return r;
		f->done[i] = done;
	}
	return 0;
}

static int resolve_all(struct finisher *f)
{
	_cleanup_(settings_done) struct settings defaults = {0};
	int r;

	r = policy_assign_defaults(&defaults);
	for (uint32_t i = 0; i < f->policy->n_profiles; i++)
		settings_done(&f->policy->profiles[i].resolved);
	for (uint32_t i = 0; r >= 0 && i < f->policy->n_profiles; i++)
		r = resolve_chain(f, i, &defaults);
	return r;
}

/* The same state on and off. Which states a class means is known on the host only. */
static void check_states(const struct finisher *f, const struct profile *p)
{
	const struct settings *s = &p->resolved;

	for (uint32_t i = 0; i < s->enable_states.n; i++) {
		const char *word = s->enable_states.v[i];

		if (words_has(&s->disable_states, word))
			tell(f, DIAG_ERROR,
			     p->own.given & SETTING_ENABLE_STATES ? &p->enable_at : &p->disable_at,
			     "[Profile %s] has %s in EnableStates= and in DisableStates=; take it out of "
			     "one (an empty value drops what Base= brings)",
			     p->name, word);
	}
	if (words_has(&p->own.disable_states, "poll") || words_has(&p->own.disable_states, "c0"))
		tell(f, DIAG_WARNING, &p->disable_at,
		     "DisableStates= names POLL, but state 0 is never disabled; leave it out");
}

/* Keys of one section that make each other pointless. */
static void check_modes(const struct finisher *f, const struct profile *p)
{
	const struct settings *own = &p->own;
	uint32_t needs_c0 = SETTING_C0_DEPTH |
			    (own->zero_latency == ZERO_LATENCY_C0 ? SETTING_ZERO_LATENCY : 0U);

	if (own->given & SETTING_ENABLE_STATES && p->resolved.latency_limit_ns == 0)
		tell(f, DIAG_WARNING, &p->enable_at,
		     "EnableStates= has no effect with LatencyLimit=0, which leaves state 0 alone; drop "
		     "one of them");
	if (own->given & SETTING_ADAPT && p->resolved.adapt_ns != LATENCY_NONE &&
	    p->resolved.adapt_ns >= p->resolved.latency_limit_ns)
		tell(f, DIAG_WARNING, &p->adapt_at,
		     "Adapt= has no effect: it is not shorter than LatencyLimit=; make one of them so");
	if (own->given & SETTING_ADAPT_SCOPE && own->adapt_scope == ADAPT_GROUP &&
	    p->resolved.adapt_ns == LATENCY_NONE)
		tell(f, DIAG_WARNING, &p->adapt_scope_at,
		     "AdaptScope=group has no effect without Adapt=; add that, or drop this");
	/* Who writes C0=off beside them knows. */
	if (own->given & needs_c0 && !(own->given & SETTING_C0) && p->resolved.c0 == C0_OFF)
		tell(f, DIAG_WARNING, &p->at,
		     "[Profile %s] has C0Depth= or ZeroLatency=c0, which have no effect with C0=off; add "
		     "C0=auto",
		     p->name);
}

static void check_daemon(const struct finisher *f)
{
	struct policy *p = f->policy;

	(void)look_up(f, "DefaultProfile", p->default_profile_name, &p->default_profile_at,
		      &p->default_profile);
	if (p->global_limit_ns == 0)
		tell(f, DIAG_WARNING, &p->global_limit_at,
		     "GlobalLatencyLimit=0 keeps every CPU of the host from sleeping; a group with a "
		     "profile of its own limits only the CPUs that need it");
}

static void check_group(const struct finisher *f, struct group *g)
{
	if (!g->cpus && g->cpus_at.line == 0)
		tell(f, DIAG_ERROR, &g->at, "[Group %s] has no CPUs=; add one such as CPUs=0-3",
		     g->name);
	if (!g->profile_name && g->profile_at.line == 0)
		tell(f, DIAG_ERROR, &g->at,
		     "[Group %s] has no Profile=; add the name of one, such as Profile=balanced",
		     g->name);
	if (g->profile_name)
		(void)look_up(f, "Profile", g->profile_name, &g->profile_at, &g->profile);
}

static void check_workload(const struct finisher *f, struct workload *w)
{
	unsigned n = 0;

	for (int i = 0; i < WORKLOAD_KINDS; i++) {
		if (!w->matches[i])
			continue;
		n++;
		w->kind = (enum workload_kind)i;
		w->match = w->matches[i];
	}
	if (n > 1 || (n == 0 && w->match_at.line == 0))
		tell(f, DIAG_ERROR, n == 0 ? &w->at : &w->match_at,
		     "[Workload %s] has %u of Unit=, Slice=, Cgroup=, Container=; exactly one is needed",
		     w->name, n);
	if (!w->profile_name && w->profile_at.line == 0)
		tell(f, DIAG_ERROR, &w->at,
		     "[Workload %s] has no Profile=; add the name of one, such as Profile=low-latency",
		     w->name);
	if (w->profile_name)
		(void)look_up(f, "Profile", w->profile_name, &w->profile_at, &w->profile);
}

int policy_finish(struct policy *p, struct diag_list *diags)
{
	struct finisher f = {.policy = p, .diags = diags};
	int r;

	r = resolve_all(&f);
	if (r < 0)
		return r;
	check_daemon(&f);
	for (uint32_t i = 0; i < p->n_profiles; i++) {
		if (f.done[i] != DONE_RESOLVED)
			continue;
		check_states(&f, &p->profiles[i]);
		check_modes(&f, &p->profiles[i]);
	}
	for (uint32_t i = 0; i < p->n_groups; i++)
		check_group(&f, &p->groups[i]);
	for (uint32_t i = 0; i < p->n_workloads; i++)
		check_workload(&f, &p->workloads[i]);
	return 0;
}
