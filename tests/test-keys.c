/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "buf.h"
#include "policy.h"
#include "schema.h"

/*
 * Each key of the schema with values that are taken, at its bounds, and values that are refused. What a
 * taken one became is read from policy_format(), which prints what is stored.
 */
struct key_case {
	enum schema_section section;
	const char *key, *value;
	const char *stored; /* the line it is printed as, "" for none; NULL: refused */
	const char *told; /* part of the message when it is refused */
};

#define LONG_NAME "abcdefghijklmnopqrstuvwxyz.0123456789_-A"
#define WORD_31	  "C123456789012345678901234567890"
#define RANGE	  "is out of range; write "
#define TOO_LONG  "is more than the kernel can hold, 2147s; write "
#define LATENCY	  "is no latency in whole nanoseconds; write a latency such as 20us"
#define PROFILE	  SECTION_PROFILE

static const struct key_case cases[] = {
	{SECTION_DAEMON, "DefaultProfile", "p", "DefaultProfile=p", NULL},
	{SECTION_DAEMON, "DefaultProfile", "", "DefaultProfile=balanced", NULL},
	{SECTION_DAEMON, "DefaultProfile", "q", NULL, "there is no such profile; did you mean p?"},
	{SECTION_DAEMON, "DefaultProfile", "a b", NULL, "is no name of letters, digits"},
	{SECTION_DAEMON, "DefaultProfile", LONG_NAME "x", NULL, "is no name of letters, digits"},
	{SECTION_DAEMON, "OnForeignWrite", "yield", "OnForeignWrite=yield", NULL},
	{SECTION_DAEMON, "OnForeignWrite", "reassert", "OnForeignWrite=reassert", NULL},
	{SECTION_DAEMON, "OnForeignWrite", "alert", "OnForeignWrite=alert", NULL},
	{SECTION_DAEMON, "OnForeignWrite", "", "OnForeignWrite=reassert", NULL},
	{SECTION_DAEMON, "OnForeignWrite", "Yield", NULL, "is no known value; write yield"},
	{SECTION_DAEMON, "OnForeignWrite", "yield|alert", NULL, "is no known value; write yield"},
	{SECTION_DAEMON, "GlobalLatencyLimit", "100us", "GlobalLatencyLimit=100us", NULL},
	{SECTION_DAEMON, "GlobalLatencyLimit", "0", "GlobalLatencyLimit=0", NULL},
	{SECTION_DAEMON, "GlobalLatencyLimit", "none", "GlobalLatencyLimit=none", NULL},
	{SECTION_DAEMON, "GlobalLatencyLimit", "", "GlobalLatencyLimit=none", NULL},
	{SECTION_DAEMON, "GlobalLatencyLimit", "2000000000", "GlobalLatencyLimit=2000s", NULL},
	{SECTION_DAEMON, "GlobalLatencyLimit", "2147483647", NULL, TOO_LONG},
	{SECTION_DAEMON, "GlobalLatencyLimit", "yes", NULL, LATENCY},
	{SECTION_DAEMON, "UmwaitC02", "off", "UmwaitC02=off", NULL},
	{SECTION_DAEMON, "UmwaitC02", "", "UmwaitC02=keep", NULL},
	{SECTION_DAEMON, "UmwaitC02", "1", NULL, "is no known value; write keep"},
	{SECTION_DAEMON, "UmwaitMaxTime", "0", "UmwaitMaxTime=0", NULL},
	{SECTION_DAEMON, "UmwaitMaxTime", "200000", "UmwaitMaxTime=200000", NULL},
	{SECTION_DAEMON, "UmwaitMaxTime", "4294967292", "UmwaitMaxTime=4294967292", NULL},
	{SECTION_DAEMON, "UmwaitMaxTime", "4294967296", NULL, "is more than the register holds"},
	{SECTION_DAEMON, "UmwaitMaxTime", "100002", NULL, "is no multiple of 4"},
	{SECTION_DAEMON, "UmwaitMaxTime", "50us", NULL, "is no number of cycles; write keep"},
	{SECTION_DAEMON, "UmwaitMaxTime", "keep", "UmwaitMaxTime=keep", NULL},
	{SECTION_DAEMON, "UmwaitMaxTime", "", "UmwaitMaxTime=keep", NULL},

	{PROFILE, "Description", "Any text, 20us = fast; ok",
	 "Description=Any text, 20us = fast; ok", NULL},
	{PROFILE, "Description", "", "", NULL},
	{PROFILE, "Base", "balanced", "Base=balanced", NULL},
	{PROFILE, "Base", "", "", NULL},
	{PROFILE, "Base", "balance", NULL, "there is no such profile; did you mean balanced?"},
	{PROFILE, "Base", "p", NULL, "Base=p goes in a circle (p -> p)"},
	{PROFILE, "Base", "a/b", NULL, "is no name of letters, digits"},
	{PROFILE, "LatencyLimit", "20us", "LatencyLimit=20us", NULL},
	{PROFILE, "LatencyLimit", "20", "LatencyLimit=20us", NULL},
	{PROFILE, "LatencyLimit", "0", "LatencyLimit=0", NULL},
	{PROFILE, "LatencyLimit", "0us", "LatencyLimit=0", NULL},
	{PROFILE, "LatencyLimit", "400ns", "LatencyLimit=400ns", NULL},
	{PROFILE, "LatencyLimit", "0.4us", "LatencyLimit=400ns", NULL},
	{PROFILE, "LatencyLimit", "1ns", "LatencyLimit=1ns", NULL},
	{PROFILE, "LatencyLimit", "none", "LatencyLimit=none", NULL},
	{PROFILE, "LatencyLimit", "infinity", "LatencyLimit=none", NULL},
	{PROFILE, "LatencyLimit", "", "", NULL},
	{PROFILE, "LatencyLimit", "2147483646us", "LatencyLimit=2147.483646s", NULL},
	{PROFILE, "LatencyLimit", "2147483647us", NULL, TOO_LONG},
	{PROFILE, "LatencyLimit", "0.4ns", NULL, LATENCY},
	{PROFILE, "LatencyLimit", "-1", NULL, LATENCY},
	{PROFILE, "LatencyLimit", "20ux", NULL, LATENCY},
	{PROFILE, "LatencyLimit", "C6", NULL, LATENCY},
	/* What tuned writes: an index is no latency. */
	{PROFILE, "LatencyLimit", "cstate.id_no_zero:3|70", NULL, LATENCY},
	{PROFILE, "LatencyLimit", "n/a", NULL,
	 "could mean zero (as in the kernel's file) or no limit"},
	{PROFILE, "LatencyLimit", "N/A", NULL,
	 "write a latency such as 20us or 400ns, 0 for zero, none"},
	{PROFILE, "C0", "off", "C0=off", NULL},
	{PROFILE, "C0", "poll", "C0=poll", NULL},
	{PROFILE, "C0", "state", "C0=state", NULL},
	{PROFILE, "C0", "auto", "C0=auto", NULL},
	{PROFILE, "C0", "", "", NULL},
	{PROFILE, "C0", "on", NULL, "is no known value; write off, poll"},
	{PROFILE, "C0", "C0.2", NULL, "is no known value; write off, poll"},
	{PROFILE, "C0Depth", "C0.1", "C0Depth=C0.1", NULL},
	{PROFILE, "C0Depth", "C0.2", "C0Depth=C0.2", NULL},
	{PROFILE, "C0Depth", "2", NULL, "is no known value; write C0.1 or C0.2"},
	{PROFILE, "ZeroLatency", "poll", "ZeroLatency=poll", NULL},
	{PROFILE, "ZeroLatency", "c0", "ZeroLatency=c0", NULL},
	{PROFILE, "ZeroLatency", "C0", NULL, "is no known value; write poll"},
	{PROFILE, "C1Interrupts", "native", "C1Interrupts=native", NULL},
	{PROFILE, "C1Interrupts", "window", "C1Interrupts=window", NULL},
	{PROFILE, "C1Interrupts", "sti-mwait", "C1Interrupts=sti-mwait", NULL},
	{PROFILE, "C1Interrupts", "auto", "C1Interrupts=auto", NULL},
	{PROFILE, "C1Interrupts", "sti_mwait", NULL, "is no known value; write native"},
	{PROFILE, "HaltPoll", "off", "HaltPoll=off", NULL},
	{PROFILE, "HaltPoll", "auto", "HaltPoll=auto", NULL},
	{PROFILE, "HaltPoll", "200us", "HaltPoll=200us", NULL},
	{PROFILE, "HaltPoll", "1us", "HaltPoll=1us", NULL},
	{PROFILE, "HaltPoll", "10ms", "HaltPoll=10ms", NULL},
	{PROFILE, "HaltPoll", "2400000ns", "HaltPoll=2.4ms", NULL},
	{PROFILE, "HaltPoll", "999ns", NULL, RANGE},
	{PROFILE, "HaltPoll", "10001us", NULL, RANGE},
	{PROFILE, "HaltPoll", "0", NULL, RANGE},
	{PROFILE, "HaltPoll", "none", NULL, RANGE},
	{PROFILE, "HaltPoll", "2147483647", NULL, RANGE},
	{PROFILE, "HaltPoll", "on", NULL, "is no time to poll; write off, auto"},
	{PROFILE, "Broadcast", "auto", "Broadcast=auto", NULL},
	{PROFILE, "Broadcast", "avoid", "Broadcast=avoid", NULL},
	{PROFILE, "Broadcast", "off", "Broadcast=off", NULL},
	{PROFILE, "Broadcast", "no", NULL, "is no known value; write auto"},
	{PROFILE, "IoPort", "native", "IoPort=native", NULL},
	{PROFILE, "IoPort", "direct", "IoPort=direct", NULL},
	{PROFILE, "IoPort", "auto", "IoPort=auto", NULL},
	{PROFILE, "IoPort", "0x414", NULL, "is no known value; write native"},
	{PROFILE, "DisableStates", "C6", "DisableStates=C6", NULL},
	{PROFILE, "DisableStates", "C6 C6P,C1_ACPI , LPI-1", "DisableStates=C6 C6P C1_ACPI LPI-1",
	 NULL},
	{PROFILE, "DisableStates", "core-off package-off", "DisableStates=core-off package-off",
	 NULL},
	{PROFILE, "DisableStates", "C6 c6 C6", "DisableStates=C6", NULL},
	{PROFILE, "DisableStates", "\"C1 HLT\" C6", "DisableStates=\"C1 HLT\" C6", NULL},
	{PROFILE, "DisableStates", WORD_31, "DisableStates=" WORD_31, NULL},
	{PROFILE, "DisableStates", WORD_31 "x", NULL,
	 "holds something that cannot be a state's name"},
	{PROFILE, "DisableStates", "C6;C3", NULL, "holds something that cannot be a state's name"},
	{PROFILE, "DisableStates", "\"C1 HLT", NULL,
	 "holds something that cannot be a state's name"},
	{PROFILE, "DisableStates", "\"\"", NULL, "holds something that cannot be a state's name"},
	{PROFILE, "DisableStates", "C\xc3\xa9", NULL,
	 "holds something that cannot be a state's name"},
	{PROFILE, "DisableStates",
	 "a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6", NULL,
	 "makes a list of more than 32 words"},
	{PROFILE, "DisableStates", "", "DisableStates=", NULL},
	{PROFILE, "EnableStates", "C3", "EnableStates=C3", NULL},
	{PROFILE, "EnableStates", "C 3", "EnableStates=C 3", NULL},
	{PROFILE, "EnableStates", "*", NULL, "holds something that cannot be a state's name"},
	{PROFILE, "Adapt", "20us", "Adapt=20us", NULL},
	{PROFILE, "Adapt", "none", "Adapt=none", NULL},
	{PROFILE, "Adapt", "0", "Adapt=0", NULL},
	{PROFILE, "Adapt", "auto", NULL, "is no latency"},
	{PROFILE, "AdaptScope", "cpu", "AdaptScope=cpu", NULL},
	{PROFILE, "AdaptScope", "group", "AdaptScope=group", NULL},
	{PROFILE, "AdaptScope", "workload", NULL, "is no known value; write cpu or group"},
	{PROFILE, "ResidencyGuard", "off", "ResidencyGuard=off", NULL},
	{PROFILE, "ResidencyGuard", "auto", "ResidencyGuard=auto", NULL},
	{PROFILE, "ResidencyGuard", "on", NULL, "is no known value; write off or auto"},

	{SECTION_GROUP, "CPUs", "0-3,8,10-14:2", "CPUs=0-3,8,10-14:2", NULL},
	{SECTION_GROUP, "CPUs", "isolated & !node:1", "CPUs=isolated & !node:1", NULL},
	{SECTION_GROUP, "CPUs", "", NULL, "[Group g] has no CPUs=; add one such as CPUs=0-3"},
	{SECTION_GROUP, "CPUs", "0-", NULL, "CPUs=0-: \"0-\" is no list of numbers; "},
	{SECTION_GROUP, "CPUs", "isolated,", NULL, "\",\" is left over; "},
	{SECTION_GROUP, "Profile", "balanced", "Profile=balanced", NULL},
	{SECTION_GROUP, "Profile", "x", NULL, "Profile=x: there is no such profile"},
	{SECTION_GROUP, "Profile", "", NULL, "[Group g] has no Profile=; add the name of one"},
	{SECTION_GROUP, "Priority", "0", "Priority=0", NULL},
	{SECTION_GROUP, "Priority", "-1000", "Priority=-1000", NULL},
	{SECTION_GROUP, "Priority", "1000", "Priority=1000", NULL},
	{SECTION_GROUP, "Priority", "", "Priority=0", NULL},
	{SECTION_GROUP, "Priority", "-1001", NULL, RANGE "a number from -1000 to 1000"},
	{SECTION_GROUP, "Priority", "1001", NULL, RANGE "a number from -1000 to 1000"},
	{SECTION_GROUP, "Priority", "high", NULL, "is no number; write a number"},
	{SECTION_GROUP, "Priority", "1.5", NULL, "is no number; write a number"},

	{SECTION_WORKLOAD, "Unit", "postgresql.service", "Unit=postgresql.service", NULL},
	{SECTION_WORKLOAD, "Unit", "machine-*.scope", "Unit=machine-*.scope", NULL},
	{SECTION_WORKLOAD, "Unit", "a@b\\x2d.service", "Unit=a@b\\x2d.service", NULL},
	{SECTION_WORKLOAD, "Unit", "postgresql", NULL,
	 "is no systemd service or scope; write a unit"},
	{SECTION_WORKLOAD, "Unit", ".service", NULL, "is no systemd service or scope"},
	{SECTION_WORKLOAD, "Unit", "a b.service", NULL, "is no systemd service or scope"},
	{SECTION_WORKLOAD, "Unit", "a.timer", NULL, "is no systemd service or scope"},
	{SECTION_WORKLOAD, "Slice", "machine.slice", "Slice=machine.slice", NULL},
	{SECTION_WORKLOAD, "Slice", "machine.service", NULL, "is no systemd slice; write a slice"},
	{SECTION_WORKLOAD, "Cgroup", "/kubepods.slice/*", "Cgroup=/kubepods.slice/*", NULL},
	{SECTION_WORKLOAD, "Cgroup", "/a", "Cgroup=/a", NULL},
	{SECTION_WORKLOAD, "Cgroup", "a", NULL, "is no cgroup path; write a path"},
	{SECTION_WORKLOAD, "Cgroup", "/", NULL, "is no cgroup path; write a path"},
	{SECTION_WORKLOAD, "Cgroup", "/a/../b", NULL, "is no cgroup path; write a path"},
	{SECTION_WORKLOAD, "Cgroup", "/a//b", NULL, "is no cgroup path; write a path"},
	{SECTION_WORKLOAD, "Cgroup", "/a/", NULL, "is no cgroup path; write a path"},
	{SECTION_WORKLOAD, "Cgroup", "/./a", NULL, "is no cgroup path; write a path"},
	{SECTION_WORKLOAD, "Container", "4c01db0b339c", "Container=4c01db0b339c", NULL},
	{SECTION_WORKLOAD, "Container", "-x", NULL, "is no container id; write an id"},
	{SECTION_WORKLOAD, "Container", "a/b", NULL, "is no container id; write an id"},
	{SECTION_WORKLOAD, "Container",
	 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0", NULL,
	 "is no container id; write an id"},
	{SECTION_WORKLOAD, "CPUs", "all", "CPUs=all", NULL},
	{SECTION_WORKLOAD, "CPUs", "cpuset", "CPUs=cpuset", NULL},
	{SECTION_WORKLOAD, "CPUs", "0-3", NULL, "write cpuset or all"},
	{SECTION_WORKLOAD, "Profile", "p", "Profile=p", NULL},
	{SECTION_WORKLOAD, "Profile", "x", NULL, "Profile=x: there is no such profile"},
	{SECTION_WORKLOAD, "Profile", "", NULL,
	 "[Workload w] has no Profile=; add the name of one"},
	{SECTION_WORKLOAD, "Priority", "-1000", "Priority=-1000", NULL},
	{SECTION_WORKLOAD, "Priority", "1000", "Priority=1000", NULL},
	{SECTION_WORKLOAD, "Priority", "1001", NULL, RANGE},
	{SECTION_WORKLOAD, "Priority", "0x1", NULL, "is no number; write a number"},
};

