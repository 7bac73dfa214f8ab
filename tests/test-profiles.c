/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "testlib.h"

#include "buf.h"
#include "machine.h"
#include "policy.h"

/* The shipped profiles: what each file has to have, and whether what its comments claim is so. */
static const struct shipped {
	const char *name;
	uint64_t limit_ns;
	uint8_t c0, zero_latency, c1_interrupts;
	uint64_t haltpoll_ns;
} shipped[] = {
	{"adaptive", LATENCY_NONE, C0_OFF, ZERO_LATENCY_POLL, C1_NATIVE, HALTPOLL_OFF},
	{"balanced", LATENCY_NONE, C0_OFF, ZERO_LATENCY_POLL, C1_NATIVE, HALTPOLL_OFF},
	{"database", 10000, C0_OFF, ZERO_LATENCY_POLL, C1_NATIVE, HALTPOLL_OFF},
	{"dpdk", 2000, C0_AUTO, ZERO_LATENCY_POLL, C1_AUTO, HALTPOLL_OFF},
	{"guest-haltpoll", LATENCY_NONE, C0_OFF, ZERO_LATENCY_POLL, C1_NATIVE, HALTPOLL_AUTO},
	{"low-latency", 20000, C0_AUTO, ZERO_LATENCY_POLL, C1_AUTO, HALTPOLL_OFF},
	{"powersave", LATENCY_NONE, C0_POLL, ZERO_LATENCY_POLL, C1_NATIVE, HALTPOLL_OFF},
	{"realtime", 0, C0_AUTO, ZERO_LATENCY_POLL, C1_NATIVE, HALTPOLL_OFF},
	{"sap-hana", 70000, C0_OFF, ZERO_LATENCY_POLL, C1_NATIVE, HALTPOLL_OFF},
};

static struct policy *parse_file(const char *path, const char *name)
{
	char *text = test_read(path, name);
	struct diag_list diags = {0};
	struct policy *p = NULL;

	ck_assert_int_eq(policy_new(&p), 0);
	ck_assert_int_eq(policy_add_text(p, name, text, strlen(text), &diags), 0);
	ck_assert_int_eq(policy_finish(p, &diags), 0);
	ck_assert_msg(diags.n == 0, "%s: %s", name, diags.n ? diags.items[0].text : "");
	free(text);
	diag_done(&diags);
	return p;
}

START_TEST(test_files)
{
	const struct shipped *s = &shipped[_i];
	const struct profile *profile;
	struct policy *p;
	char name[64], *text;

	snprintf(name, sizeof(name), "%s.conf", s->name);
	text = test_read(TEST_SOURCE_DIR "/../etc/profiles", name);
	ck_assert_ptr_nonnull(strstr(text, "\n# For whom: "));
	ck_assert_ptr_nonnull(strstr(text, "\n# What it does: "));
	ck_assert_ptr_nonnull(strstr(text, "\n# What it costs: "));
	free(text);
	p = parse_file(TEST_SOURCE_DIR "/../etc/profiles", name);
	ck_assert_uint_eq(p->n_profiles, streq(s->name, "balanced") ? 1 : 2);
	ck_assert_uint_eq(p->n_groups + p->n_workloads, 0);
	profile = policy_profile(p, s->name);
	ck_assert_ptr_nonnull(profile);
	ck_assert_ptr_nonnull(profile->description);
	ck_assert_uint_eq(profile->resolved.latency_limit_ns, s->limit_ns);
	ck_assert_uint_eq(profile->resolved.c0, s->c0);
	ck_assert_uint_eq(profile->resolved.zero_latency, s->zero_latency);
	ck_assert_uint_eq(profile->resolved.c1_interrupts, s->c1_interrupts);
	ck_assert_uint_eq(profile->resolved.haltpoll_ns, s->haltpoll_ns);
	ck_assert_uint_eq(profile->resolved.disable_states.n + profile->resolved.enable_states.n,
			  0);
	policy_free(p);
}
END_TEST

/* States of CPU 0 of a recorded server, straight from the recording. */
static struct idle_table read_table(const char *host)
{
	struct idle_table t = {0};
	char command[512], line[512];
	FILE *lines;

