/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scontrol update job, hold, release, requeue: changes each job that a request names, by
 * job_change.c. The whole request is checked before anything is changed.
 */
#include "base/pb.h"
#include "control/admin/job_change.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/depend.h"
#include "control/life/set.h"
#include "control/life/split.h"

/* Records of an array have different states: a record in an unsuitable state is skipped. */
static bool is_of_state(int code)
{
    return code == -ERR_JOB_DONE || code == -ERR_TRANSITION || code == -ERR_JOB_PENDING ||
           code == -ERR_CANNOT_UPDATE || code == -ERR_NOT_PENDING || code == -ERR_NOT_RUNNING ||
           code == -ERR_NOT_SUSPENDED || code == -ERR_FINISHED;
}

/* NULL: its job is in no array. */
static struct array *find_array(const struct job *j)
{
    const struct job *leader = job_set_component(j, 0); /* the leader is the element */
    return leader ? leader->array : NULL;
}

static int check_throttle(const struct job *j, const Pb__JobUpdate *r, struct err *err)
{
    if (!r->has_array_throttle || find_array(j))
        return 0;
    return control_set_error(err, ERR_CANNOT_UPDATE,
                             "ArrayTaskThrottle of a job that is in no array");
}

static void set_throttle(struct control *c, struct array *a, const Pb__JobUpdate *r)
{
    if (!r->has_array_throttle)
        return;
    array_set_throttle(c->cluster, a, r->array_throttle);
    split_show_throttle(c, a);
}

/* Whether the request changes the array only, and none of its jobs. */
static bool is_throttle_only(const Pb__JobUpdate *r)
{
    if (r->set)
        pb_each_field (r->set->base.descriptor, field)
            if (pb_has(&r->set->base, field))
                return false;
    return r->has_array_throttle && !r->has_priority && !r->has_hold && !r->has_user_hold &&
           !r->has_requeue && !r->keep_nodes && !r->has_end_at && !r->has_reset_accrue;
}

/* Whether the request only holds or releases jobs. */
static bool is_hold(const Pb__JobUpdate *r)
{
    return (r->has_hold || r->has_user_hold) && !(r->has_requeue && r->requeue);
}

/* Authorises all jobs, and consults the plugins, before any job is changed. Returns
 * ENV_SUBMIT_LATER or 0. */
static int prepare_changes(struct control *c, const struct caller *who, const Pb__JobUpdate *r,
                           const struct split_list *parts, struct job_change *changes,
                           struct arena *arena)
{
    int later = 0;
    for (size_t i = 0; i < parts->len; i++) {
        const struct job *j = cluster_find_job(c->cluster, parts->data[i].job_id);
        struct job_change *one = &changes[i];
        one->rc = job_change_prepare(c, who, j, r, &one->set, arena, &one->why);
        if (one->rc > 0)
            later = one->rc;
    }
    return later;
}

/* Returns the number of components of one set from this record on, which are changed together; 1
 * for one record. Steps are changed one by one: some components have no part of a step. */
static size_t count_group(struct control *c, const Pb__JobUpdate *r, const struct split_list *parts,
                          size_t first)
{
    return r->step_limit ? 1 : split_count_set(c, parts, first);
}

/* Changes one record, or the components of one set: either all or none; an ended component is
 * skipped if the change needs another state. */
static void change_group(struct control *c, const struct caller *who, const Pb__JobUpdate *r,
                         const struct split_part *parts, struct job_change *changes, size_t count,
                         struct arena *arena)
{
    bool refused = false;
    for (size_t i = 0; i < count && !refused; i++) {
        struct job *j = cluster_find_job(c->cluster, parts[i].job_id);
        struct job_change *one = &changes[i];
        one->in_set = j->set;
        one->offset = j->set_offset;
        one->may_differ = !j->set || job_is_final(j); /* components run together, or all wait */
        if (one->rc == 0)
            one->rc = job_change_begin(c, who, j, r, one, arena, &one->why);
        refused = one->rc != 0 && !(one->may_differ && is_of_state(one->rc));
    }
    for (size_t i = 0; i < count; i++) {
        struct job *j = cluster_find_job(c->cluster, parts[i].job_id);
        struct job_change *one = &changes[i];
        one->with_set = refused && one->rc == 0;
        one->rc = job_change_end(c, who, j, r, one, one->with_set ? -ERR_TRANSITION : one->rc);
        one->may_differ = one->may_differ && is_of_state(one->rc);
        bitset_free(take_ptr(one->dropped));
        split_settle(c, &parts[i], one->rc == 0);
    }
}

