/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_PLAN_H
#define CPUIDLED_PLAN_H

#include "hold.h"
#include "machine.h"

/*
 * policy x machine x holds -> plan: what every CPU gets, and why. Equal CPUs share one row, so that the plan
 * of a host with 8192 CPUs is as small as its variety. Pure: same inputs, same plan.
 *
 * The rules:
 *  - A limit L keeps state E when E <= L, in ns, from the CPU's own table, never by index or model.
 *  - L == 0 keeps state 0 alone, whatever other states claim (the governors do just that). The per-CPU
 *    file counts whole microseconds, so a limit below 1 us is set as zero there.
 *  - A state that is off by default (default_status) stays off unless EnableStates= names it; one that
 *    others disabled stays off always. What the limit forbids, EnableStates= does not bring back.
 *  - The strictest limit of all demands wins. Modes, EnableStates= and the row's profile come from the
 *    demand with the highest Priority=, then the fewest CPUs, then the first name; DisableStates= of
 *    all demands add up. DefaultProfile= speaks only for CPUs in no group and of no workload.
 *  - A workload that lives is a group of the CPUs it may run on; one that does not is none.
 *  - A hold's limit is one more of ours. A profile or modes that are held come before those of groups.
 *  - Limits of others (the CPU's own PM QoS file, /dev/cpu_dma_latency) are added to, never overwritten.
 *  - A limit is set where it takes the least: GlobalLatencyLimit= on /dev/cpu_dma_latency, a profile's in the
 *    CPU's PM QoS file if it is stricter than both GlobalLatencyLimit= and what others put there, and
 *    through the states' disable files on a CPU without that file.
 *  - A file left to others (machine_cpu.left) is not ours: what stands there holds.
 *  - A CPU that Adapt= has found busy (machine_cpu.tight) has that limit of each of its profiles, if it is shorter
 *    than LatencyLimit=.
 *  - What the residency guard vetoes (machine_cpu.vetoed) is off where the profile whose modes hold has
 *    ResidencyGuard=auto.
 */
enum limit_source {
	LIMIT_NONE, /* nobody limits */
	LIMIT_POLICY, /* a profile, see limit_demand */
	LIMIT_HOLD, /* a hold */
	LIMIT_GLOBAL_POLICY, /* [Daemon] GlobalLatencyLimit= */
	LIMIT_CPU_QOS, /* others, in the CPU's pm_qos_resume_latency_us */
	LIMIT_GLOBAL_OTHERS, /* others, on /dev/cpu_dma_latency */
};

enum state_reason {
	STATE_ON_NO_LIMIT,
	STATE_ON_WITHIN_LIMIT,
	STATE_ON_NAMED, /* default-off, switched on by EnableStates= */
	STATE_ON_FIRST, /* state 0: there is always one */
	STATE_OFF_OVER_LIMIT, /* exit latency > effective limit */
	STATE_OFF_ZERO_LIMIT, /* limit 0 leaves state 0 alone */
	STATE_OFF_BY_POLICY, /* DisableStates= */
	STATE_OFF_BY_DEFAULT, /* default_status=disabled, not named */
	STATE_OFF_BY_OTHERS, /* disable was set before us */
	STATE_OFF_BY_GUARD, /* ResidencyGuard=, for a while */
};

struct plan_state {
	bool enabled;
	uint8_t reason; /* enum state_reason */
};

enum plan_mode { MODE_C0, MODE_C1_INTERRUPTS, MODE_HALTPOLL, MODE_BROADCAST, MODE_IOPORT, MODE_N };

/* Values a mode can have in a plan; which ones fit which mode follows from policy.h. */
enum mode_value {
	MODE_OFF, /* C0, haltpoll: off */
	MODE_NATIVE, /* the kernel's own way */
	MODE_C0_POLL_1,
	MODE_C0_POLL_2, /* C0.1 / C0.2 in POLL's place */
	MODE_C0_STATE_1,
	MODE_C0_STATE_2, /* own row between POLL and C1 */
	MODE_C0_C1_1,
	MODE_C0_C1_2, /* in POLL's place and C1's */
	MODE_WINDOW,
	MODE_STI_MWAIT,
	MODE_HALTPOLL_ON, /* with haltpoll_ns */
	MODE_AUTO,
	MODE_AVOID,
	MODE_DIRECT,
};

