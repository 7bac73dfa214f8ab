/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef WAKES_TEST_H
#define WAKES_TEST_H

/*
 * @count timers of CPU 0, or wake-ups of a thread on CPU 1 by one on CPU 0 that stays awake, at random
 * distances, with the @argc rows in force. Each must be seen at once: what the next tick had to mend was
 * lost.
 */
int wakes_timers(unsigned int count, int argc, char **argv);
int wakes_remote(unsigned int count, int argc, char **argv);

#endif /* WAKES_TEST_H */
