/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "schema.h"
#include "buf.h"
#include "nearest.h"

#define LATENCY_VALUES "a latency such as 20us or 400ns, 0 for zero, none for no limit"
#define NAME_VALUES    "the name of a profile"
#define WORDS_VALUES                                                                        \
	"names of states (C1E C6) or classes (poll c0x halt core-off package-off), repeat " \
	"to append, empty to reset"

#define CONF_WIDTH 96U /* columns of a comment in the default configuration */

#define IN_POLICY(field)   offsetof(struct policy, field)
#define IN_PROFILE(field)  offsetof(struct profile, field)
#define IN_SETTINGS(field) offsetof(struct settings, field)
#define IN_GROUP(field)	   offsetof(struct group, field)
#define IN_WORKLOAD(field) offsetof(struct workload, field)
#define IN_MATCHES(kind)   (offsetof(struct workload, matches) + (kind) * sizeof(char *))

const struct schema_row schema_rows[] = {
	{
		.section = SECTION_DAEMON,
		.key = "DefaultProfile",
		.type = TYPE_NAME,
		.def = POLICY_NEUTRAL_PROFILE,
		.offset = IN_POLICY(default_profile_name),
		.place = IN_POLICY(default_profile_at),
		.help = "Profile of the CPUs that are in no group.",
		.values = NAME_VALUES,
	},
	{
		.section = SECTION_DAEMON,
		.key = "OnForeignWrite",
		.type = TYPE_CHOICE,
		.def = "reassert",
		.choices = "yield|reassert|alert",
		.offset = IN_POLICY(on_foreign_write),
		.help = "What to do when somebody else writes a file that this policy has set.",
		.values =
			"yield (theirs stands), reassert (ours is set again beside theirs) or alert "
			"(theirs stands, with an alarm)",
	},
	{
		.section = SECTION_DAEMON,
		.key = "GlobalLatencyLimit",
		.type = TYPE_LATENCY,
		.def = "none",
		.max = LATENCY_MAX_NS,
		.offset = IN_POLICY(global_limit_ns),
		.place = IN_POLICY(global_limit_at),
		.help = "Limit for every CPU of the host at once, held on /dev/cpu_dma_latency.",
		.values = LATENCY_VALUES,
	},
	{
		.section = SECTION_DAEMON,
		.key = "UmwaitC02",
		.type = TYPE_CHOICE,
		.def = "keep",
		.choices = "keep|on|off",
		.offset = IN_POLICY(umwait_c02),
		.help = "Whether UMWAIT may use C0.2, for the whole host: cpu/umwait_control/enable_c02.",
		.values =
			"keep (as the host has it), on, or off (each C0.2 becomes C0.1, programs' "
			"own included)",
	},
	{
		.section = SECTION_DAEMON,
		.key = "UmwaitMaxTime",
		.type = TYPE_TICKS,
		.def = "keep",
		.max = UMWAIT_MAX_TICKS,
		.offset = IN_POLICY(umwait_max_time),
		.help = "Longest UMWAIT, for the whole host: cpu/umwait_control/max_time.",
		.values =
			"keep (as the host has it), or TSC cycles: a multiple of 4, 0 for no limit",
	},
	{
		.section = SECTION_PROFILE,
		.key = "Description",
		.type = TYPE_TEXT,
		.offset = IN_PROFILE(description),
		.help = "One line for people: for whom this profile is.",
		.values = "any text",
	},
	{
		.section = SECTION_PROFILE,
		.key = "Base",
		.type = TYPE_NAME,
		.offset = IN_PROFILE(base),
		.place = IN_PROFILE(base_at),
		.help = "Profile that supplies every key not given here; lists are added to its lists.",
		.values = NAME_VALUES,
	},
	{
		.section = SECTION_PROFILE,
		.key = "LatencyLimit",
		.type = TYPE_LATENCY,
		.def = "none",
		.max = LATENCY_MAX_NS,
		.offset = IN_SETTINGS(latency_limit_ns),
		.place = IN_PROFILE(limit_at),
		.bit = SETTING_LATENCY_LIMIT,
		.help = "Longest exit latency: a state stays when its exit latency is not above it.",
		.values = LATENCY_VALUES,
	},
	{
		.section = SECTION_PROFILE,
		.key = "C0",
		.type = TYPE_CHOICE,
		.def = "off",
		.choices = "off|poll|state|auto|c1",
		.offset = IN_SETTINGS(c0),
		.bit = SETTING_C0,
		.help = "Waiting with UMWAIT in C0.1 or C0.2 where the CPU has it.",
		.values =
			"off, poll (in place of POLL's loop), state (a state between POLL and C1), c1 (in "
			"place of both POLL's loop and C1) or auto",
	},
	{
		.section = SECTION_PROFILE,
		.key = "C0Depth",
		.type = TYPE_CHOICE,
		.def = "C0.2",
		.choices = "C0.1|C0.2",
		.offset = IN_SETTINGS(c0_depth),
		.bit = SETTING_C0_DEPTH,
		.help = "Which of both UMWAIT uses: C0.1 wakes faster, C0.2 saves more.",
		.values = "C0.1 or C0.2",
	},
	{
		.section = SECTION_PROFILE,
		.key = "ZeroLatency",
		.type = TYPE_CHOICE,
		.def = "poll",
		.choices = "poll|c0",
		.offset = IN_SETTINGS(zero_latency),
		.bit = SETTING_ZERO_LATENCY,
		.help = "Whether C0= may act where the limit is 0.",
		.values = "poll (zero means spinning) or c0 (UMWAIT is near enough to zero)",
	},
	{
		.section = SECTION_PROFILE,
		.key = "C1Interrupts",
		.type = TYPE_CHOICE,
		.def = "native",
		.choices = "native|window|sti-mwait|auto",
		.offset = IN_SETTINGS(c1_interrupts),
		.bit = SETTING_C1_INTERRUPTS,
		.help = "How interrupts are let in after a shallow state.",
		.values =
			"native (the kernel's way), window (at once behind the wake-up), sti-mwait "
			"(also during the sleep) or auto",
	},
	{
		.section = SECTION_PROFILE,
		.key = "HaltPoll",
		.type = TYPE_HALTPOLL,
		.def = "off",
		.min = NSEC_PER_USEC,
		.max = 10 * NSEC_PER_MSEC,
		.offset = IN_SETTINGS(haltpoll_ns),
		.bit = SETTING_HALTPOLL,
		.help = "Virtual machines: how long to poll before the CPU is given back to the host.",
		.values = "off, auto or a time from 1us to 10ms",
	},
	{
		.section = SECTION_PROFILE,
		.key = "Broadcast",
		.type = TYPE_CHOICE,
		.def = "auto",
		.choices = "auto|avoid|off",
		.offset = IN_SETTINGS(broadcast),
		.bit = SETTING_BROADCAST,
		.help = "States in which the CPU's own timer stops and a broadcast must wake it.",
		.values =
			"auto (the kernel's way), avoid (such states are not entered) or off (only "
			"where the timer runs anyway)",
	},
	{
		.section = SECTION_PROFILE,
		.key = "IoPort",
		.type = TYPE_CHOICE,
		.def = "native",
		.choices = "native|direct|auto",
		.offset = IN_SETTINGS(ioport),
		.bit = SETTING_IOPORT,
		.help = "How ACPI states that are entered by reading an I/O port are entered.",
		.values = "native, direct (without the dummy read of the PM timer) or auto",
	},
	{
		.section = SECTION_PROFILE,
		.key = "DisableStates",
		.type = TYPE_WORDS,
		.def = "",
		.offset = IN_SETTINGS(disable_states),
		.place = IN_PROFILE(disable_at),
		.bit = SETTING_DISABLE_STATES,
		.help = "States that are off whatever the limit allows. State 0 always stays.",
		.values = WORDS_VALUES,
	},
	{
		.section = SECTION_PROFILE,
		.key = "EnableStates",
		.type = TYPE_WORDS,
		.def = "",
		.offset = IN_SETTINGS(enable_states),
		.place = IN_PROFILE(enable_at),
		.bit = SETTING_ENABLE_STATES,
		.help = "States that are off by default on this hardware and shall be on within the limit.",
		.values = WORDS_VALUES,
	},
	{
		.section = SECTION_PROFILE,
		.key = "Adapt",
		.type = TYPE_LATENCY,
		.def = "none",
		.max = LATENCY_MAX_NS,
		.offset = IN_SETTINGS(adapt_ns),
		.place = IN_PROFILE(adapt_at),
		.bit = SETTING_ADAPT,
		.help = "Limit of a CPU while it wakes up often; LatencyLimit= holds for the others.",
		.values =
			"a latency shorter than LatencyLimit=, or none to have LatencyLimit= always",
	},
	{
		.section = SECTION_PROFILE,
		.key = "AdaptScope",
		.type = TYPE_CHOICE,
		.def = "cpu",
		.choices = "cpu|group",
		.offset = IN_SETTINGS(adapt_scope),
		.place = IN_PROFILE(adapt_scope_at),
		.bit = SETTING_ADAPT_SCOPE,
		.help = "Who Adapt= judges as one: each CPU, or those of a [Group] or [Workload] together.",
		.values = "cpu or group",
	},
	{
		.section = SECTION_PROFILE,
		.key = "ResidencyGuard",
		.type = TYPE_CHOICE,
		.def = "off",
		.choices = "off|auto",
		.offset = IN_SETTINGS(residency_guard),
		.bit = SETTING_RESIDENCY_GUARD,
		.help = "Whether a deep state that is entered far too early far too often is taken away for a while.",
		.values = "off or auto (looks at the kernel's counters once a second)",
	},
	{
		.section = SECTION_GROUP,
		.key = "CPUs",
		.type = TYPE_SELECTOR,
		.offset = IN_GROUP(cpus),
		.place = IN_GROUP(cpus_at),
		.help = "The CPUs of the group. Must be given.",
		.values = "a selector such as 0-3,8, isolated or node:0 & !housekeeping",
	},
	{
		.section = SECTION_GROUP,
		.key = "Profile",
		.type = TYPE_NAME,
		.offset = IN_GROUP(profile_name),
		.place = IN_GROUP(profile_at),
		.help = "Profile of these CPUs. Must be given.",
		.values = NAME_VALUES,
	},
	{
		.section = SECTION_GROUP,
		.key = "Priority",
		.type = TYPE_INT,
		.def = "0",
		.min = (uint64_t)-1000,
		.max = 1000,
		.offset = IN_GROUP(priority),
		.help = "Whose modes a CPU in several groups gets: the highest. Limits need no priority.",
		.values = "a number from -1000 to 1000",
	},
	{
		.section = SECTION_WORKLOAD,
		.key = "Unit",
		.type = TYPE_UNIT,
		.offset = IN_MATCHES(WORKLOAD_UNIT),
		.place = IN_WORKLOAD(match_at),
		.help = "systemd service or scope. Exactly one of Unit, Slice, Cgroup, Container.",
		.values = "a unit name such as postgresql.service or machine-*.scope",
	},
	{
		.section = SECTION_WORKLOAD,
		.key = "Slice",
		.type = TYPE_SLICE,
		.offset = IN_MATCHES(WORKLOAD_SLICE),
		.place = IN_WORKLOAD(match_at),
		.help = "systemd slice.",
		.values = "a slice name such as machine.slice",
	},
	{
		.section = SECTION_WORKLOAD,
		.key = "Cgroup",
		.type = TYPE_CGROUP,
		.offset = IN_MATCHES(WORKLOAD_CGROUP),
		.place = IN_WORKLOAD(match_at),
		.help = "Control group, by its path below the root of the hierarchy.",
		.values = "a path such as /kubepods.slice/*, with * ? [ ] as wildcards",
	},
	{
		.section = SECTION_WORKLOAD,
		.key = "Container",
		.type = TYPE_CONTAINER,
		.offset = IN_MATCHES(WORKLOAD_CONTAINER),
		.place = IN_WORKLOAD(match_at),
		.help = "Container, by its id or the beginning of it.",
		.values = "an id such as 4c01db0b339c",
	},
	{
		.section = SECTION_WORKLOAD,
		.key = "CPUs",
		.type = TYPE_CHOICE,
		.def = "cpuset",
		.choices = "cpuset|all",
		.offset = IN_WORKLOAD(cpus),
		.help = "Those its cpuset leaves it, or all of the machine.",
		.values = "cpuset or all",
	},
	{
		.section = SECTION_WORKLOAD,
		.key = "Profile",
		.type = TYPE_NAME,
		.offset = IN_WORKLOAD(profile_name),
		.place = IN_WORKLOAD(profile_at),
		.help = "Profile of these CPUs. Must be given.",
		.values = NAME_VALUES,
	},
	{
		.section = SECTION_WORKLOAD,
		.key = "Priority",
		.type = TYPE_INT,
		.def = "0",
		.min = (uint64_t)-1000,
		.max = 1000,
		.offset = IN_WORKLOAD(priority),
		.help = "As in a group.",
		.values = "a number from -1000 to 1000",
	},
};

