/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_ACTUATOR_H
#define CPUIDLED_ACTUATOR_H

#include "diff.h"
#include "module.h"

/*
 * The seam between deciding and doing: apply.c sees this and nothing of the world behind it. The real
 * one is sysfs.c; tests put a table with programmable failures here.
 */
struct actuator_ops {
	/* Makes the knob of c stand at value. -errno of the write; nothing changed then. */
	int (*set)(void *data, const struct change *c, uint64_t value);
	/* Reads the knob of c as it stands. For KNOB_GLOBAL: our own request as the kernel reports it. */
	int (*get)(void *data, const struct change *c, uint64_t *ret);
};

struct actuator {
	const struct actuator_ops *ops;
	void *data;
};

/* What takes all CPUs in one transaction: the kernel's module (kernel.h), or nothing. */
struct actuator_module {
	/* From what stands there to want, or nothing of it: 1, 0 when it stood already, -errno. NULL: none. */
	int (*set)(void *data, const struct module_rows *want);
	/* To what stood before the last change. */
	int (*back)(void *data);
	/* machine.own_row as the module has it by now; -1: it cannot say. NULL: it never changes. */
	int (*own_row)(const void *data);
	/* Its words about the last refusal. */
	const char *(*text)(const void *data);
	void *data;
};

#endif
