/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "listing.h"
#include "text.h"

#define PROFILE_PREFIX "Profile "

static int compare_names(const void *a, const void *b)
{
	const struct listing_profile *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static struct listing_profile *find(struct listing *l, const char *name)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (streq(l->profiles[i].name, name))
			return &l->profiles[i];
	}
	return NULL;
}

static int add_key(struct listing_profile *p, const char *key, const char *value)
{
	struct listing_key *keys;

	keys = realloc(p->keys, (p->n_keys + 1) * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	p->keys = keys;
	keys[p->n_keys].key = strdup(key);
	keys[p->n_keys].value = strdup(value);
	p->n_keys++;
	return keys[p->n_keys - 1].key && keys[p->n_keys - 1].value ? 0 : -ENOMEM;
}

/* policy_format() spells every key exactly as a file would; reading it back saves a second speller. */
static int take_assignment(const struct text_assignment *a, void *userdata)
{
	struct listing *l = userdata;
	struct listing_profile *p;

	if (!a->key || strncmp(a->section, PROFILE_PREFIX, strlen(PROFILE_PREFIX)) != 0)
		return 0;
	p = find(l, a->section + strlen(PROFILE_PREFIX));
	if (!p || streq(a->key, "Base") || streq(a->key, "Description") ||
	    streq(a->key, "LatencyLimit"))
		return 0;
	return add_key(p, a->key, a->value);
}

static int add_profile(const struct profile *p, struct listing *l)
{
	struct listing_profile *entry = &l->profiles[l->n];

	l->n++;
	entry->name = strdup(p->name);
	entry->description = strdup(p->description ? p->description : "");
	entry->base = strdup(p->base ? p->base : "");
	entry->limit_ns = p->resolved.latency_limit_ns;
	return entry->name && entry->description && entry->base ? 0 : -ENOMEM;
}

static int add_all(const struct policy *policy, struct listing *l)
{
	_cleanup_free_ char *text = NULL;
	int r = 0;

	l->profiles = calloc(MAX_OF(policy->n_profiles, 1U), sizeof(*l->profiles));
	if (!l->profiles)
		return -ENOMEM;
	for (uint32_t i = 0; i < policy->n_profiles && r == 0; i++)
		r = add_profile(&policy->profiles[i], l);
	if (r < 0)
		return r;
	qsort(l->profiles, l->n, sizeof(*l->profiles), compare_names);
	text = policy_format(policy);
	if (!text)
		return -ENOMEM;
	return text_parse("policy", text, strlen(text), take_assignment, l, NULL);
}

int listing_make(const struct policy *policy, struct listing *ret)
{
	struct listing l = {0};
	int r;

	r = add_all(policy, &l);
	if (r < 0) {
		listing_done(&l);
		return r;
	}
	*ret = l;
	return 0;
}

void listing_done(struct listing *l)
{
	for (uint32_t i = 0; i < l->n; i++) {
		struct listing_profile *p = &l->profiles[i];

		free(p->name);
		free(p->description);
		free(p->base);
		for (uint32_t k = 0; k < p->n_keys; k++) {
			free(p->keys[k].key);
			free(p->keys[k].value);
		}
		free(p->keys);
	}
	free(l->profiles);
	*l = (struct listing){0};
}
