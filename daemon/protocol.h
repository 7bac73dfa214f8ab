/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_PROTOCOL_H
#define CPUIDLED_PROTOCOL_H

/*
 * Names between daemon and client, on the system bus and on the private socket alike. Includes nothing.
 *
 * Methods of org.cpuidled1.Manager (t: ns, UINT64_MAX is "none"; CPU lists as "0-3,8"):
 *   GetStatus()              -> a{sv}
 *   GetPlan(s cpus)          -> PROTOCOL_PLAN   "" for all CPUs
 *   Explain(s cpus)          -> PROTOCOL_PLAN, with the layers filled in
 *   ListProfiles()           -> a(sssta{ss})  name, description, base, limit, other keys
 *   Verify()                 -> a(ssss)       cpus, result (ok, differs, unsupported), knob, detail
 *   Reload()                 -> a(ssus)      severity, file, line, text; error BadPolicy has them as text
 *   Set(s text)              -> diagnostics   policy text on top of all files, kept until reset
 *   ResetSettings()          -> diagnostics
 * Writing ones (Reload, Set, ResetSettings) need root or polkit's leave (PROTOCOL_ACTION_x).
 * Signal Changed(s what, s detail): one per decision that reached a CPU or was made about a foreign write.
 * Properties with PropertiesChanged: Version s, State s, Generation t, Backends as, PolicyFiles as,
 *   LastError s, OnForeignWrite s, ForeignWrites t.
 */
#define PROTOCOL_NAME	   "org.cpuidled1"
#define PROTOCOL_PATH	   "/org/cpuidled1"
#define PROTOCOL_INTERFACE "org.cpuidled1.Manager"
#define PROTOCOL_SOCKET	   "run/cpuidled/bus" /* below the root directory */

/*
 * A row of a view (policy/view.h), field by field: cpus, profile, limit source, effective limit, limit of
 * the policy, limit of others, states (index, name, exit latency, target residency, class, enabled,
 * reason), modes (name, requested, effective, reason), layers (name, text)
 */
#define PROTOCOL_STATE	  "(usttsbs)"
#define PROTOCOL_MODE	  "(ssss)"
#define PROTOCOL_LAYER	  "(ss)"
#define PROTOCOL_PLAN_ROW "(sssttta" PROTOCOL_STATE "a" PROTOCOL_MODE "a" PROTOCOL_LAYER ")"
#define PROTOCOL_PLAN	  "a" PROTOCOL_PLAN_ROW
/* severity, file, line, text */
#define PROTOCOL_DIAGS "a(ssus)"

#define PROTOCOL_ERROR_BAD_POLICY "org.cpuidled1.Error.BadPolicy"
#define PROTOCOL_ERROR_APPLY	  "org.cpuidled1.Error.Apply"
#define PROTOCOL_ERROR_NO_CPU	  "org.cpuidled1.Error.NoSuchCpu"

#define PROTOCOL_ACTION_RELOAD "org.cpuidled1.reload"
#define PROTOCOL_ACTION_SET    "org.cpuidled1.set"

#endif
