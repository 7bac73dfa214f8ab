/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * cpuidle_policy - per-CPU idle policy through generic netlink
 *
 * This file is the specification. Module, daemon and tests include this one copy;
 * cpuidle_policy.yaml beside it says the same in the form YNL reads; a test keeps the two equal.
 *
 * FAMILY
 *
 *	Name "cpuidle_policy", version 1, initial network namespace only. One multicast group,
 *	"events". The family name is an alias of the module: asking for it loads the module.
 *
 * UNITS AND TYPES
 *
 *	Times carry their unit in the name (_NS, _MS). A latency of 0 means zero; "no limit" is said
 *	by leaving the attribute out. Numbers are u32 or wider, host byte order. A state is named by
 *	its index in the driver's table (stateN in sysfs); a set of states is a u32, bit N is state
 *	N. A set of CPUs is binary: u32 words, host order, bit N of the whole is CPU N; in requests
 *	any number of words may be given as long as no bit names a CPU that cannot exist; in replies
 *	the set has NR_CPUS bits rounded up to whole words. Arrays are repeated attributes.
 *
 * WHO MAY CALL
 *
 *	Every command needs CAP_NET_ADMIN in the initial user namespace. LEASE_TAKE, LEASE_RENEW,
 *	LEASE_DROP, CONFIG_SET, QOS_SET and joining the group need CAP_SYS_ADMIN there as well.
 *	CONFIG_SET and QOS_SET need the lease (-ENOLCK without one, -EBUSY when another has it).
 *
 * REFUSALS
 *
 *	A request is taken whole or refused whole. Every refusal is a negative errno with extended
 *	ACK text, and with the offset of the offending attribute where there is one. Unknown
 *	attributes, unknown bits and values past the last known one are refused, never ignored: so
 *	an older module refuses what it does not know, loudly. When an attribute that does not
 *	repeat is given twice the last one counts.
 *
 * CAPS_GET (do): what is here. Request: empty. Reply:
 *
 *	VERSION		u32	version of this contract, CPUIDLE_POLICY_VERSION
 *	FEATURES	u64	CPUIDLE_POLICY_F_* bits this module has on this machine
 *	NR_CPUS		u32	bits in a set of CPUs
 *	ONLINE		set	CPUs online now
 *	GENERATION	u32	see CONFIG_SET
 *	DRIVER		string	the kernel's cpuidle driver; left out when there is none
 *	ATTACHED	u32	1 while our ->enter stands in the driver's table
 *	OWN_DRIVER	u32	1 while that driver is the module's own
 *	REASON		string	why no policy can be set on this machine; left out when one can
 *	OWNER		string	name of the lease's owner, OWNER_PID u32, LEASE_MS u32 time left;
 *				all three left out when nobody has the lease
 *	STATE		nest*	one per state, in order:
 *		INDEX u32, NAME string, DESC string, LATENCY_NS u64, RESIDENCY_NS u64,
 *		FLAGS u32 (CPUIDLE_POLICY_SF_*)
 *	WAITPKG		set	CPUs that have UMONITOR and UMWAIT
 *	UMWAIT_CONTROL	u32	IA32_UMWAIT_CONTROL as it stands (the kernel's umwait_control
 *				files write it, this module never does): bit 0: C0.2 is not allowed,
 *				the CPU takes C0.1; bits 31-2: TSC ticks after which any UMWAIT
 *				ends, 0: never. Left out without WAITPKG
 *	C0_REASON	string	why no CPU can wait in C0.1 or C0.2; left out when one can
 *	C0_ROW_REASON	string	why C0_ROW is not accepted; left out when it is
 *	Without a driver the states are those the module's own driver would bring.
 *
 * LEASE_TAKE (do): become the one owner. Request:
 *
 *	LEASE_MS	u32	100 .. 600000: life of the lease; each accepted CONFIG_SET, QOS_SET
 *				and LEASE_RENEW starts it anew. It stands still while the system
 *				sleeps.
 *	OWNER		string	1 .. 31 printable characters, told to whoever is refused
 *	GRACE_MS	u32	0 .. 600000, default 30000: how long an unused hook stays in place
 *	Taking again from the owning socket renews and replaces the three values. Another socket
 *	gets -EBUSY with the owner's name and pid in the text.
 *
 * LEASE_RENEW, LEASE_DROP (do): request empty; owner only.
 *
 *	The lease ends by DROP, when its time is over, or when the owning socket is closed by any
 *	means, SIGKILL included. At once, before anything else can take the lease: every CPU is back
 *	to the host's own settings, every latency request is removed. The driver's table is put back
 *	at once after DROP; otherwise GRACE_MS later, unless a successor has set something by then:
 *	so a restarted daemon does not stop the machine twice. A hook that stays for that time
 *	passes every entry through unchanged.
 *
 * CONFIG_SET (do): one transaction over any number of CPUs; owner only. Request:
 *
 *	GENERATION	u32	optional: refuse with -ESTALE unless this is the current one
 *	OWN_DRIVER	u32	optional: 1 registers the module's own driver where the kernel has
 *				none (refused where it has one), 0 takes it away again
 *	GUEST		u32	optional: 1: backends and rows of C0.1 and C0.2 are meant in a
 *				guest, too, where UMWAIT does not give the CPU back to the host
 *	RULE		nest*	applied in order; a field left out keeps the CPU's value:
 *		CPUMASK		set	required
 *		IRQ_WINDOW	u32	states after whose wait interrupts are let in for a moment,
 *					before the idle loop's housekeeping
 *		STI_MWAIT	u32	states entered by the module's own STI;MWAIT; C1 (hint 0) of
 *					MWAIT drivers only; a state has this or IRQ_WINDOW, not both
 *		STATES_OFF	u32	states this CPU does not use; adds to what sysfs disables
 *		BROADCAST	u32	enum cpuidle_policy_broadcast
 *		COUNT		u32	1: count this CPU's idle entries (STATS_GET)
 *		POLL_BACKEND	u32	enum cpuidle_policy_poll: how the polling state waits
 *		C1_BACKEND	u32	enum cpuidle_policy_c1: how the first state that halts waits
 *		C0_ROW		u32	enum cpuidle_policy_row: a state of its own for C0.x
 *		HALTPOLL_NS	u32	0, or 1000 .. 10000000, rounded down to whole us: poll
 *					before each halt, this long at most
 *		IOPORT		u32	enum cpuidle_policy_ioport
 *	A message without RULE and without OWN_DRIVER is refused.
 *
 *	HALTPOLL_NS is for guests, where a halt gives the CPU to the host and getting it back is
 *	slow. The time really polled adapts: a halt that was over within HALTPOLL_NS doubles it,
 *	from 50 us up to HALTPOLL_NS, one that took longer halves it. Polling ends one idle
 *	entry, counted as the polling state, and the halt is another, so the idle loop looks at
 *	its timers between the two. Not before states in which timer, RCU or other CPUs are
 *	involved. Where the host can be told not to poll itself (F_HOST_POLL), it is, and told
 *	back.
 *
 *	While any CPU has C0_ROW, the driver's table has one state more, behind the polling one:
 *	C0.2 (or C0.1, when nobody asks for more), exit latency and target residency 200 ns,
 *	with counters of its own. It is in sysfs and in STATE for every CPU, and kept from those
 *	that did not ask for it. Sets of states in a RULE, here and in CONFIG_GET, and VETOED
 *	are numbered as if it were not there, so they mean the same whoever asks for it. Every
 *	CPU that is present must be online the first time, because an idle device is only known
 *	once it was used.
 *
 *	All rules are decoded and checked against the driver's table before anything changes; then
 *	all is committed without a way to fail. When the ACK is there, each CPU has seen its new
 *	configuration: a CPU that slept under the old one was woken. A single CPU never sees a mix
 *	of old and new. Different CPUs may switch some microseconds apart.
 *
 *	GENERATION grows with every change of the configuration, by whomever: an accepted
 *	CONFIG_SET, the end of a lease, a change of the driver's table.
 *
 *	Rows all equal to the host's own settings leave no hook behind: the driver's table is put
 *	back GRACE_MS later.
 *
 * CONFIG_GET (dump): one message per distinct row. Request: empty. Each message:
 *
 *	GENERATION u32, OWN_DRIVER u32, RULE nest with CPUMASK and every field.
 *	A dump is a snapshot. Every possible CPU is in exactly one message.
 *
 * QOS_SET (do): latency requests kept by the kernel for the owner; owner only. Request:
 *
 *	QOS		nest*	applied in order:
 *		ID		u32	1 .. 2^32-1, chosen by the caller: one hold, one id
 *		CPUMASK		set	required
 *		LATENCY_NS	u64	the longest exit latency these CPUs may have; left out: this
 *					id asks nothing of these CPUs any more
 *	Requests are the kernel's own per-device PM QoS requests: they add to what anyone wrote to
 *	pm_qos_resume_latency_us and never replace it. The kernel counts whole microseconds, so a
 *	value is rounded down: never looser than asked. At most CPUIDLE_POLICY_QOS_MAX ids at a
 *	time. All or nothing, like CONFIG_SET. Gone with the lease.
 *
 * QOS_GET (dump): one message per distinct row. Request: empty. Each message: QOS nest with ID,
 *	CPUMASK, LATENCY_NS. ID 0 is not a request: it is the limit in force from all requesters
 *	together, the user's sysfs value included; CPUs without any are left out.
 *
 * STATS_GET (dump): one message per online CPU. Request: empty. Each message: CPU nest with
 *
 *	ID u32, VETOED u32 (states really off now by us), INSIDE u32 (1: in our code now),
 *	WINDOWS u64, STI_MWAITS u64, BROADCASTS u64, ENTRY u64* (one per STATE, in order),
 *	C0_WAITS u64, C0_REARMS u64, POLL_HITS u64, POLL_MISSES u64, POLL_NS u64, IOPORTS u64.
 *	Counters keep their value for the life of the module. ENTRY, WINDOWS and STI_MWAITS run on
 *	every CPU while our ->enter stands in the table, which COUNT sees to; BROADCASTS, C0_WAITS
 *	and C0_REARMS on CPUs with COUNT. BROADCASTS counts entries into states in which the CPU's
 *	timer stops; C0_WAITS those that waited by UMWAIT, and C0_REARMS how often that was only
 *	ended by UMWAIT_CONTROL and begun again. POLL_HITS: polled before a halt and needed none,
 *	POLL_MISSES: in vain; both, and POLL_NS, the time polled now, run on CPUs with
 *	HALTPOLL_NS. IOPORTS: entries with IOPORT_DIRECT.
 *
 * MEASURE_SET, HIST_GET: places held; -EOPNOTSUPP "not in this version".
 *
 * NOTIFICATIONS, group "events". What a notification carries is what the GET gives:
 *
 *	CONFIG_NTF	a CONFIG_GET message with the CPUs that changed. After a change that leaves
 *			more than CPUIDLE_POLICY_NTF_MAX distinct rows: RESYNC u32 1 instead of RULE
 *	LEASE_NTF	EVENT u32 (enum cpuidle_policy_lease), OWNER, OWNER_PID, GENERATION
 *	QOS_NTF		a QOS_GET message with ID 0 for CPUs whose limit others changed (changes
 *			within 10 ms joined); for CPUs without a limit now, one without LATENCY_NS
 *	HOTPLUG_NTF	ONLINE set, CPUMASK set: the CPUs that came or went
 *	DRIVER_NTF	a CAPS_GET message: the driver, its table or our hook changed
 *
 * VERSIONING
 *
 *	Numbers are never reused; enums grow at their end. A newer module accepts all an older one
 *	accepted. FEATURES says what is there; VERSION changes only when something is taken away.
 */
