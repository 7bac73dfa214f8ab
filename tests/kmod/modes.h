/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MODES_TEST_H
#define MODES_TEST_H

/* See each mode this machine has do what it says, by counters of the kernel's and the module's. */
int modes_run(void);

#endif /* MODES_TEST_H */
