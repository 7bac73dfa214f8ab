/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CPUIDLED_MESSAGE_H
#define CPUIDLED_MESSAGE_H

#include "diag.h"
#include "hold.h"
#include "listing.h"
#include "manager.h"
#include "view.h"

/*
 * Results into bodies of messages, as protocol.h draws them; cli/decode.c is the other way. 0 or -errno.
 */
struct sd_bus_message;

int message_append_view(struct sd_bus_message *m, const struct view *view);
int message_append_diags(struct sd_bus_message *m, const struct diag_list *diags);
int message_append_profiles(struct sd_bus_message *m, const struct listing *l);
int message_append_findings(struct sd_bus_message *m, const struct finding *f, uint32_t n);
/* now_us: of the clock of hold.until_us. */
int message_append_holds(struct sd_bus_message *m, const struct holds *h, uint64_t now_us);
int message_append_words(struct sd_bus_message *m, char *const *words, uint32_t n);

#endif
