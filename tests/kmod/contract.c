// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "contract.h"
#include "tap.h"

#define A(x)	CPUIDLE_POLICY_A_##x
#define RULE(x) CPUIDLE_POLICY_RULE_##x
#define CMD(x)	CPUIDLE_POLICY_CMD_##x
#define ROWS	64

struct wire own, other;
struct snapshot host;
bool can_read, no_driver;

static struct wire_caps caps;

void refused(struct wire *w, int ret, int err, const char *text, const char *what)
{
	if (!tap_ok(ret == -err && strstr(w->text, text), "refused: %s", what))
		tap_note("got %d \"%s\", wanted %d \"%s\"", ret, w->text, -err, text);
}

int set(struct wire *w, const char *text)
{
	struct wire_row row;

	if (!wire_parse_row(text, &row)) {
		tap_ok(false, "test bug: row \"%s\"", text);
		return -EINVAL;
	}
	return wire_set(w, &row, 1);
}

static uint32_t generation(void)
{
	struct wire_caps c;

	wire_caps(&other, &c);
	return c.generation;
}

bool attached(void)
{
	struct wire_caps c;

	wire_caps(&other, &c);
	return c.attached;
}

bool all_clear(void)
{
	static struct wire_row rows[ROWS];
	int i, n = wire_rows(&other, rows, ROWS);
	unsigned int k;

	for (i = 0; i < n; i++)
		for (k = 0; k <= CPUIDLE_POLICY_RULE_MAX; k++)
			if (rows[i].value[k])
				return false;
	return n == 1;
}

void wait_until_detached(void)
{
	int i;

	for (i = 0; i < 300 && attached(); i++)
		usleep(10000);
}

/* ---- caps and lease ---- */

static void test_caps(void)
{
	tap_ok(!wire_caps(&other, &caps), "CAPS_GET");
	tap_ok(caps.version == CPUIDLE_POLICY_VERSION, "version");
	tap_ok(caps.nr_cpus >= 1 && caps.nr_cpus <= WIRE_CPUS, "%u CPUs", caps.nr_cpus);
	tap_ok(caps.n_states >= 2, "%u states of %s", caps.n_states,
	       caps.driver[0] ? caps.driver : "the own driver");
	tap_ok(!caps.attached && !caps.own, "nothing is hooked");
	tap_ok(!caps.reason[0], "policy is possible here");
	no_driver = !caps.driver[0];
	if (can_read)
		tap_ok(!snapshot_foreign(&host), "no ->enter outside of the kernel's text");
}

static void test_lease(void)
{
	char name[64];

	refused(&own, set(&own, "cpus=0 count=1"), ENOLCK, "no lease", "CONFIG_SET without lease");
	refused(&own, wire_simple(&own, CMD(LEASE_RENEW)), ENOLCK, "no lease", "RENEW without one");
	refused(&own, wire_simple(&own, CMD(LEASE_DROP)), ENOLCK, "no lease", "DROP without one");
	refused(&own, wire_take(&own, "t", 99, 0), ERANGE, "range", "lease of 99 ms");
	refused(&own, wire_take(&own, "t", 600001, 0), ERANGE, "range", "lease over 10 min");
	refused(&own, wire_take(&own, "t", 1000, 600001), ERANGE, "range", "grace over 10 min");
	refused(&own, wire_take(&own, "", 1000, 0), EINVAL, "printable", "empty owner");
	refused(&own, wire_take(&own, "a\nb", 1000, 0), EINVAL, "printable", "unprintable owner");
	tap_ok(wire_take(&own, "0123456789012345678901234567890x", 1000, 0) < 0,
	       "refused: owner of 32 characters");
	refused(&own, wire_simple(&own, CMD(LEASE_TAKE)), EINVAL, "required", "TAKE without more");
	tap_ok(!wire_take(&own, "contract", 60000, 0), "lease taken");
	refused(&other, wire_take(&other, "second", 60000, 0), EBUSY, "held by contract",
		"a second owner, with the first one's name");
	snprintf(name, sizeof(name), "(pid %d)", getpid());
	tap_ok(strstr(other.text, name), "and his pid");
	refused(&other, set(&other, "cpus=0 count=1"), EBUSY, "contract", "another's CONFIG_SET");
	refused(&other, wire_simple(&other, CMD(LEASE_RENEW)), EBUSY, "contract", "his RENEW");
	refused(&other, wire_simple(&other, CMD(LEASE_DROP)), EBUSY, "contract", "his DROP");
	tap_ok(!wire_take(&own, "contract", 60000, 0), "taken again by the owner");
	tap_ok(!wire_simple(&own, CMD(LEASE_RENEW)), "renewed");
	wire_caps(&other, &caps);
	tap_ok(!strcmp(caps.owner, "contract") && caps.pid == (uint32_t)getpid() &&
		       caps.left_ms > 50000,
	       "CAPS_GET names the owner");
}

