/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <jansson.h>

#include <time.h>

#include "out.h"
#include "sysfs.h"
#include "text.h"

/* A document under construction. Any failure to build a part is remembered here. */
struct doc {
	json_t *root;
	bool failed;
};

static void doc_begin(struct doc *d, const char *verb)
{
	char schema[64];

	snprintf(schema, sizeof(schema), "cpuidled/%s/1", verb);
	*d = (struct doc){.root = json_object()};
	if (json_object_set_new(d->root, "schema", json_string(schema)) < 0)
		d->failed = true;
}

static int doc_finish(struct doc *d, size_t flags)
{
	int r = EXIT_OK;

	if (d->failed)
		r = fail_errno(-ENOMEM, "JSON");
	else if (json_dumpf(d->root, stdout, flags) < 0 || putchar('\n') == EOF)
		r = fail(EXIT_FAILED, "cannot write the answer: %s", strerror(errno));
	json_decref(d->root);
	return r;
}

static int doc_end(struct doc *d)
{
	return doc_finish(d, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
}

/* Takes value over; NULL is a failure. */
static void put(struct doc *d, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) < 0)
		d->failed = true;
}

static json_t *put_array(struct doc *d, json_t *object, const char *key)
{
	json_t *array = json_array();

	put(d, object, key, array);
	return array;
}

static json_t *add_object(struct doc *d, json_t *array)
{
	json_t *object = json_object();

	if (json_array_append_new(array, object) < 0)
		d->failed = true;
	return object;
}

/* Names and files may hold any bytes; JSON holds UTF-8. What is not becomes '?'. */
static json_t *string(const char *s)
{
	json_t *value = json_string(s);
	char *copy;

	if (value || !(copy = strdup(s)))
		return value;
	for (char *p = copy; *p; p++) {
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	}
	value = json_string(copy);
	free(copy);
	return value;
}

static json_t *string_or_null(const char *s)
{
	return s && *s ? string(s) : json_null();
}

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)MIN_OF(n, (uint64_t)INT64_MAX));
}

static json_t *latency(uint64_t ns)
{
	return ns == LATENCY_NONE ? json_null() : number(ns);
}

static json_t *words(struct doc *d, const struct client_words *w)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < w->n; i++) {
		if (json_array_append_new(array, string(w->v[i])) < 0)
			d->failed = true;
	}
	return array;
}

static void put_diags(struct doc *d, json_t *object, const struct diag_list *diags)
{
	json_t *array = put_array(d, object, "diagnostics");

	for (size_t i = 0; diags && i < diags->n; i++) {
		const struct diag *diag = &diags->items[i];
		json_t *item = add_object(d, array);

		put(d, item, "severity", string(diag_severity_name(diag->severity)));
		put(d, item, "file", string_or_null(diag->file));
		put(d, item, "line", diag->line ? number(diag->line) : json_null());
		put(d, item, "text", string(diag->text));
	}
}

struct sections {
	struct doc *d;
	json_t *array, *settings; /* settings of the section last seen */
};

static void begin_section(struct sections *s, const char *section)
{
	const char *blank = strchr(section, ' ');
	json_t *object = add_object(s->d, s->array);
	char kind[64];

	snprintf(kind, sizeof(kind), "%.*s",
		 (int)(blank ? (size_t)(blank - section) : strlen(section)), section);
	put(s->d, object, "section", string(kind));
	put(s->d, object, "name", string_or_null(blank ? blank + 1 : NULL));
	s->settings = put_array(s->d, object, "settings");
}

static int take_assignment(const struct text_assignment *a, void *userdata)
{
	struct sections *s = userdata;
	json_t *item;

	if (!a->key) {
		begin_section(s, a->section);
		return 0;
	}
	item = add_object(s->d, s->settings);
	put(s->d, item, "key", string(a->key));
	put(s->d, item, "value", string(a->value));
	return 0;
}

/* Policy text as a list of sections, in its own order and spelling. */
static void put_sections(struct doc *d, json_t *object, const char *key, const char *text)
{
	struct sections s = {.d = d};

	s.array = put_array(d, object, key);
	if (text_parse("policy", text, strlen(text), take_assignment, &s, NULL) < 0)
		d->failed = true;
}

static void put_holders(struct doc *d, json_t *array, const struct holders *holders)
{
	for (uint32_t i = 0; i < holders->n; i++) {
		json_t *item = add_object(d, array);

		put(d, item, "pid", number(holders->v[i].pid));
		put(d, item, "name", string(holders->v[i].name));
		put(d, item, "unit", string_or_null(holders->v[i].unit));
	}
}

