/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "offline.h"
#include "out.h"
#include "print.h"

static int check_one(const struct options *o, const char *file, struct out_checked *ret)
{
	struct offline f;
	int r;

	r = offline_plan(o, file, &f);
	ret->file = file ? file : o->policy;
	diag_move(&ret->diags, &f.diags);
	ret->ok = ret->diags.n_errors == 0 &&
		  (ret->diags.n_warnings == 0 || !option_given(o, OPTION_STRICT));
	offline_done(&f);
	return r;
}

static void print_verdict(const struct out_checked *c, bool quiet)
{
	print_diags(&c->diags);
	if (quiet)
		return;
	printf("%s: %s", c->file ? c->file : "policy", c->ok ? "ok" : "not ok");
	if (c->diags.n_errors || c->diags.n_warnings)
		printf(" (%zu error%s, %zu warning%s)", c->diags.n_errors,
		       c->diags.n_errors == 1 ? "" : "s", c->diags.n_warnings,
		       c->diags.n_warnings == 1 ? "" : "s");
	putchar('\n');
}

static int check_all(const struct options *o, char **files, uint32_t n, struct out_checked *checked)
{
	bool ok = true;
	int r = EXIT_OK;

	for (uint32_t i = 0; i < n && r == EXIT_OK; i++) {
		r = check_one(o, files[i], &checked[i]);
		if (!option_given(o, OPTION_JSON))
			print_verdict(&checked[i], r != EXIT_OK || option_given(o, OPTION_QUIET));
		ok = ok && checked[i].ok;
	}
	if (r == EXIT_OK && option_given(o, OPTION_JSON))
		r = out_checked(checked, n, ok);
	return r == EXIT_OK && !ok ? EXIT_NOT_AS_ASKED : r;
}

int cmd_check(const struct options *o, char **args, int n)
{
	char *search_path[] = {NULL};
	struct out_checked *checked;
	int r;

	if (n > 0 && o->policy)
		return fail(EXIT_USAGE,
			    "--policy and FILE name a policy twice; one of them is right");
	checked = calloc(MAX_OF((size_t)n, (size_t)1), sizeof(*checked));
	if (!checked)
		return fail_errno(-ENOMEM, "check");
	r = n > 0 ? check_all(o, args, (uint32_t)n, checked)
		  : check_all(o, search_path, 1, checked);
	for (int i = 0; i < MAX_OF(n, 1); i++)
		diag_done(&checked[i].diags);
	free(checked);
	return r;
}
