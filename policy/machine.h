/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_MACHINE_H
#define CPUIDLED_MACHINE_H

#include "cpuset.h"
#include "diag.h"
#include "units.h"

/*
 * Facts of one host: CPUs, topology, idle-state tables, limits that stand. Built by daemon/sysfs.c (or
 * by a test), never read from files here. Every CPU refers to its own table; equal tables are kept
 * once, so that a host of 8192 CPUs costs 8192 small rows and a handful of tables.
 */
#define MACHINE_STATES_MAX     10U /* CPUIDLE_STATE_MAX of the kernel */
#define MACHINE_STATE_NAME_MAX 32U /* CPUIDLE_NAME_LEN is 16; recordings may be longer */
#define MACHINE_STATE_DESC_MAX 48U /* CPUIDLE_DESC_LEN is 32 */
#define MACHINE_TABLES_MAX     256U /* distinct tables on one host */
#define MACHINE_NAME_MAX       32U /* driver and governor names */

/* How deep a state is, whatever its name. Ordered: a higher class sleeps deeper. */
enum state_class {
	STATE_CLASS_POLL, /* the CPU spins */
	STATE_CLASS_C0X, /* C0.1/C0.2: UMWAIT */
	STATE_CLASS_HALT, /* C1, C1E, HLT, WFI: clock stopped, caches kept */
	STATE_CLASS_CORE_OFF, /* C3, C6, AMD's C2: core state saved, core power off */
	STATE_CLASS_PACKAGE_OFF, /* C6P, C8, C10: lets the package sleep too */
	STATE_CLASS_N,
};

enum state_entry { /* read from desc */
		   STATE_ENTRY_UNKNOWN,
		   STATE_ENTRY_POLL,
		   STATE_ENTRY_MWAIT, /* intel_idle "MWAIT 0x20", or ACPI "FFH MWAIT 0x0" */
		   STATE_ENTRY_IOPORT, /* ACPI "IOPORT 0x414" */
		   STATE_ENTRY_HALT, /* ACPI HLT, haltpoll, WFI */
		   STATE_ENTRY_UMWAIT,
};

struct idle_state {
	char name[MACHINE_STATE_NAME_MAX];
	char desc[MACHINE_STATE_DESC_MAX];
	uint64_t exit_latency_ns;
	uint64_t target_residency_ns;
	uint8_t class; /* enum state_class */
	uint8_t entry; /* enum state_entry */
	bool default_off;
};

struct idle_table {
	uint32_t n;
	struct idle_state states[MACHINE_STATES_MAX];
};

/* Bit of a CPU's own file in machine_cpu.left and .cut; bits 0..9 are stateI/disable. */
#define MACHINE_BIT_QOS 15U

#define MACHINE_NO_TABLE UINT16_MAX /* no cpuidle on this CPU, or it is offline */
#define MACHINE_NO_ID	 UINT16_MAX /* topology number unknown */

struct machine_cpu {
	uint64_t qos_ns; /* pm_qos_resume_latency_us as it stands; LATENCY_NONE: no constraint */
	uint64_t
		qos_prior_ns; /* what others asked for there: equal to qos_ns where nothing is ours */
	uint16_t disabled; /* bit i: stateI/disable is non-zero as it stands */
	uint16_t disabled_prior; /* what others had set there */
	uint16_t
		left; /* files left to others after a foreign write (OnForeignWrite=): the plan sets none */
	uint16_t vetoed; /* bit i: the residency guard wants stateI off, where a profile has it */
	uint16_t cut; /* files empty when read, which the kernel never shows: a write cut short */
	uint16_t table;
	uint16_t package, die, core, node, llc;
	bool present;
	bool online;
	bool has_qos; /* pm_qos_resume_latency_us exists and could be read */
	bool waitpkg; /* UMWAIT on this CPU */
	bool tight; /* Adapt= has found it busy: that limit holds, where a profile has it */
	bool crowded; /* the host takes too much from it for polling: HaltPoll= is off meanwhile */
	bool own_off; /* somebody disabled the state machine.own_row on it */
};

