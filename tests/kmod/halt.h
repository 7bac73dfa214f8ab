/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HALT_TEST_H
#define HALT_TEST_H

/* Polling before a halt: it finds short waits, and gives up on long ones. */
int halt_poll(void);

/* How a state behind an I/O port is entered: what was counted in either way, for who watches from outside. */
int halt_port(void);

#endif /* HALT_TEST_H */