const size_t schema_n_rows = ARRAY_SIZE(schema_rows);

const char *schema_section_name(enum schema_section section)
{
	switch (section) {
	case SECTION_DAEMON:
		return "Daemon";
	case SECTION_PROFILE:
		return "Profile";
	case SECTION_GROUP:
		return "Group";
	case SECTION_WORKLOAD:
		return "Workload";
	case SECTION_N:
		break;
	}
	return "?";
}

bool schema_section_has_name(enum schema_section section)
{
	return section != SECTION_DAEMON;
}

int schema_section_from_name(const char *name, enum schema_section *ret)
{
	for (int i = 0; i < SECTION_N; i++) {
		if (streq(name, schema_section_name((enum schema_section)i))) {
			*ret = (enum schema_section)i;
			return 0;
		}
	}
	return -EINVAL;
}

const struct schema_row *schema_find(enum schema_section section, const char *key)
{
	for (size_t i = 0; i < schema_n_rows; i++) {
		if (schema_rows[i].section == section && streq(schema_rows[i].key, key))
			return &schema_rows[i];
	}
	return NULL;
}

const char *schema_nearest_key(enum schema_section section, const char *key)
{
	struct nearest nearest = {.word = key};

	for (size_t i = 0; i < schema_n_rows; i++) {
		if (schema_rows[i].section == section)
			nearest_offer(&nearest, schema_rows[i].key);
	}
	return nearest.found;
}

