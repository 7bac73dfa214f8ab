/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "buf.h"
#include "policy.h"
#include "schema.h"

/* Longest line a list is written in, well below what text.c reads. */
#define LIST_LINE_MAX 120U

static void add_words(struct buf *b, const char *key, const struct words *w)
{
	size_t line = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		bool quoted = strpbrk(w->v[i], " ,#;\"") != NULL;

		if (line > LIST_LINE_MAX) {
			buf_puts(b, "\n");
			line = 0;
		}
		line += strlen(w->v[i]) + 1;
		if (i == 0 || line == strlen(w->v[i]) + 1)
			buf_printf(b, "%s=", key);
		else
			buf_puts(b, " ");
		buf_printf(b, quoted ? "\"%s\"" : "%s", w->v[i]);
	}
	if (w->n > 0)
		buf_puts(b, "\n");
}

static void add_string(struct buf *b, const char *key, const char *value)
{
	if (value)
		buf_printf(b, "%s=%s\n", key, value);
}

static void add_latency(struct buf *b, const struct schema_row *row, uint64_t ns)
{
	char text[LATENCY_TEXT_MAX];

	if (row->type == TYPE_HALTPOLL && (ns == HALTPOLL_OFF || ns == HALTPOLL_AUTO))
		add_string(b, row->key, ns == HALTPOLL_OFF ? "off" : "auto");
	else
		add_string(b, row->key, units_format_latency(ns, text, sizeof(text)));
}

static void add_ticks(struct buf *b, const struct schema_row *row, uint64_t ticks)
{
	if (ticks == HOST_KEEP)
		add_string(b, row->key, "keep");
	else
		buf_printf(b, "%s=%" PRIu64 "\n", row->key, ticks);
}

static void add_choice(struct buf *b, const struct schema_row *row, unsigned i)
{
	char text[32];

	if (schema_choice_name(row, i, text, sizeof(text)) == 0)
		add_string(b, row->key, text);
}

/* The line of one key; none for a pointer that is NULL or an empty list. */
static void add_row(struct buf *b, const struct schema_row *row, const void *object)
{
	const void *field = (const char *)object + row->offset;

	switch (row->type) {
	case TYPE_NAME:
	case TYPE_TEXT:
	case TYPE_UNIT:
	case TYPE_SLICE:
	case TYPE_CGROUP:
	case TYPE_CONTAINER:
		add_string(b, row->key, *(char *const *)field);
		break;
	case TYPE_LATENCY:
	case TYPE_HALTPOLL:
		add_latency(b, row, *(const uint64_t *)field);
		break;
	case TYPE_TICKS:
		add_ticks(b, row, *(const uint64_t *)field);
		break;
	case TYPE_INT:
		buf_printf(b, "%s=%" PRId32 "\n", row->key, *(const int32_t *)field);
		break;
	case TYPE_CHOICE:
		add_choice(b, row, *(const uint8_t *)field);
		break;
	case TYPE_WORDS:
		add_words(b, row->key, field);
		break;
	case TYPE_SELECTOR:
		if (*(struct selector *const *)field)
			add_string(b, row->key, selector_text(*(struct selector *const *)field));
		break;
	}
}

/* Whether the section said something of this setting; "KEY=" first where it dropped its base's list. */
static bool add_reset(struct buf *b, const struct schema_row *row, const struct settings *own)
{
	uint32_t reset = row->bit == SETTING_DISABLE_STATES  ? SETTING_DISABLE_STATES_RESET
			 : row->bit == SETTING_ENABLE_STATES ? SETTING_ENABLE_STATES_RESET
							     : 0;

	if (own->given & reset)
		buf_printf(b, "%s=\n", row->key);
	return own->given & row->bit;
}

