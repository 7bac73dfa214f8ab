/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WAKES_TEST_H
#define WAKES_TEST_H

/*
 * @count timers on CPU 0 and, with a second CPU, @count wake-ups of a thread there by one here, at
 * random distances, with the @argc rows in force. Each must be seen at once: what the next tick had to
 * mend was lost.
 */
int wakes_run(unsigned int count, int argc, char **argv);

#endif /* WAKES_TEST_H */
