/* SPDX-License-Identifier: GPL-2.0-only */
/* ioport - ACPI states that are entered by reading an I/O port */
#ifndef IOPORT_H
#define IOPORT_H

#include "table.h"

struct cpuidle_driver;

/* All of it under modes_mutex. */

#ifdef CONFIG_X86_64

/* Fills caps->ioport, and ioport_reason when none of these states can be entered directly. */
void ioport_caps(const struct cpuidle_driver *drv, struct table_caps *caps);

/* The ports of @cpu, for its idle path. */
void ioport_fill(unsigned int cpu, const struct table_caps *caps);

/*
 * Does this kernel read the PM timer after such an entry? Measured once, when first asked: some
 * microseconds with interrupts off on this CPU.
 */
void ioport_measure(const struct cpuidle_driver *drv, const struct table_caps *caps);
bool ioport_dummy_wait(void);
#else
static inline void ioport_caps(const struct cpuidle_driver *drv, struct table_caps *caps)
{
	caps->ioport_reason = "I/O port states are for x86";
}

static inline void ioport_fill(unsigned int cpu, const struct table_caps *caps)
{
}

static inline void ioport_measure(const struct cpuidle_driver *drv, const struct table_caps *caps)
{
}

static inline bool ioport_dummy_wait(void)
{
	return false;
}
#endif /* CONFIG_X86_64 */

#endif /* IOPORT_H */
