/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <getopt.h>

#include "cmd.h"
#include "nearest.h"

/* Verbs that ask the daemon, and those that can also do without one. */
#define OPTIONS_ALL    (OPTION_JSON | OPTION_QUIET | OPTION_HELP | OPTION_VERSION)
#define OPTIONS_DAEMON (OPTIONS_ALL | OPTION_HOST | OPTION_ROOT | OPTION_SOCKET)
#define OPTIONS_HOLD \
	(OPTION_CPUS | OPTION_LATENCY | OPTION_PROFILE | OPTION_MODE | OPTION_REASON | OPTION_TTL)
#define OPTIONS_EITHER (OPTIONS_DAEMON | OPTION_POLICY)

struct command {
	const char *name;
	const char *args; /* for usage; "" when it takes none */
	int min, max; /* number of arguments; max -1: any */
	unsigned options; /* those it knows */
	command_fn run;
	const char *summary; /* one line of --help */
	const char *help; /* the rest of VERB --help */
};

static const struct command commands[] = {
	{"status", "", 0, 0, OPTIONS_DAEMON, cmd_status,
	 "state of the daemon, its policy files and run-time settings", ""},
	{"show", "", 0, 0, OPTIONS_EITHER, cmd_show,
	 "the policy in force, all files merged, as policy text",
	 "With --root or --policy: the policy as these files say, without a daemon.\n"},
	{"explain", "CPUS", 1, 1, OPTIONS_EITHER, cmd_explain,
	 "every layer that decides how deep these CPUs may sleep",
	 "CPUS is a number, a list such as 0-3,8, or any CPU selector (cpuidled.conf(5)).\n"
	 "With --root or --policy: from files alone, without a daemon.\n"},
	{"plan", "", 0, 0, OPTIONS_EITHER | OPTION_CPUS | OPTION_CHANGES, cmd_plan,
	 "what each CPU gets and why; with --changes the writes this needs",
	 "Without --root, --policy or --changes: the plan the daemon has in force.\n"
	 "With one of them: what the policy files mean for this host or the tree, without a daemon\n"
	 "and without its run-time settings.\n"},
	{"check", "[FILE...]", 0, -1, OPTIONS_ALL | OPTION_ROOT | OPTION_POLICY | OPTION_STRICT,
	 cmd_check, "parse and judge policy files against this host or a tree",
	 "Each FILE is judged on its own, together with the shipped profiles. Without one, the\n"
	 "policy that a daemon would find. Ends with 3 when there are errors.\n"},
	{"set", "KEY=VALUE...", 0, -1, OPTIONS_DAEMON | OPTION_CPUS | OPTION_RESET, cmd_set,
	 "change settings until the daemon ends, on top of all files",
	 "Without --cpus: keys of [Daemon], such as DefaultProfile=low-latency.\n"
	 "With --cpus SELECTOR: Profile=, Priority= and every key of [Profile] for these CPUs.\n"
	 "Settings of several calls add up; the same key for the same SELECTOR is replaced.\n"
	 "They outlive a reload and not a restart. --reset drops them all.\n"},
	{"list-profiles", "", 0, 0, OPTIONS_EITHER, cmd_list_profiles,
	 "the profiles that groups and settings may name",
	 "With --root or --policy: from files alone, without a daemon.\n"},
	{"reload", "", 0, 0, OPTIONS_DAEMON, cmd_reload,
	 "read the policy again; takes effect whole or not at all",
	 "Ends with 3 and prints every error when the policy is bad; nothing has changed then.\n"},
	{"verify", "", 0, 0, OPTIONS_DAEMON | OPTION_INTERVAL, cmd_verify,
	 "compare plan, kernel and what the idle counters show",
	 "Reads every file of the plan back, sums the limits of all who limit a CPU, and observes the\n"
	 "idle counters for a second, or --interval TIME: a state that is off must not be entered.\n"
	 "Each range of CPUs is ok, differs, or is unsupported with the reason. Ends with 3 when\n"
	 "something differs.\n"},
	{"hold", "[-- COMMAND...]", 0, -1, OPTIONS_DAEMON | OPTIONS_HOLD, cmd_hold,
	 "hold a latency limit, profile or mode while COMMAND runs",
	 "COMMAND is run in place of cpuidlectl; the hold ends with it, however it ends.\n"
	 "Without COMMAND: with --ttl until that time is over, otherwise until ^C.\n"
	 "Without --cpus: all CPUs. The strictest limit of all holds and of the policy wins.\n"},
	{"release", "ID", 1, 1, OPTIONS_DAEMON, cmd_release, "end a hold",
	 "ID is the number that hold and list-holds print.\n"},
	{"list-holds", "", 0, 0, OPTIONS_DAEMON, cmd_list_holds,
	 "what is held now, by whom and why", ""},
	{"simulate", "", 0, 0,
	 OPTIONS_ALL | OPTION_ROOT | OPTION_POLICY | OPTION_TRACE | OPTION_CONVERT, cmd_simulate,
	 "play recorded idle periods against a policy",
	 "Tells for the kernel's governors without a policy, for them with it, and for an oracle that\n"
	 "knows how long each period will be: how often the limit was met, energy by a simple model,\n"
	 "wrong guesses. --convert prints what perf script says of power:cpu_idle as a trace.\n"},
	{"import", "tuned|saptune|crio|pepc FILE", 2, 2, OPTIONS_ALL | OPTION_OUTPUT, cmd_import,
	 "settings of another program as policy text",
	 "What cannot be kept becomes a comment with its place and the reason. FILE is a profile of\n"
	 "tuned, a note of saptune, a text with annotations cpu-c-states.crio.io, or a script that\n"
	 "calls pepc; - is standard input.\n"},
	{"monitor", "", 0, 0, OPTIONS_DAEMON, cmd_monitor,
	 "print what the daemon decides and why, as it happens",
	 "With --json: one object a line. Ends with 4 when the daemon goes away.\n"},
};