/* ---- malformed messages ---- */

static void test_malformed(void)
{
	static struct wire_msg m;
	uint32_t mask = 1, gen = generation();
	struct nlattr *nest;
	unsigned int cmd;

	for (cmd = 1; cmd <= CMD(HIST_GET); cmd++) {
		bool dump = cmd == CMD(CONFIG_GET) || cmd == CMD(QOS_GET) || cmd == CMD(STATS_GET);

		wire_begin(&own, &m, cmd, dump ? NLM_F_DUMP | NLM_F_ACK : 0);
		wire_put_u32(&m, A(MAX) + 7, 1);
		tap_ok(wire_talk(&own, &m, NULL, NULL) == -EINVAL, "refused: unknown attribute, %u",
		       cmd);
	}
	wire_begin(&own, &m, CMD(CONFIG_SET), 0);
	refused(&own, wire_talk(&own, &m, NULL, NULL), EINVAL, "nothing to set", "empty SET");
	wire_begin(&own, &m, CMD(CONFIG_SET), 0);
	wire_nest_end(&m, wire_nest(&m, A(RULE)));
	refused(&own, wire_talk(&own, &m, NULL, NULL), EINVAL, "CPUMASK", "empty rule");
	wire_begin(&own, &m, CMD(CONFIG_SET), 0);
	nest = wire_put(&m, A(RULE), NULL, 0); /* without the flag */
	wire_put(&m, RULE(CPUMASK), &mask, 4);
	wire_nest_end(&m, nest);
	refused(&own, wire_talk(&own, &m, NULL, NULL), EINVAL, "NLA_F_NESTED", "nest unflagged");
	wire_begin(&own, &m, CMD(CONFIG_SET), 0);
	nest = wire_nest(&m, A(RULE));
	wire_put(&m, RULE(CPUMASK), &mask, 3);
	wire_nest_end(&m, nest);
	refused(&own, wire_talk(&own, &m, NULL, NULL), EINVAL, "whole u32", "3 bytes of CPUs");
	wire_begin(&own, &m, CMD(CONFIG_SET), 0);
	nest = wire_nest(&m, A(RULE));
	wire_put(&m, RULE(CPUMASK), &mask, 4);
	wire_put(&m, RULE(COUNT), "\1", 1);
	wire_nest_end(&m, nest);
	refused(&own, wire_talk(&own, &m, NULL, NULL), EINVAL, "length", "u8 for a u32");
	tap_ok(own.offset > 0, "with the place of the bad attribute");
	refused(&own, wire_simple(&own, CMD(MEASURE_SET)), EOPNOTSUPP, "not in this version",
		"MEASURE_SET");
	refused(&own, wire_simple(&own, CMD(HIST_GET)), EOPNOTSUPP, "not in this version",
		"HIST_GET");
	tap_ok(generation() == gen, "nothing changed by any of them");
}

/* ---- rules ---- */

struct rule_case {
	const char *row;
	int err;
	const char *text;
};

