/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records that were set aside because they were damaged: what must not happen while they are
 * missing. A job's id is given to nobody; where it still runs it runs on, and its node takes no new
 * work, until it has ended or an operator has it ended. A node and a partition wait for somebody to
 * look at them.
 */
#include <string.h>

#include "control/internal.h"

#define META_LOST_IDS 100000 /* that may have been given beyond the highest one there is */

static const char node_reason[] = "Its record was damaged and set aside";

static size_t find(const struct control *c, uint32_t job_id)
{
    size_t i = 0;
    while (i < c->asides.len && c->asides.data[i].job_id != job_id)
        i++;
    return i;
}

bool aside_knows(const struct control *c, uint32_t job_id)
{
    return find(c, job_id) < c->asides.len;
}

bool aside_holds(const struct control *c, uint32_t job_id)
{
    size_t i = find(c, job_id);
    return i < c->asides.len && !c->asides.data[i].given_up;
}

static void add(struct control *c, uint32_t job_id, bool given_up)
{
    size_t i = find(c, job_id);
    if (i == c->asides.len)
        vec_push(&c->asides, ((struct aside){.job_id = job_id}));
    c->asides.data[i].given_up |= given_up;
}

void aside_restore(struct control *c, uint32_t job_id)
{
    add(c, job_id, true);
}

void control_set_aside(struct control *c, enum record_kind kind, uint64_t number, const char *name,
                       bool before)
{
    struct node *n = kind == RECORD_NODE && !before ? cluster_find_node(c->cluster, name) : NULL;
    if (kind == RECORD_JOB && number <= UINT32_MAX &&
        !cluster_find_job(c->cluster, (uint32_t)number))
        add(c, (uint32_t)number, false);
    if (n)
        node_drain(c, n, node_reason);
    if (kind == RECORD_PART && !before)
        update_part_down(c, name);
}

/* --- without the record of what was given ------------------------------------------------------
 */

bool control_lacks_meta(const struct control *c)
{
    return !c->meta_read && (c->records || c->asides.len || c->lost);
}

void control_lost_records(struct control *c)
{
    c->lost = true;
}

/* Beyond what can have been given: ids, and epochs, which count starts. */
void aside_replace_meta(struct control *c)
{
    uint64_t last = c->conf->first_job_id;
    if (!control_lacks_meta(c))
        return;
    for (size_t i = 0; i < c->cluster->jobs.len; i++)
        if (c->cluster->jobs.data[i]->id > last)
            last = c->cluster->jobs.data[i]->id;
    vec_foreach (&c->asides, a)
        if (a->job_id > last)
            last = a->job_id;
    last += META_LOST_IDS;
    c->next_id = c->reserved_id =
        last < c->conf->max_job_id ? (uint32_t)last : c->conf->first_job_id;
    c->epoch = (uint64_t)control_wall(c);
    control_log(c, LOG_LVL_ERROR,
                "the last job id is no longer known: going on with %u; if higher ones "
                "were in use, set FirstJobId above them",
                c->next_id);
}

/* --- jobs that still run -----------------------------------------------------------------------
 */

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

/* The node is as it was before it, unless somebody has changed that, or there is another one. */
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
    vec_foreach (&n->ghosts, g)
        if (aside_holds(c, g->job_id)) {
            aside_keep(c, n, g->job_id);
            return;
        }
}

/* What is left of it on its nodes is ended. */
static void give_up(struct control *c, uint32_t job_id)
{
    add(c, job_id, true);
    trigger_job_gone(c, job_id);
    c->env->put(c->env->ctx, RECORD_GIVEN_UP, job_id, NULL, "", 0);
    vec_foreach (&c->cluster->nodes, n)
        vec_foreach (&(*n)->ghosts, g)
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
    give_up(c, job_id);
}

int aside_cancel(struct control *c, const struct caller *who, uint32_t job_id)
{
    if (!aside_holds(c, job_id))
        return ERR_NO_JOB;
    if (!who->is_operator && !who->is_admin)
        return control_hides(c, who, "jobs") ? ERR_NO_JOB : ERR_ACCESS;
    control_log(c, LOG_LVL_INFO, "job %u, whose record was set aside, is ended by uid %u", job_id,
                who->uid);
    give_up(c, job_id);
    return 0;
}
