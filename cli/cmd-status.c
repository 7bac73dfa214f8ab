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

/* As long as nobody minds to wait, and most CPUs have been awake in. */
#define INTERVAL_US UINT64_C(1000000)

static int read_interval(const struct options *o, uint64_t *ret)
{
	if (!o->interval)
		*ret = INTERVAL_US;
	else if (streq(o->interval, "0"))
		*ret = 0;
	else if (parse_time(o->interval, ret) < 0)
		return fail(EXIT_USAGE,
			    "--interval '%s' is no time; say 500ms, 10s or 1min, or 0 to "
			    "observe nothing",
			    o->interval);
	return EXIT_OK;
}

/* The limit of a device that many may hold is of these. */
static int name_holders(const struct options *o, struct client_findings *f)
{
	_cleanup_(holders_done) struct holders h = {.n = 0};
	_cleanup_free_ char *who = NULL;

	if (!holders_wanted(o) || holders_find(&h) < 0 || !(h.n + h.n_hidden))
		return EXIT_OK;
	who = holders_text(&h);
	for (uint32_t i = 0; who && i < f->n; i++) {
		char *text = NULL;

		if (!streq(f->v[i].knob, "limit") ||
		    !strstr(f->v[i].detail, "cpu_dma_latency by others"))
			continue;
		if (asprintf(&text, "%s; open for writing in: %s", f->v[i].detail, who) < 0)
			return fail_errno(-ENOMEM, "verify");
		free(f->v[i].detail);
		f->v[i].detail = text;
	}
	return who ? EXIT_OK : fail_errno(-ENOMEM, "verify");
}

int cmd_verify(const struct options *o, _unused_ char **args, _unused_ int n)
{
	_cleanup_(client_closep) struct client *c = NULL;
	struct client_findings f = {0};
	uint64_t interval_us = 0;
	bool ok;
	int r;

	r = read_interval(o, &interval_us);
	if (r == EXIT_OK)
		r = client_open(o, CLIENT_READS, &c);
	if (r == EXIT_OK)
		r = client_verify(c, interval_us, &f);
	if (r != EXIT_OK)
		return r;
	r = name_holders(o, &f);
	if (r != EXIT_OK) {
		client_findings_done(&f);
		return r;
	}
	ok = !differs(&f);
	if (option_given(o, OPTION_JSON))
		r = out_findings(&f, ok);
	else
		print_findings(&f, option_given(o, OPTION_QUIET));
	client_findings_done(&f);
	return r == EXIT_OK && !ok ? EXIT_NOT_AS_ASKED : r;
}
