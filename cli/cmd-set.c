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

static int make_fragment(const struct options *o, char **args, int n, const char *base, char **text)
{
	char error[512];
	int r;

	r = fragment_make(o->cpus, (const char *const *)args, n, base, text, error, sizeof(error));
	if (r == -EINVAL)
		return fail(EXIT_USAGE, "%s", error);
	return r < 0 ? fail_errno(r, "set") : EXIT_OK;
}

/* Is there a profile of this name? */
static int has_profile(struct client *c, const char *name, bool *ret)
{
	struct listing l = {0};
	int r = client_profiles(c, &l);

	*ret = false;
	for (uint32_t i = 0; r == EXIT_OK && i < l.n; i++)
		*ret |= streq(l.profiles[i].name, name);
	listing_done(&l);
	return r;
}

/* The profile that all of them have; else a word that keys not given are at their defaults. */
static char *common_profile(const struct options *o, const struct view *view,
			    struct diag_list *diags)
{
	for (uint32_t i = 1; i < view->n; i++)
		if (!streq(view->rows[i].profile, view->rows[0].profile)) {
			diag_add(
				diags, DIAG_WARNING, NULL, 0,
				"CPUs %s have several profiles (%s has %s, %s has %s), so keys that are not "
				"given are at their defaults; Profile= or Base= names one to build on",
				o->cpus, view->rows[0].cpus, view->rows[0].profile,
				view->rows[i].cpus, view->rows[i].profile);
			return NULL;
		}
	return view->n ? strdup(view->rows[0].profile) : NULL;
}

/*
 * What the CPUs have now is what new keys are laid upon. Not where the same selector has settings already:
 * those stay, with their base; so that no base can go in a circle.
 */
static int find_base(const struct options *o, struct client *c, const char *name, char **ret,
		     struct diag_list *diags)
{
	struct view view = {0};
	bool known;
	int r = has_profile(c, name, &known);

	if (r != EXIT_OK || known)
		return r;
	r = client_plan(c, o->cpus, false, &view);
	if (r == EXIT_OK)
		*ret = common_profile(o, &view, diags);
	view_done(&view);
	return r;
}

/* Lays the fragment upon what stands, where it does not say itself upon what. */
static int rebase(const struct options *o, struct client *c, char **args, int n, char **text,
		  struct diag_list *diags)
{
	_cleanup_free_ char *base = NULL;
	char name[POLICY_NAME_MAX + 1];
	int r;

	if (!fragment_wants_base(o->cpus, (const char *const *)args, n, name))
		return EXIT_OK;
	r = find_base(o, c, name, &base, diags);
	if (r != EXIT_OK || !base)
		return r;
	free(*text);
	*text = NULL;
	return make_fragment(o, args, n, base, text);
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
		r = make_fragment(o, args, n, NULL, &text);
	if (r == EXIT_OK)
		r = client_open(o, CLIENT_WRITES, &c);
	if (r == EXIT_OK && !reset)
		r = rebase(o, c, args, n, &text, &diags);
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
