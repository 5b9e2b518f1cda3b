/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/life/set.h"

#include <stdlib.h>

#include "cluster/job/job_set_text.h"
#include "conf/conf_sets.h"
#include "control/core/named.h"
#include "control/event/job_event.h"
#include "control/internal.h"
#include "control/life/enqueue.h"
#include "control/life/finish.h"
#include "control/life/start.h"

static uint32_t find_missing(const struct job *j)
{
    uint32_t missing = 0;
    while (job_set_component(j, missing))
        missing++;
    return missing;
}

int set_refuse_missing(const struct job *j, struct err *err)
{
    return err_set(err, -ERR_STORE_DAMAGED, "%s: " JOB_SET_TEXT_MISSING,
                   err_text(ERR_STORE_DAMAGED), find_missing(j), job_set_id(j));
}

int set_check_whole(const struct control *c, const Pb__StepId *id, struct err *err)
{
    const struct job *j = named_any(c, id);
    if (!j || (job_set_is_leader(j) && !id->has_set_offset))
        return 0;
    if (named_lost_leader(c, id))
        return set_refuse_missing(j, err);
    return err_set(err, -ERR_NOT_WHOLE_SET, "%s: use the job id %s", err_text(ERR_NOT_WHOLE_SET),
                   NAMED_SET_TEXT(j));
}

int set_check_settled(const struct job *leader, struct err *err)
{
    for (uint32_t i = 0; i < job_set_count(leader); i++) {
        const struct job *j = job_set_component(leader, i);
        if (j && job_is_final(j) && attempt_of(j)->requeue_after)
            return err_set(err, -ERR_FINISHED, "%s: component %u is not in the queue again yet",
                           err_text(ERR_FINISHED), i);
    }
    return 0;
}

int set_check_complete(const struct job *leader, struct err *err)
{
    for (uint32_t i = 0; i < job_set_count(leader); i++)
        if (!job_set_component(leader, i))
            return err_set(err, -ERR_FINISHED, "%s: the record of component %u is gone",
                           err_text(ERR_FINISHED), i);
    return 0;
}

bool set_missed_deadline(const struct job *j)
{
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        if (component && component->state == PB__JOB_STATE__DEADLINE)
            return true;
    }
    return false;
}

bool set_stages_out(const struct job *leader)
{
    for (uint32_t i = 0; i < job_set_count(leader); i++) {
        const struct job *component = job_set_component(leader, i);
        if (component && burst_stages_out(component->burst))
            return true;
    }
    return false;
}

bool set_may_requeue(const struct job *j)
{
    const struct job *leader = job_set_component(j, 0);
    return leader && leader->may_requeue && !set_missed_deadline(j);
}

uint32_t set_find_next_restarts(const struct job *j)
{
    uint32_t next = j->restarts + 1;
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        uint32_t least = component ? component->restarts + job_is_final(component) : 0;
        next = least > next ? least : next;
    }
    return next;
}

bool set_needs(const struct job *j)
{
    for (uint32_t i = 0; j->set && i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        if (component && (!job_is_final(component) || attempt_of(component)->completing))
            return true;
    }
    return false;
}

/* Whether the others cannot continue without it. All wait, or none does. */
static bool ends_the_others(const struct transition *t)
{
    const struct job *j = t->job;
    return job_set_is_leader(j) || t->from == PB__JOB_STATE__PENDING ||
           attempt_of(j)->requeue_after || j->state == PB__JOB_STATE__NODE_FAIL ||
           j->state == PB__JOB_STATE__BOOT_FAIL || j->reason == REASON_JOB_LAUNCH_FAILURE;
}

/* It has ended, and returns to the queue when it is clean. */
static void return_component(struct control *c, struct job *j)
{
    if (!attempt_of(j)->completing) {
        finish_requeue(c, j);
        return;
    }
    attempt_make(j)->requeue_after = true;
    j->reason = REASON_CLEANING;
    job_touch(c->cluster, j);
}

/* It has ended, and does not return to the queue. */
static void keep_away(struct control *c, struct job *j, uint32_t cancelled_by)
{
    if (!attempt_of(j)->requeue_after)
        return;
    attempt_make(j)->requeue_after = false;
    attempt_make(j)->cancelled_by = cancelled_by;
    job_touch(c->cluster, j);
    job_event_requeue_withdrawn(c, j);
    finish_answer_waiters(c, j);
}

static void end_component(struct control *c, struct job *j, const struct transition *t)
{
    const struct attempt *with = attempt_of(t->job);
    bool again = with->requeue_after;
    if (job_is_final(j)) {
        if (again && !attempt_of(j)->requeue_after)
            return_component(c, j);
        else if (!again)
            keep_away(c, j, with->cancelled_by);
        return;
    }
    if (j->state == PB__JOB_STATE__PENDING && again)
        return; /* it is where the others go */
    bool pending = j->state == PB__JOB_STATE__PENDING;
    attempt_make(j)->requeue_after = again;
    attempt_make(j)->cancelled_by = with->cancelled_by;
    bool missed = t->job->state == PB__JOB_STATE__DEADLINE;
    finish_job(c, j, pending && !missed ? PB__JOB_STATE__CANCELLED : t->job->state,
               pending ? 0 : with->exit_status, t->job->reason, t->detail);
}

