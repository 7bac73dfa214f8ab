/* SPDX-License-Identifier: GPL-2.0-only */
/* message - everything that is sent: replies, dumps, notifications (event.h) */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <net/genetlink.h>

extern struct genl_family netlink_family;

#define MESSAGE_GROUP 0 /* "events", the only one */

/* Notifications are sent from now on, or no more; under modes_mutex. */
void message_open(bool open);

/* A new CAPS_GET reply to @info, or an ERR_PTR. Under modes_mutex. */
struct sk_buff *message_caps(struct genl_info *info);

/* Dumps; each takes modes_mutex itself where it needs it. */
int message_config_start(struct netlink_callback *cb);
int message_config_dump(struct sk_buff *skb, struct netlink_callback *cb);
int message_qos_start(struct netlink_callback *cb);
int message_qos_dump(struct sk_buff *skb, struct netlink_callback *cb);
int message_stats_dump(struct sk_buff *skb, struct netlink_callback *cb);
int message_done(struct netlink_callback *cb);

#endif /* MESSAGE_H */
