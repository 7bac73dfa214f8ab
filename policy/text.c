/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ini.h>

#include "text.h"

struct reader {
	const char *file;
	const char *at, *end;
	uint32_t line; /* of the line inih works on */
	char section[TEXT_SECTION_MAX + 1];
	uint32_t section_line; /* 0: none yet */
	bool skip; /* below a header that was refused */
	text_handler handler;
	void *userdata;
	struct diag_list *diags;
	int result; /* first negative result of the handler */
};

/* A piece of a line. */
struct piece {
	const char *at;
	size_t n;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct piece trim(struct piece p)
{
	for (; p.n > 0 && is_blank(p.at[0]); p.n--)
		p.at++;
	while (p.n > 0 && is_blank(p.at[p.n - 1]))
		p.n--;
	return p;
}

/* The piece up to a comment. */
static struct piece cut_comment(struct piece p)
{
	for (size_t i = 0; i < p.n; i++) {
		if ((p.at[i] == '#' || p.at[i] == ';') && (i == 0 || is_blank(p.at[i - 1]))) {
			p.n = i;
			break;
		}
	}
	return p;
}

/*
 * Length of the UTF-8 character at s, 0 when there is none (RFC 3629: no surrogates, nothing overlong)
 * or when it is a control character, which would act on the terminal of whoever reads the message.
 */
static size_t character(const unsigned char *s, size_t n)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t c = s[0];
	size_t length;

	if (c < 0x80)
		return (c >= 0x20 && c != 0x7f) || c == '\t' ? 1 : 0;
	length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	if (c < 0xc2 || c > 0xf4 || length > n)
		return 0;
	c &= 0xffU >> (length + 1);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[length] || c < 0xa0 || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
		return 0;
	return length;
}

/* Offset of the first byte that is no printable text, n when all is well. */
static size_t find_junk(struct piece p)
{
	for (size_t i = 0; i < p.n;) {
		size_t length = character((const unsigned char *)p.at + i, p.n - i);

		if (length == 0)
			return i;
		i += length;
	}
	return p.n;
}

static bool is_key(struct piece p)
{
	for (size_t i = 0; i < p.n; i++) {
		char c = p.at[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '-' || c == '_' || c == '.'))
			return false;
	}
	return p.n > 0;
}

#define complain(r, ...) diag_add((r)->diags, DIAG_ERROR, (r)->file, (r)->line, __VA_ARGS__)

/* What no line may be, whatever it says. */
static bool check_line(struct reader *r, struct piece p)
{
	size_t junk;

	if (p.n > TEXT_LINE_MAX) {
		complain(r, "line has %zu bytes; at most %u can be read", p.n, TEXT_LINE_MAX);
		return false;
	}
	junk = find_junk(p);
	if (junk < p.n) {
		complain(r, "byte 0x%02x in column %zu is no printable UTF-8; plain text is needed",
			 (unsigned char)p.at[junk], junk + 1);
		return false;
	}
	if (p.at[p.n - 1] == '\\') {
		complain(r,
			 "line ends with a backslash; a value stands on one line, and a list goes "
			 "on in a further line with the same key");
		return false;
	}
	return true;
}

/* A line that begins with "[": yields the name between the brackets. */
static bool check_header(struct reader *r, struct piece p, struct piece *ret)
{
	const char *close = memchr(p.at, ']', p.n);
	size_t n;

	if (!close) {
		complain(r, "section header without \"]\"; write [Section] or [Section NAME]");
		return false;
	}
	n = (size_t)(close - p.at) - 1;
	if (n + 2 < p.n) {
		complain(r,
			 "text behind the \"]\" of a section header; put it on a line of its own");
		return false;
	}
	if (n > TEXT_SECTION_MAX) {
		complain(r, "section name has %zu bytes; at most %u can be read", n,
			 TEXT_SECTION_MAX);
		return false;
	}
	*ret = trim((struct piece){p.at + 1, n});
	if (ret->n == 0) {
		complain(r, "section header without a name; write [Section] or [Section NAME]");
		return false;
	}
	return true;
}