void set_job_over(struct control *c, const struct transition *t)
{
    struct job *j = t->job;
    if (!j->set || j->set == c->set_ending || !job_is_final(j))
        return;
    if (!ends_the_others(t)) {
        start_component_changed(c, j);
        return;
    }
    c->set_ending = j->set;
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        struct job *component = job_set_component(j, i);
        if (component && component != j)
            end_component(c, component, t);
    }
    c->set_ending = NULL;
}

void set_show_reason(struct control *c, struct job *j, enum reason reason, const char *detail)
{
    if (j->reason == reason && str_eq(j->reason_detail, detail))
        return;
    j->reason = reason;
    free(j->reason_detail);
    j->reason_detail = mem_strdup(detail);
    j->stamp = ++c->cluster->stamp;
    if (!j->dirty)
        job_pack_live(c->cluster, j);
}

enum reason set_reason_for(const struct job *j, enum reason reason)
{
    bool hold = reason == REASON_JOB_HELD_USER || reason == REASON_JOB_HELD_ADMIN ||
                reason == REASON_JOB_HOLD_MAX_REQUEUE || reason == REASON_RESERVATION_DELETED;
    return hold && !j->held && !j->admin_hold ? REASON_DEPENDENCY : reason;
}

enum reason set_find_reason(const struct job *j)
{
    const struct job *leader = j->set ? job_set_component(j, 0) : NULL;
    if (!leader || leader == j || leader->state != PB__JOB_STATE__PENDING ||
        job_partitions_is_queued(leader))
        return REASON_NONE;
    return set_reason_for(j, leader->reason);
}

void set_tell_reason(struct control *c, struct job *j)
{
    for (uint32_t i = 1; job_set_is_leader(j) && i < job_set_count(j); i++) {
        struct job *component = job_set_component(j, i);
        if (component && component->state == PB__JOB_STATE__PENDING &&
            job_partitions_is_queued(component))
            set_show_reason(c, component, set_reason_for(component, j->reason), j->reason_detail);
    }
}

void set_ranked(struct control *c, struct job *j)
{
    job_set_rank(j, conf_sets_rank_by(c->conf));
}

void set_queued(struct control *c, struct job *j)
{
    set_ranked(c, j);
    job_set_changed(j);
}

bool set_is_meant_whole(const struct control *c)
{
    return conf_sets_are_meant_whole(c->conf);
}

bool set_is_not_drawn(const struct control *c, const struct job *j)
{
    return j->set && conf_sets_keep(c->conf, CONF_SETS_magnetic);
}

bool set_waits(const struct job *j)
{
    const struct job *leader = job_set_component(j, 0);
    return leader && (leader->state == PB__JOB_STATE__PENDING ||
                      (job_is_final(leader) && attempt_of(leader)->requeue_after));
}

void set_keep_away(struct control *c, struct job *j, uint32_t cancelled_by)
{
    keep_away(c, j, cancelled_by);
    for (uint32_t i = 1; job_set_is_leader(j) && i < job_set_count(j); i++) {
        struct job *component = job_set_component(j, i);
        if (!component)
            continue;
        keep_away(c, component, cancelled_by);
        attempt_make(component)->cancelled_by = cancelled_by;
        finish_job(c, component, PB__JOB_STATE__CANCELLED, 0, REASON_NONE, "CANCELLED");
    }
}

enum reason set_gate_missing(const struct control *c, const struct job *j)
{
    (void)c;
    return job_set_is_whole(j) ? REASON_NONE : REASON_SYSTEM_FAILURE;
}

void set_name_missing(struct job *j)
{
    free(j->reason_detail);
    j->reason_detail = mem_printf(JOB_SET_TEXT_MISSING, find_missing(j), job_set_id(j));
}

void set_leader_gone(struct control *c, uint32_t leader_id)
{
    const struct job_set *set = job_set_find(c->cluster, leader_id);
    for (uint32_t i = 0; set && i < set->count; i++)
        if (set->jobs[i] && !job_is_final(set->jobs[i]))
            finish_job(c, set->jobs[i], PB__JOB_STATE__CANCELLED, 0, REASON_NONE, "CANCELLED");
}

void set_requeue(struct control *c, struct job *leader)
{
    for (uint32_t i = 1; i < job_set_count(leader); i++) {
        struct job *j = job_set_component(leader, i);
        if (j && job_is_final(j))
            return_component(c, j);
    }
}
