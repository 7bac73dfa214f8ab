/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_OWNER_H
#define CPUIDLED_OWNER_H

#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "hold.h"
#include "link.h"

/*
 * What holds are tied to: a private connection, a name on the system bus, or a descriptor that its owner closes by
 * dying (a pidfd, the end of a pipe). When that goes, the holds go, in the next round of the loop and all of them
 * in one go: news of it may come in the middle of anything.
 */
#define OWNERS_MAX	    4096U
#define OWNER_FDS_MAX	    512U /* descriptors held for owners, root's too */
#define OWNER_FDS_UID_MAX   32U /* of one user who is not root */
#define OWNER_HOLDS_UID_MAX 1024U /* holds of one user who is not root */

struct owners;
struct sd_event;

/* Ends all holds of these owners, each of which is freed by owners_settle() after its last one. */
typedef void (*owners_gone_fn)(struct hold_owner **owners, uint32_t n, void *userdata);

int owners_new(struct sd_event *event, owners_gone_fn gone, void *userdata, struct owners **ret);
void owners_free(
	struct owners
		*o); /* the holds have to be gone, or nobody may look at their owners any more */

/* Who somebody is, as the kernel or the bus tells it. */
struct owner_who {
	uid_t uid;
	pid_t pid;
	struct link *link;
	const char *name; /* on the bus; NULL: the private connection itself */
	const char *unit; /* as it says itself, for where /proc does not show it; may be NULL */
};

/* The owner of that connection or name, if there is one. */
struct hold_owner *owners_find(struct owners *o, const struct owner_who *who);

/*
 * Makes one. Tied to a connection: gone with owners_link_gone(). To a name: with the signal that it has no owner
 * any more, for which whoever calls this has asked the bus (slot, taken over). -ENOMEM, -ENOSPC.
 */
int owners_add(struct owners *o, const struct owner_who *who, sd_bus_slot *slot,
	       struct hold_owner **ret);

/*
 * Tied to fd, which is duplicated: gone once it is readable, hung up or in error. A pidfd shows its process. -EBADF,
 * -EPERM: it cannot be waited for; -EDQUOT: too many of this user.
 */
int owners_add_fd(struct owners *o, const struct owner_who *who, int fd, struct hold_owner **ret);

/* Tied to nothing: its holds end by time. */
int owners_add_loose(struct owners *o, const struct owner_who *who, struct hold_owner **ret);

/* After each change of its holds: frees it when it has none, ends them when it has gone meanwhile. */
void owners_settle(struct owners *o, struct hold_owner *owner);

/* What it is tied to is gone. */
void owners_link_gone(struct owners *o, const struct link *l);
void owners_name_gone(struct owners *o, const char *name);

/* May this user have one more? Root always. */
bool owners_may_hold(const struct owners *o, uid_t uid);

#endif
