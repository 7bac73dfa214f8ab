// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decoding decides everything here, so that committing has nothing left to refuse. Texts are for
 * the person at the other end: they say what is wrong and, where it is not plain, why.
 */
#include "table.h"

#define ATTR(x) CPUIDLE_POLICY_RULE_##x

static int table_refuse(struct table_refusal *refusal, int err, u32 attr, const char *text)
{
	refusal->err = err;
	refusal->attr = attr;
	refusal->text = text;
	return err;
}

int table_mask_check(const u32 *mask, u32 words, const u32 *possible, u32 nr,
		     struct table_refusal *refusal)
{
	u32 i, any = 0;

	for (i = 0; i < words; i++) {
		u32 known = i < table_words(nr) ? possible[i] : 0;

		if (mask[i] & ~known)
			return table_refuse(refusal, -ERANGE, ATTR(CPUMASK),
					    "the set names a CPU that cannot exist");
		any |= mask[i];
	}
	if (!any)
		return table_refuse(refusal, -EINVAL, ATTR(CPUMASK), "the set of CPUs is empty");
	return 0;
}

static int table_window_check(const struct table_caps *caps, u32 states,
			      struct table_refusal *refusal)
{
	u32 attr = ATTR(IRQ_WINDOW);

	if (states & caps->polling)
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "IRQ window: a polling state lets interrupts in by itself");
	if (states & caps->timer_stop)
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "IRQ window: the CPU's timer is stopped in such a state");
	if (states & caps->rcu_idle)
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "IRQ window: the driver itself handles RCU in such a state");
	if (states & caps->coupled)
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "IRQ window: CPUs enter such a state together");
	return 0;
}

static int table_mwait_check(const struct table_caps *caps, u32 states,
			     struct table_refusal *refusal)
{
	u32 attr = ATTR(STI_MWAIT);

	if (states && caps->monitor_bug)
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "STI;MWAIT: MONITOR is unreliable on this CPU");
	if (states & ~caps->mwait_c1)
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "STI;MWAIT: only for C1 of a driver that uses MWAIT");
	if (states & (caps->timer_stop | caps->rcu_idle | caps->coupled))
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "STI;MWAIT: not where timer, RCU or other CPUs are involved");
	if (states & caps->ibrs)
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "STI;MWAIT: this state idles without kernel IBRS");
	if (states & caps->xstate)
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "STI;MWAIT: the driver must put the extended state away");
	return 0;
}

static int table_broadcast_check(const struct table_caps *caps, u32 value,
				 struct table_refusal *refusal)
{
	u32 attr = ATTR(BROADCAST);

	if (value >= __CPUIDLE_POLICY_BROADCAST_END)
		return table_refuse(refusal, -EINVAL, attr, "broadcast: unknown value");
	if (value == CPUIDLE_POLICY_BROADCAST_OFF && (caps->timer_stops || caps->timer_stop))
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "broadcast off: the timer stops in deep states (C3STOP)");
	return 0;
}

static int table_haltpoll_check(const struct table_caps *caps, u32 ns,
				struct table_refusal *refusal)
{
	u32 attr = ATTR(HALTPOLL_NS);

	if (!ns)
		return 0;
	if (ns < CPUIDLE_POLICY_HALTPOLL_MIN || ns > CPUIDLE_POLICY_HALTPOLL_MAX)
		return table_refuse(refusal, -ERANGE, attr, "haltpoll: 0, or 1000 to 10000000 ns");
	if (caps->clock_bad)
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "haltpoll: no clock runs through idle on this CPU");
	if (caps->states && !(caps->polling & 1))
		return table_refuse(refusal, -EOPNOTSUPP, attr,
				    "haltpoll: the driver has no polling state in front");
	return 0;
}

static int table_ioport_check(const struct table_caps *caps, u32 value,
			      struct table_refusal *refusal)
{
	u32 attr = ATTR(IOPORT);

	if (value >= __CPUIDLE_POLICY_IOPORT_END)
		return table_refuse(refusal, -EINVAL, attr, "ioport: unknown value");
	if (value == CPUIDLE_POLICY_IOPORT_DIRECT && caps->ioport_reason)
		return table_refuse(refusal, -EOPNOTSUPP, attr, caps->ioport_reason);
	return 0;
}

