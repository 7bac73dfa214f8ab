/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <systemd/sd-bus.h>

#include "hold-text.h"
#include "message.h"
#include "protocol.h"

/* D-Bus has no NULL string. */
static const char *text(const char *s)
{
	return s ? s : "";
}

/*
 * Strings of files and kernel may hold any bytes, D-Bus strings are UTF-8: sd-bus refuses the rest with
 * -EINVAL. The whole answer must not fail for one odd byte, so it is shown as '?'.
 */
static int append_string(sd_bus_message *m, const char *s)
{
	char *copy;
	int r;

	r = sd_bus_message_append_basic(m, 's', text(s));
	if (r != -EINVAL || !s)
		return r;
	copy = strdup(s);
	if (!copy)
		return -ENOMEM;
	for (char *p = copy; *p; p++) {
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	}
	r = sd_bus_message_append_basic(m, 's', copy);
	free(copy);
	return r;
}

static int append_strings(sd_bus_message *m, const char *const *strings, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++)
		r = append_string(m, strings[i]);
	return r;
}

#define APPEND_STRINGS(m, ...)                                  \
	append_strings((m), (const char *const[]){__VA_ARGS__}, \
		       ARRAY_SIZE(((const char *const[]){__VA_ARGS__})))

static int append_state(sd_bus_message *m, const struct view_state *s)
{
	int r;

	r = sd_bus_message_open_container(m, 'r', PROTOCOL_STATE_FIELDS);
	if (r >= 0)
		r = sd_bus_message_append(m, "u", s->index);
	if (r >= 0)
		r = append_string(m, s->name);
	if (r >= 0)
		r = sd_bus_message_append(m, "tt", s->exit_latency_ns, s->target_residency_ns);
	if (r >= 0)
		r = append_string(m, s->class);
	if (r >= 0)
		r = sd_bus_message_append(m, "b", (int)s->enabled);
	if (r >= 0)
		r = append_string(m, s->reason);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_states(sd_bus_message *m, const struct view_row *row)
{
	int r;

	r = sd_bus_message_open_container(m, 'a', "(" PROTOCOL_STATE_FIELDS ")");
	for (uint32_t i = 0; i < row->n_states && r >= 0; i++)
		r = append_state(m, &row->states[i]);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

/* A struct of nothing but strings. */
static int append_struct(sd_bus_message *m, const char *fields, const char *const *strings)
{
	int r;

	r = sd_bus_message_open_container(m, 'r', fields);
	if (r >= 0)
		r = append_strings(m, strings, strlen(fields));
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_modes(sd_bus_message *m, const struct view_row *row)
{
	int r;

	r = sd_bus_message_open_container(m, 'a', "(" PROTOCOL_MODE_FIELDS ")");
	for (uint32_t i = 0; i < row->n_modes && r >= 0; i++) {
		const struct view_mode *v = &row->modes[i];

		r = append_struct(m, PROTOCOL_MODE_FIELDS,
				  (const char *const[]){v->name, v->requested, v->effective,
							v->reason});
	}
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_layers(sd_bus_message *m, const struct view_row *row)
{
	int r;

	r = sd_bus_message_open_container(m, 'a', "(" PROTOCOL_LAYER_FIELDS ")");
	for (uint32_t i = 0; i < row->n_layers && r >= 0; i++)
		r = append_struct(m, PROTOCOL_LAYER_FIELDS,
				  (const char *const[]){row->layers[i].name, row->layers[i].text});
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_row(sd_bus_message *m, const struct view_row *row)
{
	int r;

	r = sd_bus_message_open_container(m, 'r', PROTOCOL_ROW_FIELDS);
	if (r >= 0)
		r = APPEND_STRINGS(m, row->cpus, row->profile, row->limit_source);
	if (r >= 0)
		r = sd_bus_message_append(m, "bttt", (int)row->online, row->limit_ns,
					  row->policy_limit_ns, row->others_limit_ns);
	if (r >= 0)
		r = append_states(m, row);
	if (r >= 0)
		r = append_modes(m, row);
	if (r >= 0)
		r = append_layers(m, row);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

int message_append_view(sd_bus_message *m, const struct view *view)
{
	int r;

	r = sd_bus_message_open_container(m, 'a', "(" PROTOCOL_ROW_FIELDS ")");
	for (uint32_t i = 0; i < view->n && r >= 0; i++)
		r = append_row(m, &view->rows[i]);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_diag(sd_bus_message *m, const struct diag *d)
{
	int r;

	r = sd_bus_message_open_container(m, 'r', PROTOCOL_DIAG_FIELDS);
	if (r >= 0)
		r = APPEND_STRINGS(m, diag_severity_name(d->severity), d->file);
	if (r >= 0)
		r = sd_bus_message_append(m, "u", d->line);
	if (r >= 0)
		r = append_string(m, d->text);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

int message_append_diags(sd_bus_message *m, const struct diag_list *diags)
{
	int r;

	r = sd_bus_message_open_container(m, 'a', "(" PROTOCOL_DIAG_FIELDS ")");
	for (size_t i = 0; i < diags->n && r >= 0; i++)
		r = append_diag(m, &diags->items[i]);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_keys(sd_bus_message *m, const struct listing_profile *p)
{
	int r;

	r = sd_bus_message_open_container(m, 'a', "{ss}");
	for (uint32_t i = 0; i < p->n_keys && r >= 0; i++) {
		r = sd_bus_message_open_container(m, 'e', "ss");
		if (r >= 0)
			r = APPEND_STRINGS(m, p->keys[i].key, p->keys[i].value);
		if (r >= 0)
			r = sd_bus_message_close_container(m);
	}
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_profile(sd_bus_message *m, const struct listing_profile *p)
{
	int r;

	r = sd_bus_message_open_container(m, 'r', PROTOCOL_PROFILE_FIELDS);
	if (r >= 0)
		r = APPEND_STRINGS(m, p->name, p->description, p->base);
	if (r >= 0)
		r = sd_bus_message_append(m, "t", p->limit_ns);
	if (r >= 0)
		r = append_keys(m, p);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

int message_append_profiles(sd_bus_message *m, const struct listing *l)
{
	int r;

	r = sd_bus_message_open_container(m, 'a', "(" PROTOCOL_PROFILE_FIELDS ")");
	for (uint32_t i = 0; i < l->n && r >= 0; i++)
		r = append_profile(m, &l->profiles[i]);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

int message_append_findings(sd_bus_message *m, const struct finding *f, uint32_t n)
{
	int r;

	r = sd_bus_message_open_container(m, 'a', "(" PROTOCOL_FINDING_FIELDS ")");
	for (uint32_t i = 0; i < n && r >= 0; i++)
		r = append_struct(m, PROTOCOL_FINDING_FIELDS,
				  (const char *const[]){f[i].cpus, f[i].result, f[i].knob,
							f[i].detail});
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_hold_text(sd_bus_message *m, const struct holds *h, const struct hold *hold)
{
	const struct hold_ask *ask = hold_ask(h, hold);
	_cleanup_free_ char *modes = NULL;
	struct buf b = {.n = 0};
	int r;

	if (ask)
		hold_put_modes(&b, &ask->modes);
	modes = buf_finish(&b);
	if (!modes)
		return -ENOMEM;
	r = append_string(m, ask ? ask->profile : NULL);
	return r < 0 ? r : append_string(m, modes);
}

static int append_hold(sd_bus_message *m, const struct holds *h, const struct hold *hold,
		       uint64_t now_us)
{
	_cleanup_free_ char *cpus = cpuset_to_string(hold_cpus(h, hold));
	uint64_t left = UINT64_MAX;
	int r = cpus ? sd_bus_message_open_container(m, 'r', PROTOCOL_HOLD_FIELDS) : -ENOMEM;

	if (hold->until_us)
		left = hold->until_us > now_us ? hold->until_us - now_us : 0;
	if (r >= 0)
		r = sd_bus_message_append(m, "u", hold->id);
	if (r >= 0)
		r = append_string(m, hold_app(hold));
	if (r >= 0)
		r = sd_bus_message_append(m, "uu", hold->owner->pid, hold->owner->uid);
	if (r >= 0)
		r = APPEND_STRINGS(m, hold->owner->unit, hold_reason(hold));
	if (r >= 0)
		r = sd_bus_message_append(m, "tst", hold->since_us, cpus, hold->limit_ns);
	if (r >= 0)
		r = append_hold_text(m, h, hold);
	if (r >= 0)
		r = sd_bus_message_append(m, "t", left);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

int message_append_holds(sd_bus_message *m, const struct holds *h, uint64_t now_us)
{
	struct hold **v = holds_sorted(h);
	int r = v || !h->n ? sd_bus_message_open_container(m, 'a', "(" PROTOCOL_HOLD_FIELDS ")")
			   : -ENOMEM;

	for (uint32_t i = 0; i < h->n && r >= 0; i++)
		r = append_hold(m, h, v[i], now_us);
	free(v);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

int message_append_words(sd_bus_message *m, char *const *words, uint32_t n)
{
	int r;

	r = sd_bus_message_open_container(m, 'a', "s");
	for (uint32_t i = 0; i < n && r >= 0; i++)
		r = append_string(m, words[i]);
	return r < 0 ? r : sd_bus_message_close_container(m);
}
