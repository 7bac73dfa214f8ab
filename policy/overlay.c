/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "buf.h"
#include "overlay.h"
#include "text.h"

struct entry {
	char *section, *key, *value;
	bool added; /* by the newer text */
	bool dropped; /* replaced by it */
};

struct overlay {
	struct entry *v;
	uint32_t n;
	bool adding;
};

static void overlay_done(struct overlay *o)
{
	for (uint32_t i = 0; i < o->n; i++) {
		free(o->v[i].section);
		free(o->v[i].key);
		free(o->v[i].value);
	}
	free(o->v);
}

static void drop_older(struct overlay *o, const char *section, const char *key)
{
	for (uint32_t i = 0; i < o->n; i++) {
		struct entry *e = &o->v[i];

		if (!e->added && streq(e->section, section) && streq(e->key, key))
			e->dropped = true;
	}
}

static int take(const struct text_assignment *a, void *userdata)
{
	struct overlay *o = userdata;
	struct entry *v;

	if (!a->key)
		return 0;
	if (o->adding)
		drop_older(o, a->section, a->key);
	v = realloc(o->v, (o->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	o->v = v;
	v += o->n++;
	*v = (struct entry){.added = o->adding};
	v->section = strdup(a->section);
	v->key = strdup(a->key);
	v->value = strdup(a->value);
	return v->section && v->key && v->value ? 0 : -ENOMEM;
}

static bool is_first_of_section(const struct overlay *o, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++) {
		if (!o->v[k].dropped && streq(o->v[k].section, o->v[i].section))
			return false;
	}
	return true;
}

static void print_section(struct buf *b, const struct overlay *o, uint32_t first)
{
	buf_printf(b, "[%s]\n", o->v[first].section);
	for (uint32_t i = first; i < o->n; i++) {
		const struct entry *e = &o->v[i];

		if (!e->dropped && streq(e->section, o->v[first].section))
			buf_printf(b, "%s=%s\n", e->key, e->value);
	}
}

/* Each section once, in the order in which they came up. */
static char *format(const struct overlay *o)
{
	struct buf b = {0};

	buf_puts(&b, "");
	for (uint32_t i = 0; i < o->n; i++) {
		if (!o->v[i].dropped && is_first_of_section(o, i))
			print_section(&b, o, i);
	}
	return buf_finish(&b);
}

static int merge(const char *name, const char *base, const char *addition, struct diag_list *diags,
		 struct overlay *o)
{
	struct diag_list own = {0};
	int r;

	r = text_parse(name, base, strlen(base), take, o, NULL);
	if (r < 0)
		return r;
	o->adding = true;
	r = text_parse(name, addition, strlen(addition), take, o, &own);
	if (r == 0 && own.n_errors > 0)
		r = -EBADMSG;
	if (diags)
		diag_move(diags, &own);
	diag_done(&own);
	return r;
}

int overlay_merge(const char *name, const char *base, const char *addition, size_t max,
		  struct diag_list *diags, char **ret)
{
	_cleanup_free_ char *text = NULL;
	struct overlay o = {0};
	int r;

	r = merge(name, base, addition, diags, &o);
	if (r == 0)
		text = format(&o);
	overlay_done(&o);
	if (r < 0)
		return r;
	if (!text)
		return -ENOMEM;
	if (strlen(text) > max)
		return -E2BIG;
	*ret = TAKE_PTR(text);
	return 0;
}
