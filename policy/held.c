/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "held.h"

#include "schema.h"

/* One ask on one scope. */
struct claim {
	const struct hold_scope *scope;
	const struct hold_claim *claim;
};

void held_done(struct held *held)
{
	for (uint32_t i = 0; i < held->n_sets; i++)
		free(held->sets[i].v);
	free(held->sets);
	free(held->set_of);
	*held = (struct held){.n_sets = 0};
}

static int compare_claims(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->scope->n_cpus != y->scope->n_cpus)
		return x->scope->n_cpus < y->scope->n_cpus ? -1 : 1;
	return x->claim->oldest < y->claim->oldest ? -1 : x->claim->oldest > y->claim->oldest;
}

static struct claim *gather(const struct holds *h)
{
	struct claim *v = calloc(h->n_claims, sizeof(*v));
	uint32_t n = 0;

	for (uint32_t i = 0; v && i < h->n_scopes; i++)
		for (uint32_t j = 0; j < h->scopes[i].n_claims; j++)
			v[n++] = (struct claim){.scope = &h->scopes[i],
						.claim = &h->scopes[i].claims[j]};
	if (v)
		qsort(v, n, sizeof(*v), compare_claims);
	return v;
}

/* Fills set, which has room for all claims. The same ask on a larger scope says nothing new. */
static void list(const struct claim *claims, uint32_t n, uint32_t cpu, struct held_set *set)
{
	set->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = 0;

		if (!cpuset_has(&claims[i].scope->cpus, cpu))
			continue;
		while (j < set->n && set->v[j].ask != claims[i].claim->ask)
			j++;
		if (j == set->n)
			set->v[set->n++] = (struct held_ask){.ask = claims[i].claim->ask,
							     .n_cpus = claims[i].scope->n_cpus};
	}
}

static bool same_set(const struct held_set *a, const struct held_set *b)
{
	for (uint32_t i = 0; a->n == b->n && i < a->n; i++)
		if (a->v[i].ask != b->v[i].ask || a->v[i].n_cpus != b->v[i].n_cpus)
			return false;
	return a->n == b->n;
}

static int intern(struct held *held, const struct held_set *set, uint16_t *ret)
{
	struct held_set *sets, copy = {.n = set->n};

	for (uint32_t i = 0; i < held->n_sets; i++) {
		if (!same_set(&held->sets[i], set))
			continue;
		*ret = (uint16_t)i;
		return 0;
	}
	sets = reallocarray(held->sets, held->n_sets + 1, sizeof(*sets));
	if (!sets)
		return -ENOMEM;
	held->sets = sets;
	copy.v = calloc(set->n + 1, sizeof(*copy.v));
	if (!copy.v)
		return -ENOMEM;
	if (set->n)
		memcpy(copy.v, set->v, set->n * sizeof(*copy.v));
	*ret = (uint16_t)held->n_sets;
	sets[held->n_sets++] = copy;
	return 0;
}

static int make(struct held *held, const struct claim *claims, uint32_t n_cpus)
{
	uint32_t n = held->holds->n_claims;
	struct held_set set = {.v = calloc(n, sizeof(*set.v))};
	uint16_t none;
	int r;

	held->set_of = calloc(n_cpus + 1, sizeof(*held->set_of));
	r = set.v && held->set_of ? intern(held, &set, &none) : -ENOMEM;
	for (uint32_t cpu = 0; r == 0 && cpu < n_cpus; cpu++) {
		list(claims, n, cpu, &set);
		r = intern(held, &set, &held->set_of[cpu]);
	}
	free(set.v);
	return r;
}

int held_make(const struct holds *holds, uint32_t n_cpus, struct held *ret)
{
	struct held held = {.holds = holds};
	struct claim *claims;
	int r;

	*ret = (struct held){.holds = holds};
	if (!holds || !holds->n_claims)
		return 0;
	claims = gather(holds);
	r = claims ? make(&held, claims, n_cpus) : -ENOMEM;
	free(claims);
	if (r < 0)
		held_done(&held);
	else
		*ret = held;
	return r;
}

static const struct hold_ask *ask_of(const struct held *held, uint16_t set, uint32_t i)
{
	return &held->holds->asks[held->sets[set].v[i].ask];
}

const struct profile *held_profile(const struct held *held, const struct policy *policy,
				   uint16_t set, uint32_t i)
{
	const struct hold_ask *ask = ask_of(held, set, i);

	return ask->profile ? policy_profile(policy, ask->profile) : NULL;
}

static void overlay_modes(const struct settings *modes, struct settings *settings)
{
	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];

		if (row->bit & modes->given & HOLD_MODE_SETTINGS)
			memcpy((char *)settings + row->offset, (const char *)modes + row->offset,
			       row->type == TYPE_CHOICE ? sizeof(uint8_t) : sizeof(uint64_t));
	}
}

void held_overlay(const struct held *held, const struct policy *policy, uint16_t set,
		  struct settings *settings)
{
	for (uint32_t i = set ? held->sets[set].n : 0; i-- > 0;) {
		const struct profile *profile = held_profile(held, policy, set, i);

		if (profile)
			*settings = profile->resolved;
		overlay_modes(&ask_of(held, set, i)->modes, settings);
	}
}

void held_warn(const struct policy *policy, const struct holds *holds, struct diag_list *diags)
{
	for (uint32_t i = 0; holds && i < holds->n_asks; i++) {
		const struct hold_ask *ask = &holds->asks[i];

		if (ask->n && ask->profile && !policy_profile(policy, ask->profile))
			diag_add(diags, DIAG_WARNING, NULL, 0,
				 "%u holds ask for profile %s, which the policy does not have any "
				 "more; they wait until it comes back",
				 ask->n, ask->profile);
	}
}
