/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_DECODE_H
#define CPUIDLED_DECODE_H

#include "client.h"

/*
 * Bodies of the daemon's answers into typed results. Each returns 0 or -errno (-EBADMSG and -ENXIO for a
 * body of another shape) and writes ret on success only. For client.c alone.
 */
struct sd_bus_message;

int decode_status(struct sd_bus_message *m, struct client_status *ret);
int decode_view(struct sd_bus_message *m, struct view *ret);
int decode_profiles(struct sd_bus_message *m, struct listing *ret);
int decode_findings(struct sd_bus_message *m, struct client_findings *ret);
int decode_holds(struct sd_bus_message *m, struct client_holds *ret);
int decode_diags(struct sd_bus_message *m, struct diag_list *diags); /* adds to diags */

#endif
