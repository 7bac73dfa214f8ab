/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold.h"

#include "schema.h"

/* ---- the limits of a scope, the strictest first ---- */

static void heap_put(struct hold_scope *s, uint32_t at, struct hold *hold)
{
	s->heap[at] = hold;
	hold->at = at;
}

static void heap_up(struct hold_scope *s, uint32_t at, struct hold *hold)
{
	while (at > 0 && s->heap[(at - 1) / 2]->limit_ns > hold->limit_ns) {
		heap_put(s, at, s->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(s, at, hold);
}

static void heap_down(struct hold_scope *s, uint32_t at, struct hold *hold)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < s->n_heap &&
		    s->heap[child + 1]->limit_ns < s->heap[child]->limit_ns)
			child++;
		if (child >= s->n_heap || s->heap[child]->limit_ns >= hold->limit_ns)
			break;
		heap_put(s, at, s->heap[child]);
		at = child;
	}
	heap_put(s, at, hold);
}

static int heap_room(struct hold_scope *s)
{
	uint32_t cap = s->cap_heap ? s->cap_heap * 2 : 4;
	struct hold **v;

	if (s->n_heap < s->cap_heap)
		return 0;
	v = reallocarray(s->heap, cap, sizeof(struct hold *));
	if (!v)
		return -ENOMEM;
	s->heap = v;
	s->cap_heap = cap;
	return 0;
}

static void heap_remove(struct hold_scope *s, const struct hold *hold)
{
	struct hold *last = s->heap[--s->n_heap];

	if (last == hold)
		return;
	if (last->limit_ns < hold->limit_ns)
		heap_up(s, hold->at, last);
	else
		heap_down(s, hold->at, last);
}

static uint64_t scope_limit(const struct hold_scope *s)
{
	return s->n_heap ? s->heap[0]->limit_ns : LATENCY_NONE;
}

/* ---- finding one by its number ---- */

static uint32_t bucket_of(const struct holds *h, uint32_t id)
{
	return id & (h->n_buckets - 1);
}

/* As many places as holds, so that each has about one. */
static int bucket_room(struct holds *h)
{
	uint32_t n = h->n_buckets ? h->n_buckets * 2 : 16;
	struct hold **v, **old = h->buckets;

	if (h->n < h->n_buckets)
		return 0;
	v = calloc(n, sizeof(struct hold *));
	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->n_buckets; i++) {
		for (struct hold *hold = old[i], *next; hold; hold = next) {
			next = hold->next;
			hold->next = v[hold->id & (n - 1)];
			v[hold->id & (n - 1)] = hold;
		}
	}
	free(old);
	h->buckets = v;
	h->n_buckets = n;
	return 0;
}

struct hold *holds_find(const struct holds *h, uint32_t id)
{
	struct hold *hold = h->n_buckets ? h->buckets[bucket_of(h, id)] : NULL;

	while (hold && hold->id != id)
		hold = hold->next;
	return hold;
}

static int compare_id(const void *a, const void *b)
{
	const struct hold *x = *(struct hold *const *)a, *y = *(struct hold *const *)b;

	return x->id < y->id ? -1 : x->id > y->id;
}

struct hold **holds_sorted(const struct holds *h)
{
	struct hold **v = h && h->n ? calloc(h->n, sizeof(struct hold *)) : NULL;
	uint32_t n = 0;

	if (!v)
		return NULL;
	for (uint32_t i = 0; i < h->n_buckets; i++)
		for (struct hold *hold = h->buckets[i]; hold; hold = hold->next)
			v[n++] = hold;
	qsort(v, n, sizeof(struct hold *), compare_id);
	return v;
}

/* ---- scopes and asks ---- */

static void scope_done(struct hold_scope *s)
{
	cpuset_done(&s->cpus);
	free(s->heap);
	free(s->claims);
	*s = (struct hold_scope){.n = 0};
}