enum mode_reason {
	MODE_AS_ASKED,
	MODE_NOT_NEEDED, /* auto found no use for it on this CPU */
	MODE_NO_MODULE, /* needs cpuidle_policy.ko, which is not in use */
	MODE_MODULE_LACKS, /* the loaded module cannot do it here */
	MODE_NO_WAITPKG, /* the CPU has no UMWAIT */
	MODE_GUEST, /* in a guest only when named */
	MODE_NOT_GUEST, /* haltpoll on bare metal */
	MODE_LIMIT_TOO_SHORT, /* limit below 200 ns, or ZeroLatency=poll at limit 0 */
	MODE_NO_STATE, /* no state it could act on */
	MODE_UNSAFE, /* Broadcast=off without ARAT: timers would be lost */
	MODE_HARMLESS, /* Broadcast=off with ARAT: the kernel already does it */
	MODE_OFFLINE,
	MODE_NO_DUMMY, /* IoPort=auto: the module has measured that there is nothing to avoid */
	MODE_UNMEASURED, /* IoPort=auto: without the module nobody knows */
	MODE_CROWDED, /* HaltPoll=: the host has too little, for a while (crowd.h) */
	MODE_BY_GOVERNOR, /* the kernel's governor haltpoll does it, by its own files */
	MODE_NO_ROW, /* no own row on this driver; POLL's place is taken instead */
	MODE_ROW_GOVERNOR, /* the governor takes state 1 for halting; the same */
	MODE_ROW_LIMIT, /* the limit leaves state 0 alone; the same */
	MODE_ROW_DISABLED, /* DisableStates= means the row; the same */
	MODE_NO_C1, /* no C1 that could be replaced; POLL's place alone */
	MODE_C02_FORBIDDEN, /* umwait_control: the CPU takes C0.1 for C0.2 */
};

struct plan_mode_cell {
	uint8_t requested; /* enum mode_value as the profile says; auto stays auto */
	uint8_t wanted; /* what the rules make of it on this CPU, were everything there */
	uint8_t effective; /* what is set */
	uint8_t reason; /* enum mode_reason, for effective */
};

#define PLAN_GROUP_WORKLOAD POLICY_GROUPS_MAX /* and more: a workload, by its index */
#define PLAN_GROUPS	    (PLAN_GROUP_WORKLOAD + POLICY_WORKLOADS_MAX) /* the former are below this */
#define PLAN_ADAPT_ALONE    UINT32_MAX
#define PLAN_GROUP_DEFAULT  UINT32_MAX /* nobody but DefaultProfile= */
#define PLAN_GROUP_HOLD	    (UINT32_MAX - 1) /* a hold of a profile */

/* One party that wants something of a CPU. */
struct plan_demand {
	uint32_t group; /* index of a group in policy, or one of the above */
	uint32_t profile; /* index in policy */
	uint32_t
		n_cpus; /* of the group or workload on this host, of the hold; of all CPUs for DefaultProfile= */
	bool wins_limit;
	bool wins_modes;
};

/*
 * What cpuidle_policy.ko keeps for a CPU in our name, beside what anybody wrote to the CPU's files. Sets of
 * states are bits of the table. All zero and LATENCY_NONE: the kernel's own way.
 */
struct plan_module {
	uint64_t limit_ns; /* LATENCY_NONE: none */
	uint16_t irq_window, sti_mwait, states_off;
	uint8_t broadcast; /* enum broadcast_mode */
	uint8_t poll, c1, row; /* enum c0_wait: how POLL waits, and C1; the own state's use */
	bool ioport_direct; /* SystemIO states by their port alone */
	uint32_t haltpoll_us; /* poll before a halt, this long at most; 0: not at all */
};

enum c0_wait { C0_WAIT_NONE, C0_WAIT_1, C0_WAIT_2 };

struct plan_row {
	uint16_t table; /* machine table, MACHINE_NO_TABLE; what the offline have is unknown */
	bool online, has_qos, waitpkg;
	bool c0_able; /* machine_module_c0() */
	bool own_off; /* as machine_cpu.own_off */
	bool guarded; /* ResidencyGuard= looks at it */
	bool tight; /* as machine_cpu.tight */
	bool crowded; /* as machine_cpu.crowded */
	uint16_t
		disabled_prior; /* bit i: others (or the kernel's default) had stateI/disable set */
	uint16_t left; /* files left to others, as machine_cpu.left */
	uint16_t vetoed; /* by the residency guard, as machine_cpu.vetoed */
	uint32_t profile; /* index in policy: the one whose modes hold */
	uint32_t demands, n_demands; /* slice of plan.demands */

