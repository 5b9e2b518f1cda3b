/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators and administrators may see everything. */
#include <stdarg.h>
#include <stdio.h>

#include "control/core/reply.h"
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

void control_refuse(struct control *c, uint64_t call, const struct err *err)
{
    control_release(c, call);
    c->env->reply_error(c->env->ctx, call, -err->code, err->text);
}

int control_set_error(struct err *err, int code, const char *detail)
{
    return err_set(err, -code, detail ? "%s: %s" : "%s", err_text(code), detail);
}

void control_refuse_code(struct control *c, uint64_t call, int code, const char *detail)
{
    struct err err = {0};
    err_set(&err, -code, detail ? "%s: %s" : "%s", err_text(code), detail);
    control_refuse(c, call, &err);
}

void control_done(struct control *c, uint64_t call)
{
    Pb__Empty empty = PB__EMPTY__INIT;
    control_release(c, call);
    c->env->reply(c->env->ctx, call, &empty.base);
}

void control_hold(struct control *c, uint64_t call, const struct job *j)
{
    idmap_set(&c->calls, call, j->id);
}

void control_release(struct control *c, uint64_t call)
{
    idmap_remove(&c->calls, call);
}

bool control_owns(const struct caller *who, const struct job *j)
{
    return who->uid == j->uid || who->is_operator || who->is_admin;
}

bool control_hides(const struct control *c, const struct caller *who, const char *what)
{
    return !who->is_operator && !who->is_admin && conf_is_private(c->conf, what);
}

bool control_shows_job(const struct control *c, const struct caller *who, const struct job *j)
{
    return j->uid == who->uid || !control_hides(c, who, "jobs");
}

int control_denial(const struct control *c, const struct caller *who, const struct job *j)
{
    if (control_shows_job(c, who, j))
        return ERR_ACCESS;
    /* The caller does not learn that the job exists; the reader of the log does. */
    control_log_limited((struct control *)c, who->uid, LOG_LVL_INFO,
                        "refused: uid %u may not see job %u of uid %u", who->uid, j->id, j->uid);
    return ERR_NO_JOB;
}
