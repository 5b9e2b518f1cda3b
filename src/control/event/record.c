/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/event/record.h"
#include "base/pb.h"
#include "control/core/aside.h"
#include "control/event/event.h"
#include "control/event/trigger.h"
#include "control/internal.h"

#define JOB_ID_BLOCK 1000 /* job ids reserved on disk at a time */

static void pack_slice(const struct control *c, Pb__StoreMeta *m)
{
    if (!c->slice_ends_ms)
        return;
    SET(m, slice_ends_mono_ms, c->slice_ends_ms);
    SET(m, slice_ends_wall_ms, control_wall_ms(c) + c->slice_ends_ms - control_mono(c));
    SET(m, slice_boot, control_boot(c));
}

void control_save_meta(struct control *c)
{
    struct str packed = STR_INIT;
    Pb__StoreMeta m = PB__STORE_META__INIT;
    m.has_next_job_id = m.has_epoch = m.has_format = true;
    m.next_job_id = c->reserved_id;
    m.has_given_job_id = true;
    m.given_job_id = c->given_id = c->next_id;
    m.epoch = c->epoch;
    m.format = RECORD_FORMAT;
    m.cluster = (char *)c->conf->cluster_name;
    m.program = (char *)SLUICE_VERSION;
    trigger_lead_fill(c, &m);
    pack_slice(c, &m);
    m.has_last_event = true;
    m.last_event = c->events->last;
    m.has_last_attempt = true;
    m.last_attempt = c->attempts->last;
    pb_pack(&m.base, &packed);
    str_append(&packed, c->newer.data, c->newer.len);
    c->env->put(c->env->ctx, RECORD_META, 0, NULL, packed.data, packed.len);
    str_done(&packed);
}

void record_put_node(struct control *c, const struct node *n)
{
    struct str packed = STR_INIT;
    node_pack_stored(n, &packed);
    c->env->put(c->env->ctx, RECORD_NODE, 0, n->name, packed.data, packed.len);
    str_done(&packed);
}

void control_save_node(struct control *c, struct node *n)
{
    record_put_node(c, n);
    pool_update(c->cluster, n);
    c->cluster->stamp++;
    trigger_node(c, n);
    event_node(c, n);
}

/* Submissions are refused before the ids from FirstJobId to MaxJobId are used up. An element that
 * needs one all the same gets the next one above them. */
uint32_t record_next_job_id(struct control *c)
{
    uint64_t ids = (uint64_t)c->conf->max_job_id - c->conf->first_job_id + 1;
    for (uint64_t tried = 0;; tried++) {
        if (tried <= ids &&
            (c->next_id < c->conf->first_job_id || c->next_id > c->conf->max_job_id))
            c->next_id = c->reserved_id = c->conf->first_job_id;
        uint32_t id = c->next_id++;
        if (c->next_id > c->reserved_id) {
            c->reserved_id = c->next_id + JOB_ID_BLOCK;
            control_save_meta(c);
        }
        if (!cluster_find_job(c->cluster, id) && !array_find(c->cluster, id) && !aside_knows(c, id))
            return id;
    }
}

/* A job with --immediate that could not start at once was rejected: it is not accounted. */
static bool is_recorded(const struct control *c, const struct job *j)
{
    return !c->forgetful && !c->preview && !(j->trial && !attempt_of(j)->start_mono_ms);
}

void record_attempt(struct control *c, struct job *j)
{
    _cleanup_str_ struct str record = STR_INIT;
    if (!is_recorded(c, j))
        return;
    job_pack_live(c->cluster, j);
    pb_pack_field(1, j->spec.data, j->spec.len, &record);
    pb_pack_field(2, j->live.data, j->live.len, &record);
    event_keep_row(c, j->uid, EVENT_ROW_ATTEMPT, &record);
}

void record_step(struct control *c, const struct job *j, const struct step *s)
{
    _cleanup_str_ struct str record = STR_INIT;
    Pb__StepRecord r = PB__STEP_RECORD__INIT;
    if (!is_recorded(c, j))
        return;
    job_pack_step(s, &record);
    job_name_step(j, &r);
    r.step_id = s->id;
    SET(&r, uid, j->uid);
    SET(&r, state, PB__STEP_STATE__STEP_ENDED);
    SET(&r, end_at, control_wall(c));
    SET(&r, job_run_ms, attempt_ran_ms(j, control_mono(c)));
    if (j->restarts)
        SET(&r, restarts, j->restarts);
    if (job_is_final(j))
        SET(&r, ended_with_job, j->state);
    pb_pack(&r.base, &record);
    event_keep_row(c, j->uid, EVENT_ROW_STEP, &record);
}
