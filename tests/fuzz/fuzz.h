/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_FUZZ_H
#define CPUIDLED_FUZZ_H

#include "base.h"

/* A fuzz target: one call per input. It aborts when something does not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_assert(x)                                                                         \
	do {                                                                                   \
		if (!(x)) {                                                                    \
			(void)fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, \
				      #x);                                                     \
			abort();                                                               \
		}                                                                              \
	} while (0)

#endif
