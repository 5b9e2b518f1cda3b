/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators and administrators may see everything. */
#include "control/core/reply.h"
#include "control/core/log.h"
#include "control/internal.h"

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