static int table_c0_check(const struct table_caps *caps, const struct table_rule *rule,
			  struct table_refusal *refusal)
{
	static const u32 ends[CPUIDLE_POLICY_RULE_MAX + 1] = {
		[ATTR(POLL_BACKEND)] = __CPUIDLE_POLICY_POLL_END,
		[ATTR(C1_BACKEND)] = __CPUIDLE_POLICY_C1_END,
		[ATTR(C0_ROW)] = __CPUIDLE_POLICY_ROW_END,
	};
	u32 attr;

	for (attr = 0; attr <= CPUIDLE_POLICY_RULE_MAX; attr++) {
		if (!ends[attr] || !(rule->given & BIT(attr)) || !rule->value[attr])
			continue;
		if (rule->value[attr] >= ends[attr])
			return table_refuse(refusal, -EINVAL, attr, "unknown value");
		if (caps->c0_reason)
			return table_refuse(refusal, -EOPNOTSUPP, attr, caps->c0_reason);
		if (caps->in_guest)
			return table_refuse(refusal, -EOPNOTSUPP, attr,
					    "in a guest UMWAIT keeps the CPU from the host: GUEST");
	}
	if (rule->value[ATTR(POLL_BACKEND)] && !caps->polling)
		return table_refuse(refusal, -EOPNOTSUPP, ATTR(POLL_BACKEND),
				    "the driver has no polling state");
	if (rule->value[ATTR(C1_BACKEND)] && !caps->c1)
		return table_refuse(refusal, -EOPNOTSUPP, ATTR(C1_BACKEND),
				    "C1 backend: the driver has no plain C1");
	if (rule->value[ATTR(C0_ROW)] && caps->row_reason)
		return table_refuse(refusal, -EOPNOTSUPP, ATTR(C0_ROW), caps->row_reason);
	return 0;
}

static int table_states_check(const struct table_caps *caps, const struct table_rule *rule,
			      struct table_refusal *refusal)
{
	static const u32 sets[] = { ATTR(IRQ_WINDOW), ATTR(STI_MWAIT), ATTR(STATES_OFF) };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sets); i++)
		if (rule->value[sets[i]] >> caps->states)
			return table_refuse(refusal, -EINVAL, sets[i],
					    "the driver has no such state");
	return 0;
}

/* Without a driver nothing but the host's own settings can be asked for. */
static int table_driver_check(const struct table_caps *caps, const struct table_rule *rule,
			      struct table_refusal *refusal)
{
	u32 attr;

	for (attr = ATTR(IRQ_WINDOW); attr <= ATTR(IOPORT) && !caps->states; attr++)
		if (rule->value[attr])
			return table_refuse(refusal, -ENODEV, attr,
					    "there is no cpuidle driver: ask for OWN_DRIVER");
	return 0;
}

/* Fields that are not given are 0 here, which every check accepts. */
int table_rule_check(const struct table_caps *caps, const struct table_rule *rule,
		     struct table_refusal *refusal)
{
	int ret;

	if (rule->given & BIT(ATTR(COUNT)) && rule->value[ATTR(COUNT)] > 1)
		return table_refuse(refusal, -EINVAL, ATTR(COUNT), "count: 0 or 1");
	ret = table_haltpoll_check(caps, rule->value[ATTR(HALTPOLL_NS)], refusal);
	if (!ret)
		ret = table_c0_check(caps, rule, refusal);
	if (!ret)
		ret = table_driver_check(caps, rule, refusal);
	if (!ret)
		ret = table_states_check(caps, rule, refusal);
	if (!ret)
		ret = table_window_check(caps, rule->value[ATTR(IRQ_WINDOW)], refusal);
	if (!ret)
		ret = table_mwait_check(caps, rule->value[ATTR(STI_MWAIT)], refusal);
	if (!ret)
		ret = table_broadcast_check(caps, rule->value[ATTR(BROADCAST)], refusal);
	if (!ret)
		ret = table_ioport_check(caps, rule->value[ATTR(IOPORT)], refusal);
	return ret;
}

