/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy-assign.h"

#define CONTAINER_ID_MAX 64U

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* "KEY=VALUE what is wrong; write what would be right". */
static int refuse(const struct schema_row *row, const struct text_assignment *a,
		  struct diag_list *diags, const char *what)
{
	diag_add(diags, DIAG_ERROR, a->file, a->line, "%s=%s %s; write %s", row->key, a->value,
		 what, row->values);
	return -EINVAL;
}

static int replace_string(char **field, const char *value)
{
	char *copy = NULL;

	if (value) {
		copy = strdup(value);
		if (!copy)
			return -ENOMEM;
	}
	free(*field);
	*field = copy;
	return 0;
}

/* A scanner result in words. */
static int refuse_latency(const struct schema_row *row, const struct text_assignment *a,
			  struct diag_list *diags, int r)
{
	if (r == -ENOTSUP)
		return refuse(
			row, a, diags,
			"could mean zero (as in the kernel's file) or no limit (as people read it)");
	if (r == -ERANGE)
		return refuse(row, a, diags, "is more than the kernel can hold, 2147s");
	return refuse(row, a, diags, "is no latency in whole nanoseconds");
}

static int assign_latency(const struct schema_row *row, uint64_t *field,
			  const struct text_assignment *a, struct diag_list *diags)
{
	uint64_t ns;
	int r;

	r = units_parse_latency(a->value, &ns);
	if (r < 0)
		return refuse_latency(row, a, diags, r);
	*field = ns;
	return 0;
}

static int assign_haltpoll(const struct schema_row *row, uint64_t *field,
			   const struct text_assignment *a, struct diag_list *diags)
{
	uint64_t ns;
	int r;

	if (streq(a->value, "off")) {
		*field = HALTPOLL_OFF;
		return 0;
	}
	if (streq(a->value, "auto")) {
		*field = HALTPOLL_AUTO;
		return 0;
	}
	r = units_parse_latency(a->value, &ns);
	if (r == 0 && (ns < row->min || ns > row->max))
		r = -ERANGE;
	if (r < 0)
		return refuse(row, a, diags,
			      r == -ERANGE ? "is out of range" : "is no time to poll");
	*field = ns;
	return 0;
}

/* The kernel keeps bits 31:2 of the register and refuses a value with others (umwait.c, max_time_store()). */
static int assign_ticks(const struct schema_row *row, uint64_t *field,
			const struct text_assignment *a, struct diag_list *diags)
{
	uint64_t ticks;
	int r;

	if (streq(a->value, "keep")) {
		*field = HOST_KEEP;
		return 0;
	}
	r = units_parse_u64(a->value, row->min, row->max, &ticks);
	if (r < 0)
		return refuse(row, a, diags,
			      r == -ERANGE ? "is more than the register holds, 4294967292"
					   : "is no number of cycles");
	if (ticks % 4)
		return refuse(row, a, diags, "is no multiple of 4, and the kernel takes no other");
	*field = ticks;
	return 0;
}

static int assign_int(const struct schema_row *row, int32_t *field, const struct text_assignment *a,
		      struct diag_list *diags)
{
	int64_t value;
	int r;

	r = units_parse_i64(a->value, (int64_t)row->min, (int64_t)row->max, &value);
	if (r < 0)
		return refuse(row, a, diags, r == -ERANGE ? "is out of range" : "is no number");
	*field = (int32_t)value;
	return 0;
}

static int assign_choice(const struct schema_row *row, uint8_t *field,
			 const struct text_assignment *a, struct diag_list *diags)
{
	int i = schema_choice_index(row, a->value);

	if (i < 0)
		return refuse(row, a, diags, "is no known value");
	*field = (uint8_t)i;
	return 0;
}

static int assign_selector(const struct schema_row *row, struct selector **field,
			   const struct text_assignment *a, struct diag_list *diags)
{
	char error[256];
	struct selector *s;
	int r;

	r = selector_new(a->value, &s, error, sizeof(error));
	if (r == -EINVAL)
		diag_add(diags, DIAG_ERROR, a->file, a->line, "%s=%s: %s", row->key, a->value,
			 error);
	if (r < 0)
		return r;
	selector_free(*field);
	*field = s;
	return 0;
}

/* Is this the name of a state: printable, and one word unless quoted? */
static bool word_valid(const char *word, size_t n, bool quoted)
{
	if (n == 0 || n >= MACHINE_STATE_NAME_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = word[i];

		if (quoted ? c < ' ' || c > '~' : !is_alnum(c) && !strchr("._+-/", c))
			return false;
	}
	return true;
}

/* The next word of a list, NULL at its end. *s ends behind it; a quote that is never closed yields n == 0. */
static const char *next_word(const char **s, size_t *ret_n, bool *ret_quoted)
{
	const char *word, *end;

	while (is_blank(**s) || **s == ',')
		(*s)++;
	if (**s == '\0')
		return NULL;
	*ret_quoted = **s == '"';
	if (*ret_quoted) {
		word = *s + 1;
		end = strchr(word, '"');
		*ret_n = end ? (size_t)(end - word) : 0;
		*s = end ? end + 1 : word + strlen(word);
	} else {
		word = *s;
		*ret_n = strcspn(word, " \t,");
		*s = word + *ret_n;
	}
	return word;
}

