/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-bus.h>

#include "decode.h"
#include "protocol.h"

/* Room for one more item at the end of a growing array, zeroed. */
static void *one_more(void *array, uint32_t *n, size_t size)
{
	char *bigger = array;

	/* Doubling at each power of two: the size is known from n alone. */
	if ((*n & (*n - 1)) == 0) {
		bigger = realloc(array, (*n ? *n * (size_t)2 : 1) * size);
		if (!bigger)
			return NULL;
	}
	memset(bigger + *n * size, 0, size);
	(*n)++;
	return bigger;
}

/* Grows array by one and points item at the new one; the owner's array stays valid on failure. */
#define APPEND(array, n, item)                                                         \
	({                                                                             \
		__typeof__(array) _bigger = one_more((array), &(n), sizeof(*(array))); \
		if (_bigger) {                                                         \
			(array) = _bigger;                                             \
			(item) = &_bigger[(n)-1];                                      \
		}                                                                      \
		_bigger ? 0 : -ENOMEM;                                                 \
	})

static int dup_string(sd_bus_message *m, char **ret)
{
	const char *s;
	int r;

	r = sd_bus_message_read_basic(m, 's', &s);
	if (r <= 0)
		return r < 0 ? r : -ENXIO;
	*ret = strdup(s);
	return *ret ? 0 : -ENOMEM;
}

static int dup_strings(sd_bus_message *m, char **const *targets, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = dup_string(m, targets[i]);
	return r;
}

/*
 * Walks an array of structs: calls item for each with the container entered. userdata is what the items
 * are collected in.
 */
typedef int (*item_fn)(sd_bus_message *m, void *userdata);

static int for_each_struct(sd_bus_message *m, const char *contents, item_fn item, void *userdata)
{
	char array[256];
	int r;

	snprintf(array, sizeof(array), "(%s)", contents);
	r = sd_bus_message_enter_container(m, 'a', array);
	if (r <= 0)
		return r < 0 ? r : -ENXIO;
	while ((r = sd_bus_message_enter_container(m, 'r', contents)) > 0) {
		r = item(m, userdata);
		if (r < 0)
			return r;
		r = sd_bus_message_exit_container(m);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	return sd_bus_message_exit_container(m);
}

static int take_state(sd_bus_message *m, void *userdata)
{
	struct view_row *row = userdata;
	struct view_state *s;
	int enabled, r;

	r = APPEND(row->states, row->n_states, s);
	if (r < 0)
		return r;
	r = sd_bus_message_read_basic(m, 'u', &s->index);
	if (r > 0)
		r = dup_string(m, &s->name);
	if (r < 0)
		return r;
	r = sd_bus_message_read(m, "tt", &s->exit_latency_ns, &s->target_residency_ns);
	if (r < 0)
		return r;
	r = dup_string(m, &s->class);
	if (r < 0)
		return r;
	r = sd_bus_message_read_basic(m, 'b', &enabled);
	if (r < 0)
		return r;
	s->enabled = enabled != 0;
	return dup_string(m, &s->reason);
}

static int take_mode(sd_bus_message *m, void *userdata)
{
	struct view_row *row = userdata;
	struct view_mode *mode;
	int r;

	r = APPEND(row->modes, row->n_modes, mode);
	if (r < 0)
		return r;
	return dup_strings(
		m, (char **const[]){&mode->name, &mode->requested, &mode->effective, &mode->reason},
		4);
}

static int take_layer(sd_bus_message *m, void *userdata)
{
	struct view_row *row = userdata;
	struct view_layer *layer;
	int r;

	r = APPEND(row->layers, row->n_layers, layer);
	if (r < 0)
		return r;
	return dup_strings(m, (char **const[]){&layer->name, &layer->text}, 2);
}

static int take_row(sd_bus_message *m, void *userdata)
{
	struct view *v = userdata;
	struct view_row *row;
	int online, r;

	r = APPEND(v->rows, v->n, row);
	if (r < 0)
		return r;
	r = dup_strings(m, (char **const[]){&row->cpus, &row->profile, &row->limit_source}, 3);
	if (r < 0)
		return r;
	r = sd_bus_message_read(m, "bttt", &online, &row->limit_ns, &row->policy_limit_ns,
				&row->others_limit_ns);
	if (r < 0)
		return r;
	row->online = online;
	r = for_each_struct(m, PROTOCOL_STATE_FIELDS, take_state, row);
	if (r >= 0)
		r = for_each_struct(m, PROTOCOL_MODE_FIELDS, take_mode, row);
	if (r >= 0)
		r = for_each_struct(m, PROTOCOL_LAYER_FIELDS, take_layer, row);
	return r;
}

int decode_view(sd_bus_message *m, struct view *ret)
{
	struct view v = {0};
	int r;

	r = for_each_struct(m, PROTOCOL_ROW_FIELDS, take_row, &v);
	if (r < 0) {
		view_done(&v);
		return r;
	}
	*ret = v;
	return 0;
}

static int take_diag(sd_bus_message *m, void *userdata)
{
	static const enum diag_severity severities[] = {DIAG_ERROR, DIAG_WARNING, DIAG_INFO};
	const char *severity, *file, *text;
	enum diag_severity s = DIAG_INFO;
	uint32_t line;
	int r;

	r = sd_bus_message_read(m, PROTOCOL_DIAG_FIELDS, &severity, &file, &line, &text);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(severities); i++) {
		if (streq(severity, diag_severity_name(severities[i])))
			s = severities[i];
	}
	diag_add(userdata, s, *file ? file : NULL, line, "%s", text);
	return 0;
}

