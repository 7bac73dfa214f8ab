/* SPDX-License-Identifier: GPL-2.0-only */
/* lease - one owner at a time, and what happens when it is gone */
#ifndef LEASE_H
#define LEASE_H

#include "table.h"

struct lease_ask {
	u32 portid; /* of the socket; never 0 */
	u32 ms;
	u32 grace_ms;
	u32 pid;
	const char *owner;
};

/* End it, and give it to nobody any more. */
void lease_exit(void);

/* A generic netlink socket is closed, any one. Takes modes_mutex itself. */
void lease_closed(u32 portid);

/* The rest under modes_mutex. */

int lease_take(const struct lease_ask *ask, struct table_refusal *refusal);
/* Does @portid own the lease? */
int lease_check(u32 portid, struct table_refusal *refusal);
void lease_renew(void);
/* The end, by one of enum cpuidle_policy_lease. */
void lease_end(u32 event);

/* NULL without an owner; then the other two mean nothing. */
const char *lease_owner(void);
u32 lease_pid(void);
u32 lease_left_ms(void);

#endif /* LEASE_H */