const char *schema_nearest_section(const char *name)
{
	struct nearest nearest = {.word = name};

	for (int i = 0; i < SECTION_N; i++)
		nearest_offer(&nearest, schema_section_name((enum schema_section)i));
	return nearest.found;
}

bool schema_name_valid(const char *name)
{
	size_t n = 0;

	for (; name[n] != '\0'; n++) {
		char c = name[n];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '.' || c == '_' || c == '-'))
			return false;
	}
	return n >= 1 && n <= POLICY_NAME_MAX;
}

/* Choice i of a row and its length; NULL past the end. */
static const char *choice_at(const struct schema_row *row, unsigned i, size_t *ret_n)
{
	const char *at = row->choices;

	for (; at && i > 0; i--) {
		at = strchr(at, '|');
		if (at)
			at++;
	}
	if (at)
		*ret_n = strcspn(at, "|");
	return at;
}

int schema_choice_name(const struct schema_row *row, unsigned i, char *buf, size_t size)
{
	size_t n = 0;
	const char *at = choice_at(row, i, &n);

	if (!at)
		return -EINVAL;
	if (n >= size)
		return -ENOBUFS;
	memcpy(buf, at, n);
	buf[n] = '\0';
	return 0;
}

int schema_choice_index(const struct schema_row *row, const char *word)
{
	size_t n = 0, length = strlen(word);
	const char *at;

	for (unsigned i = 0; (at = choice_at(row, i, &n)); i++) {
		if (n == length && memcmp(at, word, n) == 0)
			return (int)i;
	}
	return -EINVAL;
}