struct option_row {
	const char *name;
	char letter; /* 0: none */
	const char *arg; /* NULL: takes none */
	enum option_bit bit;
	const char *help;
};

static const struct option_row option_rows[] = {
	{"json", 0, NULL, OPTION_JSON, "print JSON (schemas in share/cpuidled/schemas)"},
	{"quiet", 'q', NULL, OPTION_QUIET, "print errors and what was asked for, nothing else"},
	{"host", 'H', "HOST", OPTION_HOST, "ask the daemon of another host, by ssh"},
	{"root", 0, "DIR", OPTION_ROOT, "the host is the tree below DIR"},
	{"socket", 0, "PATH", OPTION_SOCKET, "ask the daemon at this socket only"},
	{"policy", 0, "FILE", OPTION_POLICY, "this policy file instead of the search path"},
	{"cpus", 0, "SELECTOR", OPTION_CPUS, "these CPUs: 0-3,8  node:1  isolated & !package:0"},
	{"strict", 0, NULL, OPTION_STRICT, "warnings count as errors"},
	{"changes", 0, NULL, OPTION_CHANGES, "also the writes to the kernel's files"},
	{"latency", 0, "LIMIT", OPTION_LATENCY, "longest exit latency to hold: 10us, 1ms, 0"},
	{"profile", 0, "NAME", OPTION_PROFILE, "profile to hold, with its limit and modes"},
	{"mode", 0, "KEY=VALUE", OPTION_MODE, "mode to hold: C1Interrupts=window; may be repeated"},
	{"reason", 0, "TEXT", OPTION_REASON, "why, for explain and list-holds"},
	{"ttl", 0, "TIME", OPTION_TTL, "end the hold after 30s, 5min, 2h"},
	{"interval", 0, "TIME", OPTION_INTERVAL, "observe for 500ms, 10s, 1min; 0: not at all"},
	{"trace", 0, "FILE", OPTION_TRACE, "idle periods to play, - for standard input"},
	{"convert", 0, "FILE", OPTION_CONVERT, "output of perf script to turn into such"},
	{"output", 0, "FILE", OPTION_OUTPUT, "write the policy text there"},
	{"reset", 0, NULL, OPTION_RESET, "drop all run-time settings"},
	{"help", 'h', NULL, OPTION_HELP, "print this help"},
	{"version", 0, NULL, OPTION_VERSION, "print the version"},
};

