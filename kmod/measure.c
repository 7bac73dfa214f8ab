// SPDX-License-Identifier: GPL-2.0-only
#include <linux/math64.h>
#include <linux/time64.h>
#include <net/netlink.h>
#include "enter.h"
#include "insert.h"
#include "measure.h"

bool measure_broadcasts(bool on)
{
	if (static_key_enabled(&enter_key_broadcast) == on)
		return false;
	if (on)
		static_branch_enable(&enter_key_broadcast);
	else
		static_branch_disable(&enter_key_broadcast);
	return true;
}

static int measure_put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, CPUIDLE_POLICY_CPU_PAD);
}

static u64 measure_ns(u64 ticks)
{
	return enter_clock_khz ? div_u64(ticks * USEC_PER_SEC, enter_clock_khz) : 0;
}

/* Each counter is one word, written by its CPU alone: reading it here needs no more. */
int measure_put(struct sk_buff *skb, unsigned int cpu, unsigned int states)
{
	const struct enter_cpu *e = &per_cpu(enter_cpu, cpu);
	struct nlattr *nest = nla_nest_start(skb, CPUIDLE_POLICY_A_CPU);
	u32 vetoed = table_set_plain(READ_ONCE(e->vetoed), insert_at());
	unsigned int i;

	if (!nest || nla_put_u32(skb, CPUIDLE_POLICY_CPU_ID, cpu) ||
	    nla_put_u32(skb, CPUIDLE_POLICY_CPU_VETOED, vetoed) ||
	    nla_put_u32(skb, CPUIDLE_POLICY_CPU_INSIDE, enter_inside(e)) ||
	    measure_put_u64(skb, CPUIDLE_POLICY_CPU_WINDOWS, READ_ONCE(e->windows)) ||
	    measure_put_u64(skb, CPUIDLE_POLICY_CPU_STI_MWAITS, READ_ONCE(e->sti_mwaits)) ||
	    measure_put_u64(skb, CPUIDLE_POLICY_CPU_BROADCASTS, READ_ONCE(e->broadcasts)))
		return -EMSGSIZE;
	for (i = 0; i < states; i++)
		if (measure_put_u64(skb, CPUIDLE_POLICY_CPU_ENTRY, READ_ONCE(e->entries[i])))
			return -EMSGSIZE;
	if (measure_put_u64(skb, CPUIDLE_POLICY_CPU_C0_WAITS, READ_ONCE(e->c0_waits)) ||
	    measure_put_u64(skb, CPUIDLE_POLICY_CPU_C0_REARMS, READ_ONCE(e->c0_rearms)) ||
	    measure_put_u64(skb, CPUIDLE_POLICY_CPU_POLL_HITS, READ_ONCE(e->poll_hits)) ||
	    measure_put_u64(skb, CPUIDLE_POLICY_CPU_POLL_MISSES, READ_ONCE(e->poll_misses)) ||
	    measure_put_u64(skb, CPUIDLE_POLICY_CPU_POLL_NS, measure_ns(e->halt_ticks)) ||
	    measure_put_u64(skb, CPUIDLE_POLICY_CPU_IOPORTS, READ_ONCE(e->ioports)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}
