/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol update job, hold, release, requeue: who may change what, and when. Everything asked for
 * in one request is checked before anything is changed. */
#include <string.h>

#include "base/pb.h"
#include "control/ask.h"
#include "control/no.h"
#include "control/private.h"
#include "control/update_spec.h"
#include "control/user_share.h"

static bool hold_wanted(const Pb__JobUpdate *r, bool *wanted)
{
    *wanted = r->has_hold        ? r->hold
              : r->has_user_hold ? r->user_hold
                                 : r->has_priority && r->priority == 0;
    return r->has_hold || r->has_user_hold || (r->has_priority && r->priority == 0);
}

static int check_hold(const struct caller *who, const struct job *j, const Pb__JobUpdate *r,
                      struct err *err)
{
    bool wanted;
    if (!hold_wanted(r, &wanted))
        return 0;
    if (!wanted && j->admin_hold && !who->is_operator)
        return no(err, ERR_ACCESS, "the hold of an administrator");
    if (!(r->has_requeue && r->requeue) && job_is_final(j))
        return no(err, ERR_FINISHED, NULL);
    return 0;
}

static void apply_hold(struct control *c, const struct caller *who, struct job *j,
                       const Pb__JobUpdate *r)
{
    bool wanted;
    if (!hold_wanted(r, &wanted))
        return;
    bool admin = who->is_operator && who->uid != j->uid && !(r->has_user_hold && r->user_hold);
    bool was_held = j->held || j->admin_hold;
    if (!wanted)
        j->held = j->special_exit = false;
    if (!wanted && who->is_operator) {
        j->admin_hold = false;
        j->auto_requeues = 0;
    }
    if (wanted && admin)
        j->admin_hold = true; /* the owner's own hold does not replace it */
    else if (wanted)
        j->held = true;
    if (j->state != PB__JOB_STATE__PENDING && !job_is_final(j)) /* it is when it comes back */
        j->reason = j->admin_hold ? REASON_JOB_HELD_ADMIN
                    : j->held     ? REASON_JOB_HELD_USER
                                  : REASON_NONE;
    if (was_held && !j->held && !j->admin_hold)
        priority_released(c, j);
}

static int check_priority(const struct caller *who, const struct job *j, const Pb__JobUpdate *r,
                          struct err *err)
{
    if (!r->has_priority || r->priority == 0)
        return 0;
    if (job_is_final(j))
        return no(err, ERR_FINISHED, NULL);
    if (!who->is_operator && r->priority > j->priority)
        return no(err, ERR_ACCESS, "only operators may raise a priority");
    if (j->held || j->admin_hold)
        return no(err, ERR_JOB_HELD, NULL);
    return 0;
}

static void set_limit(struct control *c, struct job *j, int64_t limit_sec)
{
    j->limit_sec = limit_sec;
    for (uint32_t i = 0; j->several && i < j->several->count; i++)
        j->several->of[i].limit_sec = limit_sec;
    if (j->state == PB__JOB_STATE__PENDING || job_is_final(j))
        return;
    control_set_end(c, j);
    order_move(&c->cluster->ends, &attempt_make(j)->ends, control_wall(c) + control_left_sec(c, j),
               j->id);
    c->cluster->pool.freed++; /* starts that were foreseen no longer hold */
}

/* EndTime, and the deadline of a running job: the time limit that ends it then, in whole minutes.
 */
static int64_t find_limit_until(const struct control *c, const struct job *j, int64_t end_at)
{
    int64_t used = (control_mono(c) - attempt_of(j)->start_mono_ms) / 1000;
    int64_t limit = used + (end_at - control_wall(c));
    return limit < 60 ? 60 : limit - limit % 60 + (limit % 60 ? 60 : 0);
}

