/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators and administrators see all. */
#include "control/private.h"

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
    return private_shows_job(c, who, j) ? ERR_ACCESS : ERR_NO_JOB;
}

bool private_shows_resv(struct control *c, const struct caller *who, const struct resv *r)
{
    return !control_hides(c, who, "reservations") || resv_is_for(c, who, r);
}