int out_status(const struct client_status *s, const struct holders *holders)
{
	struct doc d;

	doc_begin(&d, "status");
	put(&d, d.root, "version", string(s->version));
	put(&d, d.root, "state", string(s->state));
	put(&d, d.root, "generation", number(s->generation));
	put(&d, d.root, "backends", words(&d, &s->backends));
	put(&d, d.root, "policy_files", words(&d, &s->policy_files));
	put(&d, d.root, "last_error", string_or_null(s->last_error));
	put(&d, d.root, "on_foreign_write", string(s->on_foreign_write));
	put(&d, d.root, "foreign_writes", number(s->foreign_writes));
	put(&d, d.root, "cpus", number(s->cpus));
	put(&d, d.root, "cpus_online", number(s->cpus_online));
	put(&d, d.root, "holds", number(s->holds));
	put_holders(&d, put_array(&d, d.root, "cpu_dma_latency_holders"), holders);
	put(&d, d.root, "driver", string(s->driver));
	put(&d, d.root, "governor", string(s->governor));
	put(&d, d.root, "module", string_or_null(s->module));
	put(&d, d.root, "umwait", string_or_null(s->umwait));
	put(&d, d.root, "workloads", string_or_null(s->workloads));
	put(&d, d.root, "adapt", string_or_null(s->adapt));
	put(&d, d.root, "guard", string_or_null(s->guard));
	put_sections(&d, d.root, "run_time_settings", s->settings);
	return doc_end(&d);
}

int out_policy(const char *text, const struct diag_list *diags)
{
	struct doc d;

	doc_begin(&d, "show");
	put_sections(&d, d.root, "sections", text);
	put_diags(&d, d.root, diags);
	return doc_end(&d);
}

int out_profiles(const struct listing *l, const struct diag_list *diags)
{
	struct doc d;
	json_t *profiles;

	doc_begin(&d, "list-profiles");
	profiles = put_array(&d, d.root, "profiles");
	for (uint32_t i = 0; i < l->n; i++) {
		const struct listing_profile *p = &l->profiles[i];
		json_t *item = add_object(&d, profiles), *settings;

		put(&d, item, "name", string(p->name));
		put(&d, item, "description", string(p->description));
		put(&d, item, "base", string_or_null(p->base));
		put(&d, item, "latency_limit_ns", latency(p->limit_ns));
		settings = put_array(&d, item, "settings");
		for (uint32_t k = 0; k < p->n_keys; k++) {
			json_t *setting = add_object(&d, settings);

			put(&d, setting, "key", string(p->keys[k].key));
			put(&d, setting, "value", string(p->keys[k].value));
		}
	}
	put_diags(&d, d.root, diags);
	return doc_end(&d);
}

int out_findings(const struct client_findings *f, bool ok)
{
	struct doc d;
	json_t *findings;

	doc_begin(&d, "verify");
	put(&d, d.root, "ok", json_boolean(ok));
	findings = put_array(&d, d.root, "findings");
	for (uint32_t i = 0; i < f->n; i++) {
		json_t *item = add_object(&d, findings);

		put(&d, item, "cpus", string(f->v[i].cpus));
		put(&d, item, "result", string(f->v[i].result));
		put(&d, item, "knob", string(f->v[i].knob));
		put(&d, item, "detail", string(f->v[i].detail));
	}
	return doc_end(&d);
}

int out_change(const char *verb, bool applied, const struct diag_list *diags)
{
	struct doc d;

	doc_begin(&d, verb);
	put(&d, d.root, "result", string(applied ? "applied" : "refused"));
	put_diags(&d, d.root, diags);
	return doc_end(&d);
}

static void put_states(struct doc *d, json_t *row, const struct view_row *r)
{
	json_t *array = put_array(d, row, "states");

	for (uint32_t i = 0; i < r->n_states; i++) {
		const struct view_state *s = &r->states[i];
		json_t *item = add_object(d, array);

		put(d, item, "index", number(s->index));
		put(d, item, "name", string(s->name));
		put(d, item, "exit_latency_ns", number(s->exit_latency_ns));
		put(d, item, "target_residency_ns", number(s->target_residency_ns));
		put(d, item, "class", string(s->class));
		put(d, item, "enabled", json_boolean(s->enabled));
		put(d, item, "reason", string(s->reason));
	}
}