static int check_end(const struct control *c, const struct caller *who, const struct job *j,
                     const Pb__JobUpdate *r, struct err *err)
{
    if (!r->has_end_at)
        return 0;
    if (j->state != PB__JOB_STATE__RUNNING)
        return no(err, ERR_NOT_RUNNING, "EndTime");
    if (!who->is_operator && find_limit_until(c, j, r->end_at) > j->limit_sec)
        return no(err, ERR_ACCESS, "raising the time limit of a running job");
    return 0;
}

static int check_accrue(const struct job *j, const Pb__JobUpdate *r, struct err *err)
{
    if (!r->has_reset_accrue || !r->reset_accrue || j->state == PB__JOB_STATE__PENDING)
        return 0;
    return no(err, ERR_NOT_PENDING, "ResetAccrueTime");
}

static void apply_times(struct control *c, struct job *j, const Pb__JobUpdate *r,
                        const Pb__JobSpec *set)
{
    if (r->has_end_at)
        set_limit(c, j, find_limit_until(c, j, r->end_at));
    if (set && set->has_deadline_at_sec && j->deadline_at && j->state == PB__JOB_STATE__RUNNING &&
        find_limit_until(c, j, j->deadline_at) < j->limit_sec)
        set_limit(c, j, find_limit_until(c, j, j->deadline_at));
    if (r->has_reset_accrue && r->reset_accrue && j->rank.accrue_at) {
        j->rank.accrue_at = control_wall(c);
        j->rank.accrued_sec = 0;
    }
}

static int requeue(struct control *c, const struct caller *who, struct job *j,
                   const Pb__JobUpdate *r, struct err *err)
{
    if (!j->batch)
        return no(err, ERR_TRANSITION, "only batch jobs can be requeued");
    if (!j->may_requeue)
        return no(err, ERR_NO_REQUEUE, "it was submitted with --no-requeue, or JobRequeue=0");
    if (j->state == PB__JOB_STATE__PENDING)
        return no(err, ERR_JOB_PENDING, NULL);
    if (j->state == PB__JOB_STATE__DEADLINE)
        return no(err, ERR_DEADLINE, "it could not end before it");
    int rc = job_is_final(j) ? submit_check_count(c, array_weight(j) - 1, err) : 0;
    if (rc != 0)
        return rc;
    job_event_requeue_requested(c, j, who->uid);
    Pb__JobUpdate held = *r;
    if (j->state == PB__JOB_STATE__SUSPENDED) /* as in Slurm: somebody did not want it to run */
        held.has_hold = held.hold = true;
    j->auto_requeues = 0;
    apply_hold(c, who, j, &held);
    j->special_exit = r->has_special_exit && r->special_exit && (j->held || j->admin_hold);
    if (!job_is_final(j)) {
        attempt_make(j)->requeue_after = true;
        finish_job(c, j, PB__JOB_STATE__CANCELLED, 0, REASON_NONE, "REQUEUE");
    } else if (attempt_of(j)->completing) {
        attempt_make(j)->requeue_after = true;
        j->reason = REASON_CLEANING;
        job_touch(c->cluster, j);
        mail_event(c, j, JOB_MAIL_REQUEUE);
    } else {
        mail_event(c, j, JOB_MAIL_REQUEUE);
        finish_requeue(c, j);
    }
    return 0;
}

/* As Slurm does: it clears the nice value that was set before. */
static void give_priority(struct job *j, const Pb__JobUpdate *r)
{
    if (!r->set || !r->set->has_nice)
        priority_set_nice(j, 0);
    priority_give(j, r->priority);
}

/* What is asked of one record, as the site's plugins would have it, in the arena. */
static int ask_change(struct control *c, const struct caller *who, const struct job *j,
                      const Pb__JobUpdate *r, Pb__JobSpec **set, struct arena *arena,
                      struct err *err)
{
    *set = NULL;
    if (!r->set)
        return 0;
    *set = arena_alloc(arena, sizeof **set);
    **set = *r->set;
    int rc = update_spec_check(who, j, *set, err);
    return rc == 0 ? ask_modify(c, who, j, *set, arena, err) : rc;
}

