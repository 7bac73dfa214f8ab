/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the client and the library have to do alike to talk to the daemon. No part of what the library offers. */
#ifndef PEER_H
#define PEER_H

#include <systemd/sd-bus.h>

#include "base.h"

/*
 * Connects to the daemon's own socket at path, of any length. The caller owns *ret, which is started; the daemon has
 * not yet said anything on it. Returns 0, or a negative errno: -ENOENT nothing there, -ECONNREFUSED nobody listens,
 * -EACCES not allowed.
 */
int peer_connect(const char *path, sd_bus **ret);

/*
 * Appends the entry PROTOCOL_ASK_MODES with these n texts KEY=VALUE to the dictionary a{sv} that is open in m.
 * Returns >= 0, or a negative errno: -EINVAL one has no "=" or a key too long to be one.
 */
int peer_put_modes(sd_bus_message *m, const char *const *modes, uint32_t n);

#endif
