/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fragment.h"
#include "out.h"
#include "print.h"

/* What the daemon thought of it: applied, or refused with its reasons. */
static int report(const struct options *o, const char *verb, int r, struct diag_list *diags)
{
	int written = EXIT_OK;

	if (r != EXIT_OK && r != EXIT_NOT_AS_ASKED)
		return r;
	if (option_given(o, OPTION_JSON))
		written = out_change(verb, r == EXIT_OK, diags);
	else
		print_diags(diags);
	if (r == EXIT_NOT_AS_ASKED && !option_given(o, OPTION_JSON))
		return fail(r,
			    "the policy is refused and nothing has changed; correct the %s above",
			    diags->n_errors == 1 ? "error" : "errors");
	return written == EXIT_OK ? r : written;
}

static int make_fragment(const struct options *o, char **args, int n, char **text)
{
	char error[512];
	int r;

	r = fragment_make(o->cpus, (const char *const *)args, n, text, error, sizeof(error));
	if (r == -EINVAL)
		return fail(EXIT_USAGE, "%s", error);
	return r < 0 ? fail_errno(r, "set") : EXIT_OK;
}

int cmd_set(const struct options *o, char **args, int n)
{
	_cleanup_(client_closep) struct client *c = NULL;
	_cleanup_(diag_done) struct diag_list diags = {0};
	bool reset = option_given(o, OPTION_RESET);
	_cleanup_free_ char *text = NULL;
	int r = EXIT_OK;

	if (reset && (n > 0 || o->cpus))
		return fail(EXIT_USAGE,
			    "--reset drops all run-time settings; it takes neither KEY=VALUE "
			    "nor --cpus");
	if (!reset && n == 0)
		return fail(EXIT_USAGE, "'set' wants KEY=VALUE... or --reset; see 'cpuidlectl set "
					"--help'");
	if (!reset)
		r = make_fragment(o, args, n, &text);
	if (r == EXIT_OK)
		r = client_open(o, CLIENT_WRITES, &c);
	if (r != EXIT_OK)
		return r;
	r = reset ? client_reset(c, &diags) : client_set(c, text, &diags);
	return report(o, "set", r, &diags);
}

int cmd_reload(const struct options *o, _unused_ char **args, _unused_ int n)
{
	_cleanup_(client_closep) struct client *c = NULL;
	_cleanup_(diag_done) struct diag_list diags = {0};
	int r;

	r = client_open(o, CLIENT_WRITES, &c);
	if (r != EXIT_OK)
		return r;
	r = client_reload(c, &diags);
	return report(o, "reload", r, &diags);
}