/* What a running job gives back, which is then no matter of its spec: queued again it asks for what
 * it was submitted with. */
static int find_dropped(struct control *c, struct job *j, const Pb__JobUpdate *r, Pb__JobSpec *set,
                        struct bitset **dropped, struct err *err)
{
    bool counted = set && set->has_min_nodes && j->state != PB__JOB_STATE__PENDING;
    if (!counted && !r->keep_nodes)
        return 0;
    int rc = shrink_find(c, j, r->keep_nodes, counted ? set->min_nodes : 0, dropped, err);
    if (counted)
        set->has_min_nodes = set->has_max_nodes = false;
    return rc;
}

/* The record grows by what is set, at most. */
static int check_growth(struct control *c, const struct caller *who, const struct job *j,
                        const Pb__JobSpec *set, struct err *err)
{
    uint64_t bytes = pb__job_spec__get_packed_size(set);
    return user_share_check(c, who, j->uid, &(struct holding){.record = bytes, .store = bytes},
                            err);
}

static int update_job(struct control *c, const struct caller *who, struct job *j,
                      const Pb__JobUpdate *r, Pb__JobSpec *set, struct err *err)
{
    if (r->step_limit)
        return step_limit_update(c, j, r->step_limit, err);
    int32_t nice_before = j->nice;
    _cleanup_bitset_ struct bitset *dropped = NULL;
    int rc = find_dropped(c, j, r, set, &dropped, err);
    if (rc == 0 && set) /* a script may set what the caller may not, but no more than can be set */
        rc = update_spec_settable(j, set, err);
    if (rc == 0)
        rc = check_hold(who, j, r, err);
    if (rc == 0)
        rc = check_priority(who, j, r, err);
    if (rc == 0)
        rc = check_end(c, who, j, r, err);
    if (rc == 0)
        rc = check_accrue(j, r, err);
    if (rc == 0 && set)
        rc = check_growth(c, who, j, set, err);
    if (rc == 0 && set)
        rc = update_spec_apply(c, who, j, set, err);
    if (rc == 0 && dropped)
        shrink_job(c, j, dropped);
    if (rc == 0 && r->has_requeue && r->requeue)
        return requeue(c, who, j, r, err);
    if (rc == 0 && set && set->has_time_limit_sec)
        set_limit(c, j, update_spec_limit_sec(set, j));
    if (rc == 0)
        apply_times(c, j, r, set);
    if (rc == 0 && set && set->has_nice)
        priority_nice(c, j, nice_before);
    if (rc == 0)
        apply_hold(c, who, j, r);
    if (rc == 0 && r->has_priority && r->priority)
        give_priority(j, r);
    if (rc == 0)
        job_touch(c->cluster, j);
    if (j->state == PB__JOB_STATE__PENDING)
        submit_enqueue(c, j);
    control_schedule(c, j);
    c->plan_wanted = true;
    return rc;
}

/* Records of an array are in many states: what does not go with one of them spares that one. */
static bool is_of_state(int code)
{
    return code == -ERR_JOB_DONE || code == -ERR_TRANSITION || code == -ERR_JOB_PENDING ||
           code == -ERR_CANNOT_UPDATE || code == -ERR_NOT_PENDING || code == -ERR_NOT_RUNNING ||
           code == -ERR_NOT_SUSPENDED || code == -ERR_FINISHED;
}

static int set_throttle(struct control *c, struct job *j, const Pb__JobUpdate *r, struct err *err)
{
    if (!r->has_array_throttle)
        return 0;
    if (!j->array)
        return no(err, ERR_CANNOT_UPDATE, "ArrayTaskThrottle of a job that is in no array");
    array_set_throttle(c->cluster, j->array, r->array_throttle);
    split_show_throttle(c, j->array);
    return 0;
}

