/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine.h"

#include <ctype.h>
#include <strings.h>

/* Above this a state without a telling name or entry method counts as core-off: C1E is 20 us at most. */
#define HALT_LATENCY_MAX_NS (20 * NSEC_PER_USEC)

int machine_new(uint32_t n_cpus, struct machine **ret)
{
	_cleanup_(machine_freep) struct machine *m = NULL;
	int r;

	if (n_cpus < 1 || n_cpus > CPU_MAX)
		return -ERANGE;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->cpus = calloc(n_cpus, sizeof(*m->cpus));
	if (!m->cpus)
		return -ENOMEM;
	m->n_cpus = n_cpus;
	for (uint32_t i = 0; i < n_cpus; i++)
		m->cpus[i] = (struct machine_cpu){
			.qos_ns = LATENCY_NONE,
			.qos_prior_ns = LATENCY_NONE,
			.table = MACHINE_NO_TABLE,
			.package = MACHINE_NO_ID,
			.die = MACHINE_NO_ID,
			.core = MACHINE_NO_ID,
			.node = MACHINE_NO_ID,
			.llc = MACHINE_NO_ID,
		};
	r = cpuset_init(&m->isolated, n_cpus);
	if (r >= 0)
		r = cpuset_init(&m->nohz_full, n_cpus);
	if (r < 0)
		return r;
	m->global_ns = LATENCY_NONE;
	m->global_others_ns = LATENCY_NONE;
	m->c1_demotion = -1;
	*ret = TAKE_PTR(m);
	return 0;
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	cpuset_done(&m->isolated);
	cpuset_done(&m->nohz_full);
	free(m->cpus);
	free(m->tables);
	free(m->cmdline);
	free(m);
}

static bool same_state(const struct idle_state *a, const struct idle_state *b)
{
	return a->exit_latency_ns == b->exit_latency_ns &&
	       a->target_residency_ns == b->target_residency_ns &&
	       a->default_off == b->default_off && streq(a->name, b->name) &&
	       streq(a->desc, b->desc);
}

static bool same_table(const struct idle_table *a, const struct idle_table *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (!same_state(&a->states[i], &b->states[i]))
			return false;
	return true;
}

int machine_intern_table(struct machine *m, const struct idle_table *t, uint16_t *ret)
{
	struct idle_table *tables;

	for (uint32_t i = 0; i < m->n_tables; i++)
		if (same_table(&m->tables[i], t)) {
			*ret = (uint16_t)i;
			return 0;
		}
	if (m->n_tables == MACHINE_TABLES_MAX)
		return -ENOSPC;
	/* Nearly every host has one table, so growing by one is the cheap way. */
	tables = reallocarray(m->tables, m->n_tables + 1, sizeof(*tables));
	if (!tables)
		return -ENOMEM;
	m->tables = tables;
	tables[m->n_tables] = *t;
	for (uint32_t i = 0; i < t->n; i++)
		machine_classify(&tables[m->n_tables].states[i]);
	*ret = (uint16_t)m->n_tables++;
	return 0;
}

const struct idle_table *machine_table(const struct machine *m, uint32_t cpu)
{
	if (cpu >= m->n_cpus || m->cpus[cpu].table >= m->n_tables)
		return NULL;
	return &m->tables[m->cpus[cpu].table];
}

/* The hint behind "MWAIT 0x": the upper nibble says how deep (SDM, MWAIT extensions). -1: none. */
static int mwait_hint(const char *desc)
{
	const char *p = strcasestr(desc, "MWAIT 0x");
	int hint = 0;

	if (!p)
		return -1;
	p += strlen("MWAIT 0x");
	if (!isxdigit((unsigned char)*p))
		return -1;
	for (; isxdigit((unsigned char)*p); p++) {
		int digit = isdigit((unsigned char)*p) ? *p - '0'
						       : tolower((unsigned char)*p) - 'a' + 10;

		/* Bits above the low byte carry no depth. */
		hint = (hint << 4 | digit) & 0xff;
	}
	return hint;
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcasecmp(name, *list) == 0)
			return true;
	return false;
}

static enum state_entry entry_of(const struct idle_state *s)
{
	/* cpuidle core; powerpc's polling state; haltpoll and psci have no telling desc. */
	static const char *const polls[] = {"POLL", "snooze", NULL};
	static const char *const halts[] = {"HLT", "WFI", "haltpoll", "LPI-0", NULL};

	if (is_one_of(s->name, polls) || strcasestr(s->desc, "POLL IDLE"))
		return STATE_ENTRY_POLL;
	if (strncasecmp(s->name, "C0.", 3) == 0 || strcasestr(s->desc, "UMWAIT"))
		return STATE_ENTRY_UMWAIT;
	if (mwait_hint(s->desc) >= 0)
		return STATE_ENTRY_MWAIT;
	if (strcasestr(s->desc, "IOPORT"))
		return STATE_ENTRY_IOPORT;
	if (is_one_of(s->name, halts) || strcasestr(s->desc, "HLT") || strcasestr(s->desc, "WFI"))
		return STATE_ENTRY_HALT;
	return STATE_ENTRY_UNKNOWN;
}

/* C6P, C6SP: the P says that the package may follow; C8 and deeper always let it. */
static bool name_is_package_off(const char *name)
{
	static const char *const deep[] = {"C8", "C9", "C10", NULL};
	size_t n = strlen(name);

	if (strncasecmp(name, "C6", 2) == 0 && n > 2)
		return name[n - 1] == 'P' || name[n - 1] == 'p';
	return is_one_of(name, deep);
}