int decode_diags(sd_bus_message *m, struct diag_list *diags)
{
	return for_each_struct(m, PROTOCOL_DIAG_FIELDS, take_diag, diags);
}

static int take_finding(sd_bus_message *m, void *userdata)
{
	struct client_findings *findings = userdata;
	struct client_finding *f;
	int r;

	r = APPEND(findings->v, findings->n, f);
	if (r < 0)
		return r;
	return dup_strings(m, (char **const[]){&f->cpus, &f->result, &f->knob, &f->detail}, 4);
}

int decode_findings(sd_bus_message *m, struct client_findings *ret)
{
	struct client_findings findings = {0};
	int r;

	r = for_each_struct(m, PROTOCOL_FINDING_FIELDS, take_finding, &findings);
	if (r < 0) {
		client_findings_done(&findings);
		return r;
	}
	*ret = findings;
	return 0;
}

void client_findings_done(struct client_findings *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		free(f->v[i].cpus);
		free(f->v[i].result);
		free(f->v[i].knob);
		free(f->v[i].detail);
	}
	free(f->v);
	*f = (struct client_findings){0};
}

static int take_hold(sd_bus_message *m, void *userdata)
{
	struct client_holds *holds = userdata;
	struct client_held *h;
	int r;

	r = APPEND(holds->v, holds->n, h);
	if (r >= 0)
		r = sd_bus_message_read_basic(m, 'u', &h->id);
	if (r >= 0)
		r = dup_string(m, &h->app);
	if (r >= 0)
		r = sd_bus_message_read(m, "uu", &h->pid, &h->uid);
	if (r >= 0)
		r = dup_strings(m, (char **const[]){&h->unit, &h->reason}, 2);
	if (r >= 0)
		r = sd_bus_message_read_basic(m, 't', &h->since_us);
	if (r >= 0)
		r = dup_string(m, &h->cpus);
	if (r >= 0)
		r = sd_bus_message_read_basic(m, 't', &h->limit_ns);
	if (r >= 0)
		r = dup_strings(m, (char **const[]){&h->profile, &h->modes}, 2);
	if (r >= 0)
		r = sd_bus_message_read_basic(m, 't', &h->left_us);
	return r < 0 ? r : 0;
}

int decode_holds(sd_bus_message *m, struct client_holds *ret)
{
	struct client_holds holds = {0};
	int r;

	r = for_each_struct(m, PROTOCOL_HOLD_FIELDS, take_hold, &holds);
	if (r < 0) {
		client_holds_done(&holds);
		return r;
	}
	*ret = holds;
	return 0;
}

void client_holds_done(struct client_holds *h)
{
	for (uint32_t i = 0; i < h->n; i++) {
		free(h->v[i].app);
		free(h->v[i].unit);
		free(h->v[i].reason);
		free(h->v[i].cpus);
		free(h->v[i].profile);
		free(h->v[i].modes);
	}
	free(h->v);
	*h = (struct client_holds){0};
}

static int take_key(sd_bus_message *m, struct listing_profile *p)
{
	struct listing_key *key;
	int r;

	r = APPEND(p->keys, p->n_keys, key);
	if (r < 0)
		return r;
	return dup_strings(m, (char **const[]){&key->key, &key->value}, 2);
}

