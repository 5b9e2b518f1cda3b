/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of this room in slurmctld.log. */
#pragma once

#include <stdint.h>

#include "base/log.h"

struct control;

#define CONTROL_LOG_LINES 60

void control_log(struct control *c, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* For messages that a user can cause repeatedly: at most CONTROL_LOG_LINES per minute and user,
 * then the number of suppressed messages. */
void control_log_limited(struct control *c, uint32_t uid, enum log_level level, const char *fmt,
                         ...) __attribute__((format(printf, 4, 5)));
