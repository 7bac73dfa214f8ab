/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_H
#define CPUIDLED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * libcpuidled: holds of cpuidled(8) for programs. Three calls: cpuidled_open(), cpuidled_hold(), cpuidled_close().
 *
 * A hold asks that CPUs wake up within a time, or that a profile or mode of the policy is theirs. It stands when
 * cpuidled_hold() returns, and ends with cpuidled_release(), with cpuidled_close() and with the process, whatever
 * ends that. Any number of programs may hold the same CPU: the strictest limit wins.
 *
 * Errors are negative errno values; cpuidled_error() has the words. A connection is for one thread at a time and not
 * for use after fork(). See libcpuidled(3).
 */
struct cpuidled;

/* cpuidled_ask.latency_ns: no limit, only a profile or modes. */
#define CPUIDLED_NO_LIMIT UINT64_MAX

struct cpuidled_ask {
	size_t size; /* of this struct, as the program knows it */
	const char *cpus; /* "2-5", "node:1 & !isolated"; NULL: all */
	uint64_t latency_ns; /* the longest exit latency; 0 is zero */
	const char *profile; /* of the policy; NULL: none */
	const char *const *modes; /* "C1Interrupts=window" ..., NULL at the end; NULL: none */
	const char *reason; /* for those who look; NULL: none. At most 127 bytes */
	const char *name; /* of the program; NULL: as it was called. At most 63 bytes */
	uint64_t ttl_us; /* ends then at the latest; 0: no such end */
};

/* All that is not said asks for nothing. */
#define CPUIDLED_ASK                                                             \
	{                                                                        \
		sizeof(struct cpuidled_ask), 0, CPUIDLED_NO_LIMIT, 0, 0, 0, 0, 0 \
	}

/*
 * Connects to the daemon: root by its private socket and then by the system bus, others, whom polkit may allow it,
 * the other way round. socket_path: only this private socket; NULL for all but tests. -ENOTCONN: no daemon answers.
 */
int cpuidled_open(const char *socket_path, struct cpuidled **ret);

/* Ends all holds of the connection and frees it. NULL is fine. */
void cpuidled_close(struct cpuidled *c);

/*
 * Holds; returns the number of the hold, from 1. -EACCES: the caller may not; -EINVAL: the daemon does not understand
 * it; -ENOENT: no such profile or CPU; -EBUSY: too many holds; -ENOTCONN: the daemon has gone, and all holds with it;
 * -EIO: it did not reach the CPUs. Nothing is held then.
 */
int64_t cpuidled_hold(struct cpuidled *c, const struct cpuidled_ask *ask);

/* Ends one. -ENOENT: there is no such hold any more; -ENOTCONN, -EACCES, -EIO as above. */
int cpuidled_release(struct cpuidled *c, uint32_t id);

/*
 * For programs that want to know when somebody else ends their hold: poll cpuidled_fd(), from which on the news
 * are asked for, for POLLIN, then call
 * cpuidled_ended() until it returns 0. It returns the number of a hold of this connection that has ended; -ENOTCONN
 * when all have, with the daemon.
 */
int cpuidled_fd(struct cpuidled *c);
int64_t cpuidled_ended(struct cpuidled *c);

/* What the last failed call of this connection found, in words; never NULL. */
const char *cpuidled_error(const struct cpuidled *c);

#ifdef __cplusplus
}
#endif

#endif