static void put_modes(struct doc *d, json_t *row, const struct view_row *r)
{
	json_t *modes = json_object();

	put(d, row, "modes", modes);
	for (uint32_t i = 0; i < r->n_modes; i++) {
		const struct view_mode *m = &r->modes[i];
		json_t *item = json_object();

		put(d, modes, m->name, item);
		put(d, item, "requested", string(m->requested));
		put(d, item, "effective", string(m->effective));
		put(d, item, "reason", string(m->reason));
	}
}

static void put_layers(struct doc *d, json_t *row, const struct view_row *r)
{
	json_t *array = put_array(d, row, "layers");

	for (uint32_t i = 0; i < r->n_layers; i++) {
		json_t *item = add_object(d, array);

		put(d, item, "name", string(r->layers[i].name));
		put(d, item, "text", string(r->layers[i].text));
	}
}

static void put_rows(struct doc *d, const struct view *view, bool layers)
{
	json_t *rows = put_array(d, d->root, "rows");

	for (uint32_t i = 0; i < view->n; i++) {
		const struct view_row *r = &view->rows[i];
		json_t *row = add_object(d, rows);

		put(d, row, "cpus", string(r->cpus));
		put(d, row, "online", json_boolean(r->online));
		put(d, row, "profile", string_or_null(r->profile));
		put(d, row, "latency_limit_ns", latency(r->limit_ns));
		put(d, row, "policy_limit_ns", latency(r->policy_limit_ns));
		put(d, row, "others_limit_ns", latency(r->others_limit_ns));
		put(d, row, "limit_source", string(r->limit_source));
		put_states(d, row, r);
		put_modes(d, row, r);
		if (layers)
			put_layers(d, row, r);
	}
}

static void put_change(struct doc *d, json_t *item, const struct change *c)
{
	char path[128], knob[32] = "pm_qos_resume_latency_us";
	bool is_latency = true;

	switch ((enum knob_kind)c->kind) {
	case KNOB_QOS:
		(void)sysfs_qos_path(c->cpu, path, sizeof(path));
		break;
	case KNOB_DISABLE:
		snprintf(knob, sizeof(knob), "state%u/disable",
			 machine_file_of(c->own_row, c->state));
		(void)sysfs_disable_path(c->cpu, machine_file_of(c->own_row, c->state), path,
					 sizeof(path));
		is_latency = false;
		break;
	case KNOB_GLOBAL:
		snprintf(knob, sizeof(knob), "cpu_dma_latency");
		snprintf(path, sizeof(path), "dev/cpu_dma_latency");
		break;
	case KNOB_HOST:
		(void)sysfs_knob_path(c->state, path, sizeof(path));
		snprintf(knob, sizeof(knob), "%s", strrchr(path, '/') + 1);
		is_latency = false;
		break;
	}
	put(d, item, "file", string(path));
	put(d, item, "knob", string(knob));
	put(d, item, "cpu", knob_is_of_cpu(c->kind) ? number(c->cpu) : json_null());
	put(d, item, "from", is_latency ? latency(c->from) : number(c->from));
	put(d, item, "to", is_latency ? latency(c->to) : number(c->to));
	put(d, item, "loosens", json_boolean(change_loosens(c)));
}

int out_view(const char *verb, const struct view *view, const struct diag_list *diags,
	     const struct changes *changes)
{
	struct doc d;
	json_t *array;

	doc_begin(&d, verb);
	put_rows(&d, view, streq(verb, "explain"));
	if (changes) {
		array = put_array(&d, d.root, "changes");
		for (uint32_t i = 0; i < changes->n; i++)
			put_change(&d, add_object(&d, array), &changes->v[i]);
	}
	put_diags(&d, d.root, diags);
	return doc_end(&d);
}

int out_checked(const struct out_checked *v, uint32_t n, bool ok)
{
	struct doc d;
	json_t *files;

	doc_begin(&d, "check");
	put(&d, d.root, "ok", json_boolean(ok));
	files = put_array(&d, d.root, "files");
	for (uint32_t i = 0; i < n; i++) {
		json_t *item = add_object(&d, files);

		put(&d, item, "file", string_or_null(v[i].file));
		put(&d, item, "ok", json_boolean(v[i].ok));
		put(&d, item, "errors", number(v[i].diags.n_errors));
		put(&d, item, "warnings", number(v[i].diags.n_warnings));
		put_diags(&d, item, &v[i].diags);
	}
	return doc_end(&d);
}