/* Of the array, and of none of its jobs. */
static bool is_throttle_only(const Pb__JobUpdate *r)
{
    if (r->set)
        pb_each_field (r->set->base.descriptor, field)
            if (pb_has(&r->set->base, field))
                return false;
    return r->has_array_throttle && !r->has_priority && !r->has_hold && !r->has_user_hold &&
           !r->has_requeue && !r->keep_nodes && !r->has_end_at && !r->has_reset_accrue;
}

struct change { /* of one record */
    Pb__JobSpec *set;
    int rc; /* of asking about it */
    struct err *why;
};

/* All are asked about before any is changed. ENV_SUBMIT_LATER or 0. */
static int ask_changes(struct control *c, const struct caller *who, const Pb__JobUpdate *r,
                       const struct split_list *parts, struct change *changes, struct arena *arena)
{
    int later = 0;
    for (size_t i = 0; i < parts->len; i++) {
        const struct job *j = cluster_find_job(c->cluster, parts->data[i].job_id);
        struct err why = {0};
        struct change *one = &changes[i];
        one->rc = ask_change(c, who, j, r, &one->set, arena, &why);
        if (one->rc > 0)
            later = one->rc;
        if (one->rc < 0) {
            one->why = arena_alloc(arena, sizeof why);
            *one->why = why;
        }
    }
    return later;
}

/* Each record is changed or not; the first thing that went wrong, or 0. ENV_SUBMIT_LATER: none is.
 */
static int update_parts(struct control *c, const struct caller *who, const Pb__JobUpdate *r,
                        const struct split_list *parts, struct err *err)
{
    int wrong = 0;
    bool any = false;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct change *changes = arena_alloc(&arena, parts->len * sizeof *changes);
    int later = ask_changes(c, who, r, parts, changes, &arena);
    for (size_t i = 0; i < parts->len; i++) {
        const struct split_part *part = &parts->data[i];
        struct job *j = cluster_find_job(c->cluster, part->job_id);
        struct err why = {0};
        int rc = later ? later : changes[i].rc;
        if (rc == 0)
            rc = update_job(c, who, j, r, changes[i].set, &why);
        else if (rc < 0)
            why = *changes[i].why;
        split_settle(c, part, rc == 0);
        any = any || rc == 0;
        if (rc != 0 && (wrong == 0 || (is_of_state(wrong) && !is_of_state(rc)))) {
            wrong = rc;
            *err = why;
        }
    }
    return any && is_of_state(wrong) ? 0 : wrong;
}

/* Elements that get records of their own wait there for all that they waited for before. */
static int check_room(const struct control *c, const struct array *a, struct err *err)
{
    size_t more = 0;
    vec_foreach (&a->groups, id) {
        const struct job *j = cluster_find_job(c->cluster, *id);
        more += j->waits.on ? j->waits.on->items.len : 0;
    }
    return depend_check_room(c, array_first(a), more, err);
}

static int change(struct control *c, const struct caller *who, const Pb__JobUpdate *r,
                  struct err *err)
{
    struct split_list parts = {0};
    const struct array *a = array_find(c->cluster, r->job_id);
    struct job *j = a ? array_first(a) : cluster_find_job(c->cluster, r->job_id);
    if (!j)
        return err_set(err, -ERR_NO_JOB, "%s", err_text(ERR_NO_JOB));
    if (!control_owns(who, j))
        return no(err, private_denial(c, who, j), NULL);
    int rc = set_throttle(c, j, r, err);
    if (rc != 0 || is_throttle_only(r))
        return rc;
    if (a && r->array_tasks)
        rc = check_room(c, a, err);
    if (rc == 0)
        rc = split_targets(c, r->job_id, r->array_tasks, &parts, err);
    if (rc == 0)
        rc = update_parts(c, who, r, &parts, err);
    vec_done(&parts);
    return rc;
}

void control_job_update(struct control *c, uint64_t call, const struct caller *who,
                        const Pb__JobUpdate *r)
{
    struct err err = {0};
    int rc = change(c, who, r, &err);
    if (rc < 0)
        control_refuse(c, call, &err);
    else if (rc == 0)
        control_done(c, call);
}