	snprintf(command, sizeof(command), "zcat '%s/hosts/%s.sysfs.gz'", TEST_SOURCE_DIR, host);
	lines = popen(command, "r");
	ck_assert_ptr_nonnull(lines);
	while (fgets(line, sizeof(line), lines)) {
		struct idle_state *s;
		unsigned state;
		char file[32], value[64];

		if (sscanf(line, "%*s sys/devices/system/cpu/cpu0/cpuidle/state%u/%31s %63[^\n]",
			   &state, file, value) != 3)
			continue;
		ck_assert_uint_lt(state, MACHINE_STATES_MAX);
		t.n = MAX_OF(t.n, state + 1);
		s = &t.states[state];
		if (streq(file, "name"))
			snprintf(s->name, sizeof(s->name), "%.31s", value);
		if (streq(file, "desc"))
			snprintf(s->desc, sizeof(s->desc), "%.47s", value);
		if (streq(file, "latency"))
			ck_assert_int_eq(units_parse_latency(value, &s->exit_latency_ns), 0);
		if (streq(file, "default_status"))
			s->default_off = streq(value, "disabled");
	}
	ck_assert_int_eq(pclose(lines), 0);
	ck_assert_msg(t.n > 1, "%s: no states", host);
	for (uint32_t i = 0; i < t.n; i++)
		machine_classify(&t.states[i]);
	return t;
}

/* Names of the states that a limit leaves on, as the rules say: "POLL C1 C1E". */
static char *left_by(const struct idle_table *t, uint64_t limit_ns)
{
	struct buf b = {0};

	buf_puts(&b, t->states[0].name);
	for (uint32_t i = 1; i < t->n; i++) {
		const struct idle_state *s = &t->states[i];

		if (!s->default_off && limit_ns > 0 && s->exit_latency_ns <= limit_ns)
			buf_printf(&b, " %s", s->name);
	}
	return buf_finish(&b);
}

/* What the comments say of the servers, by name: columns are limits of 1, 2, 5, 10, 20 and 70us. */
static const uint64_t limits[] = {1000, 2000, 5000, 10000, 20000, 70000};

static const struct {
	const char *host;
	const char *left[ARRAY_SIZE(limits)];
} facts[] = {
	{"ivbep1",
	 {"POLL C1", "POLL C1", "POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E C3"}},
	{"hswep0", {"POLL", "POLL C1", "POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E"}},
	{"bdwup0", {"POLL", "POLL C1", "POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E C3"}},
	{"bdwep0", {"POLL", "POLL C1", "POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E"}},
	{"sklep0", {"POLL", "POLL C1", "POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E"}},
	{"clx2s0", {"POLL", "POLL C1", "POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E"}},
	{"clx4s0", {"POLL", "POLL C1", "POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E"}},
	{"cpx0", {"POLL", "POLL C1", "POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E"}},
	{"icx2s0",
	 {"POLL C1", "POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E"}},
	{"spr1",
	 {"POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E"}},
	{"emr0",
	 {"POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E"}},
	{"gnr0",
	 {"POLL C1", "POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E"}},
	{"srf2",
	 {"POLL C1", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E", "POLL C1 C1E"}},
	{"dnv0", {"POLL", "POLL", "POLL", "POLL C1E", "POLL C1E", "POLL C1E"}},
	{"knl0", {"POLL C1", "POLL C1", "POLL C1", "POLL C1", "POLL C1", "POLL C1"}},
	{"rome0", {"POLL C1", "POLL C1", "POLL C1", "POLL C1", "POLL C1", "POLL C1"}},
	{"milan0", {"POLL C1", "POLL C1", "POLL C1", "POLL C1", "POLL C1", "POLL C1 C2"}},
	{"genoa0", {"POLL C1", "POLL C1", "POLL C1", "POLL C1", "POLL C1", "POLL C1"}},
};

START_TEST(test_facts)
{
	struct idle_table t = read_table(facts[_i].host);

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		char *left = left_by(&t, limits[i]);

		ck_assert_msg(streq(left, facts[_i].left[i]),
			      "%s at %" PRIu64 " ns: %s, should be %s", facts[_i].host, limits[i],
			      left, facts[_i].left[i]);
		free(left);
	}
	/* low-latency's gap: every halt below it, every state that powers the core off above. */
	for (uint32_t i = 1; i < t.n; i++)
		ck_assert_msg((t.states[i].class <= STATE_CLASS_HALT) ==
				      (t.states[i].exit_latency_ns <= 20000),
			      "%s %s", facts[_i].host, t.states[i].name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("profiles");
	TCase *tc = tcase_create("profiles");

	tcase_add_loop_test(tc, test_files, 0, (int)ARRAY_SIZE(shipped));
	tcase_add_loop_test(tc, test_facts, 0, (int)ARRAY_SIZE(facts));
	suite_add_tcase(suite, tc);
	return test_main(suite);
}