int out_import(const char *text, const struct diag_list *diags)
{
	struct doc d;

	doc_begin(&d, "import");
	put(&d, d.root, "ok", json_boolean(text != NULL));
	put(&d, d.root, "text", string_or_null(text));
	put_diags(&d, d.root, diags);
	return doc_end(&d);
}

/* "2026-11-30T17:25:03.000001Z"; buf has 48 bytes. */
static const char *stamp_of(uint64_t realtime_us, char *buf)
{
	time_t seconds = (time_t)(realtime_us / 1000000);
	char day[32];
	struct tm tm;

	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &tm));
	snprintf(buf, 48, "%s.%06uZ", day, (unsigned)(realtime_us % 1000000));
	return buf;
}

static int out_id(const char *verb, uint32_t id)
{
	struct doc d;

	doc_begin(&d, verb);
	put(&d, d.root, "id", number(id));
	return doc_end(&d);
}

int out_hold(uint32_t id)
{
	return out_id("hold", id);
}

int out_released(uint32_t id)
{
	return out_id("release", id);
}

static void put_held(struct doc *d, json_t *item, const struct client_held *h)
{
	char stamp[48];

	put(d, item, "id", number(h->id));
	put(d, item, "cpus", string(h->cpus));
	put(d, item, "limit_ns", latency(h->limit_ns));
	put(d, item, "profile", string_or_null(h->profile));
	put(d, item, "modes", string_or_null(h->modes));
	put(d, item, "owner", string(h->app));
	put(d, item, "pid", h->pid ? number(h->pid) : json_null());
	put(d, item, "uid", number(h->uid));
	put(d, item, "unit", string_or_null(h->unit));
	put(d, item, "reason", string_or_null(h->reason));
	put(d, item, "since", string(stamp_of(h->since_us, stamp)));
	put(d, item, "left_us", h->left_us == UINT64_MAX ? json_null() : number(h->left_us));
}

int out_holds(const struct client_holds *h)
{
	struct doc d;
	json_t *array;

	doc_begin(&d, "list-holds");
	array = put_array(&d, d.root, "holds");
	for (uint32_t i = 0; i < h->n; i++)
		put_held(&d, add_object(&d, array), &h->v[i]);
	return doc_end(&d);
}

static void put_result(struct doc *d, json_t *array, const struct simulation *s,
		       enum simulate_who who)
{
	const struct simulate_result *r = &s->who[who];
	json_t *item = add_object(d, array);

	put(d, item, "who", string(simulate_name(who)));
	put(d, item, "wakes", number(r->wakes));
	put(d, item, "over_limit", number(r->over_limit));
	put(d, item, "too_deep", number(r->too_deep));
	put(d, item, "too_shallow", number(r->too_shallow));
	put(d, item, "p99_ns", number(r->p99_ns));
	put(d, item, "longest_ns", number(r->longest_ns));
	put(d, item, "energy_us", json_real(r->energy_us));
}

int out_simulation(const struct simulation *s, const struct diag_list *diags)
{
	struct doc d;
	json_t *results;

	doc_begin(&d, "simulate");
	put(&d, d.root, "cpus", number(s->n_cpus));
	put(&d, d.root, "span_ns", number(s->span_ns));
	put(&d, d.root, "idle_ns", number(s->idle_ns));
	put(&d, d.root, "adapt_spells", number(s->spells));
	put(&d, d.root, "adapt_late", number(s->late));
	put(&d, d.root, "guard_vetoes", number(s->vetoes));
	put(&d, d.root, "plan_changes", number(s->changes));
	put(&d, d.root, "causal_us", json_real(s->causal_us));
	results = put_array(&d, d.root, "results");
	for (int who = 0; who < SIMULATE_N; who++)
		put_result(&d, results, s, (enum simulate_who)who);
	put_diags(&d, d.root, diags);
	return doc_end(&d);
}

int out_event(uint64_t realtime_us, const char *what, const char *detail, const char *why)
{
	struct doc d;
	char stamp[48];

	doc_begin(&d, "monitor");
	put(&d, d.root, "time", string(stamp_of(realtime_us, stamp)));
	put(&d, d.root, "what", string(what));
	put(&d, d.root, "detail", string(detail));
	put(&d, d.root, "why", string(why));
	return doc_finish(&d, JSON_COMPACT);
}
