/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import.h"

#include "text.h"
#include "units.h"

#define VALUE_MAX     512U
#define VARIABLES_MAX 64U

struct ini {
	struct importer *im;
	enum import_format format;
	struct {
		char *name, *value;
	} variables[VARIABLES_MAX];
	uint32_t n_variables;
	bool devices; /* [cpu] devices= narrows what follows */
};

/* Either a limit, or why there is none in it. */
struct found {
	uint64_t ns;
	const char *why; /* NULL: all of the value is kept */
	bool any;
};

static int remember(struct ini *ini, const struct text_assignment *a)
{
	uint32_t i = ini->n_variables;

	if (i == VARIABLES_MAX)
		return 0;
	ini->variables[i].name = strdup(a->key);
	ini->variables[i].value = strdup(a->value);
	ini->n_variables++;
	return ini->variables[i].name && ini->variables[i].value ? 0 : -ENOMEM;
}

/* Puts the variables of the file in place of ${name}; others stay as they are. */
static void expand(const struct ini *ini, const char *value, char out[static VALUE_MAX])
{
	struct buf b = {.n = 0};
	char *made;

	for (const char *p = value; *p; p++) {
		size_t n = p[0] == '$' && p[1] == '{' ? strcspn(p, "}") : 0;
		const char *known = NULL;

		for (uint32_t i = 0; n > 2 && i < ini->n_variables; i++)
			if (strlen(ini->variables[i].name) == n - 2 &&
			    strncmp(ini->variables[i].name, p + 2, n - 2) == 0)
				known = ini->variables[i].value;
		if (known && p[n] == '}') {
			buf_puts(&b, known);
			p += n;
		} else {
			buf_add(&b, p, 1);
		}
	}
	made = buf_finish(&b);
	snprintf(out, VALUE_MAX, "%s", made ? made : value);
	free(made);
}

/* One alternative. 0, -ENODATA: not a number but something known, -EINVAL: nothing that can be meant. */
static int read_one(const char *word, bool per_cpu, struct found *f)
{
	uint64_t us;
	int r;

	if (per_cpu && streq(word, "n/a")) {
		f->ns = 0;
		return 0;
	}
	if (strcasecmp(word, "none") == 0) {
		f->ns = LATENCY_NONE;
		return 0;
	}
	if (strncmp(word, "cstate.", 7) == 0 || strchr(word, '$') || word[0] == '>' ||
	    word[0] == '<')
		return -ENODATA;
	r = units_parse_u64(word, 0, LATENCY_MAX_NS / NSEC_PER_USEC, &us);
	if (r < 0)
		return -EINVAL;
	/* The kernel's per-CPU file takes 0 for no constraint. */
	f->ns = per_cpu && us == 0 ? LATENCY_NONE : us * NSEC_PER_USEC;
	return 0;
}

/* "cstate.name:C6|cstate.id:4|10": the first that works on a host holds there. */
static int read_value(const struct ini *ini, const char *value, bool per_cpu, struct found *f)
{
	char text[VALUE_MAX], *rest = text, *word;

	expand(ini, value, text);
	*f = (struct found){.why = NULL};
	while ((word = strsep(&rest, "|"))) {
		int r = read_one(word, per_cpu, f);

		/* saptune also takes the name of a state. */
		if (r == -EINVAL && ini->format == IMPORT_SAPTUNE && word[0] == 'C')
			r = -ENODATA;
		if (r == -EINVAL)
			return r;
		if (r == 0) {
			f->any = true;
			return 0;
		}
		f->why = strchr(word, '$') ? "a variable that this file does not set"
			 : word[0] == '>' || word[0] == '<'
				 ? "a change only if greater or less is not known here"
				 : "a state's own latency, which differs from host to host "
				   "('cpuidlectl plan' shows it)";
	}
	return 0;
}

