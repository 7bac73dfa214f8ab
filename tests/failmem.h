/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_FAILMEM_H
#define CPUIDLED_FAILMEM_H

#include "base.h"

/*
 * Memory that runs out. A suite in MEMORY_SUITES (tests/CMakeLists.txt) has its allocations, and those of
 * the libraries it is linked with, go through here: malloc, calloc, realloc, reallocarray, strdup, strndup,
 * vasprintf and free. Check is one of these libraries: nothing is asserted between start and stop.
 */

/* Starts counting; the nth allocation from now on fails, and it alone (0: none does). */
void failmem_start(unsigned nth);

/* Ends it. Returns whether an allocation was made to fail. */
bool failmem_stop(void);

/* Blocks allocated and not freed between both calls. */
long failmem_live(void);

#endif
