/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_SCHEMA_H
#define CPUIDLED_SCHEMA_H

#include "policy.h"

/*
 * One row per setting: the only place where a key is spelled. Parser, bounds, defaults, the shipped
 * cpuidled.conf, the man page's key list and the completion come from it or are tested against it.
 */
enum schema_section { SECTION_DAEMON, SECTION_PROFILE, SECTION_GROUP, SECTION_WORKLOAD, SECTION_N };

enum schema_type {
	TYPE_NAME, /* [A-Za-z0-9._-]{1,40}; a profile's name */
	TYPE_TEXT, /* free text */
	TYPE_LATENCY, /* units_parse_latency() */
	TYPE_HALTPOLL, /* off | auto | a latency in bounds */
	TYPE_TICKS, /* keep, or TSC cycles as umwait_control/max_time takes them */
	TYPE_INT,
	TYPE_CHOICE, /* one of choices, stored as its index in an uint8_t */
	TYPE_WORDS, /* blank- or comma-separated, appends, empty resets */
	TYPE_SELECTOR, /* CPU selector */
	TYPE_UNIT, /* name of a systemd service or scope */
	TYPE_SLICE, /* name of a systemd slice */
	TYPE_CGROUP, /* path below the cgroup root, a glob */
	TYPE_CONTAINER, /* container id */
};

struct schema_row {
	enum schema_section section;
	const char *key;
	enum schema_type type;
	const char *def; /* default as text; NULL: none, "" for an empty list */
	const char *choices; /* TYPE_CHOICE: "off|poll|state|auto" in the order of the enum */
	uint64_t min, max; /* TYPE_LATENCY, TYPE_HALTPOLL: ns; TYPE_INT: as int64_t */
	size_t offset; /* into policy, settings (where bit is set), profile, group or workload */
	size_t place; /* of its struct place in policy, profile, group or workload; 0: none kept */
	uint32_t bit; /* enum setting, 0 for keys outside of settings */
	const char *help; /* one line: what it does */
	const char *values; /* what may be written, for help and messages: "20us, 0 or none" */
};

extern const struct schema_row schema_rows[];
extern const size_t schema_n_rows;

/* "Daemon", "Profile", "Group", "Workload". */
const char *schema_section_name(enum schema_section section);
bool schema_section_has_name(enum schema_section section); /* "[Profile NAME]" */

/* Exact, case-sensitive. NULL when there is none. */
const struct schema_row *schema_find(enum schema_section section, const char *key);

/* The section by its word; -EINVAL. */
int schema_section_from_name(const char *name, enum schema_section *ret);

/* Nearest known word by edit distance, NULL when nothing is near: "did you mean". */
const char *schema_nearest_key(enum schema_section section, const char *key);
const char *schema_nearest_section(const char *name);

/* Letters, digits, ".", "_" and "-", 1 to POLICY_NAME_MAX of them: names of profiles, groups, workloads. */
bool schema_name_valid(const char *name);

/* Text of choice i of a row ("auto"), NULL past the end; and the index of a word, -EINVAL. */
int schema_choice_name(const struct schema_row *row, unsigned i, char *buf, size_t size);
int schema_choice_index(const struct schema_row *row, const char *word);

/*
 * The commented default configuration: every section and key with help, values and default, each
 * commented out. What etc/cpuidled.conf ships, byte for byte. Owned by the caller; NULL: no memory.
 */
char *schema_default_conf(void);

#endif