/* All words of a line or none. */
static int assign_words(const struct schema_row *row, struct words *field,
			const struct text_assignment *a, struct diag_list *diags)
{
	const char *s = a->value, *word;
	bool quoted;
	size_t n;
	int r;

	while ((word = next_word(&s, &n, &quoted))) {
		if (!word_valid(word, n, quoted))
			return refuse(row, a, diags,
				      "holds something that cannot be a state's name");
	}
	s = a->value;
	while ((word = next_word(&s, &n, &quoted))) {
		r = words_add(field, word, n);
		if (r == -E2BIG)
			return refuse(row, a, diags, "makes a list of more than 32 words");
		if (r < 0)
			return r;
	}
	return 0;
}

/* Characters that unit names have (systemd.unit(5)), with wildcards. */
static bool unit_chars(const char *s)
{
	for (; *s != '\0'; s++) {
		if (!is_alnum(*s) && !strchr(":-_.\\@*?[]", *s))
			return false;
	}
	return true;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && streq(s + n - m, end);
}

static bool unit_valid(const char *s)
{
	return unit_chars(s) && (ends_with(s, ".service") || ends_with(s, ".scope"));
}

static bool slice_valid(const char *s)
{
	return unit_chars(s) && (ends_with(s, ".slice"));
}

/* An absolute path without empty, "." or ".." parts. */
static bool cgroup_valid(const char *s)
{
	while (*s == '/') {
		size_t n = strcspn(++s, "/");

		if (n == 0 || (n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
			return false;
		s += n;
		if (*s == '\0')
			return true;
	}
	return false;
}

static bool container_valid(const char *s)
{
	size_t n = 0;

	for (; s[n] != '\0'; n++) {
		if (!is_alnum(s[n]) && (n == 0 || !strchr("_.-", s[n])))
			return false;
	}
	return n <= CONTAINER_ID_MAX;
}

static int assign_string(const struct schema_row *row, char **field,
			 const struct text_assignment *a, struct diag_list *diags, bool valid,
			 const char *what)
{
	if (!valid)
		return refuse(row, a, diags, what);
	return replace_string(field, a->value);
}

static int assign_value(const struct schema_row *row, void *field, const struct text_assignment *a,
			struct diag_list *diags)
{
	const char *value = a->value;

	switch (row->type) {
	case TYPE_NAME:
		return assign_string(row, field, a, diags, schema_name_valid(value),
				     "is no name of letters, digits, \".\", \"_\", \"-\"");
	case TYPE_TEXT:
		return assign_string(row, field, a, diags, true, "");
	case TYPE_LATENCY:
		return assign_latency(row, field, a, diags);
	case TYPE_HALTPOLL:
		return assign_haltpoll(row, field, a, diags);
	case TYPE_TICKS:
		return assign_ticks(row, field, a, diags);
	case TYPE_INT:
		return assign_int(row, field, a, diags);
	case TYPE_CHOICE:
		return assign_choice(row, field, a, diags);
	case TYPE_WORDS:
		return assign_words(row, field, a, diags);
	case TYPE_SELECTOR:
		return assign_selector(row, field, a, diags);
	case TYPE_UNIT:
		return assign_string(row, field, a, diags, unit_valid(value),
				     "is no systemd service or scope");
	case TYPE_SLICE:
		return assign_string(row, field, a, diags, slice_valid(value),
				     "is no systemd slice");
	case TYPE_CGROUP:
		return assign_string(row, field, a, diags, cgroup_valid(value),
				     "is no cgroup path");
	case TYPE_CONTAINER:
		return assign_string(row, field, a, diags, container_valid(value),
				     "is no container id");
	}
	return -EINVAL;
}

/* The default of the row into the field. */
static int assign_default(const struct schema_row *row, void *field)
{
	struct text_assignment a = {.value = row->def};

	switch (row->type) {
	case TYPE_NAME:
	case TYPE_TEXT:
	case TYPE_UNIT:
	case TYPE_SLICE:
	case TYPE_CGROUP:
	case TYPE_CONTAINER:
		return replace_string(field, row->def);
	case TYPE_WORDS:
		words_done(field);
		return 0;
	case TYPE_SELECTOR:
		selector_free(*(struct selector **)field);
		*(struct selector **)field = NULL;
		return 0;
	case TYPE_LATENCY:
	case TYPE_HALTPOLL:
	case TYPE_TICKS:
	case TYPE_INT:
	case TYPE_CHOICE:
		return assign_value(row, field, &a, NULL);
	}
	return -EINVAL;
}

int policy_assign(const struct schema_row *row, void *field, const struct text_assignment *a,
		  struct diag_list *diags)
{
	if (a->value[0] == '\0')
		return assign_default(row, field);
	return assign_value(row, field, a, diags);
}

int policy_assign_defaults(struct settings *s)
{
	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];
		int r;

		if (row->bit == 0)
			continue;
		r = assign_default(row, (char *)s + row->offset);
		if (r < 0)
			return r;
	}
	return 0;
}
