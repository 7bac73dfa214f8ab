/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_LINK_H
#define CPUIDLED_LINK_H

#include <sys/types.h>

#include "base.h"

/*
 * Connections: the name on the system bus, and the private socket below the root with everyone who has
 * connected to it. What is said on them is bus.c's.
 *
 * The system bus may come later, go and come back: it is waited for without waking up. The private socket
 * is open to everyone, as the system bus is; peer credentials decide what a connection may do. How many
 * there may be is bounded, root's share apart, so that nobody can lock root out.
 */
#define LINKS_MAX	  48U /* private connections at a time */
#define LINKS_OTHERS_MAX  32U /* of them not root's */
#define LINKS_PER_UID_MAX 8U /* of one user who is not root */
/* Messages that wait for a peer to read them; one who lets more pile up is disconnected. */
#define LINK_QUEUE_MAX 64U

struct sd_bus;
struct sd_event;
struct links;

struct link {
	struct links *links;
	struct sd_bus *bus; /* NULL: free place */
	bool private; /* uid is that of the peer; on the system bus each message has its own */
	uid_t uid;
	pid_t pid; /* of the peer when it connected */
	bool holds; /* somebody's holds are tied to it, or were */
};

/*
 * Called for each new connection, to add objects; userdata of links_new(). On the system bus again
 * for each time it comes back.
 */
typedef int (*link_setup_fn)(struct link *l, void *userdata);
/* Called when a connection has come to its end, from within anything that talks on it: notes, and does no more. */
typedef void (*link_gone_fn)(struct link *l, void *userdata);

struct links_options {
	struct sd_event *event;
	const char *root; /* the private socket is below it */
	bool system_bus;
	link_setup_fn setup;
	link_gone_fn gone;
	void *userdata;
};

/* 0, or -errno when the private socket cannot be made. No system bus is no error. */
int links_new(const struct links_options *o, struct links **ret);
void links_free(struct links *links);

/* userdata of links_new(). */
void *link_userdata(const struct link *l);

/* The connection a message came in on; NULL: it has gone. */
struct link *links_find(struct links *links, const struct sd_bus *bus);

/* Calls fn for each connection that stands. */
typedef void (*link_fn)(struct link *l, const void *userdata);
void links_each(struct links *links, link_fn fn, const void *userdata);

/*
 * Is a peer with holds behind with reading? News are left out for it then: a program that holds something and has
 * no interest in signals is not to lose its hold by them.
 */
bool link_is_behind(const struct link *l);

/* Disconnects a peer that does not read what it asked for. true: l is gone. */
bool link_drop_if_stuck(struct link *l);

#endif
