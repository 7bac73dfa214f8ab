/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "buf.h"
#include "text.h"

/* Writes what it is told, one line each: "LINE [section]" and "LINE section|key=value". */
static int record(const struct text_assignment *a, void *userdata)
{
	struct buf *b = userdata;

	ck_assert_str_eq(a->file, "f");
	ck_assert_uint_le(a->section_line, a->line);
	if (a->key)
		buf_printf(b, "%" PRIu32 " %s|%s=%s\n", a->line, a->section, a->key, a->value);
	else
		buf_printf(b, "%" PRIu32 " [%s]\n", a->line, a->section);
	return 0;
}

/* Everything that came of n bytes: events, then the diagnostics. */
static char *parse(const char *bytes, size_t n)
{
	struct diag_list diags = {0};
	struct buf b = {0};
	char *text;

	ck_assert_int_eq(text_parse("f", bytes, n, record, &b, &diags), 0);
	for (size_t i = 0; i < diags.n; i++) {
		char line[1024];

		diag_format(&diags.items[i], line, sizeof(line));
		ck_assert_msg(strstr(line, "; "), "no second half: %s", line);
		buf_printf(&b, "%s\n", line);
	}
	diag_done(&diags);
	text = buf_finish(&b);
	ck_assert_ptr_nonnull(text);
	return text;
}

static void assert_parse(const char *bytes, size_t n, const char *expected)
{
	char *text = parse(bytes, n);

	ck_assert_str_eq(text, expected);
	free(text);
}

