/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_MISSING_H
#define CPUIDLED_MISSING_H

#include "base.h"

#define MISSING_TEXT_MAX 256U

/*
 * Why there is no family cpuidle_policy in this kernel, from what lies below the root: is the module loaded, is
 * it installed for this kernel (release), are signatures asked for? Two halves, one line. Returns buf.
 */
const char *missing_why(int root_fd, const char *release, char *buf, size_t size);

#endif