static const struct rule_case rules[] = {
	{ "cpus=255 count=1", ERANGE, "cannot exist" },
	{ "cpus=0 window=1", EOPNOTSUPP, "polling" },
	{ "cpus=0 window=0x80000000", EINVAL, "no such state" },
	{ "cpus=0 off=0x400", EINVAL, "no such state" },
	{ "cpus=0 bcast=3", EINVAL, "unknown" },
	{ "cpus=0 count=2", EINVAL, "0 or 1" },
	{ "cpus=0 sti=1", EOPNOTSUPP, "STI;MWAIT" },
	{ "cpus=0 poll=3", EINVAL, "unknown" },
	{ "cpus=0 c1=3", EINVAL, "unknown" },
	{ "cpus=0 row=3", EINVAL, "unknown" },
	{ "cpus=0 haltpoll=999", ERANGE, "1000 to 10000000" },
	{ "cpus=0 haltpoll=10000001", ERANGE, "1000 to 10000000" },
	{ "cpus=0 ioport=2", EINVAL, "unknown" },
};

/* Where a CPU has UMWAIT they are taken: see c0.c. */
static const struct rule_case c0_rules[] = {
	{ "cpus=0 poll=1", EOPNOTSUPP, "no CPU has UMWAIT" },
	{ "cpus=0 c1=2", EOPNOTSUPP, "no CPU has UMWAIT" },
	{ "cpus=0 row=1", EOPNOTSUPP, "no CPU has UMWAIT" },
	{ "cpus=0 row=1 guest=1", EOPNOTSUPP, "no CPU has UMWAIT" },
};

static void test_rules(void)
{
	struct wire_row rows[2];
	uint32_t gen = generation();
	char text[64];
	unsigned int i;

	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		refused(&own, set(&own, rules[i].row), rules[i].err, rules[i].text, rules[i].row);
	for (i = 0; i < sizeof(c0_rules) / sizeof(c0_rules[0]); i++)
		if (!(caps.features & CPUIDLE_POLICY_F_C0))
			refused(&own, set(&own, c0_rules[i].row), c0_rules[i].err, c0_rules[i].text,
				c0_rules[i].row);
	if (!(caps.features & CPUIDLE_POLICY_F_IOPORT))
		refused(&own, set(&own, "cpus=0 ioport=1"), EOPNOTSUPP, "port", "cpus=0 ioport=1");
	snprintf(text, sizeof(text), "cpus=0 off=%#x", (1u << caps.n_states) - 1);
	refused(&own, set(&own, text), EINVAL, "no state at all", "every state off");
	tap_ok(own.offset > 0, "with the place of the bad attribute");
	/* a good rule beside a bad one */
	wire_parse_row("cpus=0 count=1", &rows[0]);
	wire_parse_row("cpus=0 window=1", &rows[1]);
	refused(&own, wire_set(&own, rows, 2), EOPNOTSUPP, "polling", "a good and a bad rule");
	tap_ok(generation() == gen, "nothing changed by any of them");
	tap_ok(!attached(), "and nothing is hooked");
}

static void test_own_driver(void)
{
	if (!no_driver) {
		refused(&own, set(&own, "own=1"), EBUSY, "has a cpuidle driver",
			"an own driver beside the kernel's");
		return;
	}
	refused(&own, set(&own, "cpus=0 count=1"), ENODEV, "OWN_DRIVER", "rows without driver");
	tap_ok(!set(&own, "own=1"), "own driver");
	wire_caps(&other, &caps);
	tap_ok(caps.own && !strcmp(caps.driver, "cpuidle_policy"), "it is the kernel's driver now");
	tap_ok(!caps.attached, "not hooked while no row needs it");
	tap_ok(!access("/sys/devices/system/cpu/cpu0/cpuidle/state1/usage", R_OK), "sysfs rows");
	if (can_read)
		snapshot_take(&host);
}