#ifndef _UAPI_CPUIDLE_POLICY_H
#define _UAPI_CPUIDLE_POLICY_H

#define CPUIDLE_POLICY_FAMILY	 "cpuidle_policy"
#define CPUIDLE_POLICY_VERSION	 1
#define CPUIDLE_POLICY_EVENTS	 "events"
#define CPUIDLE_POLICY_OWNER_LEN 32 /* with the final NUL */
#define CPUIDLE_POLICY_QOS_MAX	 64
#define CPUIDLE_POLICY_NTF_MAX	 64
#define CPUIDLE_POLICY_LEASE_MIN 100	/* ms */
#define CPUIDLE_POLICY_LEASE_MAX 600000 /* ms */
#define CPUIDLE_POLICY_GRACE_MAX 600000 /* ms */
#define CPUIDLE_POLICY_GRACE_DEF 30000	/* ms */
#define CPUIDLE_POLICY_HALTPOLL_MIN 1000	/* ns */
#define CPUIDLE_POLICY_HALTPOLL_MAX 10000000	/* ns */

enum cpuidle_policy_cmd {
	CPUIDLE_POLICY_CMD_UNSPEC,
	CPUIDLE_POLICY_CMD_CAPS_GET,
	CPUIDLE_POLICY_CMD_LEASE_TAKE,
	CPUIDLE_POLICY_CMD_LEASE_RENEW,
	CPUIDLE_POLICY_CMD_LEASE_DROP,
	CPUIDLE_POLICY_CMD_CONFIG_SET,
	CPUIDLE_POLICY_CMD_CONFIG_GET,
	CPUIDLE_POLICY_CMD_QOS_SET,
	CPUIDLE_POLICY_CMD_QOS_GET,
	CPUIDLE_POLICY_CMD_STATS_GET,
	CPUIDLE_POLICY_CMD_MEASURE_SET,
	CPUIDLE_POLICY_CMD_HIST_GET,
	CPUIDLE_POLICY_CMD_LEASE_NTF,
	CPUIDLE_POLICY_CMD_CONFIG_NTF,
	CPUIDLE_POLICY_CMD_QOS_NTF,
	CPUIDLE_POLICY_CMD_HOTPLUG_NTF,
	CPUIDLE_POLICY_CMD_DRIVER_NTF,
	__CPUIDLE_POLICY_CMD_END,
	CPUIDLE_POLICY_CMD_MAX = __CPUIDLE_POLICY_CMD_END - 1
};