u32 table_set_live(u32 set, int at)
{
	u32 below;

	if (at < 0)
		return set;
	below = (1u << at) - 1;
	return (set & below) | (set & ~below) << 1;
}

u32 table_set_plain(u32 set, int at)
{
	u32 below;

	if (at < 0)
		return set;
	below = (1u << at) - 1;
	return (set & below) | (set >> 1 & ~below);
}

union table_row table_row_live(const struct table_caps *caps, union table_row row, int at)
{
	u32 c1 = table_set_live(caps->c1, at);

	row.irq_window = table_set_live(row.irq_window, at);
	row.sti_mwait = table_set_live(row.sti_mwait, at);
	row.states_off = table_set_live(row.states_off, at);
	/* who did not ask for our state does not get it */
	if (at >= 0 && !row.c0)
		row.states_off |= 1u << at;
	for (; row.c1 && c1 > 1; c1 >>= 1)
		row.c1_at++;
	return row;
}

u32 table_row_veto(union table_row row, u32 timer_stop)
{
	u32 veto = row.states_off;

	if (row.broadcast == CPUIDLE_POLICY_BROADCAST_AVOID)
		veto |= timer_stop;
	return veto;
}

int table_row_check(const struct table_caps *caps, union table_row row,
		    struct table_refusal *refusal)
{
	u32 all = (1u << caps->states) - 1;
	u32 veto = table_row_veto(row, caps->timer_stop);

	if (!row.w)
		return 0;
	if (!caps->states)
		return table_refuse(refusal, -EBUSY, 0,
				    "rows are still set for the driver that would go");
	if (row.irq_window & row.sti_mwait)
		return table_refuse(refusal, -EINVAL, ATTR(STI_MWAIT),
				    "a state has either the IRQ window or STI;MWAIT");
	if (row.c1 && row.sti_mwait & caps->c1)
		return table_refuse(refusal, -EINVAL, ATTR(C1_BACKEND),
				    "C1 has either a backend or STI;MWAIT");
	if ((veto & all) == all && !row.c0)
		return table_refuse(refusal, -EINVAL,
				    row.states_off ? ATTR(STATES_OFF) : ATTR(BROADCAST),
				    "this would leave the CPU no state at all");
	return 0;
}

int table_rows_check(const struct table_caps *caps, const union table_row *rows, u32 nr,
		     struct table_refusal *refusal)
{
	u32 cpu;
	int ret;

	for (cpu = 0; cpu < nr; cpu++) {
		if (cpu && rows[cpu].w == rows[cpu - 1].w)
			continue;
		ret = table_row_check(caps, rows[cpu], refusal);
		if (ret)
			return ret;
	}
	return 0;
}

static union table_row table_row_merge(union table_row row, const struct table_rule *rule)
{
	if (rule->given & BIT(ATTR(IRQ_WINDOW)))
		row.irq_window = rule->value[ATTR(IRQ_WINDOW)];
	if (rule->given & BIT(ATTR(STI_MWAIT)))
		row.sti_mwait = rule->value[ATTR(STI_MWAIT)];
	if (rule->given & BIT(ATTR(STATES_OFF)))
		row.states_off = rule->value[ATTR(STATES_OFF)];
	if (rule->given & BIT(ATTR(BROADCAST)))
		row.broadcast = rule->value[ATTR(BROADCAST)];
	if (rule->given & BIT(ATTR(COUNT)))
		row.count = rule->value[ATTR(COUNT)];
	if (rule->given & BIT(ATTR(POLL_BACKEND)))
		row.poll = rule->value[ATTR(POLL_BACKEND)];
	if (rule->given & BIT(ATTR(C1_BACKEND)))
		row.c1 = rule->value[ATTR(C1_BACKEND)];
	if (rule->given & BIT(ATTR(C0_ROW)))
		row.c0 = rule->value[ATTR(C0_ROW)];
	if (rule->given & BIT(ATTR(HALTPOLL_NS)))
		row.haltpoll_us = rule->value[ATTR(HALTPOLL_NS)] / 1000;
	if (rule->given & BIT(ATTR(IOPORT)))
		row.ioport = rule->value[ATTR(IOPORT)];
	return row;
}

