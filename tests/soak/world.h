/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world - what this test moves: the daemon, the module, holders, control groups, files */
#ifndef WORLD_H
#define WORLD_H

#include <stdint.h>
#include <sys/types.h>

#include "model.h"

/* How long anything may take before it counts as never; the machine below may be a busy one. */
#define PATIENCE_MS 20000

#define POLICY_FILE "/etc/cpuidled/cpuidled.conf.d/50-soak.conf"
#define DAEMON_LOG  "/run/daemon.log"

uint64_t world_now_us(void);

/* Mounts, directories. False, with a note, when the guest cannot do it. */
bool world_init(void);
void world_done(void);

/* The lines of what a program says come into out, if that is not NULL. Its exit status; -1: a signal. */
int world_run(const char *const argv[], char *out, size_t size);

/* Starts argv behind all descriptors of ours. */
pid_t world_spawn(const char *const argv[], const char *log);

bool world_write(const char *path, const char *text);

/* ---- the daemon and its module ---- */

/* Waits until it serves; false when it ends instead, with its exit status in ret. */
bool world_daemon_start(int *ret_status);
int world_daemon_stop(void); /* its exit status */
void world_daemon_kill(void); /* -9; returns when it is no more */
bool world_daemon_lives(void);
void world_daemon_signal(int signal);
bool world_module(bool load);

/* Reload, Set(text) and ResetSettings on the private socket; text NULL for the others. Was it done? */
bool world_call(const char *method, const char *text);

/* What the daemon says the effective limit of each online CPU is, in whole us. */
bool world_plan(int us[CPUS]);

/* ---- holders ---- */

enum holder_kind {
	HOLDER_OURS, /* on a connection of this process */
	HOLDER_PROFILE, /* the same, of profile low-latency */
	HOLDER_CHILD, /* a process of its own, by the library */
	HOLDER_CLIENT, /* cpuidlectl hold -- COMMAND */
};

bool world_hold(unsigned slot, enum holder_kind kind, unsigned cpus, int us);
bool world_hold_briefly(unsigned cpus, int us, unsigned ms);
bool world_release(unsigned slot); /* as its kind does */
bool world_release_by_client(unsigned slot);
bool world_is_process(unsigned slot);
void world_kill_holder(unsigned slot); /* -9; does not wait for what comes of it */
void world_forget_holders(void); /* the daemon is gone: all of them end */

/* ---- others ---- */

bool world_write_qos(unsigned cpu, int us);
bool world_write_disable(unsigned cpu, bool off);
bool world_request(unsigned slot, int us); /* NO_LIMIT closes it */
bool world_online(unsigned cpu, bool online);
bool world_cgroup_make(unsigned slot, unsigned cpus);
bool world_cgroup_cpus(unsigned slot, unsigned cpus);
bool world_cgroup_move(unsigned from, unsigned to); /* its process */
bool world_cgroup_end(unsigned slot); /* its process */
bool world_cgroup_remove(unsigned slot); /* its process, if it has one, and itself */

/* "0,2-3" as "0,2,3" */
const char *world_list(unsigned mask, char text[16]);

#endif