/* A complete policy in which c's section says c's line, and only that section could say such a line. */
static char *make_text(const struct key_case *c)
{
	struct buf b = {0};
	bool is_match =
		c->section == SECTION_WORKLOAD &&
		schema_find(c->section, c->key)->place == offsetof(struct workload, match_at);
	char *text;

	buf_puts(&b, "[Profile p]\n");
	if (c->section == SECTION_PROFILE)
		buf_printf(&b, "%s=%s\n", c->key, c->value);
	if (c->section == SECTION_DAEMON)
		buf_printf(&b, "[Daemon]\n%s=%s\n", c->key, c->value);
	if (c->section == SECTION_GROUP)
		buf_printf(&b, "[Group g]\nCPUs=7\nProfile=balanced\n%s=%s\n", c->key, c->value);
	if (c->section == SECTION_WORKLOAD)
		buf_printf(&b, "[Workload w]\n%sProfile=balanced\n%s=%s\n",
			   is_match ? "" : "Slice=x.slice\n", c->key, c->value);
	text = buf_finish(&b);
	ck_assert_ptr_nonnull(text);
	return text;
}

/* Does text have this very line? */
static bool has_line(const char *text, const char *line)
{
	size_t n = strlen(line);

	for (const char *at = text; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
		if (strncmp(at, line, n) == 0 && at[n] == '\n')
			return true;
	}
	return false;
}

