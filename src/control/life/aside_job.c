/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running jobs whose records were set aside. */
#include "control/life/aside_job.h"

#include "control/core/aside.h"
#include "control/core/reply.h"
#include "control/event/record.h"
#include "control/event/trigger.h"
#include "control/internal.h"
#include "control/life/set.h"
#include "control/node/node.h"

static void format_reason(uint32_t job_id, struct str *out)
{
    str_printf(out, "Job %u runs here and its record was set aside", job_id);
}

void aside_keep(struct control *c, struct node *n, uint32_t job_id)
{
    _cleanup_str_ struct str reason = STR_INIT;
    format_reason(job_id, &reason);
    node_drain(c, n, str_cstr(&reason));
}

/* Restores the node to its former state, unless the state was changed meanwhile or another such job
 * is there. */
void aside_lift(struct control *c, struct node *n, uint32_t job_id)
{
    _cleanup_str_ struct str reason = STR_INIT;
    format_reason(job_id, &reason);
    if (!aside_knows(c, job_id) || !n->drain || !str_eq(n->reason, str_cstr(&reason)))
        return;
    n->drain = false;
    node_set_reason(n, NULL, 0, 0);
    control_save_node(c, n);
    c->plan_wanted = true;
    vec_foreach (&n->orphans, g)
        if (aside_holds(c, g->job_id)) {
            aside_keep(c, n, g->job_id);
            return;
        }
}

/* Ends what is left of the job on its nodes. */
static void give_up_job(struct control *c, uint32_t job_id)
{
    aside_add(c, job_id, true);
    trigger_job_gone(c, job_id);
    set_leader_gone(c, job_id);
    c->env->put(c->env->ctx, RECORD_GIVEN_UP, job_id, NULL, "", 0);
    vec_foreach (&c->cluster->nodes, n)
        vec_foreach (&(*n)->orphans, g)
            if (g->job_id == job_id && (*n)->connected)
                node_send_banish(c, *n, g->job_id, g->restarts);
}

void aside_ended(struct control *c, uint32_t job_id, int exit_status)
{
    if (!aside_holds(c, job_id))
        return;
    control_log(c, LOG_LVL_INFO,
                "job %u, whose record was set aside, has ended on its own with wait status %d",
                job_id, exit_status);
    give_up_job(c, job_id);
}

int aside_cancel(struct control *c, const struct caller *who, uint32_t job_id, bool is_owner)
{
    if (!aside_holds(c, job_id))
        return ERR_NO_JOB;
    if (!is_owner && !who->is_operator && !who->is_admin)
        return control_hides(c, who, "jobs") ? ERR_NO_JOB : ERR_ACCESS;
    control_log(c, LOG_LVL_INFO, "job %u, whose record was set aside, is ended by uid %u", job_id,
                who->uid);
    give_up_job(c, job_id);
    return 0;
}