static void put_limit(struct ini *ini, const struct text_assignment *a, bool per_cpu)
{
	struct importer *im = ini->im;
	struct buf *b = per_cpu ? &im->rest : &im->daemon;
	char what[VALUE_MAX], why[VALUE_MAX], ns[LATENCY_TEXT_MAX];
	struct found f;

	if (read_value(ini, a->value, per_cpu, &f) < 0) {
		diag_add(
			im->diags, DIAG_ERROR, a->file, a->line,
			"%s=%s is no latency; write microseconds, or cstate.id:N, cstate.name:NAME, "
			"with | between alternatives",
			a->key, a->value);
		return;
	}
	snprintf(what, sizeof(what), "%s=%s", a->key, a->value);
	if (!f.any) {
		snprintf(why, sizeof(why), "not kept: %s", f.why);
		import_comment(im, b, a->line, what, why);
		return;
	}
	units_format_latency(f.ns, ns, sizeof(ns));
	snprintf(why, sizeof(why), "%s%s%s",
		 f.why ? "kept as the number alone; not kept: " : "kept", f.why ? f.why : "",
		 per_cpu ? "; for all CPUs by DefaultProfile=" : "");
	import_comment(im, b, a->line, what, why);
	if (!per_cpu) {
		buf_printf(b, "GlobalLatencyLimit=%s\n", ns);
		return;
	}
	im->n++;
	buf_printf(b, "[Profile %s-%u]\nLatencyLimit=%s\n", import_format_name(ini->format), im->n,
		   ns);
	if (ini->devices)
		buf_puts(b, "# devices= was given: name the CPUs in a [Group NAME] with CPUs=\n");
	else
		buf_printf(&im->daemon, "DefaultProfile=%s-%u\n", import_format_name(ini->format),
			   im->n);
}

static int on_assignment(const struct text_assignment *a, void *userdata)
{
	struct ini *ini = userdata;
	char what[VALUE_MAX];
	bool cpu = a->section && streq(a->section, "cpu");

	if (!a->key)
		return 0;
	if (ini->format == IMPORT_TUNED && a->section && streq(a->section, "variables"))
		return remember(ini, a);
	if (cpu && streq(a->key, "force_latency") && *a->value) {
		put_limit(ini, a, false);
		return 0;
	}
	if (cpu && ini->format == IMPORT_TUNED && streq(a->key, "pm_qos_resume_latency_us") &&
	    *a->value) {
		put_limit(ini, a, true);
		return 0;
	}
	ini->devices |= cpu && strncmp(a->key, "devices", 7) == 0;
	snprintf(what, sizeof(what), "[%s] %s=%s", a->section ? a->section : "", a->key, a->value);
	import_comment(ini->im, &ini->im->rest, a->line, what,
		       streq(a->key, "include") ? "not kept: import that profile as well"
						: "not kept: cpuidled sets nothing like it");
	return 0;
}

/* Does the policy's reader take this line? Others know longer ones, and ones that go on. */
static bool readable(const char *line, size_t n)
{
	size_t at = 0;

	while (at < n && strchr(" \t\r", line[at]))
		at++;
	return at == n || strchr("#;[", line[at]) || (n <= TEXT_LINE_MAX && memchr(line, '=', n));
}

/* Each line that is not becomes a comment of the text that is read, and of the one that is made. */
static void leave_out(struct importer *im, char *bytes, size_t n)
{
	uint32_t line = 0;

	for (size_t at = 0; at < n;) {
		char *end = memchr(bytes + at, '\n', n - at), what[VALUE_MAX];
		size_t length = end ? (size_t)(end - bytes) - at : n - at;

		line++;
		if (!readable(bytes + at, length)) {
			snprintf(what, sizeof(what), "%.*s", (int)MIN_OF(length, sizeof(what) - 1),
				 bytes + at);
			import_comment(im, &im->rest, line, what, "not kept");
			bytes[at] = '#';
		}
		at += length + 1;
	}
}

int import_ini(struct importer *im, enum import_format format, const char *bytes, size_t n)
{
	struct ini ini = {.im = im, .format = format};
	char *copy = malloc(n + 1);
	int r;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, n);
	leave_out(im, copy, n);
	r = text_parse(im->file, copy, n, on_assignment, &ini, im->diags);
	free(copy);
	for (uint32_t i = 0; i < ini.n_variables; i++) {
		free(ini.variables[i].name);
		free(ini.variables[i].value);
	}
	return r;
}