static void check_taken(const struct key_case *c, const struct policy *p)
{
	char *text = policy_format(p);
	char key[64];

	ck_assert_ptr_nonnull(text);
	if (c->stored[0] != '\0') {
		ck_assert_msg(has_line(text, c->stored), "%s=%s became:\n%s", c->key, c->value,
			      text);
	} else {
		snprintf(key, sizeof(key), "\n%s=", c->key);
		ck_assert_msg(!strstr(text, key), "%s=%s became:\n%s", c->key, c->value, text);
	}
	free(text);
}

static void check_refused(const struct key_case *c, const struct diag_list *diags)
{
	char line[1024] = "";

	for (size_t i = 0; i < diags->n; i++) {
		diag_format(&diags->items[i], line, sizeof(line));
		if (diags->items[i].severity == DIAG_ERROR && strstr(line, c->told)) {
			ck_assert_ptr_nonnull(strstr(line, "; "));
			ck_assert(diags->items[i].line > 0);
			return;
		}
	}
	ck_abort_msg("%s=%s: \"%s\" is not in: %s", c->key, c->value, c->told, line);
}

START_TEST(test_values)
{
	const struct key_case *c = &cases[_i];
	struct diag_list diags = {0};
	struct policy *p = NULL;
	char *text = make_text(c);

	ck_assert_int_eq(policy_new(&p), 0);
	ck_assert_int_eq(policy_add_text(p, "f", text, strlen(text), &diags), 0);
	ck_assert_int_eq(policy_finish(p, &diags), 0);
	ck_assert_msg((diags.n_errors == 0) == (c->stored != NULL), "%s=%s: %zu errors", c->key,
		      c->value, diags.n_errors);
	if (c->stored)
		check_taken(c, p);
	else
		check_refused(c, &diags);
	/* One wrong value is one error, not a trail of them. */
	ck_assert_msg(diags.n_errors <= 1, "%s=%s: %zu errors", c->key, c->value, diags.n_errors);
	policy_free(p);
	diag_done(&diags);
	free(text);
}
END_TEST

/* No key is without a value that is taken and one that is refused (free text takes everything). */
START_TEST(test_complete)
{
	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];
		unsigned taken = 0, refused = 0;

		for (size_t j = 0; j < ARRAY_SIZE(cases); j++) {
			if (cases[j].section != row->section || !streq(cases[j].key, row->key))
				continue;
			taken += cases[j].stored != NULL;
			refused += cases[j].stored == NULL;
		}
		ck_assert_msg(taken > 0, "no value for %s=", row->key);
		ck_assert_msg(refused > 0 || row->type == TYPE_TEXT,
			      "no bad value for %s=", row->key);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("keys");
	TCase *tc = tcase_create("keys");

	tcase_add_loop_test(tc, test_values, 0, (int)ARRAY_SIZE(cases));
	tcase_add_test(tc, test_complete);
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
