/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/pidfd.h>
#include <unistd.h>

#include "out.h"
#include "print.h"

/* As a shell says that there is no such command, or that it cannot be run. */
#define STATUS_NOT_FOUND    127
#define STATUS_NOT_RUNNABLE 126

int parse_time(const char *text, uint64_t *ret_us)
{
	static const struct {
		const char *unit;
		uint64_t us;
	} units[] = {{"ms", 1000},
		     {"s", 1000000},
		     {"", 1000000},
		     {"min", 60000000},
		     {"h", UINT64_C(3600000000)},
		     {"d", UINT64_C(86400000000)}};
	const char *p = text;
	uint32_t n;

	if (units_scan_u32(&p, UINT32_MAX, &n) < 0 || n == 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!streq(p, units[i].unit))
			continue;
		*ret_us = n * units[i].us;
		return 0;
	}
	return -EINVAL;
}

static int read_latency(const char *text, uint64_t *ret)
{
	if (units_parse_latency(text, ret) < 0)
		return fail(EXIT_USAGE, "--latency '%s' is no latency; say 10us, 1ms or 0", text);
	if (*ret == LATENCY_NONE)
		return fail(EXIT_USAGE,
			    "--latency none asks for nothing; leave it away, or say 10us");
	return EXIT_OK;
}

static int read_ask(const struct options *o, bool command, struct client_ask *ask)
{
	int r = o->latency ? read_latency(o->latency, &ask->limit_ns) : EXIT_OK;

	if (r != EXIT_OK)
		return r;
	if (!option_given(o, OPTION_LATENCY | OPTION_PROFILE | OPTION_MODE))
		return fail(EXIT_USAGE, "'hold' wants --latency, --profile or --mode; see "
					"'cpuidlectl hold --help'");
	for (uint32_t i = 0; i < o->n_modes; i++)
		if (!strchr(o->modes[i], '='))
			return fail(EXIT_USAGE,
				    "--mode '%s' is not KEY=VALUE, such as "
				    "C1Interrupts=window",
				    o->modes[i]);
	if (o->ttl && parse_time(o->ttl, &ask->ttl_us) < 0)
		return fail(EXIT_USAGE, "--ttl '%s' is no time; say 30s, 5min or 2h", o->ttl);
	if (command && o->host)
		return fail(EXIT_USAGE,
			    "--host holds on another host, where COMMAND would not run; "
			    "leave one of them away");
	if (command && option_given(o, OPTION_JSON))
		return fail(EXIT_USAGE,
			    "--json does not go with COMMAND, whose output it would mix "
			    "with");
	return EXIT_OK;
}

/* The process stays the same and its descriptor with it: nothing waits beside COMMAND. */
static int run(char **args)
{
	int r;

	execvp(args[0], args);
	r = errno;
	return fail(r == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUNNABLE, "cannot run '%s': %s",
		    args[0], strerror(r));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int hold_command(struct client **c, const struct client_ask *what, char **args)
{
	struct client_ask ask = *what;
	char app[64];
	uint32_t id;
	int r;

	snprintf(app, sizeof(app), "%s", base_name(args[0]));
	ask.app = app;
	ask.fd = pidfd_open(getpid(), 0);
	if (ask.fd < 0)
		return fail(EXIT_FAILED, "this kernel has no pidfd: %s", strerror(errno));
	r = client_hold(*c, &ask, &id);
	close(ask.fd);
	if (r != EXIT_OK)
		return r;
	client_close(TAKE_PTR(*c));
	return run(args);
}

static int tell(const struct options *o, uint32_t id)
{
	int r = EXIT_OK;

	if (option_given(o, OPTION_JSON))
		r = out_hold(id);
	else if (!option_given(o, OPTION_QUIET))
		printf("hold %" PRIu32 "\n", id);
	return fflush(stdout) == 0 ? r : fail(EXIT_FAILED, "cannot write: %s", strerror(errno));
}

int cmd_hold(const struct options *o, char **args, int n)
{
	struct client_ask ask = {
		.cpus = o->cpus,
		.profile = o->profile,
		.reason = o->reason,
		.app = "cpuidlectl",
		.limit_ns = LATENCY_NONE,
		.modes = o->modes,
		.n_modes = o->n_modes,
		.fd = -1,
		.detached = n == 0 && o->ttl,
	};
	_cleanup_(client_closep) struct client *c = NULL;
	uint32_t id;
	int r;

	r = read_ask(o, n > 0, &ask);
	if (r == EXIT_OK)
		r = client_open(o, CLIENT_WRITES, &c);
	if (r != EXIT_OK)
		return r;
	if (n > 0)
		return hold_command(&c, &ask, args);
	r = client_hold(c, &ask, &id);
	if (r == EXIT_OK)
		r = tell(o, id);
	return r != EXIT_OK || ask.detached ? r : client_hold_wait(c, id);
}

int cmd_release(const struct options *o, char **args, _unused_ int n)
{
	_cleanup_(client_closep) struct client *c = NULL;
	uint64_t id;
	int r;

	if (units_parse_u64(args[0], 1, UINT32_MAX, &id) < 0)
		return fail(EXIT_USAGE,
			    "'%s' is no number of a hold; 'cpuidlectl list-holds' shows "
			    "them",
			    args[0]);
	r = client_open(o, CLIENT_WRITES, &c);
	if (r == EXIT_OK)
		r = client_release(c, (uint32_t)id);
	if (r == EXIT_OK && option_given(o, OPTION_JSON))
		r = out_released((uint32_t)id);
	return r;
}

int cmd_list_holds(const struct options *o, _unused_ char **args, _unused_ int n)
{
	_cleanup_(client_closep) struct client *c = NULL;
	struct client_holds holds = {.n = 0};
	int r;

	r = client_open(o, CLIENT_READS, &c);
	if (r == EXIT_OK)
		r = client_holds(c, &holds);
	if (r == EXIT_OK && option_given(o, OPTION_JSON))
		r = out_holds(&holds);
	else if (r == EXIT_OK)
		print_holds(&holds);
	client_holds_done(&holds);
	return r;
}
