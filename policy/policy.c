/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy.h"
#include "nearest.h"
#include "policy-assign.h"
#include "schema.h"
#include "text.h"

void settings_done(struct settings *s)
{
	words_done(&s->disable_states);
	words_done(&s->enable_states);
	*s = (struct settings){0};
}

static void profile_done(struct profile *p)
{
	free(p->name);
	free(p->description);
	free(p->base);
	settings_done(&p->own);
	settings_done(&p->resolved);
}

static void group_done(struct group *g)
{
	free(g->name);
	selector_free(g->cpus);
	free(g->profile_name);
}

static void workload_done(struct workload *w)
{
	free(w->name);
	for (int i = 0; i < WORKLOAD_KINDS; i++)
		free(w->matches[i]);
	free(w->profile_name);
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	free(p->default_profile_name);
	for (uint32_t i = 0; i < p->n_profiles; i++)
		profile_done(&p->profiles[i]);
	for (uint32_t i = 0; i < p->n_groups; i++)
		group_done(&p->groups[i]);
	for (uint32_t i = 0; i < p->n_workloads; i++)
		workload_done(&p->workloads[i]);
	for (uint32_t i = 0; i < p->n_files; i++)
		free(p->files[i]);
	free(p->profiles);
	free(p->groups);
	free(p->workloads);
	free(p->files);
	free(p);
}

/* Room for one more item behind n; the array doubles, so its size follows from n. The item is zeroed. */
static void *reserve(void *array, uint32_t n, size_t size)
{
	void **v = array;
	void *grown = *v;

	if ((n & (n - 1)) == 0) {
		grown = realloc(*v, MAX_OF(n * 2, 1U) * size);
		if (!grown)
			return NULL;
		*v = grown;
	}
	return memset((char *)grown + n * size, 0, size);
}

/* What a new item of a section consists of. */
static int fill_item(enum schema_section section, void *item, const char *name)
{
	char **field = item; /* the name comes first in each of them */

	*field = strdup(name);
	if (!*field)
		return -ENOMEM;
	if (section != SECTION_PROFILE)
		return 0;
	return policy_assign_defaults(&((struct profile *)item)->own);
}

/* The items of a named section: where they are, how many, how many there may be, how large. */
struct items {
	void *array; /* address of the array's pointer */
	uint32_t *n;
	uint32_t max;
	size_t size;
};

static struct items items_of(struct policy *p, enum schema_section section)
{
	switch (section) {
	case SECTION_PROFILE:
		return (struct items){&p->profiles, &p->n_profiles, POLICY_PROFILES_MAX,
				      sizeof(*p->profiles)};
	case SECTION_GROUP:
		return (struct items){&p->groups, &p->n_groups, POLICY_GROUPS_MAX,
				      sizeof(*p->groups)};
	case SECTION_WORKLOAD:
		return (struct items){&p->workloads, &p->n_workloads, POLICY_WORKLOADS_MAX,
				      sizeof(*p->workloads)};
	case SECTION_DAEMON:
	case SECTION_N:
		break;
	}
	return (struct items){0};
}

static void *item_at(const struct items *items, uint32_t i)
{
	return *(char **)items->array + i * items->size;
}

/* Index of the named item, added when there is none. -E2BIG, -ENOMEM; -EINVAL for a section without names. */
static int find_or_add(struct policy *p, enum schema_section section, const char *name,
		       uint32_t *ret)
{
	struct items items = items_of(p, section);
	void *item;
	int r;

	if (!items.array)
		return -EINVAL;
	for (uint32_t i = 0; i < *items.n; i++) {
		if (streq(*(char **)item_at(&items, i), name)) {
			*ret = i;
			return 0;
		}
	}
	if (*items.n >= items.max)
		return -E2BIG;
	item = reserve(items.array, *items.n, items.size);
	if (!item)
		return -ENOMEM;
	*ret = (*items.n)++; /* counted first, so that policy_free() sees a half-filled one */
	r = fill_item(section, item, name);
	return r;
}

