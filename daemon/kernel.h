/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_KERNEL_H
#define CPUIDLED_KERNEL_H

#include "module.h"

/*
 * cpuidle_policy.ko as the daemon meets it: two netlink sockets, the lease, what stands in the kernel in our
 * name. Silent: errors are negative errno, and kernel_text() has the words, the kernel's own unchanged.
 *
 * The lease is tied to the socket for requests: whatever ends this process closes it, and the kernel puts
 * every CPU back to the host's own settings at once. The lease's time is the second net, for a process that
 * lives and does nothing: KERNEL_LEASE_MS, renewed every KERNEL_RENEW_USEC by a timer that may be late, so that
 * it wakes nothing up on its own.
 */
#define KERNEL_LEASE_MS	      600000U /* the longest there is */
#define KERNEL_GRACE_MS	      30000U /* a restart of ours within it does not stop the machine twice */
#define KERNEL_RENEW_USEC     (UINT64_C(240) * 1000000)
#define KERNEL_RENEW_SLACK    (UINT64_C(60) * 1000000) /* accuracy of that timer */
#define KERNEL_TIMEOUT_MSEC   5000 /* an answer that takes longer will not come */
#define KERNEL_TEXT_MAX	      320U
#define KERNEL_DUMP_TRIES     5U /* of one that changed while it was read */
#define KERNEL_EVENTS_AT_ONCE 64U /* buffers of news read in one go */

enum kernel_standing {
	KERNEL_ABSENT, /* no such family */
	KERNEL_MISMATCH, /* it speaks another version of the contract */
	KERNEL_TAKEN, /* somebody else has the lease */
	KERNEL_FAILED, /* any other refusal */
	KERNEL_OURS, /* we have the lease */
};

struct kernel;

/* Opens the sockets and listens for the module; takes nothing. -errno: the kernel has no generic netlink. */
int kernel_new(struct kernel **ret);
/* On two descriptors of the caller's, who keeps them: whoever is at their other end plays the kernel. */
int kernel_new_on(int requests_fd, int events_fd, struct kernel **ret);
/* Closes both, with which the kernel takes everything of ours back. */
void kernel_free(struct kernel *k);
DEFINE_CLEANUP(struct kernel *, kernel_freep, kernel_free)

int kernel_fd(const struct kernel *k); /* news; for the loop */

/*
 * The handshake: finds the family (which loads the module where it is installed), compares versions, takes
 * the lease, learns what can be done. Nothing is set yet. 0; -ENOENT: no such module; -EPROTO: not our version;
 * -EBUSY: another owner, named in kernel_text(); -errno. Done already: 0.
 */
int kernel_take(struct kernel *k);
int kernel_renew(struct kernel *k); /* -errno: the lease is not ours any more */
void kernel_drop(struct kernel *k); /* everything back at once, the driver's table as well */

enum kernel_standing kernel_standing(const struct kernel *k);
/* "cpuidle_policy 1: hooks intel_idle", or what is missing and why. One line. */
const char *kernel_text(const struct kernel *k);
/* All false unless the lease is ours. */
void kernel_describe(const struct kernel *k, struct machine_module *ret);

/* machine.own_row as the kernel has it by now; -1 unless the lease is ours. */
int kernel_own_row(const struct kernel *k);

/*
 * From what stands to want, never looser than both in between: shorter limits, then all else in one
 * transaction, then longer limits; at most four system calls. 1, or 0 where it stood already; -ESTALE: the driver's table changed, plan anew;
 * -errno, and what stood before stands. Where even that failed, or the lease is lost, kernel_standing() is no
 * longer KERNEL_OURS. want with nothing in it while the lease is not ours: 0.
 */
int kernel_set(struct kernel *k, const struct module_rows *want);
int kernel_back(struct kernel *k); /* to what stood before the last change; as kernel_set() */
const struct module_rows *kernel_have(const struct kernel *k);

/* What happened since the last time. */
struct kernel_news {
	bool came; /* the module is there: worth a kernel_take() */
	bool lost; /* it is gone, or the lease is; nothing of ours stands */
	bool host; /* driver, table or CPUs changed: read the machine again */
	bool limits; /* others changed the limit of CPUs */
};

/* Reads what is there, bounded, without waiting. False when there was nothing of interest. */
bool kernel_collect(struct kernel *k, struct kernel_news *ret);

/*
 * Asks the kernel for everything that stands in our name and compares with what we set. differs: CPUs for which it
 * is otherwise are added; the caller's, of CPU_MAX. -errno.
 */
int kernel_verify(struct kernel *k, struct cpuset *differs);

#endif