static int take_keys(sd_bus_message *m, struct listing_profile *p)
{
	int r;

	r = sd_bus_message_enter_container(m, 'a', "{ss}");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_enter_container(m, 'e', "ss")) > 0) {
		r = take_key(m, p);
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int take_profile(sd_bus_message *m, void *userdata)
{
	struct listing *l = userdata;
	struct listing_profile *p;
	int r;

	r = APPEND(l->profiles, l->n, p);
	if (r < 0)
		return r;
	r = dup_strings(m, (char **const[]){&p->name, &p->description, &p->base}, 3);
	if (r < 0)
		return r;
	r = sd_bus_message_read_basic(m, 't', &p->limit_ns);
	return r < 0 ? r : take_keys(m, p);
}

int decode_profiles(sd_bus_message *m, struct listing *ret)
{
	struct listing l = {0};
	int r;

	r = for_each_struct(m, PROTOCOL_PROFILE_FIELDS, take_profile, &l);
	if (r < 0) {
		listing_done(&l);
		return r;
	}
	*ret = l;
	return 0;
}

/* Where a value of GetStatus goes, by its name. */
struct status_field {
	const char *name;
	char type; /* 's', 't', 'u', or 'a' for a list of strings */
	size_t offset;
};

#define FIELD(name, type, member)                                  \
	{                                                          \
		name, type, offsetof(struct client_status, member) \
	}

static const struct status_field status_fields[] = {
	FIELD("Version", 's', version),
	FIELD("State", 's', state),
	FIELD("LastError", 's', last_error),
	FIELD("OnForeignWrite", 's', on_foreign_write),
	FIELD(PROTOCOL_STATUS_DRIVER, 's', driver),
	FIELD(PROTOCOL_STATUS_GOVERNOR, 's', governor),
	FIELD(PROTOCOL_STATUS_MODULE, 's', module),
	FIELD(PROTOCOL_STATUS_UMWAIT, 's', umwait),
	FIELD(PROTOCOL_STATUS_ADAPT, 's', adapt),
	FIELD(PROTOCOL_STATUS_GUARD, 's', guard),
	FIELD(PROTOCOL_STATUS_WORKLOADS, 's', workloads),
	FIELD(PROTOCOL_STATUS_SETTINGS, 's', settings),
	FIELD("Generation", 't', generation),
	FIELD("ForeignWrites", 't', foreign_writes),
	FIELD(PROTOCOL_STATUS_CPUS, 'u', cpus),
	FIELD(PROTOCOL_STATUS_ONLINE, 'u', cpus_online),
	FIELD(PROTOCOL_STATUS_HOLDS, 'u', holds),
	FIELD("Backends", 'a', backends),
	FIELD("PolicyFiles", 'a', policy_files),
};

static int read_words(sd_bus_message *m, struct client_words *words)
{
	const char *s;
	int r;

	r = sd_bus_message_enter_container(m, 'a', "s");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_read_basic(m, 's', &s)) > 0) {
		char **word;

		r = APPEND(words->v, words->n, word);
		if (r < 0)
			return r;
		*word = strdup(s);
		if (!*word)
			return -ENOMEM;
	}
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int read_text(sd_bus_message *m, char **text)
{
	free(*text);
	*text = NULL;
	return dup_string(m, text);
}

static int read_value(sd_bus_message *m, const struct status_field *f, struct client_status *s)
{
	char signature[3] = {f->type, f->type == 'a' ? 's' : '\0', '\0'};
	void *target = (char *)s + f->offset;
	int r;

	r = sd_bus_message_enter_container(m, 'v', signature);
	if (r < 0)
		return r;
	if (f->type == 's')
		r = read_text(m, target);
	else if (f->type == 'a')
		r = read_words(m, target);
	else
		r = sd_bus_message_read_basic(m, f->type, target);
	return r < 0 ? r : sd_bus_message_exit_container(m);
}

static int read_entry(sd_bus_message *m, struct client_status *s)
{
	const char *name;
	int r;

	r = sd_bus_message_read_basic(m, 's', &name);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(status_fields); i++) {
		if (streq(status_fields[i].name, name))
			return read_value(m, &status_fields[i], s);
	}
	return sd_bus_message_skip(m, "v"); /* a newer daemon knows more */
}

static int read_status(sd_bus_message *m, struct client_status *s)
{
	int r;

	r = sd_bus_message_enter_container(m, 'a', "{sv}");
	if (r <= 0)
		return r < 0 ? r : -ENXIO;
	while ((r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
		r = read_entry(m, s);
		if (r >= 0)
			r = sd_bus_message_exit_container(m);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(status_fields); i++) {
		char **text = (char **)((char *)s + status_fields[i].offset);

		if (status_fields[i].type == 's' && !*text && !(*text = strdup("")))
			return -ENOMEM;
	}
	return 0;
}

int decode_status(sd_bus_message *m, struct client_status *ret)
{
	struct client_status s = {0};
	int r;

	r = read_status(m, &s);
	if (r < 0) {
		client_status_done(&s);
		return r;
	}
	*ret = s;
	return 0;
}

static void free_words(struct client_words *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
}

void client_status_done(struct client_status *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(status_fields); i++) {
		if (status_fields[i].type == 's')
			free(*(char **)((char *)s + status_fields[i].offset));
	}
	free_words(&s->backends);
	free_words(&s->policy_files);
	*s = (struct client_status){0};
}