static int fill_daemon(struct policy *p)
{
	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];
		struct text_assignment a = {.value = ""};
		int r;

		if (row->section != SECTION_DAEMON)
			continue;
		r = policy_assign(row, (char *)p + row->offset, &a, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

int policy_new(struct policy **ret)
{
	_cleanup_(policy_freep) struct policy *p = calloc(1, sizeof(*p));
	uint32_t neutral;
	int r;

	if (!p)
		return -ENOMEM;
	r = fill_daemon(p);
	if (r < 0)
		return r;
	r = find_or_add(p, SECTION_PROFILE, POLICY_NEUTRAL_PROFILE, &neutral);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

/* One policy_add_text() on its way. */
struct adder {
	struct policy *policy;
	const char *file; /* owned by the policy */
	struct diag_list *diags;
	enum schema_section section;
	uint32_t index; /* of the section's item */
	bool skip; /* section unknown or refused: its keys mean nothing */
};

/* "Profile  low-latency" in two words; the name is "" when there is none. */
static void split_header(const char *section, char *kind, char *name, size_t size)
{
	size_t n = strcspn(section, " \t");

	(void)snprintf(kind, size, "%.*s", (int)n, section);
	section += n;
	(void)snprintf(name, size, "%s", section + strspn(section, " \t"));
}

static void warn_section(const struct adder *ad, const struct text_assignment *a, const char *kind)
{
	const char *nearest = schema_nearest_section(kind);

	if (nearest)
		diag_add(ad->diags, DIAG_WARNING, a->file, a->line,
			 "unknown section [%s], ignored; did you mean [%s]?", a->section, nearest);
	else
		diag_add(
			ad->diags, DIAG_WARNING, a->file, a->line,
			"unknown section [%s], ignored; there are [Daemon], [Profile NAME], [Group "
			"NAME], [Workload NAME]",
			a->section);
}

/* Is the header complete? */
static bool check_name(const struct adder *ad, const struct text_assignment *a, const char *kind,
		       const char *name)
{
	if (!schema_section_has_name(ad->section)) {
		if (name[0] != '\0')
			diag_add(ad->diags, DIAG_ERROR, a->file, a->line,
				 "section [%s] has a name; write [%s]", a->section, kind);
		return name[0] == '\0';
	}
	if (name[0] == '\0') {
		diag_add(ad->diags, DIAG_ERROR, a->file, a->line,
			 "section [%s] has no name; write [%s NAME]", a->section, kind);
		return false;
	}
	if (!schema_name_valid(name)) {
		diag_add(ad->diags, DIAG_ERROR, a->file, a->line,
			 "\"%s\" is no name; use up to %u letters, digits, \".\", \"_\", \"-\"",
			 name, POLICY_NAME_MAX);
		return false;
	}
	return true;
}

static struct place place_of(const struct adder *ad, uint32_t line)
{
	return (struct place){ad->file, line};
}

static void note_header(const struct adder *ad, uint32_t line)
{
	switch (ad->section) {
	case SECTION_PROFILE:
		ad->policy->profiles[ad->index].at = place_of(ad, line);
		break;
	case SECTION_GROUP:
		ad->policy->groups[ad->index].at = place_of(ad, line);
		break;
	case SECTION_WORKLOAD:
		ad->policy->workloads[ad->index].at = place_of(ad, line);
		break;
	case SECTION_DAEMON:
	case SECTION_N:
		break;
	}
}

static int open_section(struct adder *ad, const struct text_assignment *a)
{
	char kind[TEXT_SECTION_MAX + 1], name[TEXT_SECTION_MAX + 1];
	int r;

	split_header(a->section, kind, name, sizeof(kind));
	ad->skip = true;
	if (schema_section_from_name(kind, &ad->section) < 0) {
		warn_section(ad, a, kind);
		return 0;
	}
	if (!check_name(ad, a, kind, name))
		return 0;
	if (schema_section_has_name(ad->section)) {
		r = find_or_add(ad->policy, ad->section, name, &ad->index);
		if (r == -E2BIG) {
			diag_add(ad->diags, DIAG_ERROR, a->file, a->line,
				 "too many sections [%s ...]; at most %" PRIu32 " can be there",
				 kind, items_of(ad->policy, ad->section).max);
			return 0;
		}
		if (r < 0)
			return r;
		note_header(ad, a->line);
	}
	ad->skip = false;
	return 0;
}

/* A key nobody knows there: what was meant? */
static void warn_key(const struct adder *ad, const struct text_assignment *a)
{
	const char *section = schema_section_name(ad->section);
	const char *nearest = schema_nearest_key(ad->section, a->key);

	for (int i = 0; i < SECTION_N; i++) {
		if (schema_find((enum schema_section)i, a->key)) {
			diag_add(ad->diags, DIAG_WARNING, a->file, a->line,
				 "%s= does not belong into [%s], ignored; it is a key of [%s%s]",
				 a->key, section, schema_section_name((enum schema_section)i),
				 schema_section_has_name((enum schema_section)i) ? " NAME" : "");
			return;
		}
	}
	if (nearest)
		diag_add(ad->diags, DIAG_WARNING, a->file, a->line,
			 "unknown key %s= in [%s], ignored; did you mean %s=?", a->key, section,
			 nearest);
	else
		diag_add(ad->diags, DIAG_WARNING, a->file, a->line,
			 "unknown key %s= in [%s], ignored; cpuidled.conf(5) lists the keys",
			 a->key, section);
}

/* What the row's offset counts from. */
static void *object_of(const struct adder *ad, const struct schema_row *row)
{
	struct items items = items_of(ad->policy, ad->section);

	if (!items.array)
		return ad->policy;
	if (row->bit != 0)
		return &ad->policy->profiles[ad->index].own;
	return item_at(&items, ad->index);
}

static uint32_t reset_bit(const struct schema_row *row)
{
	switch (row->bit) {
	case SETTING_DISABLE_STATES:
		return SETTING_DISABLE_STATES_RESET;
	case SETTING_ENABLE_STATES:
		return SETTING_ENABLE_STATES_RESET;
	default:
		return 0;
	}
}

static void note_given(const struct adder *ad, const struct schema_row *row, const char *value)
{
	struct settings *own;

	if (row->bit == 0)
		return;
	own = &ad->policy->profiles[ad->index].own;
	own->given |= row->bit;
	if (value[0] != '\0')
		return;
	own->given &= ~row->bit;
	own->given |= reset_bit(row);
}

/* A refused value has its place, too: nobody needs to be told that it is missing. */
static void note_place(const struct adder *ad, const struct schema_row *row,
		       const struct text_assignment *a)
{
	struct items items = items_of(ad->policy, ad->section);
	char *object = items.array ? item_at(&items, ad->index) : (void *)ad->policy;

	if (row->place != 0)
		*(struct place *)(object + row->place) =
			a->value[0] == '\0' ? (struct place){0} : place_of(ad, a->line);
}

static int take_value(struct adder *ad, const struct text_assignment *a)
{
	const struct schema_row *row = schema_find(ad->section, a->key);
	int r;

	if (!row) {
		warn_key(ad, a);
		return 0;
	}
	r = policy_assign(row, (char *)object_of(ad, row) + row->offset, a, ad->diags);
	if (r < 0 && r != -EINVAL)
		return r;
	note_place(ad, row, a);
	if (r == 0)
		note_given(ad, row, a->value);
	return 0;
}

static int take_assignment(const struct text_assignment *a, void *userdata)
{
	struct adder *ad = userdata;

	if (!a->key)
		return open_section(ad, a);
	return ad->skip ? 0 : take_value(ad, a);
}

static int add_file(struct policy *p, const char *file, const char **ret)
{
	char **slot = reserve(&p->files, p->n_files, sizeof(*p->files));

	if (!slot)
		return -ENOMEM;
	*slot = strdup(file);
	if (!*slot)
		return -ENOMEM;
	p->n_files++;
	*ret = *slot;
	return 0;
}

int policy_add_text(struct policy *p, const char *file, const char *bytes, size_t n,
		    struct diag_list *diags)
{
	struct adder ad = {.policy = p, .diags = diags, .skip = true};
	int r;

	r = add_file(p, file, &ad.file);
	if (r < 0)
		return r;
	return text_parse(ad.file, bytes, n, take_assignment, &ad, diags);
}

const struct profile *policy_profile(const struct policy *p, const char *name)
{
	for (uint32_t i = 0; i < p->n_profiles; i++) {
		if (streq(p->profiles[i].name, name))
			return &p->profiles[i];
	}
	return NULL;
}

unsigned policy_needs(const struct policy *p)
{
	unsigned needs = 0;

	for (uint32_t i = 0; i < p->n_groups; i++) {
		if (p->groups[i].cpus)
			needs |= selector_needs(p->groups[i].cpus);
	}
	return needs;
}
