/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "holders.h"
#include "offline.h"
#include "out.h"
#include "print.h"
#include "render.h"

/* plan and explain: a view of the daemon's plan, or of one made here. */
struct question {
	const struct options *o;
	const char *verb; /* "plan" or "explain" */
	const char *cpus; /* selector, NULL: all */
	bool changes;
};

static int show_text(const struct question *q, const struct view *view,
		     const struct machine *machine, const struct changes *changes)
{
	_cleanup_free_ char *text = NULL;
	struct render render = {0};

	if (streq(q->verb, "explain"))
		render_explain(&render, view);
	else
		render_plan(&render, view);
	if (changes)
		render_changes(&render, machine, changes);
	text = render_finish(&render);
	if (!text)
		return fail_errno(-ENOMEM, q->verb);
	fputs(text, stdout);
	return EXIT_OK;
}

/* Puts the holders of the device into the layer that speaks of it. */
static int name_holders(const struct options *o, struct view *view)
{
	_cleanup_(holders_done) struct holders h = {.n = 0};
	_cleanup_free_ char *who = NULL;

	if (!holders_wanted(o) || holders_find(&h) < 0 || !(h.n + h.n_hidden))
		return EXIT_OK;
	who = holders_text(&h);
	for (uint32_t i = 0; who && i < view->n; i++)
		for (uint32_t j = 0; j < view->rows[i].n_layers; j++) {
			struct view_layer *layer = &view->rows[i].layers[j];
			char *text = NULL;

			if (!streq(layer->name, "cpu_dma_latency"))
				continue;
			if (asprintf(&text, "%s; open for writing in: %s", layer->text, who) < 0)
				return fail_errno(-ENOMEM, "explain");
			free(layer->text);
			layer->text = text;
		}
	return who ? EXIT_OK : fail_errno(-ENOMEM, "explain");
}

static int from_daemon(const struct question *q)
{
	_cleanup_(client_closep) struct client *c = NULL;
	struct view view = {0};
	int r;

	r = client_open(q->o, CLIENT_READS, &c);
	if (r == EXIT_OK)
		r = client_plan(c, q->cpus, streq(q->verb, "explain"), &view);
	if (r != EXIT_OK)
		return r;
	if (streq(q->verb, "explain"))
		r = name_holders(q->o, &view);
	if (r == EXIT_OK && option_given(q->o, OPTION_JSON))
		r = out_view(q->verb, &view, NULL, NULL);
	else if (r == EXIT_OK)
		r = show_text(q, &view, NULL, NULL);
	view_done(&view);
	return r;
}

static int show_offline(const struct question *q, struct offline *f, const struct view *view)
{
	struct changes changes = {0};
	int r = 0;

	if (q->changes)
		r = diff_make(f->plan, f->machine, LATENCY_NONE, &changes);
	if (r < 0)
		return fail_errno(r, "changes");
	if (option_given(q->o, OPTION_JSON)) {
		r = out_view(q->verb, view, &f->diags, q->changes ? &changes : NULL);
	} else {
		print_diags(&f->diags);
		r = show_text(q, view, f->machine, q->changes ? &changes : NULL);
	}
	changes_done(&changes);
	return r;
}

/* Errors of the policy are the answer then. */
static int show_errors(const struct question *q, const struct offline *f)
{
	int r = EXIT_OK;

	if (option_given(q->o, OPTION_JSON))
		r = out_view(q->verb, &(struct view){0}, &f->diags, NULL);
	else
		print_diags(&f->diags);
	return r == EXIT_OK ? EXIT_NOT_AS_ASKED : r;
}

static int from_files(const struct question *q)
{
	_cleanup_(offline_done) struct offline f = {0};
	unsigned flags = streq(q->verb, "explain") ? VIEW_LAYERS : 0;
	struct view view = {0};
	int r;

	r = offline_plan(q->o, NULL, &f);
	if (r != EXIT_OK)
		return r;
	if (!f.plan)
		return show_errors(q, &f);
	r = offline_view(&f, q->cpus, flags, &view);
	if (r == EXIT_OK)
		r = show_offline(q, &f, &view);
	view_done(&view);
	return r;
}

int cmd_plan(const struct options *o, _unused_ char **args, _unused_ int n)
{
	struct question q = {
		.o = o,
		.verb = "plan",
		.cpus = o->cpus,
		.changes = option_given(o, OPTION_CHANGES),
	};

	if (q.changes && (o->host || o->socket))
		return fail(EXIT_USAGE,
			    "--changes compares files with the host they are for; it does "
			    "not go with --host or --socket");
	return q.changes || offline_wanted(o) ? from_files(&q) : from_daemon(&q);
}

int cmd_explain(const struct options *o, char **args, _unused_ int n)
{
	struct question q = {.o = o, .verb = "explain", .cpus = args[0]};

	return offline_wanted(o) ? from_files(&q) : from_daemon(&q);
}