static int new_scope(struct holds *h, const struct cpuset *cpus, uint32_t at)
{
	struct hold_scope *v = h->scopes;

	if (at >= HOLD_SCOPES_MAX)
		return -ENOSPC;
	if (at == h->n_scopes) {
		v = reallocarray(v, at + 1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		h->scopes = v;
		h->n_scopes++;
		v[at] = (struct hold_scope){.n = 0};
	}
	v[at].n_cpus = cpuset_count(cpus);
	return cpuset_copy(&v[at].cpus, cpus);
}

static int find_scope(struct holds *h, const struct cpuset *cpus, uint16_t *ret)
{
	uint32_t place = h->n_scopes;

	for (uint32_t i = 0; i < h->n_scopes; i++) {
		if (h->scopes[i].n && cpuset_equal(&h->scopes[i].cpus, cpus)) {
			*ret = (uint16_t)i;
			return 0;
		}
		if (!h->scopes[i].n)
			place = i;
	}
	*ret = (uint16_t)place;
	return new_scope(h, cpus, place);
}

/* Keys of modes with the size of their values, by the table. */
static size_t mode_size(const struct schema_row *row)
{
	if (!(row->bit & HOLD_MODE_SETTINGS))
		return 0;
	return row->type == TYPE_CHOICE ? sizeof(uint8_t) : sizeof(uint64_t);
}

static bool same_modes(const struct settings *a, const struct settings *b)
{
	if (a->given != b->given)
		return false;
	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];

		if (row->bit & a->given &&
		    memcmp((const char *)a + row->offset, (const char *)b + row->offset,
			   mode_size(row)) != 0)
			return false;
	}
	return true;
}

static void copy_modes(struct settings *dst, const struct settings *src)
{
	*dst = (struct settings){.given = src->given & HOLD_MODE_SETTINGS};
	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];

		if (row->bit & dst->given)
			memcpy((char *)dst + row->offset, (const char *)src + row->offset,
			       mode_size(row));
	}
}

static bool same_ask(const struct hold_ask *a, const char *profile, const struct settings *modes)
{
	if (!a->n || !a->profile != !profile || (profile && !streq(a->profile, profile)))
		return false;
	return same_modes(&a->modes, modes);
}