enum cpuidle_policy_attr {
	CPUIDLE_POLICY_A_UNSPEC,
	CPUIDLE_POLICY_A_PAD,
	CPUIDLE_POLICY_A_VERSION,
	CPUIDLE_POLICY_A_FEATURES,
	CPUIDLE_POLICY_A_NR_CPUS,
	CPUIDLE_POLICY_A_GENERATION,
	CPUIDLE_POLICY_A_DRIVER,
	CPUIDLE_POLICY_A_ATTACHED,
	CPUIDLE_POLICY_A_OWN_DRIVER,
	CPUIDLE_POLICY_A_REASON,
	CPUIDLE_POLICY_A_STATE,
	CPUIDLE_POLICY_A_LEASE_MS,
	CPUIDLE_POLICY_A_GRACE_MS,
	CPUIDLE_POLICY_A_OWNER,
	CPUIDLE_POLICY_A_OWNER_PID,
	CPUIDLE_POLICY_A_RULE,
	CPUIDLE_POLICY_A_QOS,
	CPUIDLE_POLICY_A_CPU,
	CPUIDLE_POLICY_A_CPUMASK,
	CPUIDLE_POLICY_A_ONLINE,
	CPUIDLE_POLICY_A_EVENT,
	CPUIDLE_POLICY_A_RESYNC,
	CPUIDLE_POLICY_A_WAITPKG,
	CPUIDLE_POLICY_A_UMWAIT_CONTROL,
	CPUIDLE_POLICY_A_C0_REASON,
	CPUIDLE_POLICY_A_C0_ROW_REASON,
	CPUIDLE_POLICY_A_GUEST,
	__CPUIDLE_POLICY_A_END,
	CPUIDLE_POLICY_A_MAX = __CPUIDLE_POLICY_A_END - 1
};

