/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/core/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "control/internal.h"

void control_log(struct control *c, enum log_level level, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->env->log(c->env->ctx, level, "control", text);
}

void control_log_limited(struct control *c, uint32_t uid, enum log_level level, const char *fmt,
                         ...)
{
    long minute = (long)(control_mono(c) / 60000);
    struct log_left_out out;
    char text[512];
    va_list ap;
    bool allowed;
    c->log_limits.burst = CONTROL_LOG_LINES;
    allowed = log_limits_allow(&c->log_limits, uid, minute, &out);
    if (out.lines)
        control_log(c, LOG_LVL_INFO, "%u more messages about jobs of %u users were left out",
                    out.lines, out.sources);
    if (!allowed)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->env->log(c->env->ctx, level, "control", text);
}
