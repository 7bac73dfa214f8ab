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
 *   Verify()                 -> a(ssss)       cpus, result (ok, differs, unsupported), knob, detail
 *   Reload()                 -> PROTOCOL_DIAGS
 *   Set(s text)              -> PROTOCOL_DIAGS  policy text on top of all files, added key by key to what
 *                               earlier calls said; outlives a reload, not a restart
 *   ResetSettings()          -> PROTOCOL_DIAGS  drops what Set() said
 * Writing ones (Reload, Set, ResetSettings) need root or polkit's leave (PROTOCOL_ACTION_x); polkit can
 * only be asked on the system bus. Their error BadPolicy carries the diagnostics as text and then once
 * more as PROTOCOL_DIAGS; nothing has changed then.
 * Signal Changed(s what, s detail): one per decision that reached a CPU or was made about a foreign write.
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

/* Keys of GetStatus: the properties by their names, and these. */
#define PROTOCOL_STATUS_CPUS	 "Cpus" /* u, present */
#define PROTOCOL_STATUS_ONLINE	 "CpusOnline" /* u */
#define PROTOCOL_STATUS_DRIVER	 "Driver" /* s, cpuidle/current_driver */
#define PROTOCOL_STATUS_GOVERNOR "Governor" /* s */
#define PROTOCOL_STATUS_MODULE	 "Module" /* s, what cpuidle_policy.ko is to us, or why nothing */
#define PROTOCOL_STATUS_ADAPT	 "Adapt" /* s, what Adapt= does and did */
#define PROTOCOL_STATUS_GUARD	 "Guard" /* s, what the residency guard does and did */
#define PROTOCOL_STATUS_SETTINGS "Settings" /* s, run-time settings as policy text, "" for none */

#define PROTOCOL_ERROR_BAD_POLICY "org.cpuidled1.Error.BadPolicy"
#define PROTOCOL_ERROR_APPLY	  "org.cpuidled1.Error.Apply"
#define PROTOCOL_ERROR_NO_CPU	  "org.cpuidled1.Error.NoSuchCpu"
#define PROTOCOL_ERROR_SELECTOR	  "org.cpuidled1.Error.BadSelector"
#define PROTOCOL_ERROR_NOT_YET	  "org.cpuidled1.Error.NotReady" /* no plan yet */

#define PROTOCOL_ACTION_RELOAD "org.cpuidled1.reload"
#define PROTOCOL_ACTION_SET    "org.cpuidled1.set"
#define PROTOCOL_ACTION_RESET  "org.cpuidled1.reset-settings"

/* Bytes of all run-time settings together. */
#define PROTOCOL_SETTINGS_MAX 65536U

#endif
