/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold-text.h"

#include <time.h>

#include "schema.h"

static void put_latency(struct buf *b, uint64_t ns)
{
	char text[LATENCY_TEXT_MAX];

	buf_puts(b, units_format_latency(ns, text, sizeof(text)));
}

static void put_value(struct buf *b, const struct schema_row *row, const struct settings *modes)
{
	const void *at = (const char *)modes + row->offset;
	char word[32];
	uint64_t ns;

	if (row->type == TYPE_CHOICE) {
		if (schema_choice_name(row, *(const uint8_t *)at, word, sizeof(word)) == 0)
			buf_puts(b, word);
		return;
	}
	memcpy(&ns, at, sizeof(ns));
	if (row->type == TYPE_HALTPOLL && (ns == HALTPOLL_OFF || ns == HALTPOLL_AUTO))
		buf_puts(b, ns == HALTPOLL_OFF ? "off" : "auto");
	else
		put_latency(b, ns);
}

void hold_put_modes(struct buf *b, const struct settings *modes)
{
	const char *between = "";

	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];

		if (!(row->bit & modes->given & HOLD_MODE_SETTINGS))
			continue;
		buf_printf(b, "%s%s=", between, row->key);
		put_value(b, row, modes);
		between = " ";
	}
}

/* A key that a profile has, and that is a mode. */
static bool is_mode(const char *line, size_t n)
{
	for (size_t i = 0; i < schema_n_rows; i++)
		if (schema_rows[i].bit & HOLD_MODE_SETTINGS && strlen(schema_rows[i].key) == n &&
		    memcmp(schema_rows[i].key, line, n) == 0)
			return true;
	return false;
}

static void refuse_key(struct diag_list *diags, const char *line, size_t n)
{
	_cleanup_free_ char *known = NULL;
	struct buf b = {.n = 0};

	for (size_t i = 0; i < schema_n_rows; i++)
		if (schema_rows[i].bit & HOLD_MODE_SETTINGS)
			buf_printf(&b, "%s%s", b.n ? ", " : "", schema_rows[i].key);
	known = buf_finish(&b);
	diag_add(diags, DIAG_ERROR, "hold", 0, "'%.*s' is no mode; modes are %s", (int)n, line,
		 known ? known : "");
}

static int parse(const char *text, struct diag_list *diags, struct settings *ret)
{
	_cleanup_(policy_freep) struct policy *p = NULL;
	_cleanup_free_ char *section = NULL;
	const struct profile *profile;
	int r = policy_new(&p);

	if (r < 0)
		return r;
	if (asprintf(&section, "[Profile hold]\n%s\n", text) < 0) {
		section = NULL;
		return -ENOMEM;
	}
	r = policy_add_text(p, "hold", section, strlen(section), diags);
	if (r < 0)
		return r;
	/* There is no text to look into. */
	for (size_t i = 0; i < diags->n; i++)
		diags->items[i].line = 0;
	profile = policy_profile(p, "hold");
	if (diags->n_errors || !profile)
		return -EBADMSG;
	*ret = profile->own;
	ret->given &= HOLD_MODE_SETTINGS;
	ret->disable_states = ret->enable_states = (struct words){.n = 0};
	return 0;
}

int hold_parse_modes(const char *text, struct diag_list *diags, struct settings *ret)
{
	size_t errors = diags->n_errors;

	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n"), key = strcspn(line, "=\n");

		while (key > 0 && line[key - 1] == ' ')
			key--;
		if (!is_mode(line, key))
			refuse_key(diags, line, key);
		line += n + (line[n] == '\n');
	}
	return diags->n_errors > errors ? -EBADMSG : parse(text, diags, ret);
}

void hold_put_ask(struct buf *b, const struct holds *h, const struct hold *hold)
{
	const struct hold_ask *ask = hold_ask(h, hold);
	const char *between = "";

	if (hold->limit_ns != LATENCY_NONE) {
		buf_puts(b, "latency limit ");
		put_latency(b, hold->limit_ns);
		between = ", ";
	}
	if (!ask)
		return;
	if (ask->profile) {
		buf_printf(b, "%sprofile %s", between, ask->profile);
		between = ", ";
	}
	if (ask->modes.given) {
		buf_puts(b, between);
		hold_put_modes(b, &ask->modes);
	}
}

void hold_put_owner(struct buf *b, const struct hold *hold)
{
	const struct hold_owner *o = hold->owner;

	buf_printf(b, "%s (", hold_app(hold));
	if (o->pid)
		buf_printf(b, "pid %u, ", o->pid);
	buf_printf(b, "uid %u%s%s)", o->uid, o->unit && *o->unit ? ", " : "",
		   o->unit ? o->unit : "");
}

void hold_put_time(struct buf *b, uint64_t us)
{
	time_t seconds = (time_t)(us / 1000000);
	struct tm t;

	if (gmtime_r(&seconds, &t))
		buf_printf(b, "%04d-%02d-%02dT%02d:%02d:%02dZ", t.tm_year + 1900, t.tm_mon + 1,
			   t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
}

static bool overlap(const struct cpuset *a, const struct cpuset *b)
{
	cpuset_for_each(cpu, a)
		if (cpuset_has(b, cpu))
			return true;
	return false;
}

const struct hold *hold_deciding(const struct holds *h, const struct cpuset *cpus,
				 uint64_t limit_ns)
{
	const struct hold *found = NULL;

	for (uint32_t i = 0; h && i < h->n_scopes; i++) {
		const struct hold_scope *s = &h->scopes[i];

		if (s->n_heap && s->heap[0]->limit_ns == limit_ns && overlap(cpus, &s->cpus) &&
		    (!found || s->heap[0]->id < found->id))
			found = s->heap[0];
	}
	return found;
}
