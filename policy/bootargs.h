/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_BOOTARGS_H
#define CPUIDLED_BOOTARGS_H

#include "machine.h"

/* A parameter on the kernel command line that decides about idle states before anybody else does. */
struct bootarg {
	const char *key;
	char value[64]; /* cut when longer */
	const char *effect; /* in words, no full stop */
	bool no_cpuidle; /* the kernel does not look at idle states at all */
};

/*
 * The next one that is there, *at counts on from 0. Sources: Documentation/admin-guide/kernel-parameters.txt,
 * drivers/idle/intel_idle.c.
 */
bool bootargs_next(const struct machine *m, unsigned *at, struct bootarg *ret);

#endif
