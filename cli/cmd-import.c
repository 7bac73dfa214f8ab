/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd.h"
#include "import.h"
#include "out.h"
#include "print.h"
#include "text.h"

/* All of a file, TEXT_FILE_MAX bytes at most. An exit code, after a message. */
static int read_all(const char *path, char **ret, size_t *ret_n)
{
	FILE *file = streq(path, "-") ? stdin : fopen(path, "re");
	_cleanup_free_ char *bytes = malloc(TEXT_FILE_MAX + 1);
	int r = EXIT_OK;

	if (!file)
		return fail(EXIT_FAILED, "cannot read %s: %s", path, strerror(errno));
	if (bytes)
		*ret_n = fread(bytes, 1, TEXT_FILE_MAX + 1, file);
	if (!bytes)
		r = fail_errno(-ENOMEM, path);
	else if (ferror(file))
		r = fail(EXIT_FAILED, "cannot read %s: %s", path, strerror(errno));
	else if (*ret_n > TEXT_FILE_MAX)
		r = fail(EXIT_FAILED, "%s has more than %u bytes", path, TEXT_FILE_MAX);
	if (file != stdin)
		(void)fclose(file);
	if (r == EXIT_OK)
		*ret = TAKE_PTR(bytes);
	return r;
}

static int write_all(const char *path, const char *text)
{
	FILE *file;
	bool bad;

	if (!path) {
		fputs(text, stdout);
		return EXIT_OK;
	}
	file = fopen(path, "we");
	if (!file)
		return fail(EXIT_FAILED, "cannot write %s: %s", path, strerror(errno));
	bad = fputs(text, file) == EOF;
	if (fclose(file) != 0 || bad)
		return fail(EXIT_FAILED, "cannot write %s: %s", path, strerror(errno));
	return EXIT_OK;
}

int cmd_import(const struct options *o, char **args, int n _unused_)
{
	_cleanup_(diag_done) struct diag_list diags = {.n = 0};
	_cleanup_free_ char *bytes = NULL, *text = NULL;
	enum import_format format;
	size_t size = 0;
	int r;

	if (import_format_from_name(args[0], &format) < 0)
		return fail(EXIT_USAGE, "'%s' is none of tuned, saptune, crio, pepc", args[0]);
	r = read_all(args[1], &bytes, &size);
	if (r != EXIT_OK)
		return r;
	r = import_text(format, streq(args[1], "-") ? "standard input" : args[1], bytes, size,
			&diags, &text);
	if (r < 0 && r != -EBADMSG)
		return fail_errno(r, "import");
	if (option_given(o, OPTION_JSON)) {
		int code = out_import(text, &diags);

		if (r < 0 || code != EXIT_OK)
			return EXIT_FAILED;
		return o->output ? write_all(o->output, text) : EXIT_OK;
	}
	print_diags(&diags);
	return r < 0 ? EXIT_FAILED : write_all(o->output, text);
}
