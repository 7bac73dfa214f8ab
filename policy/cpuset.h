/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_CPUSET_H
#define CPUIDLED_CPUSET_H

#include "base.h"

/* The most CPUs one host may have (the kernel's own upper bound for NR_CPUS on x86 is 8192). */
#define CPU_MAX 8192U

/* A set of CPU numbers 0..size-1. Zero-initialised is a valid empty set of size 0. */
struct cpuset {
	uint32_t size; /* CPU numbers below this may be members */
	uint64_t *words; /* (size + 63) / 64 words, owned */
};

/* Makes an empty set for CPU numbers below size (<= CPU_MAX). -ENOMEM, -ERANGE. */
int cpuset_init(struct cpuset *set, uint32_t size);
void cpuset_done(struct cpuset *set);
int cpuset_copy(struct cpuset *dst, const struct cpuset *src); /* dst is initialised here */

bool cpuset_has(const struct cpuset *set, uint32_t cpu);
void cpuset_add(struct cpuset *set, uint32_t cpu); /* cpu >= size is ignored */
void cpuset_del(struct cpuset *set, uint32_t cpu);
void cpuset_clear(struct cpuset *set);
void cpuset_fill(struct cpuset *set); /* all below size */
uint32_t cpuset_count(const struct cpuset *set);
bool cpuset_equal(const struct cpuset *a, const struct cpuset *b); /* sizes may differ */

/* dst op= src. Members of src beyond dst's size are ignored. */
void cpuset_and(struct cpuset *dst, const struct cpuset *src);
void cpuset_or(struct cpuset *dst, const struct cpuset *src);
void cpuset_not(struct cpuset *set); /* within its size */

/* First member >= from, or UINT32_MAX. */
uint32_t cpuset_next(const struct cpuset *set, uint32_t from);
#define cpuset_for_each(cpu, set)                                     \
	for (uint32_t cpu = cpuset_next((set), 0); cpu != UINT32_MAX; \
	     cpu = cpuset_next((set), cpu + 1))

/*
 * Adds the members of a kernel CPU list: "0-3,8", "10-14:2" (every second), "0-31:2/8" (2 of each 8;
 * Documentation/admin-guide/kernel-parameters.rst). One trailing newline is allowed, "" is the empty
 * list. Numbers >= set->size are -ERANGE, junk is -EINVAL; the set is then undefined.
 */
int cpuset_parse(struct cpuset *set, const char *list);

/* As cpuset_parse(), numbers >= set->size are skipped instead: for the kernel's own files. */
int cpuset_parse_kernel(struct cpuset *set, const char *list);

/* The largest number in a kernel CPU list, for sizing. -ENODATA for an empty one, -EINVAL. */
int cpuset_list_max(const char *list, uint32_t *ret);

/* Is a number, of any size, in a list of that grammar? False for a malformed list. */
bool cpuset_list_has(const char *list, uint32_t number);

/*
 * Writes "0-3,8" (or "" for empty) into buf, always NUL-terminated. Returns the length of the whole
 * text like snprintf: >= size means it was cut.
 */
size_t cpuset_format(const struct cpuset *set, char *buf, size_t size);

/* As cpuset_format() into fresh memory, owned by the caller. NULL when out of memory. */
char *cpuset_to_string(const struct cpuset *set);

#endif
