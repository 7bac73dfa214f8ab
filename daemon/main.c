/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>

#include "bus.h"
#include "log.h"
#include "manager.h"
#include "oneshot.h"

enum action { ACTION_SERVE, ACTION_RESTORE, ACTION_CHECK, ACTION_DONE, ACTION_USAGE };

static void usage(FILE *to)
{
	fputs("usage: cpuidled [OPTION ...]\n"
	      "Decides how deep each CPU of this host may sleep, and restores everything when it ends.\n"
	      "\n"
	      "  --root DIR     govern the recorded host below DIR instead of this one\n"
	      "  --policy FILE  use this policy file instead of searching /etc, /run and /usr/lib\n"
	      "  --once         apply, verify, exit; what was before stays recorded for --restore\n"
	      "  --restore      put back what an earlier run left, and nothing else\n"
	      "  --check        read and resolve the policy, print what is wrong, change nothing\n"
	      "  --no-bus       no D-Bus, neither the system bus nor the private socket\n"
	      "  --version\n"
	      "  --help\n"
	      "\n"
	      "SIGHUP reloads, SIGTERM and SIGINT restore and end.\n"
	      "Exit status: 0 ok, 1 failed, 2 usage, 3 policy refused, 4 cannot run here.\n",
	      to);
}

static enum action parse_arguments(int argc, char **argv, struct manager_options *o)
{
	enum {
		OPT_ROOT = 256,
		OPT_POLICY,
		OPT_ONCE,
		OPT_RESTORE,
		OPT_CHECK,
		OPT_NO_BUS,
		OPT_VERSION,
		OPT_HELP
	};
	static const struct option options[] = {
		{"root", required_argument, NULL, OPT_ROOT},
		{"policy", required_argument, NULL, OPT_POLICY},
		{"once", no_argument, NULL, OPT_ONCE},
		{"restore", no_argument, NULL, OPT_RESTORE},
		{"check", no_argument, NULL, OPT_CHECK},
		{"no-bus", no_argument, NULL, OPT_NO_BUS},
		{"version", no_argument, NULL, OPT_VERSION},
		{"help", no_argument, NULL, OPT_HELP},
		{NULL, 0, NULL, 0},
	};
	enum action action = ACTION_SERVE;

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
		switch (c) {
		case OPT_ROOT:
			o->root = optarg;
			break;
		case OPT_POLICY:
			o->policy = optarg;
			break;
		case OPT_ONCE:
			o->once = true;
			break;
		case OPT_NO_BUS:
			o->no_bus = true;
			break;
		case OPT_RESTORE:
		case OPT_CHECK:
			if (action != ACTION_SERVE) {
				fputs("cpuidled: --restore and --check exclude each other\n",
				      stderr);
				return ACTION_USAGE;
			}
			action = c == OPT_CHECK ? ACTION_CHECK : ACTION_RESTORE;
			break;
		case OPT_VERSION:
			puts("cpuidled " CPUIDLED_VERSION);
			return ACTION_DONE;
		case OPT_HELP:
			usage(stdout);
			return ACTION_DONE;
		default:
			return ACTION_USAGE;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "cpuidled: unexpected argument '%s'; only options are understood\n",
			argv[optind]);
		return ACTION_USAGE;
	}
	if (action != ACTION_SERVE && o->once) {
		fputs("cpuidled: --once goes with neither --restore nor --check\n", stderr);
		return ACTION_USAGE;
	}
	return action;
}

static int serve_with_bus(struct manager *m, bool no_bus)
{
	struct bus *bus = NULL;
	int status, r = no_bus ? 0 : bus_new(m, &bus);

	/* CPUs are governed with or without somebody to talk to. */
	if (r < 0)
		log_errno(LOG_ID_HOST, r, "no bus; only signals are heard");
	status = manager_main(m);
	bus_free(bus);
	return status;
}

static int serve(const struct manager_options *o)
{
	struct manager *m = NULL;
	int status, r = manager_new(o, &m);

	if (r < 0) {
		log_errno(LOG_ID_HOST, r, "cannot start");
		return MANAGER_EXIT_FAILED;
	}
	status = manager_start(m);
	if (status == MANAGER_EXIT_OK)
		status = o->once ? manager_once(m) : serve_with_bus(m, o->no_bus);
	manager_free(m);
	return status;
}

int main(int argc, char **argv)
{
	struct manager_options o = {.root = "/"};

	switch (parse_arguments(argc, argv, &o)) {
	case ACTION_SERVE:
		return serve(&o);
	case ACTION_RESTORE:
		return oneshot_restore(o.root);
	case ACTION_CHECK:
		return oneshot_check(o.root, o.policy);
	case ACTION_DONE:
		return MANAGER_EXIT_OK;
	case ACTION_USAGE:
		break;
	}
	fputs("Try 'cpuidled --help'.\n", stderr);
	return MANAGER_EXIT_USAGE;
}