enum cpuidle_policy_state_attr {
	CPUIDLE_POLICY_STATE_UNSPEC,
	CPUIDLE_POLICY_STATE_PAD,
	CPUIDLE_POLICY_STATE_INDEX,
	CPUIDLE_POLICY_STATE_NAME,
	CPUIDLE_POLICY_STATE_DESC,
	CPUIDLE_POLICY_STATE_LATENCY_NS,
	CPUIDLE_POLICY_STATE_RESIDENCY_NS,
	CPUIDLE_POLICY_STATE_FLAGS,
	__CPUIDLE_POLICY_STATE_END,
	CPUIDLE_POLICY_STATE_MAX = __CPUIDLE_POLICY_STATE_END - 1
};

enum cpuidle_policy_rule_attr {
	CPUIDLE_POLICY_RULE_UNSPEC,
	CPUIDLE_POLICY_RULE_CPUMASK,
	CPUIDLE_POLICY_RULE_IRQ_WINDOW,
	CPUIDLE_POLICY_RULE_STI_MWAIT,
	CPUIDLE_POLICY_RULE_STATES_OFF,
	CPUIDLE_POLICY_RULE_BROADCAST,
	CPUIDLE_POLICY_RULE_COUNT,
	CPUIDLE_POLICY_RULE_POLL_BACKEND,
	CPUIDLE_POLICY_RULE_C1_BACKEND,
	CPUIDLE_POLICY_RULE_C0_ROW,
	CPUIDLE_POLICY_RULE_HALTPOLL_NS,
	CPUIDLE_POLICY_RULE_IOPORT,
	__CPUIDLE_POLICY_RULE_END,
	CPUIDLE_POLICY_RULE_MAX = __CPUIDLE_POLICY_RULE_END - 1
};