static const char conf_head[] =
	"# SPDX-License-Identifier: GPL-2.0-or-later\n"
	"#\n"
	"# How deep each CPU may sleep: the policy of cpuidled. See cpuidled.conf(5).\n"
	"#\n"
	"# Every key is here, commented out, at its default: as it stands this file changes nothing.\n"
	"# Own settings go best into a file of their own, /etc/cpuidled/cpuidled.conf.d/NAME.conf.\n"
	"# Try them with \"cpuidlectl check\" and \"cpuidlectl plan\", take them over with\n"
	"# \"cpuidlectl reload\". The profiles that come with cpuidled: \"cpuidlectl list-profiles\".\n";

static const char *const section_notes[SECTION_N] = {
	[SECTION_DAEMON] = "",
	[SECTION_PROFILE] =
		"# A profile: a limit and modes under a name. The modes, C0= to IoPort=, need "
		"the kernel module\n# cpuidle_policy; \"cpuidlectl plan\" tells what is in "
		"effect and why.\n",
	[SECTION_GROUP] = "# A group: which CPUs get which profile.\n",
	[SECTION_WORKLOAD] =
		"# A workload: CPUs of a unit, slice, cgroup or container, while it lives.\n",
};

/* A comment of one or more lines; those behind the first are indented. */
static void add_comment(struct buf *b, const char *lead, const char *text)
{
	size_t column = strlen(lead) + 2;

	buf_printf(b, "# %s", lead);
	while (*text != '\0') {
		size_t n = strcspn(text, " ");

		if (column + n + 1 > CONF_WIDTH) {
			buf_puts(b, "\n#  ");
			column = 3;
		}
		buf_puts(b, " ");
		buf_add(b, text, n);
		column += n + 1;
		text += n;
		text += strspn(text, " ");
	}
}

static void add_row(struct buf *b, const struct schema_row *row)
{
	buf_printf(b, "# %s\n", row->help);
	add_comment(b, "Values:", row->values);
	buf_printf(b, ".\n#%s=%s\n", row->key, row->def ? row->def : "");
}

static void add_section(struct buf *b, enum schema_section section)
{
	bool named = schema_section_has_name(section);

	buf_printf(b, "\n%s#[%s%s]\n", section_notes[section], schema_section_name(section),
		   named ? " NAME" : "");
	for (size_t i = 0; i < schema_n_rows; i++) {
		const struct schema_row *row = &schema_rows[i];

		if (row->section == section)
			add_row(b, row);
	}
}

char *schema_default_conf(void)
{
	struct buf b = {0};

	buf_puts(&b, conf_head);
	for (int i = 0; i < SECTION_N; i++)
		add_section(&b, (enum schema_section)i);
	return buf_finish(&b);
}