static bool check_assignment(struct reader *r, struct piece p)
{
	const char *equals = memchr(p.at, '=', p.n);
	struct piece key;

	if (!equals) {
		complain(r, "\"%.*s\" is no assignment; write Key=value, or # before a comment",
			 (int)p.n, p.at);
		return false;
	}
	key = trim((struct piece){p.at, (size_t)(equals - p.at)});
	if (!is_key(key)) {
		complain(r, "\"%.*s\" before the \"=\" is no key; keys are single words",
			 (int)key.n, key.at);
		return false;
	}
	if (r->section_line == 0 && !r->skip) {
		complain(r, "assignment before the first section header; put it below one such as "
			    "[Daemon]");
		r->skip = true;
	}
	return !r->skip;
}

static void emit(struct reader *r, const char *section, const char *key, const char *value)
{
	struct text_assignment a = {
		.file = r->file,
		.line = r->line,
		.section = section,
		.section_line = r->section_line,
		.key = key,
		.value = value,
	};
	int result = r->handler(&a, r->userdata);

	if (result < 0)
		r->result = result;
}

static void enter_section(struct reader *r, struct piece name)
{
	memcpy(r->section, name.at, name.n);
	r->section[name.n] = '\0';
	r->section_line = r->line;
	emit(r, r->section, NULL, "");
}

/* Judges one line. Yields what inih is to see of it, nothing for a blank, a comment or a bad one. */
static struct piece take_line(struct reader *r, struct piece p)
{
	static const struct piece nothing = {"", 0};
	struct piece name;

	if (p.n > 0 && p.at[p.n - 1] == '\r')
		p.n--;
	if (memchr(p.at, '\0', p.n)) {
		complain(r, "line holds a NUL byte; plain text is needed");
		return nothing;
	}
	p = trim(cut_comment(p));
	if (p.n == 0)
		return nothing;
	if (p.at[0] != '[')
		return check_line(r, p) && check_assignment(r, p) ? p : nothing;
	/* Below a refused header nothing may be taken for the section before. */
	r->skip = !check_line(r, p) || !check_header(r, p, &name);
	if (r->skip)
		return nothing;
	enter_section(r, name);
	return p;
}

/* The ini_reader: like fgets(), but every line has been judged. size is inih's buffer. */
static char *read_line(char *buf, int size, void *stream)
{
	struct reader *r = stream;
	const char *newline;
	struct piece p;

	if (r->result < 0 || r->at == r->end)
		return NULL;
	newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
	p = (struct piece){r->at, (size_t)((newline ? newline : r->end) - r->at)};
	r->at = newline ? newline + 1 : r->end;
	r->line++;
	p = take_line(r, p);
	if (p.n + 2 > (size_t)size) {
		complain(r, "line has %zu bytes; the installed inih reads at most %d", p.n,
			 size - 2);
		p.n = 0;
	}
	memcpy(buf, p.at, p.n);
	memcpy(buf + p.n, "\n", 2);
	return buf;
}

static int take_assignment(void *userdata, const char *section, const char *key, const char *value)
{
	struct reader *r = userdata;

	(void)section; /* inih's copy of ours */
	if (r->result == 0)
		emit(r, r->section, key, value);
	return 1;
}

static void skip_byte_order_mark(struct reader *r)
{
	if (r->end - r->at >= 3 && memcmp(r->at, "\xef\xbb\xbf", 3) == 0)
		r->at += 3;
}

int text_parse(const char *file, const char *bytes, size_t n, text_handler handler, void *userdata,
	       struct diag_list *diags)
{
	struct reader r = {
		.file = file,
		.at = bytes,
		.end = bytes + n,
		.handler = handler,
		.userdata = userdata,
		.diags = diags,
	};
	int parsed;

	if (n > TEXT_FILE_MAX) {
		diag_add(diags, DIAG_ERROR, file, 0,
			 "file has %zu bytes; at most %" PRIu32 " are read", n, TEXT_FILE_MAX);
		return 0;
	}
	if (n == 0)
		return 0;
	skip_byte_order_mark(&r);
	parsed = ini_parse_stream(read_line, &r, take_assignment, &r);
	if (r.result < 0)
		return r.result;
	if (parsed == -2)
		return -ENOMEM;
	/* Not reached as long as inih understands every line that passed here. */
	if (parsed != 0)
		diag_add(diags, DIAG_ERROR, file, (uint32_t)MAX_OF(parsed, 0),
			 "line was not understood; write Key=value");
	return 0;
}