/* Changes each set, and each record in no set, as a whole or not at all. Returns the first error,
 * or 0. Array elements and ended components in an unsuitable state are not an error if others could
 * be changed. ENV_SUBMIT_LATER: nothing is changed. */
static int change_records(struct control *c, const struct caller *who, const Pb__JobUpdate *r,
                          const struct split_list *parts, struct err *err)
{
    int wrong = 0;
    bool any = false, excused = false;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct job_change *changes = arena_alloc(&arena, parts->len * sizeof *changes);
    int later = prepare_changes(c, who, r, parts, changes, &arena);
    for (size_t i = 0, count; i < parts->len; i += count) {
        count = later ? 1 : count_group(c, r, parts, i);
        if (later)
            split_settle(c, &parts->data[i], false);
        else
            change_group(c, who, r, &parts->data[i], &changes[i], count, &arena);
        for (size_t k = i; k < i + count && count < parts->len; k++) /* one of several sets */
            changes[k].may_differ = is_of_state(changes[k].rc);
    }
    for (size_t i = 0; i < parts->len && !later; i++) {
        const struct job_change *one = &changes[i];
        any = any || one->rc == 0;
        if (one->rc == 0 || one->with_set || (wrong != 0 && (!excused || one->may_differ)))
            continue;
        wrong = one->rc;
        excused = one->may_differ;
        *err = one->why;
        if (one->in_set && parts->len > 1)
            err_set(err, one->why.code, "%s (component %u)", one->why.text, one->offset);
    }
    return later ? later : any && excused ? 0 : wrong;
}

/* Elements that get records of their own keep the dependencies of the group. */
static int check_array_room(const struct control *c, const struct array *a, struct err *err)
{
    size_t more = 0;
    vec_foreach (&a->groups, id) {
        const struct job *j = cluster_find_job(c->cluster, *id);
        more += j->waits.on ? j->waits.on->items.len : 0;
    }
    return depend_check_room(c, array_first(a), more, err);
}

/* Keeps the leader of each set: the other components follow it. */
static void keep_leaders(struct control *c, struct split_list *parts)
{
    size_t kept = 0;
    vec_foreach (parts, part)
        if (job_set_is_leader(cluster_find_job(c->cluster, part->job_id)))
            parts->data[kept++] = *part;
        else
            split_settle(c, part, false);
    parts->len = kept;
}

static int change_job(struct control *c, const struct caller *who, const Pb__JobUpdate *r,
                      struct err *err)
{
    struct split_list parts = {0};
    const struct array *a = array_find(c->cluster, r->job_id);
    Pb__StepId id = NAMED_JOB(r);
    struct job *j = named_any(c, &id);
    bool requeues = r->has_requeue && r->requeue;
    if (!j)
        return err_set(err, -ERR_NO_JOB, "%s", err_text(ERR_NO_JOB));
    if (!control_owns(who, j))
        return control_set_error(err, control_denial(c, who, j), NULL);
    struct array *throttled = find_array(j);
    int rc = check_throttle(j, r, err);
    if (rc != 0)
        return rc;
    if (is_throttle_only(r)) {
        set_throttle(c, throttled, r);
        return 0;
    }
    if (a && r->array_tasks)
        rc = check_array_room(c, a, err);
    id.array_tasks = r->array_tasks;
    if (rc == 0)
        rc = is_hold(r) ? split_whole_targets(c, &id, &parts, err)
                        : split_targets(c, &id, &parts, err);
    if (rc == 0 && requeues) {
        rc = set_check_whole(c, &id, err);
        keep_leaders(c, &parts);
    } else if (rc == 0 && j->set && parts.len > 1 && (!is_hold(r) || r->set)) {
        rc = set_check_settled(j, err);
    }
    if (rc == 0)
        rc = change_records(c, who, r, &parts, err);
    if (rc == 0)
        set_throttle(c, throttled, r);
    vec_done(&parts);
    return rc;
}

void control_job_update(struct control *c, uint64_t call, const struct caller *who,
                        const Pb__JobUpdate *r)
{
    struct err err = {0};
    int rc = change_job(c, who, r, &err);
    if (rc < 0)
        control_refuse(c, call, &err);
    else if (rc == 0)
        control_done(c, call);
}
