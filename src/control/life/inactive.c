/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * InactiveLimit: an allocation ends when its srun or salloc is gone. A running client holds the
 * call through which it gets messages (notify.c); the call ends with the connection, also when the
 * host is unresponsive. Sruns of steps count as well. After a restart each client has the whole
 * time to reconnect.
 */
#include "control/life/inactive.h"
#include "control/internal.h"

#define SLACK_MS 5000 /* for a client that is reconnecting or just starting */

static bool is_meant(const struct control *c, const struct job *j)
{
    return c->conf->inactive_limit_sec > 0 && !j->batch && !j->want.unattended &&
           job_set_is_leader(j) &&
           !(j->part && j->part->conf.root_only); /* the user who started it there is responsible */
}

void inactive_look(struct control *c, struct job *j)
{
    struct attempt *attempt = attempt_make(j);
    bool attended = attempt->board && attempt->board->waits.len;
    if (attended)
        attempt->left_mono_ms = 0;
    else if (!attempt->left_mono_ms)
        attempt->left_mono_ms = control_mono(c);
}

int64_t inactive_due_ms(const struct control *c, const struct job *j)
{
    int64_t left = attempt_of(j)->left_mono_ms;
    if (!left || j->state != PB__JOB_STATE__RUNNING || attempt_of(j)->configuring ||
        !is_meant(c, j))
        return INT64_MAX;
    return left + c->conf->inactive_limit_sec * 1000 + SLACK_MS;
}
