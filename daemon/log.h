/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_LOG_H
#define CPUIDLED_LOG_H

/* Priorities are those of <syslog.h>: LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG. */
#include <syslog.h>

#include "base.h"

/*
 * The only sink of the daemon's words. Under the journal (JOURNAL_STREAM names our stderr) an entry with
 * fields, otherwise one plain line on stderr; never both. Used by main, manager and bus alone: everything
 * below them is silent and returns what happened. Keeps no state and never fails.
 */
enum log_id {
	LOG_ID_NONE, /* no MESSAGE_ID: detail nobody would search for */
	LOG_ID_POLICY, /* a diagnostic about the policy or what it meets on this host */
	LOG_ID_STARTED, /* the policy stands, the daemon serves */
	LOG_ID_STOPPING, /* on the way out */
	LOG_ID_APPLIED, /* a plan reached the CPUs */
	LOG_ID_APPLY_FAILED, /* a plan did not; rolled back */
	LOG_ID_RESTORED, /* the host has its own settings again */
	LOG_ID_RESTORE_FAILED, /* some of them could not be put back */
	LOG_ID_RELOADED, /* a policy was taken over */
	LOG_ID_RELOAD_REFUSED, /* a policy was refused; nothing changed */
	LOG_ID_STATE, /* the state of the daemon changed */
	LOG_ID_FOREIGN, /* somebody else wrote a file of ours */
	LOG_ID_FOREIGN_LEFT, /* and theirs is left standing (yield, alert, too often) */
	LOG_ID_HOST, /* something about the host: files missing, unwatchable, records damaged */
	LOG_ID_MODULE, /* the kernel's module: taken, lost, missing */
	LOG_ID_REQUEST, /* a request over the bus */
	LOG_ID_ADAPT, /* Adapt= took a CPU for busy, or for busy no more */
	LOG_ID_GUARD, /* the residency guard took a state away, or gave it back */
	LOG_ID_DENIED, /* one that was refused for lack of permission */
	LOG_ID_HOLD, /* a hold was taken or has ended */
	LOG_ID_WORKLOAD, /* workloads came, went or have other CPUs now */
	LOG_ID_N,
};

/* Fields of an entry; what is NULL or 0 is not sent. */
struct log_entry {
	enum log_id id;
	int priority;
	int error; /* negative errno: ERRNO=, and its text behind the message */
	const char *cpus; /* CPUS=0-3,8 */
	const char *knob; /* KNOB=pm_qos_resume_latency_us, state3/disable, cpu_dma_latency */
	const char *old; /* OLD=, NEW=: values as in the policy: 20us, 0, none */
	const char *new;
	const char *profile; /* PROFILE= */
	const char *file; /* POLICY_FILE=, POLICY_LINE=: where a diagnostic points to */
	uint32_t line;
	const char *state; /* STATE=ACTIVE */
	const char *sender; /* SENDER_UID= of a request */
};

/* Longest message; what is longer is cut. */
#define LOG_MESSAGE_MAX 1024U

void log_entry(const struct log_entry *e, const char *fmt, ...) _printf_(2, 3);

#define log_error(id_, ...) \
	log_entry(&(struct log_entry){.id = (id_), .priority = LOG_ERR}, __VA_ARGS__)
#define log_warning(id_, ...) \
	log_entry(&(struct log_entry){.id = (id_), .priority = LOG_WARNING}, __VA_ARGS__)
#define log_notice(id_, ...) \
	log_entry(&(struct log_entry){.id = (id_), .priority = LOG_NOTICE}, __VA_ARGS__)
#define log_info(id_, ...) \
	log_entry(&(struct log_entry){.id = (id_), .priority = LOG_INFO}, __VA_ARGS__)

/* error: negative errno, whose text follows the message. */
#define log_errno(id_, error_, ...)                                                         \
	log_entry(&(struct log_entry){.id = (id_), .priority = LOG_ERR, .error = (error_)}, \
		  __VA_ARGS__)

/* MESSAGE_ID of an entry as the journal spells it, NULL for LOG_ID_NONE. */
const char *log_message_id(enum log_id id);

#endif