	uint64_t policy_limit_ns; /* strictest that is ours: profiles, holds, GlobalLatencyLimit= */
	uint64_t adapt_ns; /* strictest Adapt= of its profiles; LATENCY_NONE: none */
	uint32_t
		adapt_group; /* with whom it is judged: as plan_demand.group, or PLAN_ADAPT_ALONE */
	uint64_t demand_limit_ns; /* strictest profile of groups alone */
	uint64_t hold_limit_ns; /* strictest hold alone, profiles that are held included */
	uint64_t cpu_others_ns; /* others, in the CPU's own file */
	uint64_t global_others_ns; /* others, on /dev/cpu_dma_latency */
	uint64_t limit_ns; /* the strictest of all: what the CPU has */
	uint8_t limit_source; /* enum limit_source of limit_ns */
	uint32_t limit_profile; /* for LIMIT_POLICY */

	struct plan_state states[MACHINE_STATES_MAX];
	struct plan_mode_cell modes[MODE_N];
	uint64_t haltpoll_ns; /* ceiling for MODE_HALTPOLL_ON */

	/* What apply has to put there. */
	bool sets_qos; /* our limit is needed in the CPU's file */
	uint64_t qos_ns; /* value that file shall have: ours, or what others put there */
	uint16_t disable_mask; /* bit i: stateI/disable shall be 1 */
	uint16_t
		disable_care; /* bit i: that file is ours to keep at disable_mask; others untouched */
	struct plan_module module;

	uint32_t n_cpus; /* CPUs with this row */
	bool kernel_zero; /* the limit as the kernel has it leaves state 0 alone */
	bool only_poll; /* no online state but POLL is left: the CPU spins */
};

struct plan {
	uint32_t n_cpus;
	uint16_t *row_of; /* per CPU; PLAN_NO_ROW for absent CPUs */
	struct plan_row *rows;
	uint32_t n_rows;
	struct plan_demand *demands;
	uint32_t n_demands;
	bool sets_global; /* our limit is held on /dev/cpu_dma_latency */
	uint64_t global_ns;
	bool own_driver; /* the module's own driver is needed: the kernel has none */
	uint8_t row; /* enum c0_wait: the deepest that any CPU's own state is to be, as it is named */
	bool guest; /* C0.x is asked for by name in a guest */
	uint8_t own_row; /* machine.own_row, as the states' files are named */
	bool has_knob[HOST_KNOBS]; /* the host has that file */
	uint64_t knobs[HOST_KNOBS]; /* what it shall hold, HOST_KEEP: what others put there */
};

#define PLAN_NO_ROW UINT16_MAX

/*
 * Resolves; holds may be NULL. Warnings and hints about this host (CPUs that will spin, ladder, unknown state names, ties)
 * become diagnostics grouped by CPU range. -ENOMEM; nothing else fails.
 */
int plan_resolve(const struct policy *policy, const struct machine *machine,
		 const struct holds *holds, struct diag_list *diags, struct plan **ret);
void plan_free(struct plan *plan);
DEFINE_CLEANUP(struct plan *, plan_freep, plan_free)

/* Who a demand is of, in the policy's words; NULL for DefaultProfile= and holds. */
struct plan_party {
	const char *kind; /* "group", "workload" */
	const char *name;
	int32_t priority;
	const struct place *at;
};
bool plan_party_of(const struct policy *policy, const struct plan_demand *d,
		   struct plan_party *ret);

static inline const struct workload *plan_workload_of(const struct policy *policy,
						      const struct plan_demand *d)
{
	uint32_t i = d->group - PLAN_GROUP_WORKLOAD;

	return d->group >= PLAN_GROUP_WORKLOAD && i < policy->n_workloads ? &policy->workloads[i]
									  : NULL;
}

/* The row of a CPU, NULL for an absent one. */
const struct plan_row *plan_row_of(const struct plan *plan, uint32_t cpu);

/* The CPUs of row i; ret is initialised here. -ENOMEM. */
int plan_row_cpus(const struct plan *plan, uint32_t row, struct cpuset *ret);

/* "c0", "c1_interrupts", "haltpoll", "broadcast", "ioport". */
const char *plan_mode_name(enum plan_mode mode);
/* "off", "native", "c0.2-poll", "window" ... */
const char *plan_mode_value_name(enum mode_value value);

#endif
