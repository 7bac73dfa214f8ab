/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>

/*
 * @count random and mutated messages from @seed on; 0 when the module did not change unless it
 * said so, and can still be talked to. The messages are the same for the same seed.
 */
int fuzz_run(uint32_t seed, uint64_t count);

#endif /* FUZZ_H */