static int new_ask(struct holds *h, const char *profile, const struct settings *modes, uint32_t at)
{
	struct hold_ask *v = h->asks;
	char *name = NULL;

	if (at >= HOLD_ASKS_MAX)
		return -ENOSPC;
	if (at == h->n_asks) {
		v = reallocarray(v, at + 1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		h->asks = v;
		h->n_asks++;
		v[at] = (struct hold_ask){.n = 0};
	}
	if (profile) {
		name = strdup(profile);
		if (!name)
			return -ENOMEM;
	}
	v[at] = (struct hold_ask){.profile = name, .modes = *modes};
	return 0;
}

static int find_ask(struct holds *h, const struct hold_spec *spec, uint16_t *ret)
{
	struct settings modes = {.given = 0};
	uint32_t place = h->n_asks;

	*ret = HOLD_NO_ASK;
	if (spec->modes)
		copy_modes(&modes, spec->modes);
	if (!spec->profile && !modes.given)
		return 0;
	for (uint32_t i = 0; i < h->n_asks; i++) {
		if (same_ask(&h->asks[i], spec->profile, &modes)) {
			*ret = (uint16_t)i;
			return 0;
		}
		if (!h->asks[i].n)
			place = i;
	}
	*ret = (uint16_t)place;
	return new_ask(h, spec->profile, &modes, place);
}

/* A place that nobody took in the end. */
static void drop_unused(struct holds *h, uint16_t scope, uint16_t ask)
{
	if (scope < h->n_scopes && !h->scopes[scope].n)
		scope_done(&h->scopes[scope]);
	if (ask < h->n_asks && !h->asks[ask].n) {
		free(h->asks[ask].profile);
		h->asks[ask] = (struct hold_ask){.n = 0};
	}
}

static struct hold_claim *find_claim(struct hold_scope *s, uint16_t ask)
{
	for (uint32_t i = 0; i < s->n_claims; i++)
		if (s->claims[i].ask == ask)
			return &s->claims[i];
	return NULL;
}

/* Room for one more claim, whether it will be needed or not. */
static int claim_room(struct hold_scope *s)
{
	struct hold_claim *v;

	if (s->n_claims >= HOLD_ASKS_MAX)
		return -ENOSPC;
	v = reallocarray(s->claims, s->n_claims + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->claims = v;
	return 0;
}

/* ---- what CPUs have of it ---- */

static int limits_room(struct holds *h, uint32_t n_cpus)
{
	uint64_t *v;

	if (n_cpus <= h->n_cpus)
		return 0;
	v = reallocarray(h->limits, n_cpus, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (uint32_t cpu = h->n_cpus; cpu < n_cpus; cpu++)
		v[cpu] = LATENCY_NONE;
	h->limits = v;
	h->n_cpus = n_cpus;
	return 0;
}

/* Another hold of the scope as strict, or stricter, leaves nothing to do: no CPU is looked at. */
static bool tighten(struct holds *h, const struct hold_scope *s, uint64_t limit_ns)
{
	bool changed = false;

	cpuset_for_each(cpu, &s->cpus) {
		if (limit_ns >= h->limits[cpu])
			continue;
		h->limits[cpu] = limit_ns;
		changed = true;
	}
	return changed;
}

/* The scope's limit was `was` and is longer now. */
static bool loosen(struct holds *h, const struct hold_scope *s, uint64_t was)
{
	bool changed = false;

	cpuset_for_each(cpu, &s->cpus) {
		uint64_t limit_ns = LATENCY_NONE;

		if (h->limits[cpu] != was)
			continue;
		for (uint32_t i = 0; i < h->n_scopes; i++)
			if (scope_limit(&h->scopes[i]) < limit_ns &&
			    cpuset_has(&h->scopes[i].cpus, cpu))
				limit_ns = scope_limit(&h->scopes[i]);
		changed = changed || limit_ns != was;
		h->limits[cpu] = limit_ns;
	}
	return changed;
}

static bool claim(struct holds *h, struct hold_scope *s, const struct hold *hold)
{
	struct hold_claim *c = hold->ask == HOLD_NO_ASK ? NULL : find_claim(s, hold->ask);

	if (hold->ask == HOLD_NO_ASK)
		return false;
	h->asks[hold->ask].n++;
	if (c) {
		c->n++;
		return false;
	}
	s->claims[s->n_claims++] =
		(struct hold_claim){.ask = hold->ask, .n = 1, .oldest = hold->id};
	h->n_claims++;
	return true;
}

static bool unclaim(struct holds *h, struct hold_scope *s, const struct hold *hold)
{
	struct hold_claim *c = hold->ask == HOLD_NO_ASK ? NULL : find_claim(s, hold->ask);

	if (!c)
		return false;
	h->asks[hold->ask].n--;
	if (--c->n > 0)
		return false;
	*c = s->claims[--s->n_claims];
	h->n_claims--;
	return true;
}

/* ---- adding and removing ---- */

static void link_owner(struct hold *hold, struct hold_owner *owner)
{
	hold->owner = owner;
	hold->after = owner->first;
	if (owner->first)
		owner->first->before = hold;
	owner->first = hold;
	owner->n++;
}

static void unlink_owner(struct hold *hold)
{
	if (hold->before)
		hold->before->after = hold->after;
	else
		hold->owner->first = hold->after;
	if (hold->after)
		hold->after->before = hold->before;
	hold->owner->n--;
}

static struct hold *make(const struct hold_spec *spec, uint16_t scope, uint16_t ask)
{
	size_t reason = strlen(spec->reason) + 1, app = strlen(spec->app) + 1;
	struct hold *hold = calloc(1, sizeof(*hold) + reason + app);

	if (!hold)
		return NULL;
	*hold = (struct hold){
		.scope = scope,
		.ask = ask,
		.limit_ns = spec->limit_ns,
		.since_us = spec->since_us,
		.until_us = spec->until_us,
	};
	memcpy(hold->text, spec->reason, reason);
	memcpy(hold->text + reason, spec->app, app);
	return hold;
}

/* Everything that can fail, before anything has changed. */
static int prepare(struct holds *h, const struct hold_spec *spec, uint16_t *scope, uint16_t *ask)
{
	int r = h->n >= HOLDS_MAX ? -ENOSPC : bucket_room(h);

	if (r == 0)
		r = limits_room(h, spec->cpus->size);
	if (r == 0)
		r = find_scope(h, spec->cpus, scope);
	if (r == 0)
		r = find_ask(h, spec, ask);
	if (r == 0)
		r = heap_room(&h->scopes[*scope]);
	if (r == 0 && *ask != HOLD_NO_ASK && !find_claim(&h->scopes[*scope], *ask))
		r = claim_room(&h->scopes[*scope]);
	return r;
}

int holds_add(struct holds *h, const struct hold_spec *spec, struct hold_owner *owner,
	      struct hold **ret, bool *ret_changed)
{
	uint16_t scope = UINT16_MAX, ask = UINT16_MAX;
	struct hold *hold = NULL;
	struct hold_scope *s;
	int r = prepare(h, spec, &scope, &ask);

	if (r == 0)
		hold = make(spec, scope, ask);
	if (!hold) {
		drop_unused(h, scope, ask);
		return r < 0 ? r : -ENOMEM;
	}
	s = &h->scopes[scope];
	hold->id = ++h->last_id ? h->last_id : ++h->last_id;
	hold->next = h->buckets[bucket_of(h, hold->id)];
	h->buckets[bucket_of(h, hold->id)] = hold;
	h->n++;
	s->n++;
	link_owner(hold, owner);
	*ret_changed = claim(h, s, hold);
	if (hold->limit_ns < scope_limit(s))
		*ret_changed |= tighten(h, s, hold->limit_ns);
	if (hold->limit_ns != LATENCY_NONE)
		heap_up(s, s->n_heap++, hold);
	*ret = hold;
	return 0;
}

bool holds_remove(struct holds *h, struct hold *hold)
{
	struct hold_scope *s = &h->scopes[hold->scope];
	struct hold **p = &h->buckets[bucket_of(h, hold->id)];
	uint64_t was = scope_limit(s);
	bool changed = unclaim(h, s, hold);

	while (*p != hold)
		p = &(*p)->next;
	*p = hold->next;
	unlink_owner(hold);
	if (hold->limit_ns != LATENCY_NONE)
		heap_remove(s, hold);
	if (scope_limit(s) != was)
		changed |= loosen(h, s, was);
	h->n--;
	s->n--;
	drop_unused(h, hold->scope, hold->ask);
	free(hold);
	if (h->n == 0) {
		uint32_t last_id = h->last_id;

		holds_done(h);
		h->last_id = last_id;
	}
	return changed;
}

void holds_done(struct holds *h)
{
	for (uint32_t i = 0; i < h->n_buckets; i++) {
		for (struct hold *hold = h->buckets[i], *next; hold; hold = next) {
			next = hold->next;
			unlink_owner(hold);
			free(hold);
		}
	}
	for (uint32_t i = 0; i < h->n_scopes; i++)
		scope_done(&h->scopes[i]);
	for (uint32_t i = 0; i < h->n_asks; i++)
		free(h->asks[i].profile);
	free(h->buckets);
	free(h->scopes);
	free(h->asks);
	free(h->limits);
	*h = (struct holds){.n = 0};
}
