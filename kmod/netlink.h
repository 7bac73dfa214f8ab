/* SPDX-License-Identifier: GPL-2.0-only */
/* netlink - the family: who may ask what, and decoding it */
#ifndef NETLINK_H
#define NETLINK_H

int netlink_init(void);
void netlink_exit(void);

#endif /* NETLINK_H */
