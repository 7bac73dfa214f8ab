/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_BUS_H
#define CPUIDLED_BUS_H

#include "manager.h"

/*
 * The daemon's face: the methods, properties and signals of protocol.h over the manager, on the system bus
 * and on the private socket. Thin: nothing is decided here but who may ask for a change.
 *
 * Run-time settings (Set) are kept here as policy text: a reload lays them over the files again, a new
 * daemon starts without.
 */
struct bus;

/*
 * After manager_start(); m must outlive it. Wires the manager's hooks to the signals. 0, or -errno when
 * not even the private socket can be made.
 */
int bus_new(struct manager *m, struct bus **ret);
void bus_free(struct bus *b);

#endif
