/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_UEVENT_H
#define CPUIDLED_UEVENT_H

#include "base.h"

/*
 * The kernel's word that a CPU came or went (uevents "online@/devices/system/cpu/cpu3", offline, add, remove), from the
 * kernel itself, so that it comes where udev does not run and before udev has thought about it. The kernel filters:
 * the events of other devices wake nobody up. What an event says is not looked at; it means: read which CPUs there
 * are.
 */

/* A socket for the loop, non-blocking. -errno: there is none here, or it cannot be filtered. */
int uevent_open(void);

/* Takes what has come; bounded. True: a CPU came or went, or so much that some of it was lost. */
bool uevent_collect(int fd);

#endif