START_TEST(test_good)
{
	static const struct {
		const char *bytes, *expected;
	} cases[] = {
		{"", ""},
		{"\n\n", ""},
		{"# comment\n; comment\n  # comment\n", ""},
		{"[S]", "1 [S]\n"},
		{"[S]\nk=v", "1 [S]\n2 S|k=v\n"},
		{"[S]\nk=v\n", "1 [S]\n2 S|k=v\n"},
		{"[S]\r\nk=v\r\n", "1 [S]\n2 S|k=v\n"},
		{"\xef\xbb\xbf[S]\nk=v\n", "1 [S]\n2 S|k=v\n"},
		{"[S a]\nk=v\n\n[T]\nk=w\n[S a]\nl=x\n",
		 "1 [S a]\n2 S a|k=v\n4 [T]\n5 T|k=w\n6 [S a]\n7 S a|l=x\n"},
		{"[S]\n  k \t=\t v w  \n", "1 [S]\n2 S|k=v w\n"},
		{"[S]\nk=\nk = \n", "1 [S]\n2 S|k=\n3 S|k=\n"},
		{"  [ S  a ] \n", "1 [S  a]\n"},
		{"[S] # comment\n[T];x] \n",
		 "1 [S]\n"
		 "f:2: error: text behind the \"]\" of a section header; put it on a line of its own\n"},
		{"[S]\nk=v # c\nk=v ; c\nk=v\t#c\n", "1 [S]\n2 S|k=v\n3 S|k=v\n4 S|k=v\n"},
		{"[S]\nk=a#b;c\nk=#b\nk= # c\n", "1 [S]\n2 S|k=a#b;c\n3 S|k=#b\n4 S|k=\n"},
		{"[S]\nk=a=b:c\n", "1 [S]\n2 S|k=a=b:c\n"},
		{"[S]\nk=\"a b\"\n", "1 [S]\n2 S|k=\"a b\"\n"},
		{"[S]\nk=[v]\n", "1 [S]\n2 S|k=[v]\n"},
		{"[S]\nk=\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n",
		 "1 [S]\n2 S|k=\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n"},
		{"[S]\n# caf\xe9, in Latin-1\nk=v\n", "1 [S]\n3 S|k=v\n"},
		/* inih alone would add the second line to the value of the first. */
		{"[S]\nk=v\n  l=w\n", "1 [S]\n2 S|k=v\n3 S|l=w\n"},
		/* ... and reads a key up to a colon. */
		{"[S]\na-b_c.d9=v\n", "1 [S]\n2 S|a-b_c.d9=v\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_parse(cases[i].bytes, strlen(cases[i].bytes), cases[i].expected);
}
END_TEST

#define ASSIGN	  "write Key=value, or # before a comment\n"
#define KEYS	  "keys are single words\n"
#define FIRST	  "assignment before the first section header; put it below one such as [Daemon]\n"
#define PRINTABLE "is no printable UTF-8; plain text is needed\n"

START_TEST(test_bad)
{
	static const struct {
		const char *bytes, *expected;
	} cases[] = {
		{"k=v\nl=w\n[S]\nm=x\n", "3 [S]\n4 S|m=x\nf:1: error: " FIRST},
		{"[S]\njunk\nk=v\n",
		 "1 [S]\n3 S|k=v\nf:2: error: \"junk\" is no assignment; " ASSIGN},
		{"[S]\nk=v\n  and more\n",
		 "1 [S]\n2 S|k=v\nf:3: error: \"and more\" is no assignment; " ASSIGN},
		{"[S]\nk: v\n", "1 [S]\nf:2: error: \"k: v\" is no assignment; " ASSIGN},
		{"[S]\nk:l=v\n", "1 [S]\nf:2: error: \"k:l\" before the \"=\" is no key; " KEYS},
		{"[S]\nk l=v\n", "1 [S]\nf:2: error: \"k l\" before the \"=\" is no key; " KEYS},
		{"[S]\n=v\n", "1 [S]\nf:2: error: \"\" before the \"=\" is no key; " KEYS},
		{"[S]\n\xc3\xa4=v\n",
		 "1 [S]\nf:2: error: \"\xc3\xa4\" before the \"=\" is no key; " KEYS},
		{"[S\nk=v\n[T]\nl=w\n",
		 "3 [T]\n4 T|l=w\n"
		 "f:1: error: section header without \"]\"; write [Section] or [Section NAME]\n"},
		{"[S ; a]\n",
		 "f:1: error: section header without \"]\"; write [Section] or [Section NAME]\n"},
		{"[]\nk=v\n",
		 "f:1: error: section header without a name; write [Section] or [Section NAME]\n"},
		{"[ ]\n",
		 "f:1: error: section header without a name; write [Section] or [Section NAME]\n"},
		/* What follows a refused header must not fall to the section before it. */
		{"[S]\nk=v\n[T] x\nl=w\n",
		 "1 [S]\n2 S|k=v\n"
		 "f:3: error: text behind the \"]\" of a section header; put it on a line of its own\n"},
		{"[a]b]\n",
		 "f:1: error: text behind the \"]\" of a section header; put it on a line of its own\n"},
		{"[S]\nk=v \\\nl=w\n",
		 "1 [S]\n3 S|l=w\n"
		 "f:2: error: line ends with a backslash; a value stands on one line, and a list goes on in a "
		 "further line with the same key\n"},
		{"[S]\nk=\x1b[31m\n", "1 [S]\nf:2: error: byte 0x1b in column 3 " PRINTABLE},
		{"[S]\nk=a\rb\n", "1 [S]\nf:2: error: byte 0x0d in column 4 " PRINTABLE},
		{"[S]\nk=a\x7f\n", "1 [S]\nf:2: error: byte 0x7f in column 4 " PRINTABLE},
		{"[S]\nk=\xe4\n", "1 [S]\nf:2: error: byte 0xe4 in column 3 " PRINTABLE},
		{"[S]\nk=\xc3\n", "1 [S]\nf:2: error: byte 0xc3 in column 3 " PRINTABLE},
		{"[S]\nk=\x80\n", "1 [S]\nf:2: error: byte 0x80 in column 3 " PRINTABLE},
		{"[S]\nk=\xc0\xaf\n", "1 [S]\nf:2: error: byte 0xc0 in column 3 " PRINTABLE},
		{"[S]\nk=\xe0\x80\xaf\n", "1 [S]\nf:2: error: byte 0xe0 in column 3 " PRINTABLE},
		{"[S]\nk=\xed\xa0\x80\n", "1 [S]\nf:2: error: byte 0xed in column 3 " PRINTABLE},
		{"[S]\nk=\xf5\x80\x80\x80\n",
		 "1 [S]\nf:2: error: byte 0xf5 in column 3 " PRINTABLE},
		{"[S]\nk=\xf4\x90\x80\x80\n",
		 "1 [S]\nf:2: error: byte 0xf4 in column 3 " PRINTABLE},
		/* U+009B is another way to say ESC [. */
		{"[S]\nk=\xc2\x9b\n", "1 [S]\nf:2: error: byte 0xc2 in column 3 " PRINTABLE},
		{"[\xff]\nk=v\n", "f:1: error: byte 0xff in column 2 " PRINTABLE},
		{"\xff\xfe[S]\n", "f:1: error: byte 0xff in column 1 " PRINTABLE},
		{"k\n", "f:1: error: \"k\" is no assignment; " ASSIGN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_parse(cases[i].bytes, strlen(cases[i].bytes), cases[i].expected);
}
END_TEST

START_TEST(test_nul)
{
	static const char in_value[] = "[S]\nk=a\0b\nl=w\n";
	static const char in_comment[] = "[S]\n# a\0b\n";
	static const char only[] = "\0";

	assert_parse(in_value, sizeof(in_value) - 1,
		     "1 [S]\n3 S|l=w\nf:2: error: line holds a NUL byte; plain text is needed\n");
	assert_parse(in_comment, sizeof(in_comment) - 1,
		     "1 [S]\nf:2: error: line holds a NUL byte; plain text is needed\n");
	assert_parse(only, 1, "f:1: error: line holds a NUL byte; plain text is needed\n");
}
END_TEST

/* Lengths at which inih would cut, or read beyond its buffer: one below, at and above each bound. */
START_TEST(test_long_lines)
{
	for (size_t n = TEXT_LINE_MAX - 2; n <= 420; n++) {
		char bytes[512] = "[S]\nk=", expected[1024];
		size_t value = n - 2;

		memset(bytes + 6, 'v', value);
		snprintf(bytes + 6 + value, 8, "\nl=w\n");
		if (n <= TEXT_LINE_MAX)
			snprintf(expected, sizeof(expected), "1 [S]\n2 S|k=%.*s\n3 S|l=w\n",
				 (int)value, bytes + 6);
		else
			snprintf(
				expected, sizeof(expected),
				"1 [S]\n3 S|l=w\nf:2: error: line has %zu bytes; at most 190 can be "
				"read\n",
				n);
		assert_parse(bytes, strlen(bytes), expected);
	}
}
END_TEST

/* A comment may be of any length: it never reaches inih. */
START_TEST(test_long_comments)
{
	char bytes[2048] = "[S]\nk=v # ";
	size_t n = strlen(bytes);

	memset(bytes + n, 'c', 1500);
	snprintf(bytes + n + 1500, 8, "\nl=w\n");
	assert_parse(bytes, strlen(bytes), "1 [S]\n2 S|k=v\n3 S|l=w\n");
}
END_TEST

START_TEST(test_long_sections)
{
	for (size_t n = TEXT_SECTION_MAX - 1; n <= 180; n++) {
		char bytes[256] = "[", expected[512];

		memset(bytes + 1, 's', n);
		snprintf(bytes + 1 + n, 8, "]\nk=v\n");
		if (n <= TEXT_SECTION_MAX)
			snprintf(expected, sizeof(expected), "1 [%.*s]\n2 %.*s|k=v\n", (int)n,
				 bytes + 1, (int)n, bytes + 1);
		else
			snprintf(expected, sizeof(expected),
				 "f:1: error: section name has %zu bytes; at most 49 can be read\n",
				 n);
		assert_parse(bytes, strlen(bytes), expected);
	}
}
END_TEST

START_TEST(test_file_size)
{
	char *bytes = malloc(TEXT_FILE_MAX + 1);

	ck_assert_ptr_nonnull(bytes);
	memset(bytes, '\n', TEXT_FILE_MAX + 1);
	assert_parse(bytes, TEXT_FILE_MAX, "");
	assert_parse(bytes, TEXT_FILE_MAX + 1,
		     "f: error: file has 1048577 bytes; at most 1048576 are read\n");
	free(bytes);
}
END_TEST

/* Reading ends with the handler's own error; nothing further is told to it. */
static int stop_at_third(const struct text_assignment *a, void *userdata)
{
	unsigned *n = userdata;

	(void)a;
	ck_assert_uint_lt(*n, 3);
	return ++*n == 3 ? -ENOMEM : 0;
}

START_TEST(test_stop)
{
	static const char *const inputs[] = {"[S]\na=1\nb=2\nc=3\n", "[S]\na=1\n[T]\nb=2\n[U]\n"};

	for (size_t i = 0; i < ARRAY_SIZE(inputs); i++) {
		struct diag_list diags = {0};
		unsigned n = 0;

		ck_assert_int_eq(text_parse("f", inputs[i], strlen(inputs[i]), stop_at_third, &n,
					    &diags),
				 -ENOMEM);
		ck_assert_uint_eq(n, 3);
		diag_done(&diags);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("text");
	TCase *tc = tcase_create("text");

	tcase_add_test(tc, test_good);
	tcase_add_test(tc, test_bad);
	tcase_add_test(tc, test_nul);
	tcase_add_test(tc, test_long_lines);
	tcase_add_test(tc, test_long_comments);
	tcase_add_test(tc, test_long_sections);
	tcase_add_test(tc, test_file_size);
	tcase_add_test(tc, test_stop);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
