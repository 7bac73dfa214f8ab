/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import.h"

static const char *const names[IMPORT_N] = {"tuned", "saptune", "crio", "pepc"};

const char *import_format_name(enum import_format format)
{
	return names[format];
}

int import_format_from_name(const char *name, enum import_format *ret)
{
	for (int i = 0; i < IMPORT_N; i++) {
		if (!streq(names[i], name))
			continue;
		*ret = (enum import_format)i;
		return 0;
	}
	return -EINVAL;
}

void import_comment(struct importer *im, struct buf *b, uint32_t line, const char *what,
		    const char *why)
{
	buf_printf(b, "# %s:%u: ", im->file, line);
	for (; *what; what++)
		buf_add(b, (unsigned char)*what < ' ' || *what == 127 ? "?" : what, 1);
	buf_printf(b, ": %s\n", why);
}

int import_text(enum import_format format, const char *file, const char *bytes, size_t n,
		struct diag_list *diags, char **ret)
{
	struct importer im = {.file = file, .diags = diags};
	size_t n_errors = diags->n_errors;
	struct buf all = {.n = 0};
	char *daemon, *rest;
	int r;

	r = format <= IMPORT_SAPTUNE ? import_ini(&im, format, bytes, n)
				     : import_lines(&im, format, bytes, n);
	buf_puts(&im.daemon, "");
	buf_puts(&im.rest, "");
	daemon = buf_finish(&im.daemon);
	rest = buf_finish(&im.rest);
	if (r == 0 && (!daemon || !rest))
		r = -ENOMEM;
	if (r == 0 && diags->n_errors > n_errors)
		r = -EBADMSG;
	if (r == 0) {
		buf_printf(&all, "# Of %s, for %s.\n\n%s%s%s%s", file, names[format],
			   *daemon ? "[Daemon]\n" : "", daemon, *daemon && *rest ? "\n" : "", rest);
		*ret = buf_finish(&all);
		r = *ret ? 0 : -ENOMEM;
	}
	free(daemon);
	free(rest);
	return r;
}
