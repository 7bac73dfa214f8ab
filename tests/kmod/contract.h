/* SPDX-License-Identifier: GPL-2.0-only */
/* contract - hold the module to its header; shared by the two halves of the test */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "snapshot.h"
#include "wire.h"

extern struct wire own, other; /* the owner's socket, and somebody else's */
extern struct snapshot host;   /* before anything was asked for */
extern bool can_read;	       /* the kernel's memory */
extern bool no_driver;	       /* the machine has none: OWN_DRIVER must be asked for */

/* The call must fail so, with such words. */
void refused(struct wire *w, int ret, int err, const char *text, const char *what);
/* CONFIG_SET of one row in words. */
int set(struct wire *w, const char *text);
bool attached(void);
bool all_clear(void);
void wait_until_detached(void);

/* Limits, events, the dead man, and who may do what. */
void contract_owner(void);

/* All of it, on whatever machine this is. Returns the number of failures. */
int contract_run(void);

#endif /* CONTRACT_H */
