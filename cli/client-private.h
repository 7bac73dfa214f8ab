/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_CLIENT_PRIVATE_H
#define CPUIDLED_CLIENT_PRIVATE_H

#include <systemd/sd-bus.h>

#include "client.h"

/* The inside of the client, shared by client.c (ways, most verbs) and client-hold.c (holds). */
enum way { WAY_PRIVATE, WAY_SYSTEM, WAY_HOST };

struct client {
	const struct options *o;
	sd_bus *bus; /* NULL between two ways */
	enum way ways[2]; /* in the order of trying */
	uint32_t n_ways, next;
	uint64_t wait_us; /* how much later than others the answer may come */
	char tried[512]; /* what was tried in vain, for the message when nothing is left */
};

DEFINE_CLEANUP(sd_bus_message *, message_unrefp, sd_bus_message_unref)
#define _cleanup_message_ _cleanup_(message_unrefp)

/* Arguments into the body of a call, which is made anew for each way that is tried. 0 or -errno. */
typedef int (*client_fill_fn)(sd_bus_message *m, const void *userdata);

/* Calls a method; every error of the daemon's ends the verb. fill may be NULL. */
int client_get(struct client *c, const char *member, client_fill_fn fill, const void *userdata,
	       sd_bus_message **ret);

/* The daemon's error in its own words. Returns an exit code. */
int client_fail_reply(const sd_bus_error *e);

int client_bad_answer(const char *member, int r);

/* How the daemon of this connection is called: NULL on the private socket. */
const char *client_destination(const struct client *c);

#endif
