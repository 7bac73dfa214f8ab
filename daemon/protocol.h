/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_PROTOCOL_H
#define CPUIDLED_PROTOCOL_H

/*
 * Names between daemon and client, on the system bus and on the private socket alike. Includes nothing.
 *
 * Methods of org.cpuidled1.Manager (t: ns, UINT64_MAX is "none"; CPUs are selectors such as "0-3,8" or
 * "node:1 & !isolated", "" for all CPUs):
 *   GetStatus()              -> a{sv}         PROTOCOL_STATUS_x; more may come, skip what is unknown
 *   GetPolicy()              -> s             all texts merged, as policy text
 *   GetPlan(s cpus)          -> PROTOCOL_PLAN without layers
 *   Explain(s cpus)          -> PROTOCOL_PLAN with the layers filled in
 *   ListProfiles()           -> a(sssta{ss})  name, description, base, limit, other keys
 *   Verify(t interval_us)    -> a(ssss)       cpus, result (ok, differs, unsupported), knob, detail; answered after that
 *                               time, in which the counters are observed; 0: at once, without them
 *   Reload()                 -> PROTOCOL_DIAGS
 *   Set(s text)              -> PROTOCOL_DIAGS  policy text on top of all files, added key by key to what
 *                               earlier calls said; outlives a reload, not a restart
 *   ResetSettings()          -> PROTOCOL_DIAGS  drops what Set() said
 *   Hold(s cpus, a{sv} ask, s reason, s application_id) -> u cookie    PROTOCOL_ASK_x, at least one of the first three.
 *                               Ends with Release(), and with the caller: its private connection, its name on the
 *                               bus, or whatever PROTOCOL_ASK_FD is the end of
 *   Release(u cookie)           everybody may end what is held for the same user
 *   ListHolds()              -> PROTOCOL_HOLDS
 * Writing ones (Reload, Set, ResetSettings, Hold, Release) need root or polkit's leave (PROTOCOL_ACTION_x); polkit can
 * only be asked on the system bus. Their error BadPolicy carries the diagnostics as text and then once
 * more as PROTOCOL_DIAGS; nothing has changed then.
 * Signal Changed(s what, s detail, s why): one per change; why: what set the daemon in motion. what is one of
 *   PROTOCOL_CHANGES.
 * Signal HoldReleased(u cookie, s why): a hold has ended, in whatever way.
 * Properties with PropertiesChanged: Version s, State s, Generation t, Backends as, PolicyFiles as,
 *   LastError s, OnForeignWrite s, ForeignWrites t.
 */
#define PROTOCOL_NAME	   "org.cpuidled1"
#define PROTOCOL_PATH	   "/org/cpuidled1"
#define PROTOCOL_INTERFACE "org.cpuidled1.Manager"
#define PROTOCOL_SOCKET	   "run/cpuidled/bus" /* below the root directory */

/*
 * A row of a view (policy/view.h), field by field: cpus, profile, limit source, online, effective limit, limit of
 * the policy, limit of others, states (index, name, exit latency, target residency, class, enabled,
 * reason), modes (name, requested, effective, reason), layers (name, text)
 */
#define PROTOCOL_STATE_FIELDS "usttsbs"
#define PROTOCOL_MODE_FIELDS  "ssss"
#define PROTOCOL_LAYER_FIELDS "ss"
#define PROTOCOL_ROW_FIELDS \
	"sssbttta(" PROTOCOL_STATE_FIELDS ")a(" PROTOCOL_MODE_FIELDS ")a(" PROTOCOL_LAYER_FIELDS ")"
#define PROTOCOL_PLAN "a(" PROTOCOL_ROW_FIELDS ")"
/* severity, file ("" for none), line (0 for none), text */
#define PROTOCOL_DIAG_FIELDS	"ssus"
#define PROTOCOL_DIAGS		"a(" PROTOCOL_DIAG_FIELDS ")"
#define PROTOCOL_PROFILE_FIELDS "sssta{ss}"
#define PROTOCOL_PROFILES	"a(" PROTOCOL_PROFILE_FIELDS ")"
#define PROTOCOL_FINDING_FIELDS "ssss"
#define PROTOCOL_FINDINGS	"a(" PROTOCOL_FINDING_FIELDS ")"

/*
 * cookie, application id (or the name of the process), pid (0: not known), uid, systemd unit ("" for none), reason, since
 * (us since 1970), CPUs, latency limit, profile ("" for none), modes as policy text ("C1Interrupts=window HaltPoll=off"),
 * time left (us, UINT64_MAX: no end by time)
 */
