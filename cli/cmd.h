/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_CMD_H
#define CPUIDLED_CMD_H

#include "base.h"

/*
 * What main.c hands to a verb, and what a verb hands back. The table of verbs in main.c is the only place
 * where one is spelled: usage, help of a verb, the hint for a mistyped one and the dispatch come from it;
 * man page and completions are tested against it.
 */
enum exit_code {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* tried, and it did not work */
	EXIT_USAGE = 2, /* the command line makes no sense */
	EXIT_NOT_AS_ASKED =
		3, /* check or reload found errors, verify found differences, a hold was ended by others */
	EXIT_NOT_THERE = 4, /* no daemon, no such tree, no CPUs */
};

enum option_bit {
	OPTION_JSON = 1 << 0,
	OPTION_QUIET = 1 << 1,
	OPTION_HOST = 1 << 2,
	OPTION_ROOT = 1 << 3,
	OPTION_SOCKET = 1 << 4,
	OPTION_POLICY = 1 << 5,
	OPTION_CPUS = 1 << 6,
	OPTION_STRICT = 1 << 7,
	OPTION_CHANGES = 1 << 8,
	OPTION_RESET = 1 << 9,
	OPTION_HELP = 1 << 10,
	OPTION_VERSION = 1 << 11,
	OPTION_LATENCY = 1 << 12,
	OPTION_PROFILE = 1 << 13,
	OPTION_MODE = 1 << 14,
	OPTION_REASON = 1 << 15,
	OPTION_TTL = 1 << 16,
	OPTION_TRACE = 1 << 17,
	OPTION_CONVERT = 1 << 18,
	OPTION_OUTPUT = 1 << 19,
	OPTION_INTERVAL = 1 << 20,
};

#define OPTION_MODES_MAX 16U /* how often --mode may be given */

struct options {
	unsigned given; /* or-ed enum option_bit */
	const char *host; /* -H: another host, by ssh */
	const char *root; /* --root: a tree; NULL is this host */
	const char *socket; /* --socket: this private socket and no other way */
	const char *policy; /* --policy: this file instead of the search path */
	const char *cpus; /* --cpus: selector, NULL: all */
	const char *latency, *profile, *reason, *ttl, *interval;
	const char *output; /* of import; NULL: standard output */
	const char *trace, *convert; /* files of simulate; "-" is standard input */
	const char *modes[OPTION_MODES_MAX]; /* --mode, each time it is given */
	uint32_t n_modes;
};

static inline bool option_given(const struct options *o, enum option_bit bit)
{
	return (o->given & bit) != 0;
}

/* A verb: args are what follows it, without options; n is their number. Returns an exit code. */
typedef int (*command_fn)(const struct options *o, char **args, int n);

int cmd_status(const struct options *o, char **args, int n);
int cmd_show(const struct options *o, char **args, int n);
int cmd_explain(const struct options *o, char **args, int n);
int cmd_plan(const struct options *o, char **args, int n);
int cmd_check(const struct options *o, char **args, int n);
int cmd_set(const struct options *o, char **args, int n);
int cmd_list_profiles(const struct options *o, char **args, int n);
int cmd_reload(const struct options *o, char **args, int n);
int cmd_verify(const struct options *o, char **args, int n);
int cmd_hold(const struct options *o, char **args, int n);
int cmd_release(const struct options *o, char **args, int n);
int cmd_list_holds(const struct options *o, char **args, int n);
int cmd_simulate(const struct options *o, char **args, int n);
int cmd_import(const struct options *o, char **args, int n);
int cmd_monitor(const struct options *o, char **args, int n);

/* A time of the command line: "500ms", "30s", "5min", "2h", "1d", or seconds. -EINVAL, also for 0. */
int parse_time(const char *text, uint64_t *ret_us);

/* "cpuidlectl: text" on stderr. Returns code, for return fail(...). */
int fail(enum exit_code code, const char *fmt, ...) _printf_(2, 3);

/* The same for an error with no words of its own: out of memory and the like. */
int fail_errno(int error, const char *what);

#endif