static void test_commit(void)
{
	static struct wire_row got[ROWS];
	struct wire_row rows[2];
	struct snapshot s;
	uint32_t gen = generation();
	char all[32];
	int n;

	snprintf(all, sizeof(all), "cpus=0-%u count=1", caps.nr_cpus - 1);
	tap_ok(!set(&own, all), "count on every CPU");
	tap_ok(generation() == gen + 1, "generation grew by one");
	tap_ok(!set(&own, all) && generation() == gen + 1, "the same again changes nothing");
	n = wire_rows(&other, got, ROWS);
	tap_ok(n == 1 && got[0].value[RULE(COUNT)] == 1, "CONFIG_GET: one row for all (%d)", n);
	tap_ok(got[0].given == 0xffc && got[0].words == (caps.nr_cpus + 31) / 32,
	       "with every field and a whole set of CPUs");
	if (can_read && snapshot_take(&s))
		tap_ok(snapshot_foreign(&s) >= s.states, "every ->enter is replaced");
	wire_parse_row("cpus=0 off=2", &rows[0]);
	rows[0].given |= 1u << RULE(BROADCAST);
	rows[0].value[RULE(BROADCAST)] = CPUIDLE_POLICY_BROADCAST_AVOID;
	tap_ok(!wire_set(&own, rows, 1), "two fields on CPU 0");
	n = wire_rows(&other, got, ROWS);
	tap_ok(n == (caps.nr_cpus > 1 ? 2 : 1), "rows group by what they say (%d)", n);
	tap_ok(got[0].value[RULE(STATES_OFF)] == 2 && got[0].value[RULE(COUNT)] == 1 &&
		       got[0].value[RULE(BROADCAST)] == CPUIDLE_POLICY_BROADCAST_AVOID,
	       "a field left out keeps its value");
	usleep(100000);
	if (can_read && snapshot_take(&s)) {
		tap_ok(snapshot_vetoed(&s, 0, 1), "CPU 0 carries the veto of state 1");
		tap_ok(caps.nr_cpus < 2 || !snapshot_vetoed(&s, 1, 1), "CPU 1 does not");
	}
}

static void test_generation(void)
{
	static struct wire_msg m;
	uint32_t gen = generation();
	struct wire_row row;
	int i, ret;

	for (i = 0; i < 2; i++) {
		wire_parse_row("cpus=0 off=0", &row);
		wire_begin(&own, &m, CMD(CONFIG_SET), 0);
		wire_put_u32(&m, A(GENERATION), gen - 1 + i);
		wire_put_row(&m, &row);
		ret = wire_talk(&own, &m, NULL, NULL);
		if (i)
			tap_ok(!ret, "current generation");
		else
			refused(&own, ret, ESTALE, "changed since", "old generation");
	}
}

static void test_back(void)
{
	struct snapshot s;
	char text[64];

	snprintf(text, sizeof(text), "cpus=0-%u off=0 bcast=auto count=0 window=0 sti=0",
		 caps.nr_cpus - 1);
	tap_ok(!set(&own, text), "all rows back to the host's settings");
	tap_ok(!attached(), "no hook is left");
	if (can_read && snapshot_take(&s))
		tap_ok(snapshot_equal(&s, &host), "the kernel's memory is as before");
}

static void test_end(void)
{
	struct snapshot s;

	wire_close(&own);
	wait_until_detached();
	tap_ok(all_clear() && !attached(), "nothing is left");
	if (can_read && snapshot_take(&s) && no_driver)
		tap_ok(!s.driver, "the own driver is gone");
}

int contract_run(void)
{
	if (!tap_ok(!wire_open(&own) && !wire_open(&other), "the family is there"))
		return tap_failed;
	can_read = snapshot_take(&host);
	test_caps();
	test_lease();
	test_malformed();
	test_own_driver();
	test_rules();
	test_commit();
	test_generation();
	test_back();
	contract_owner();
	test_end();
	return tap_failed;
}
