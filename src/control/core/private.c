/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators and administrators may see everything. */
#include "control/core/private.h"

#include "control/core/log.h"
#include "control/internal.h"

bool control_hides(const struct control *c, const struct caller *who, const char *what)
{
    return !who->is_operator && !who->is_admin && conf_is_private(c->conf, what);
}

bool private_shows_job(const struct control *c, const struct caller *who, const struct job *j)
{
    return j->uid == who->uid || !control_hides(c, who, "jobs");
}

int private_denial(const struct control *c, const struct caller *who, const struct job *j)
{
    if (private_shows_job(c, who, j))
        return ERR_ACCESS;
    /* The caller does not learn that the job exists; the reader of the log does. */
    control_log_limited((struct control *)c, who->uid, LOG_LVL_INFO,
                        "refused: uid %u may not see job %u of uid %u", who->uid, j->id, j->uid);
    return ERR_NO_JOB;
}
