/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "offline.h"
#include "out.h"
#include "print.h"

/* The merged policy from files alone; text stays NULL when they have errors. */
static int text_of_files(const struct options *o, struct diag_list *diags, char **text)
{
	struct offline f;
	int r;

	r = offline_policy(o, NULL, &f);
	if (r == EXIT_OK && f.policy) {
		*text = policy_format(f.policy);
		if (!*text)
			r = fail_errno(-ENOMEM, "policy");
	}
	diag_move(diags, &f.diags);
	offline_done(&f);
	return r;
}

static int text_of_daemon(const struct options *o, char **text)
{
	_cleanup_(client_closep) struct client *c = NULL;
	int r;

	r = client_open(o, CLIENT_READS, &c);
	return r == EXIT_OK ? client_policy(c, text) : r;
}

int cmd_show(const struct options *o, _unused_ char **args, _unused_ int n)
{
	_cleanup_(diag_done) struct diag_list diags = {0};
	_cleanup_free_ char *text = NULL;
	bool json = option_given(o, OPTION_JSON);
	int r;

	if (offline_wanted(o))
		r = text_of_files(o, &diags, &text);
	else
		r = text_of_daemon(o, &text);
	if (r == EXIT_OK && json)
		r = out_policy(text ? text : "", &diags);
	else
		print_diags(&diags);
	if (r != EXIT_OK)
		return r;
	if (text && !json)
		fputs(text, stdout);
	return text ? EXIT_OK : EXIT_NOT_AS_ASKED;
}

static int profiles_of_files(const struct options *o, struct diag_list *diags, struct listing *l)
{
	struct offline f;
	int r, made;

	r = offline_policy(o, NULL, &f);
	if (r == EXIT_OK && f.policy) {
		made = listing_make(f.policy, l);
		if (made < 0)
			r = fail_errno(made, "profiles");
	} else if (r == EXIT_OK) {
		r = EXIT_NOT_AS_ASKED;
	}
	diag_move(diags, &f.diags);
	offline_done(&f);
	return r;
}

static int profiles_of_daemon(const struct options *o, struct listing *l)
{
	_cleanup_(client_closep) struct client *c = NULL;
	int r;

	r = client_open(o, CLIENT_READS, &c);
	return r == EXIT_OK ? client_profiles(c, l) : r;
}

int cmd_list_profiles(const struct options *o, _unused_ char **args, _unused_ int n)
{
	_cleanup_(diag_done) struct diag_list diags = {0};
	struct listing l = {0};
	bool json = option_given(o, OPTION_JSON);
	int r;

	if (offline_wanted(o))
		r = profiles_of_files(o, &diags, &l);
	else
		r = profiles_of_daemon(o, &l);
	if (!json)
		print_diags(&diags);
	if (json && (r == EXIT_OK || r == EXIT_NOT_AS_ASKED))
		r = out_profiles(&l, &diags) == EXIT_OK ? r : EXIT_FAILED;
	else if (r == EXIT_OK)
		print_profiles(&l);
	listing_done(&l);
	return r;
}