#define PROTOCOL_HOLD_FIELDS "usuusststsst"
#define PROTOCOL_HOLDS	     "a(" PROTOCOL_HOLD_FIELDS ")"

/*
 * state: of the daemon; applied: written to files; module: kept by cpuidle_policy.ko; failed: neither; reload: policy or
 * run-time settings taken over or refused; hold, workload: one came, went or has other CPUs; guard, adapt: decisions
 * with their numbers; foreign-write, others: what others wrote or hold; cpus, table: CPUs or the driver's states
 * changed; backend: the module came, went, or is not ours.
 */
#define PROTOCOL_CHANGES                                                                          \
	"state applied module failed reload hold workload guard adapt foreign-write others cpus " \
	"table backend"

/* Keys of what Hold() asks for; others are refused. */
#define PROTOCOL_ASK_LATENCY "LatencyLimit" /* t, ns */
#define PROTOCOL_ASK_PROFILE "Profile" /* s */
#define PROTOCOL_ASK_MODES   "Modes" /* a{ss}: mode keys of a profile with their values */
#define PROTOCOL_ASK_TTL     "Ttl" /* t, us: ends then at the latest */
#define PROTOCOL_ASK_FD \
	"Fd" /* h: a pidfd, the end of a pipe or socket; not tied to the caller then */
#define PROTOCOL_ASK_UNIT \
	"Unit" /* s: systemd unit of the caller, believed where the daemon cannot see it itself */
#define PROTOCOL_ASK_DETACHED "Detached" /* b: tied to nobody; needs PROTOCOL_ASK_TTL */
#define PROTOCOL_TTL_MAX_US   (UINT64_C(31) * 24 * 3600 * 1000000)

/* Keys of GetStatus: the properties by their names, and these. */
#define PROTOCOL_STATUS_CPUS	 "Cpus" /* u, present */
#define PROTOCOL_STATUS_ONLINE	 "CpusOnline" /* u */
#define PROTOCOL_STATUS_DRIVER	 "Driver" /* s, cpuidle/current_driver */
#define PROTOCOL_STATUS_GOVERNOR "Governor" /* s */
#define PROTOCOL_STATUS_MODULE	 "Module" /* s, what cpuidle_policy.ko is to us, or why nothing */
#define PROTOCOL_STATUS_UMWAIT \
	"Umwait" /* s, what cpu/umwait_control says; "" where it is not there */
#define PROTOCOL_STATUS_ADAPT	  "Adapt" /* s, what Adapt= does and did */
#define PROTOCOL_STATUS_GUARD	  "Guard" /* s, what the residency guard does and did */
#define PROTOCOL_STATUS_HOLDS	  "Holds" /* u, how many there are */
#define PROTOCOL_STATUS_SETTINGS  "Settings" /* s, run-time settings as policy text, "" for none */
#define PROTOCOL_STATUS_WORKLOADS "Workloads" /* s, which of them live, and where; "none" */

#define PROTOCOL_ERROR_BAD_POLICY "org.cpuidled1.Error.BadPolicy"
#define PROTOCOL_ERROR_APPLY	  "org.cpuidled1.Error.Apply"
#define PROTOCOL_ERROR_NO_CPU	  "org.cpuidled1.Error.NoSuchCpu"
#define PROTOCOL_ERROR_SELECTOR	  "org.cpuidled1.Error.BadSelector"
#define PROTOCOL_ERROR_NOT_YET	  "org.cpuidled1.Error.NotReady" /* no plan yet */
#define PROTOCOL_ERROR_NO_HOLD	  "org.cpuidled1.Error.NoSuchHold"
#define PROTOCOL_ERROR_NO_PROFILE "org.cpuidled1.Error.NoSuchProfile"

#define PROTOCOL_ACTION_RELOAD	     "org.cpuidled1.reload"
#define PROTOCOL_ACTION_SET	     "org.cpuidled1.set"
#define PROTOCOL_ACTION_RESET	     "org.cpuidled1.reset-settings"
#define PROTOCOL_ACTION_HOLD	     "org.cpuidled1.hold" /* of a latency limit alone */
#define PROTOCOL_ACTION_HOLD_PROFILE "org.cpuidled1.hold-profile" /* of profiles and modes */
#define PROTOCOL_ACTION_RELEASE	     "org.cpuidled1.release" /* of another user's */

/* Bytes of all run-time settings together. */
#define PROTOCOL_SETTINGS_MAX 65536U

#endif
