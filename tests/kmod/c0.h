/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef C0_TEST_H
#define C0_TEST_H

/*
 * C0.1 and C0.2 on every CPU that has UMWAIT: in place of POLL's loop, in place of C1, and as a state
 * of its own that comes and goes. Where no CPU has it: refused, with the reason.
 */
int c0_run(void);

#endif /* C0_TEST_H */