enum cpuidle_policy_qos_attr {
	CPUIDLE_POLICY_QOS_UNSPEC,
	CPUIDLE_POLICY_QOS_PAD,
	CPUIDLE_POLICY_QOS_ID,
	CPUIDLE_POLICY_QOS_CPUMASK,
	CPUIDLE_POLICY_QOS_LATENCY_NS,
	__CPUIDLE_POLICY_QOS_END,
	CPUIDLE_POLICY_QOS_ATTR_MAX = __CPUIDLE_POLICY_QOS_END - 1
};

enum cpuidle_policy_cpu_attr {
	CPUIDLE_POLICY_CPU_UNSPEC,
	CPUIDLE_POLICY_CPU_PAD,
	CPUIDLE_POLICY_CPU_ID,
	CPUIDLE_POLICY_CPU_VETOED,
	CPUIDLE_POLICY_CPU_INSIDE,
	CPUIDLE_POLICY_CPU_WINDOWS,
	CPUIDLE_POLICY_CPU_STI_MWAITS,
	CPUIDLE_POLICY_CPU_BROADCASTS,
	CPUIDLE_POLICY_CPU_ENTRY,
	CPUIDLE_POLICY_CPU_C0_WAITS,
	CPUIDLE_POLICY_CPU_C0_REARMS,
	CPUIDLE_POLICY_CPU_POLL_HITS,
	CPUIDLE_POLICY_CPU_POLL_MISSES,
	CPUIDLE_POLICY_CPU_POLL_NS,
	CPUIDLE_POLICY_CPU_IOPORTS,
	__CPUIDLE_POLICY_CPU_END,
	CPUIDLE_POLICY_CPU_MAX = __CPUIDLE_POLICY_CPU_END - 1
};

/* When the CPU's timer stops in a state another CPU must wake it: the kernel's broadcast. */
enum cpuidle_policy_broadcast {
	CPUIDLE_POLICY_BROADCAST_AUTO,	/* the kernel's own way */
	CPUIDLE_POLICY_BROADCAST_AVOID, /* this CPU uses no state in which its timer stops */
	CPUIDLE_POLICY_BROADCAST_OFF,	/* never broadcast: only where no timer stops */
	__CPUIDLE_POLICY_BROADCAST_END,
};

/*
 * How the polling state waits. C0.1 and C0.2: UMWAIT on the flags that a remote wake-up sets, with
 * interrupts closed (they end it as well), up to the time POLL itself would take; longer when no
 * other state is usable.
 */
enum cpuidle_policy_poll {
	CPUIDLE_POLICY_POLL_NATIVE,
	CPUIDLE_POLICY_POLL_C01,
	CPUIDLE_POLICY_POLL_C02,
	__CPUIDLE_POLICY_POLL_END,
};

