/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * event - what the layers below tell, without knowing to whom. message.c sends it.
 *
 * All in process context under modes_mutex.
 */
#ifndef EVENT_H
#define EVENT_H

#include <linux/cpumask.h>

/* Rows of @changed (u32 words) differ now; none: only the own driver came or went. */
void event_config(const u32 *changed);
void event_driver(void);
void event_lease(u32 event, const char *owner, u32 pid);
void event_qos(const struct cpumask *cpus);
void event_hotplug(const struct cpumask *cpus);

#endif /* EVENT_H */
