/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_STATUS_H
#define CPUIDLED_STATUS_H

#include "manager.h"

/*
 * The state of the daemon by name: properties of the bus object, and all of them together for GetStatus().
 * settings: run-time settings as text, NULL for none. 0 or -errno; -ENOENT for an unknown name.
 */
struct sd_bus_message;

int status_append_value(struct sd_bus_message *m, const char *name, const struct manager *manager,
			const char *settings);
int status_append_all(struct sd_bus_message *m, const struct manager *manager,
		      const char *settings);

#endif
