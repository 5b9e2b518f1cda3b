/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records that were set aside because they are damaged, and the restrictions while they are
 * missing. The id of such a job is not assigned again; where the job still runs it continues, and
 * its node gets no new work, until the job has ended or an operator has cancelled it. A node and a
 * partition wait for an administrator.
 */
#include <string.h>

#include "control/core/aside.h"
#include "control/core/reply.h"
#include "control/internal.h"

/* Ids that may have been assigned beyond the highest known one. */
#define META_LOST_IDS 100000

static size_t find_aside(const struct control *c, uint32_t job_id)
{
    size_t i = 0;
    while (i < c->asides.len && c->asides.data[i].job_id != job_id)
        i++;
    return i;
}

bool aside_knows(const struct control *c, uint32_t job_id)
{
    return find_aside(c, job_id) < c->asides.len;
}

bool aside_holds(const struct control *c, uint32_t job_id)
{
    size_t i = find_aside(c, job_id);
    return i < c->asides.len && !c->asides.data[i].given_up;
}

void aside_add(struct control *c, uint32_t job_id, bool given_up)
{
    size_t i = find_aside(c, job_id);
    if (i == c->asides.len)
        vec_push(&c->asides, ((struct aside){.job_id = job_id}));
    c->asides.data[i].given_up |= given_up;
}

void aside_restore(struct control *c, uint32_t job_id)
{
    aside_add(c, job_id, true);
}

/* --- a lost RECORD_META -------------------------------------------------------------------------
 */

bool control_lacks_meta(const struct control *c)
{
    return !c->meta_read && (c->records || c->asides.len || c->lost);
}

void control_lost_records(struct control *c)
{
    c->lost = true;
}

/* Skips all ids and epochs that may have been used; the epoch counts starts. */
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
