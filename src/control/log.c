/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/log.h"

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

void control_log_limited(struct control *c, enum log_level level, const char *fmt, ...)
{
    struct log_quota *q = &c->log_quota;
    int64_t now = control_mono(c);
    char text[512];
    va_list ap;
    if (!q->since_mono_ms || now - q->since_mono_ms >= 60000) {
        if (q->left_out)
            control_log(c, LOG_LVL_INFO, "%u more messages about jobs of users were left out",
                        q->left_out);
        *q = (struct log_quota){.since_mono_ms = now ? now : 1};
    }
    if (q->lines >= CONTROL_LOG_LINES) {
        q->left_out++;
        return;
    }
    q->lines++;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->env->log(c->env->ctx, level, "control", text);
}