static void add_section(struct buf *b, enum schema_section section, const char *name,
			const void *object)
{
	buf_printf(b, "%s[%s%s%s]\n", section == SECTION_DAEMON ? "" : "\n",
		   schema_section_name(section), name ? " " : "", name ? name : "");
	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];
		const struct profile *profile = object;

		if (row->section != section)
			continue;
		if (row->bit == 0)
			add_row(b, row, object);
		else if (add_reset(b, row, &profile->own))
			add_row(b, row, &profile->own);
	}
}

char *policy_format(const struct policy *p)
{
	struct buf b = {0};

	add_section(&b, SECTION_DAEMON, NULL, p);
	for (uint32_t i = 0; i < p->n_profiles; i++)
		add_section(&b, SECTION_PROFILE, p->profiles[i].name, &p->profiles[i]);
	for (uint32_t i = 0; i < p->n_groups; i++)
		add_section(&b, SECTION_GROUP, p->groups[i].name, &p->groups[i]);
	for (uint32_t i = 0; i < p->n_workloads; i++)
		add_section(&b, SECTION_WORKLOAD, p->workloads[i].name, &p->workloads[i]);
	return buf_finish(&b);
}

static bool same_string(const char *a, const char *b)
{
	return a && b ? streq(a, b) : a == b;
}

static bool settings_equal(const struct settings *a, const struct settings *b)
{
	return a->latency_limit_ns == b->latency_limit_ns && a->adapt_ns == b->adapt_ns &&
	       a->haltpoll_ns == b->haltpoll_ns && a->c0 == b->c0 && a->c0_depth == b->c0_depth &&
	       a->zero_latency == b->zero_latency && a->c1_interrupts == b->c1_interrupts &&
	       a->broadcast == b->broadcast && a->ioport == b->ioport &&
	       a->residency_guard == b->residency_guard && a->adapt_scope == b->adapt_scope &&
	       words_equal(&a->disable_states, &b->disable_states) &&
	       words_equal(&a->enable_states, &b->enable_states);
}

static bool has_profile(const struct policy *p, const struct profile *wanted)
{
	const struct profile *found = policy_profile(p, wanted->name);

	return found && settings_equal(&found->resolved, &wanted->resolved);
}

static bool has_group(const struct policy *p, const struct group *wanted)
{
	for (uint32_t i = 0; i < p->n_groups; i++) {
		const struct group *g = &p->groups[i];

		if (streq(g->name, wanted->name))
			return g->priority == wanted->priority &&
			       same_string(g->profile_name, wanted->profile_name) &&
			       same_string(g->cpus ? selector_text(g->cpus) : NULL,
					   wanted->cpus ? selector_text(wanted->cpus) : NULL);
	}
	return false;
}

static bool has_workload(const struct policy *p, const struct workload *wanted)
{
	for (uint32_t i = 0; i < p->n_workloads; i++) {
		const struct workload *w = &p->workloads[i];

		if (streq(w->name, wanted->name))
			return w->priority == wanted->priority && w->kind == wanted->kind &&
			       w->cpus == wanted->cpus && same_string(w->match, wanted->match) &&
			       same_string(w->profile_name, wanted->profile_name);
	}
	return false;
}

bool policy_equal(const struct policy *a, const struct policy *b)
{
	if (!streq(a->default_profile_name, b->default_profile_name) ||
	    a->on_foreign_write != b->on_foreign_write || a->umwait_c02 != b->umwait_c02 ||
	    a->umwait_max_time != b->umwait_max_time || a->global_limit_ns != b->global_limit_ns ||
	    a->n_profiles != b->n_profiles || a->n_groups != b->n_groups ||
	    a->n_workloads != b->n_workloads)
		return false;
	for (uint32_t i = 0; i < a->n_profiles; i++) {
		if (!has_profile(b, &a->profiles[i]))
			return false;
	}
	for (uint32_t i = 0; i < a->n_groups; i++) {
		if (!has_group(b, &a->groups[i]))
			return false;
	}
	for (uint32_t i = 0; i < a->n_workloads; i++) {
		if (!has_workload(b, &a->workloads[i]))
			return false;
	}
	return true;
}