static enum state_class class_of(const struct idle_state *s)
{
	static const char *const halts[] = {"C1", "C1E", "C1_ACPI", NULL};
	static const char *const core_off[] = {"C3", "C6", "C6S", "C7", "C7s", NULL};
	int hint = mwait_hint(s->desc);

	if (name_is_package_off(s->name) || hint >= 0x40)
		return STATE_CLASS_PACKAGE_OFF;
	if (hint >= 0)
		return hint < 0x10 ? STATE_CLASS_HALT : STATE_CLASS_CORE_OFF;
	if (s->entry == STATE_ENTRY_HALT || is_one_of(s->name, halts))
		return STATE_CLASS_HALT;
	if (s->entry == STATE_ENTRY_IOPORT || is_one_of(s->name, core_off))
		return STATE_CLASS_CORE_OFF;
	return s->exit_latency_ns <= HALT_LATENCY_MAX_NS ? STATE_CLASS_HALT : STATE_CLASS_CORE_OFF;
}

void machine_classify(struct idle_state *state)
{
	state->entry = (uint8_t)entry_of(state);
	if (state->entry == STATE_ENTRY_POLL)
		state->class = STATE_CLASS_POLL;
	else if (state->entry == STATE_ENTRY_UMWAIT)
		state->class = STATE_CLASS_C0X;
	else
		state->class = (uint8_t)class_of(state);
}

const char *machine_class_name(enum state_class class)
{
	switch (class) {
	case STATE_CLASS_POLL:
		return "poll";
	case STATE_CLASS_C0X:
		return "c0x";
	case STATE_CLASS_HALT:
		return "halt";
	case STATE_CLASS_CORE_OFF:
		return "core-off";
	case STATE_CLASS_PACKAGE_OFF:
		return "package-off";
	case STATE_CLASS_N:
		break;
	}
	return "unknown";
}

int machine_class_from_name(const char *name, enum state_class *ret)
{
	for (unsigned i = 0; i < STATE_CLASS_N; i++)
		if (strcasecmp(name, machine_class_name(i)) == 0) {
			*ret = i;
			return 0;
		}
	return -EINVAL;
}

const char *machine_entry_name(enum state_entry entry)
{
	switch (entry) {
	case STATE_ENTRY_UNKNOWN:
		break;
	case STATE_ENTRY_POLL:
		return "POLL";
	case STATE_ENTRY_MWAIT:
		return "MWAIT";
	case STATE_ENTRY_IOPORT:
		return "IOPORT";
	case STATE_ENTRY_HALT:
		return "HALT";
	case STATE_ENTRY_UMWAIT:
		return "UMWAIT";
	}
	return "unknown";
}

static bool name_matches(const char *name, const char *word)
{
	for (; *name && *word; name++, word++)
		if (tolower((unsigned char)*name) != tolower((unsigned char)*word) &&
		    !(*name == ' ' && *word == '_'))
			return false;
	return *name == *word;
}

bool machine_state_matches(const struct idle_state *state, const char *word)
{
	enum state_class class;

	if (name_matches(state->name, word))
		return true;
	if (strcasecmp(word, "C0") == 0)
		return state->class == STATE_CLASS_POLL;
	return machine_class_from_name(word, &class) == 0 && state->class == class;
}

/* Length of the word at p: up to a blank outside of double quotes. */
static size_t word_length(const char *p)
{
	bool quoted = false;
	size_t n = 0;

	for (; p[n] && (quoted || !isspace((unsigned char)p[n])); n++)
		if (p[n] == '"')
			quoted = !quoted;
	return n;
}

/* The kernel takes '-' and '_' in parameter names for the same (parameqn() in kernel/params.c). */
static bool same_key(const char *p, const char *key, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char a = p[i] == '-' ? '_' : p[i], b = key[i] == '-' ? '_' : key[i];

		if (a != b)
			return false;
	}
	return true;
}

/* Copies a value without its quotes. */
static int copy_value(const char *p, size_t n, char *buf, size_t size)
{
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '"')
			continue;
		if (out + 1 < size)
			buf[out] = p[i];
		out++;
	}
	if (size)
		buf[MIN_OF(out, size - 1)] = '\0';
	return out < size ? 0 : -ENOBUFS;
}

int machine_cmdline_get(const struct machine *m, const char *key, char *buf, size_t size)
{
	size_t n_key = strlen(key), n;
	int r = -ENOENT;

	for (const char *p = m->cmdline ? m->cmdline : ""; *p; p += n) {
		p += strspn(p, " \t\n");
		n = word_length(p);
		/* What follows "--" is for init. */
		if (n == 2 && strncmp(p, "--", 2) == 0)
			break;
		if (n < n_key || !same_key(p, key, n_key))
			continue;
		if (n == n_key)
			r = copy_value("", 0, buf, size);
		else if (p[n_key] == '=')
			r = copy_value(p + n_key + 1, n - n_key - 1, buf, size);
	}
	return r;
}

const char *machine_knob_name(enum host_knob knob)
{
	switch (knob) {
	case HOST_UMWAIT_C02:
		return "umwait_control/enable_c02";
	case HOST_UMWAIT_MAX:
		return "umwait_control/max_time";
	case HOST_HALTPOLL:
		return "haltpoll/guest_halt_poll_ns";
	case HOST_KNOBS:
		break;
	}
	return "unknown";
}
