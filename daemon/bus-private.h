/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_BUS_PRIVATE_H
#define CPUIDLED_BUS_PRIVATE_H

#include <systemd/sd-bus.h>

#include "bus.h"
#include "link.h"
#include "manager.h"
#include "owner.h"
#include "polkit.h"

/* The inside of the bus, shared by bus.c (the object, most of its methods), bus-hold.c and bus-verify.c. */
struct bus {
	struct manager *manager;
	struct links *links;
	struct polkit *polkit;
	struct owners *owners;
	char *settings; /* what Set() said so far, NULL: nothing */
	struct waiting *waiting; /* calls of Verify() that are not answered yet */
	struct sd_event_source
		*clear_up; /* on while somebody of these has gone; NULL: there were none */
};

DEFINE_CLEANUP(sd_bus_message *, message_unrefp, sd_bus_message_unref)
#define _cleanup_message_ _cleanup_(message_unrefp)

static inline struct bus *bus_of(const struct link *l)
{
	return link_userdata(l);
}

/* bus.c. The CPUs of a selector; ret is initialised here. An error is in error, none of them is -EINVAL without. */
int bus_select_cpus(const struct bus *b, const char *text, struct cpuset *ret, sd_bus_error *error);
/* Answers m with everything that is wrong. */
int bus_reply_bad_policy(sd_bus_message *m, const struct diag_list *diags);
int bus_not_ready(sd_bus_error *error);

/* bus-hold.c: methods of the vtable, and the other ends of holds. */
int bus_hold_on_hold(sd_bus_message *m, void *userdata, sd_bus_error *error);
int bus_hold_on_release(sd_bus_message *m, void *userdata, sd_bus_error *error);
int bus_hold_on_list(sd_bus_message *m, void *userdata, sd_bus_error *error);
int bus_hold_start(struct bus *b);
void bus_hold_released(void *data, uint32_t id, struct hold_owner *owner, const char *why);
void bus_hold_link_gone(struct link *l, void *userdata);

/* bus-verify.c */
int bus_verify_on_verify(sd_bus_message *m, void *userdata, sd_bus_error *error);
void bus_verify_link_gone(struct bus *b, const struct link *l);
void bus_verify_free(struct bus *b); /* nobody is answered any more */

#endif