/* How the first state that halts waits; not where timer, RCU or other CPUs are involved in it. */
enum cpuidle_policy_c1 {
	CPUIDLE_POLICY_C1_NATIVE,
	CPUIDLE_POLICY_C1_C01,
	CPUIDLE_POLICY_C1_C02,
	__CPUIDLE_POLICY_C1_END,
};

/* A state of our own between POLL and C1. intel_idle and the own driver only. */
enum cpuidle_policy_row {
	CPUIDLE_POLICY_ROW_NONE,
	CPUIDLE_POLICY_ROW_C01,
	CPUIDLE_POLICY_ROW_C02,
	__CPUIDLE_POLICY_ROW_END,
};

/* How a SystemIO state is entered. */
enum cpuidle_policy_ioport {
	CPUIDLE_POLICY_IOPORT_NATIVE,
	CPUIDLE_POLICY_IOPORT_DIRECT, /* by reading the port, and nothing else */
	__CPUIDLE_POLICY_IOPORT_END,
};

/* EVENT of LEASE_NTF. */
enum cpuidle_policy_lease {
	CPUIDLE_POLICY_LEASE_UNSPEC,
	CPUIDLE_POLICY_LEASE_TAKEN,
	CPUIDLE_POLICY_LEASE_DROPPED,
	CPUIDLE_POLICY_LEASE_EXPIRED,
	CPUIDLE_POLICY_LEASE_CLOSED, /* the owner's socket is gone */
};

/* FEATURES */
enum cpuidle_policy_feature {
	CPUIDLE_POLICY_F_HOOK = 1 << 0,	      /* a driver is there and can be hooked */
	CPUIDLE_POLICY_F_OWN_DRIVER = 1 << 1, /* the module's own driver can be registered */
	CPUIDLE_POLICY_F_IRQ_WINDOW = 1 << 2,
	CPUIDLE_POLICY_F_STI_MWAIT = 1 << 3,
	CPUIDLE_POLICY_F_STATES_OFF = 1 << 4,
	CPUIDLE_POLICY_F_BROADCAST = 1 << 5,
	CPUIDLE_POLICY_F_COUNT = 1 << 6,
	CPUIDLE_POLICY_F_QOS = 1 << 7,
	CPUIDLE_POLICY_F_TIMER_STOPS = 1 << 8, /* no ARAT: BROADCAST_OFF is refused */
	CPUIDLE_POLICY_F_C0 = 1 << 9,	       /* some CPU takes POLL_BACKEND and C1_BACKEND */
	CPUIDLE_POLICY_F_C0_ROW = 1 << 10,     /* ... and C0_ROW */
	CPUIDLE_POLICY_F_HALTPOLL = 1 << 11,
	CPUIDLE_POLICY_F_IOPORT = 1 << 12,     /* IOPORT_DIRECT is accepted */
	/* this kernel reads the PM timer as well: measured with the first lease */
	CPUIDLE_POLICY_F_DUMMY_WAIT = 1 << 13,
	CPUIDLE_POLICY_F_HOST_POLL = 1 << 14,  /* KVM: the host's own polling can be taken back */
};

/* FLAGS of a state */
enum cpuidle_policy_state_flag {
	CPUIDLE_POLICY_SF_POLLING = 1 << 0,
	CPUIDLE_POLICY_SF_TIMER_STOP = 1 << 1,
	CPUIDLE_POLICY_SF_RCU_IDLE = 1 << 2,
	CPUIDLE_POLICY_SF_COUPLED = 1 << 3,
	CPUIDLE_POLICY_SF_IRQ_WINDOW = 1 << 4, /* IRQ_WINDOW is accepted */
	CPUIDLE_POLICY_SF_STI_MWAIT = 1 << 5,  /* STI_MWAIT is accepted */
	CPUIDLE_POLICY_SF_HOOKED = 1 << 6,     /* our ->enter stands in this row now */
	CPUIDLE_POLICY_SF_C0 = 1 << 7,	       /* the state that C0_ROW has put in */
	CPUIDLE_POLICY_SF_C1 = 1 << 8,	       /* C1_BACKEND is about this state */
	CPUIDLE_POLICY_SF_IOPORT = 1 << 9,     /* entered by reading a port: IOPORT is about it */
};

#endif /* _UAPI_CPUIDLE_POLICY_H */
