/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_UNITS_H
#define CPUIDLED_UNITS_H

#include "base.h"

/*
 * Text to number and back, strictly: the only number parsing in the tree.
 *
 * Latencies are nanoseconds in 64 bits everywhere inside. 0 means zero (only state 0 is allowed),
 * LATENCY_NONE means no limit. The kernel's files disagree with each other about 0
 * (Documentation/admin-guide/pm/cpuidle.rst); only daemon/sysfs.c knows their spelling.
 */
#define LATENCY_NONE  UINT64_MAX
#define NSEC_PER_USEC UINT64_C(1000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define NSEC_PER_SEC  UINT64_C(1000000000)
/*
 * The longest limit there is: what pm_qos_resume_latency_us takes at most (INT32_MAX itself means "no
 * constraint" inside the kernel), so that every value found there can be written down and read again.
 */
#define LATENCY_MAX_NS (UINT64_C(2147483646) * NSEC_PER_USEC)
/* Enough for every text units_format_latency() makes, with its NUL. */
#define LATENCY_TEXT_MAX 32

/* yes/no, true/false, on/off, 1/0 in any case. -EINVAL otherwise. */
int units_parse_bool(const char *s, bool *ret);

/* Decimal digits only (no sign, no spaces, no 0x). -EINVAL if malformed, -ERANGE outside min..max. */
int units_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);

/* As above with an optional leading '-', for Priority=. */
int units_parse_i64(const char *s, int64_t min, int64_t max, int64_t *ret);

/*
 * A latency: digits, optional fraction, optional unit ns|us|ms|s (us when absent; blanks before the
 * unit are allowed), or "none"/"infinity" for no limit. Exact: a value that is not a whole number
 * of nanoseconds is -EINVAL, more than LATENCY_MAX_NS is -ERANGE. "n/a", which the kernel uses for
 * zero in one file and people read as "no limit", is refused with -ENOTSUP.
 */
int units_parse_latency(const char *s, uint64_t *ret_ns);

/* Shortest exact text: "none", "0", "400ns", "1.5us", "20us", "2ms". Returns buf. */
const char *units_format_latency(uint64_t ns, char *buf, size_t size);

/* Parses one unsigned number at *s and moves *s behind it; for list parsers. -EINVAL, -ERANGE. */
int units_scan_u32(const char **s, uint32_t max, uint32_t *ret);

#endif