#define MACHINE_REASON_MAX 192U

/*
 * What cpuidle_policy.ko lets the product do beyond sysfs; all false while it does not serve us. Sets of states
 * are bits of the driver's table, whose numbers are those of stateN.
 */
struct machine_module {
	bool loaded; /* and we are the one who sets it */
	bool limits; /* keeps latency requests of ours in the kernel, beside the CPUs' own files */
	bool states_off; /* keeps states off for us, beside stateN/disable */
	bool c0x; /* lets POLL and C1 wait in C0.1 or C0.2, on the CPUs of c0_cpus */
	bool c0_row; /* and can put in a state of its own for that */
	bool irq_window, sti_mwait, haltpoll, broadcast, ioport;
	bool dummy_wait; /* with ioport: the kernel's own entry reads the PM timer, too; measured */
	bool host_poll; /* with haltpoll: the host is told not to poll itself */
	uint16_t window_states, sti_mwait_states; /* where these two are accepted */
	uint16_t ioport_states; /* those entered by reading a port that ioport is about */
	uint16_t c1_states; /* what C0=c1 would be about */
	uint32_t c0_cpus[CPU_MAX / 32]; /* bit N of the whole: CPU N */
	/* The module's own words why not, "" where it can. */
	char c0_reason[MACHINE_REASON_MAX], c0_row_reason[MACHINE_REASON_MAX];
	bool own_driver; /* can bring a driver of its own where the kernel has none */
};

enum machine_virt { VIRT_NONE, VIRT_GUEST };

/* guest_halt_poll_*, where the kernel has its governor haltpoll; guest_halt_poll_ns is HOST_HALTPOLL below. */
struct machine_haltpoll {
	uint64_t grow_start_ns;
	uint32_t grow, shrink;
	bool allow_shrink;
};

/*
 * Files that are one for the whole host and that a policy can set: those of cpu/umwait_control
 * (IA32_UMWAIT_CONTROL: what a UMWAIT may do, in user space as in the kernel; there on CPUs with WAITPKG,
 * arch/x86/kernel/cpu/umwait.c), and how long the kernel's governor haltpoll polls
 * (drivers/cpuidle/governors/haltpoll.c).
 */
enum host_knob {
	HOST_UMWAIT_C02, /* enable_c02: 0 turns each C0.2 into C0.1 */
	HOST_UMWAIT_MAX, /* max_time: the longest wait, in TSC cycles, a multiple of 4; 0: no limit */
	HOST_HALTPOLL, /* haltpoll/parameters/guest_halt_poll_ns, up to 32 bits; 0: not at all */
	HOST_KNOBS,
};
#define UMWAIT_MAX_TICKS UINT32_C(0xfffffffc)

/* "umwait_control/max_time", "haltpoll/guest_halt_poll_ns". */
const char *machine_knob_name(enum host_knob knob);

struct machine_knob {
	bool present; /* the file is there and could be read */
	bool left; /* to others after a foreign write, as machine_cpu.left */
	bool cut; /* empty when read, as machine_cpu.cut */
	uint64_t now; /* as it stands */
	uint64_t prior; /* what others had put there */
	uint64_t ours; /* where left: what was written over */
};

struct adapt;
struct cgroups;
struct crowd;
struct guard;

struct machine {
	uint32_t n_cpus; /* rows in cpus; CPU numbers are below this */
	struct machine_cpu *cpus;
	struct idle_table *tables;
	uint32_t n_tables;

	/*
	 * While somebody asks for it, cpuidle_policy.ko puts a state of its own (C0.1, C0.2) behind POLL, into
	 * the driver's one table: stateN of all that follow counts one more then. It is in no table here, so
	 * that a state's number means the same whether it is there or not; only names of files differ.
	 */
	uint8_t own_row; /* its N of stateN; 0: it is not there */
	struct idle_state own_state; /* as it shows itself */

