/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "holders.h"
#include "out.h"
#include "print.h"

int cmd_status(const struct options *o, _unused_ char **args, _unused_ int n)
{
	_cleanup_(client_closep) struct client *c = NULL;
	_cleanup_(holders_done) struct holders holders = {.n = 0};
	struct client_status s = {0};
	int r;

	r = client_open(o, CLIENT_READS, &c);
	if (r == EXIT_OK)
		r = client_status(c, &s);
	if (r != EXIT_OK)
		return r;
	if (holders_wanted(o))
		(void)holders_find(&holders);
	if (option_given(o, OPTION_JSON))
		r = out_status(&s, &holders);
	else
		print_status(&s, &holders);
	client_status_done(&s);
	return r;
}

static bool differs(const struct client_findings *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		if (streq(f->v[i].result, "differs"))
			return true;
	}
	return false;
}

int cmd_verify(const struct options *o, _unused_ char **args, _unused_ int n)
{
	_cleanup_(client_closep) struct client *c = NULL;
	struct client_findings f = {0};
	bool ok;
	int r;

	r = client_open(o, CLIENT_READS, &c);
	if (r == EXIT_OK)
		r = client_verify(c, &f);
	if (r != EXIT_OK)
		return r;
	ok = !differs(&f);
	if (option_given(o, OPTION_JSON))
		r = out_findings(&f, ok);
	else
		print_findings(&f, option_given(o, OPTION_QUIET));
	client_findings_done(&f);
	return r == EXIT_OK && !ok ? EXIT_NOT_AS_ASKED : r;
}
