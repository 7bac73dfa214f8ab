/* SPDX-License-Identifier: GPL-2.0-only */
/* measure - what the CPUs counted */
#ifndef MEASURE_H
#define MEASURE_H

#include <linux/types.h>

struct sk_buff;

/*
 * Under modes_mutex: look for entries into broadcast at all? True when that is another answer than
 * before: then every CPU has to take notice.
 */
bool measure_broadcasts(bool on);

/* Put one CPU's counters for @states states; 0 or -EMSGSIZE. */
int measure_put(struct sk_buff *skb, unsigned int cpu, unsigned int states);

#endif /* MEASURE_H */