int fail(enum exit_code code, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("cpuidlectl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return code;
}

int fail_errno(int error, const char *what)
{
	return fail(EXIT_FAILED, "%s: %s", what, strerror(-error));
}

static void print_options(unsigned mask)
{
	for (size_t i = 0; i < ARRAY_SIZE(option_rows); i++) {
		const struct option_row *row = &option_rows[i];
		char left[48];

		if (!(row->bit & mask))
			continue;
		snprintf(left, sizeof(left), "%c%c%s--%s%s%s", row->letter ? '-' : ' ',
			 row->letter ? row->letter : ' ', row->letter ? ", " : "  ", row->name,
			 row->arg ? " " : "", row->arg ? row->arg : "");
		printf("  %-22s %s\n", left, row->help);
	}
}

static void print_usage(void)
{
	puts("Usage: cpuidlectl [OPTION...] VERB [ARGUMENT...]\n\n"
	     "Asks and steers cpuidled, which decides how deep each CPU may sleep.\n\nVerbs:");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		char left[48];

		snprintf(left, sizeof(left), "%s %s", commands[i].name, commands[i].args);
		printf("  %-22s %s\n", left, commands[i].summary);
	}
	puts("\nOptions:");
	print_options(UINT32_MAX);
	puts("\nExit status: 0 done, 1 failed, 2 usage, 3 not as asked (check or reload found errors,\n"
	     "verify found differences, a hold was ended by others), 4 no daemon or no such host.\n"
	     "'cpuidlectl VERB --help' tells more about one verb.");
}