	struct cpuset isolated; /* cpu/isolated: isolcpus= */
	struct cpuset nohz_full; /* cpu/nohz_full */

	char driver[MACHINE_NAME_MAX]; /* cpuidle/current_driver, "none" */
	char governor[MACHINE_NAME_MAX]; /* cpuidle/current_governor, "" without cpuidle */
	char vendor[MACHINE_NAME_MAX]; /* vendor_id of cpuinfo; "" where there is none (arm64) */
	uint32_t family, model;
	char *cmdline; /* kernel command line, owned, may be NULL */

	bool has_global; /* /dev/cpu_dma_latency exists */
	uint64_t global_ns; /* its effective value as read */
	uint64_t global_others_ns; /* what others hold there; LATENCY_NONE when nobody does */

	bool arat; /* the local timer runs in every state */
	enum machine_virt virt;
	int8_t c1_demotion; /* cpuidle/intel_c1_demotion: 0, 1, or -1 where the kernel has none */
	struct machine_knob knobs[HOST_KNOBS];
	struct machine_haltpoll haltpoll;
	struct machine_module module;
	/* What these know, for words; borrowed, NULL: they do not look. */
	const struct guard *guard;
	const struct adapt *adapt;
	const struct cgroups *cgroups; /* what workloads run in; borrowed, NULL: nobody looked */
	const struct crowd *crowd;
};

/* Makes room for n CPUs (1..CPU_MAX), everything unknown: absent, no table, no QoS. -ENOMEM, -ERANGE. */
int machine_new(uint32_t n_cpus, struct machine **ret);
void machine_free(struct machine *m);
DEFINE_CLEANUP(struct machine *, machine_freep, machine_free)

/*
 * Keeps one copy of t and yields its number; class and entry of each state are filled in here from
 * name, desc and latency. -ENOSPC after MACHINE_TABLES_MAX distinct tables, -ENOMEM.
 */
int machine_intern_table(struct machine *m, const struct idle_table *t, uint16_t *ret);

/* The table of a CPU, NULL where it has none. */
const struct idle_table *machine_table(const struct machine *m, uint32_t cpu);

/* May the module let this CPU wait in C0.1 or C0.2? */
static inline bool machine_module_c0(const struct machine_module *m, uint32_t cpu)
{
	return m->loaded && m->c0x && cpu < CPU_MAX && m->c0_cpus[cpu / 32] >> cpu % 32 & 1;
}

/* N of a state's stateN in sysfs, where own_row says so one more than its number. */
static inline uint32_t machine_file_of(uint8_t own_row, uint32_t state)
{
	return state + (own_row && state >= own_row);
}

/* Decides class and entry method of a state by name and desc ("MWAIT 0x20", "ACPI IOPORT 0x414"). */
void machine_classify(struct idle_state *state);

/* "poll", "c0x", "halt", "core-off", "package-off"; and back (-EINVAL). */
const char *machine_class_name(enum state_class class);
int machine_class_from_name(const char *name, enum state_class *ret);

/* "FFH"-style words for explain: "MWAIT", "IOPORT", "HALT", "POLL", "UMWAIT", "unknown". */
const char *machine_entry_name(enum state_entry entry);

/*
 * Does a word of DisableStates=/EnableStates= mean this state? Words are names as the kernel spells
 * them in any case ("_" also stands for a blank in a name), classes, and the alias C0 for POLL.
 */
bool machine_state_matches(const struct idle_state *state, const char *word);

/*
 * Value of a parameter on the kernel command line, the last one given ("idle", "processor.max_cstate"):
 * copied into buf. -ENOENT when it is not there, -ENOBUFS (as much as fits is copied). A bare word yields "".
 */
int machine_cmdline_get(const struct machine *m, const char *key, char *buf, size_t size);

#endif