static int table_waitpkg_check(const struct table_caps *caps, const struct table_rule *rule,
			       u32 cpu, struct table_refusal *refusal)
{
	static const u32 attrs[] = { ATTR(POLL_BACKEND), ATTR(C1_BACKEND), ATTR(C0_ROW) };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++)
		if (rule->value[attrs[i]] && !table_mask_test(caps->waitpkg, cpu))
			return table_refuse(refusal, -EOPNOTSUPP, attrs[i],
					    "a CPU of the set has no UMWAIT (WAITPKG)");
	return 0;
}

int table_rule_apply(const struct table_caps *caps, const struct table_rule *rule,
		     union table_row *rows, u32 nr, struct table_refusal *refusal)
{
	u32 cpu, end = rule->words < table_words(nr) ? rule->words * 32 : nr;
	int ret;

	for (cpu = 0; cpu < end; cpu++) {
		if (!table_mask_test(rule->mask, cpu))
			continue;
		ret = table_waitpkg_check(caps, rule, cpu, refusal);
		if (ret)
			return ret;
		rows[cpu] = table_row_merge(rows[cpu], rule);
		ret = table_row_check(caps, rows[cpu], refusal);
		if (ret)
			return ret;
	}
	return 0;
}

union table_row table_row_fit(const struct table_caps *caps, union table_row row)
{
	u32 all = (1u << caps->states) - 1;
	u32 special = caps->timer_stop | caps->rcu_idle | caps->coupled;

	if (!caps->states)
		return (union table_row){ .w = 0 };
	row.irq_window &= all & ~(caps->polling | special);
	row.sti_mwait &= caps->mwait_c1 & ~(special | caps->ibrs | caps->xstate);
	row.states_off &= all;
	if (!caps->polling)
		row.poll = CPUIDLE_POLICY_POLL_NATIVE;
	if (!caps->c1 || row.sti_mwait & caps->c1)
		row.c1 = CPUIDLE_POLICY_C1_NATIVE;
	if (!(caps->polling & 1))
		row.haltpoll_us = 0;
	if (caps->ioport_reason)
		row.ioport = CPUIDLE_POLICY_IOPORT_NATIVE;
	if (caps->row_reason)
		row.c0 = CPUIDLE_POLICY_ROW_NONE;
	if (row.broadcast == CPUIDLE_POLICY_BROADCAST_OFF &&
	    (caps->timer_stops || caps->timer_stop))
		row.broadcast = CPUIDLE_POLICY_BROADCAST_AUTO;
	if ((table_row_veto(row, caps->timer_stop) & all) == all && !row.c0) {
		row.states_off = 0;
		row.broadcast = CPUIDLE_POLICY_BROADCAST_AUTO;
	}
	return row;
}

union table_row table_rows_any(const union table_row *rows, u32 nr)
{
	union table_row any = { .w = 0 };
	u32 cpu;

	for (cpu = 0; cpu < nr; cpu++)
		any.w |= rows[cpu].w;
	return any;
}

u32 table_rows_diff(const union table_row *old, const union table_row *new, u32 nr, u32 *mask)
{
	u32 cpu, n = 0;

	memset(mask, 0, table_words(nr) * sizeof(*mask));
	for (cpu = 0; cpu < nr; cpu++) {
		if (old[cpu].w == new[cpu].w)
			continue;
		mask[cpu / 32] |= 1u << (cpu % 32);
		n++;
	}
	return n;
}

u32 table_rows_group(const union table_row *rows, u32 nr, u32 *todo, u32 *mask)
{
	u32 cpu, first = nr;

	memset(mask, 0, table_words(nr) * sizeof(*mask));
	for (cpu = 0; cpu < nr; cpu++) {
		if (!table_mask_test(todo, cpu))
			continue;
		if (first == nr)
			first = cpu;
		if (rows[cpu].w != rows[first].w)
			continue;
		mask[cpu / 32] |= 1u << (cpu % 32);
		todo[cpu / 32] &= ~(1u << (cpu % 32));
	}
	return first;
}