static void print_command_help(const struct command *c)
{
	printf("Usage: cpuidlectl %s [OPTION...]%s%s\n\n%s.\n%s\nOptions:\n", c->name,
	       *c->args ? " " : "", c->args, c->summary, c->help);
	print_options(c->options);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (streq(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

static int unknown_command(const char *name)
{
	struct nearest near = {.word = name};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		nearest_offer(&near, commands[i].name);
	if (near.found)
		return fail(EXIT_USAGE, "unknown verb '%s'; did you mean '%s'?", name, near.found);
	return fail(EXIT_USAGE, "unknown verb '%s'; 'cpuidlectl --help' lists them", name);
}

static void note_option(struct options *o, const struct option_row *row, const char *value)
{
	o->given |= row->bit;
	if (row->bit == OPTION_HOST)
		o->host = value;
	else if (row->bit == OPTION_ROOT)
		o->root = value;
	else if (row->bit == OPTION_SOCKET)
		o->socket = value;
	else if (row->bit == OPTION_POLICY)
		o->policy = value;
	else if (row->bit == OPTION_TRACE)
		o->trace = value;
	else if (row->bit == OPTION_OUTPUT)
		o->output = value;
	else if (row->bit == OPTION_CONVERT)
		o->convert = value;
	else if (row->bit == OPTION_CPUS)
		o->cpus = value;
	else if (row->bit == OPTION_LATENCY)
		o->latency = value;
	else if (row->bit == OPTION_PROFILE)
		o->profile = value;
	else if (row->bit == OPTION_REASON)
		o->reason = value;
	else if (row->bit == OPTION_TTL)
		o->ttl = value;
	else if (row->bit == OPTION_INTERVAL)
		o->interval = value;
	else if (row->bit == OPTION_MODE && o->n_modes < OPTION_MODES_MAX)
		o->modes[o->n_modes++] = value;
}

static const struct option_row *row_of_letter(int letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(option_rows); i++) {
		if (option_rows[i].letter == letter)
			return &option_rows[i];
	}
	return NULL;
}

/* Fills o; getopt() leaves the verb and its arguments at argv[optind]. false: it has complained. */
static bool parse_options(int argc, char **argv, struct options *o)
{
	struct option long_options[ARRAY_SIZE(option_rows) + 1] = {0};
	int c, index = 0;

	for (size_t i = 0; i < ARRAY_SIZE(option_rows); i++) {
		long_options[i].name = option_rows[i].name;
		long_options[i].has_arg = option_rows[i].arg ? required_argument : no_argument;
	}
	opterr = 0; /* our own words below */
	while ((c = getopt_long(argc, argv, ":qhH:", long_options, &index)) != -1) {
		const struct option_row *row = c == 0 ? &option_rows[index] : row_of_letter(c);

		if (c == ':')
			return fail(EXIT_USAGE, "option '%s' needs a value; see --help",
				    argv[optind - 1]),
			       false;
		if (!row)
			return fail(EXIT_USAGE, "unknown option '%s'; --help lists them",
				    argv[optind - 1]),
			       false;
		if (row->arg && !*optarg)
			return fail(EXIT_USAGE, "--%s has an empty value; it wants %s", row->name,
				    row->arg),
			       false;
		note_option(o, row, optarg);
	}
	return true;
}

static int check_options(const struct command *c, const struct options *o, int n)
{
	unsigned strange = o->given & ~c->options;

	for (size_t i = 0; i < ARRAY_SIZE(option_rows); i++) {
		if (strange & option_rows[i].bit)
			return fail(
				EXIT_USAGE,
				"--%s means nothing to '%s'; 'cpuidlectl %s --help' lists what does",
				option_rows[i].name, c->name, c->name);
	}
	if (o->host && (o->root || o->socket || o->policy))
		return fail(EXIT_USAGE, "--host asks the daemon of another host; it does not go "
					"with --root, --socket or --policy");
	if (o->socket && (o->root || o->policy))
		return fail(EXIT_USAGE,
			    "--socket asks one daemon; it does not go with --root or --policy");
	if (n < c->min)
		return fail(EXIT_USAGE, "'%s' wants %s; see 'cpuidlectl %s --help'", c->name,
			    c->args, c->name);
	if (c->max >= 0 && n > c->max)
		return fail(EXIT_USAGE, "'%s' takes %s; see 'cpuidlectl %s --help'", c->name,
			    c->max ? "one argument" : "no argument", c->name);
	return EXIT_OK;
}

/* Output that could not be written is a failure, whatever the verb thought of it. */
static int finish(int code)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		return fail(EXIT_FAILED, "cannot write the answer: %s", strerror(errno));
	return code;
}

int main(int argc, char **argv)
{
	const struct command *c;
	struct options o = {0};
	int r;

	if (!parse_options(argc, argv, &o))
		return EXIT_USAGE;
	if (option_given(&o, OPTION_VERSION)) {
		puts("cpuidlectl " CPUIDLED_VERSION);
		return finish(EXIT_OK);
	}
	if (optind >= argc) {
		if (!option_given(&o, OPTION_HELP))
			return fail(EXIT_USAGE, "no verb given; 'cpuidlectl --help' lists them");
		print_usage();
		return finish(EXIT_OK);
	}
	c = find_command(argv[optind]);
	if (!c)
		return unknown_command(argv[optind]);
	if (option_given(&o, OPTION_HELP)) {
		print_command_help(c);
		return finish(EXIT_OK);
	}
	r = check_options(c, &o, argc - optind - 1);
	if (r != EXIT_OK)
		return r;
	return finish(c->run(&o, argv + optind + 1, argc - optind - 1));
}
