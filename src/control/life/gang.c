/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/life/gang.h"

#include <stdlib.h>

#include "control/event/job_event.h"
#include "control/event/record.h"
#include "control/internal.h"
#include "control/life/gang_members.h"
#include "control/life/schedule.h"
#include "control/life/suspend.h"
#include "sched/gang/forecast.h"

void gang_begin(struct control *c)
{
    c->gang = mem_new(struct gang);
}

void gang_end(struct control *c)
{
    vec_done(&c->gang->rotations);
    free(c->gang);
}

/* Whether the members have to be settled. Where CPUs are counted, those that a job gets which does
 * not share are no longer among them. */
static bool is_stale(const struct control *c)
{
    const struct pool *pool = &c->cluster->pool;
    return c->gang->changed || !gang_knows_parts(c) || c->gang->released != pool->released ||
           (c->conf->gang_counts && c->gang->taken != pool->taken);
}

/* --- a job that starts, or has its units again ---------------------------------------------------
 */

static void set_slice_timer(struct control *c)
{
    if (!c->gang->switch_ms)
        c->gang->switch_ms = control_mono(c) + c->conf->scheduler_time_slice_sec * 1000;
}

/* The transition of scontrol suspend, but that the job keeps its units. */
static void suspend_for_turn(struct control *c, struct job *j)
{
    if (attempt_of(j)->configuring || attempt_of(j)->gang_suspended)
        return;
    attempt_make(j)->gang_suspended = true;
    suspend_stop(c, j);
}

static void resume_for_turn(struct control *c, struct job *j)
{
    attempt_make(j)->gang_suspended = false;
    suspend_continue(c, j);
}

static void gang_end_moved(struct control *c, const struct job *j)
{
    c->gang->ends_moved = c->gang->ends_moved || attempt_of(j)->gang_place;
}

/* All components of a set have the same place, also those that are not configured yet. */
static void give_place(struct control *c, struct job *j, uint64_t place)
{
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        struct job *component = job_set_component(j, i);
        if (!component || job_is_final(component))
            continue;
        attempt_make(component)->gang_place = place;
        gang_end_moved(c, component);
        job_touch(c->cluster, component);
    }
}

/* Gives the job a place, and returns whether it has to wait for its turn. Components of a set do
 * what the first of them did that has not ended. */
static bool must_wait(struct control *c, struct job *j)
{
    bool waits = false, follows = false;
    uint64_t place = gang_set_place(j);
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *other = job_set_component(j, i);
        if (!other || other == j)
            continue;
        waits = waits || attempt_of(other)->gang_suspended;
        follows =
            follows || waits ||
            (attempt_of(other)->gang_place && gang_job_has_slot(other) && !job_is_final(other));
    }
    if (!follows)
        waits = !gang_fits_now(c, j);
    give_place(c, j, place ? place : ++c->gang->last_place);
    if (waits)
        set_slice_timer(c);
    return waits;
}

/* A set takes part as a whole when one of its components shares. */
static bool takes_part(const struct control *c, const struct job *j)
{
    bool shares = false;
    for (uint32_t i = 0; i < job_set_count(j) && c->conf->gang; i++) {
        const struct job *component = job_set_component(j, i);
        shares = shares || (component && component->want.shared && !job_is_final(component));
    }
    return shares && !job_is_final(j);
}

static void start_suspended(struct control *c, struct job *j)
{
    control_debug(c, gang, "job %u starts suspended, and waits for its turn", j->id);
    c->gang->changed = true; /* what it waits for may be about to stop */
    vec_foreach (&attempt_of(j)->alloc, a)
        a->touched = true; /* nodes hear that it stands still before they hear of a launch */
    suspend_for_turn(c, j);
    attempt_make(j)->ran_ms = 0; /* nothing of it runs: see gang_job_still_runs() */
}

static bool gang_keeps_suspended(struct control *c, struct job *j)
{
    if (!takes_part(c, j) || !must_wait(c, j))
        return false;
    control_debug(c, gang, "job %u has its CPUs again, and waits for its turn", j->id);
    c->gang->changed =
        true; /* others may have waited for it to stop, and need not: it has a place */
    attempt_make(j)->gang_suspended = true;
    return true;
}

static void gang_leave(struct control *c, struct job *j)
{
    if (!attempt_of(j)->gang_place)
        return;
    attempt_make(j)->gang_place = 0;
    c->gang->changed = true;
    if (!attempt_of(j)->gang_suspended)
        return;
    attempt_make(j)->gang_suspended = false;
    vec_foreach (&attempt_of(j)->alloc, a)
        if (a->halt_told)
            park_leave(c->cluster, j, a);
    job_touch(c->cluster, j);
    c->plan_wanted = true;
}

/* --- orders ------------------------------------------------------------------------------------
 */

static void gang_stopped(struct control *c)
{
    c->gang->changed = true;
}

/* With CPUs that are counted, a job that shares with nobody, or only with jobs of its partition,
 * takes CPUs that others used in turn. */
static bool displaces_members(const struct control *c, const struct job *j)
{
    return c->conf->gang_counts && (!j->want.shared || !c->conf->gang_overlap);
}

/* Whether the other job runs where j is to run. Members that lose their turn to j do so when the
 * members are settled next. */
static bool is_in_the_way(const struct control *c, const struct job *j, const struct alloc_node *a,
                          struct job *other)
{
    const struct alloc_node *b = alloc_find(other, a->node);
    if (gang_job_still_runs(other, b))
        return c->conf->gang_counts || bitset_intersects(a->busy, b->busy);
    bool is_apart = !j->want.shared || !gang_share_rotation(c, other, j);
    return displaces_members(c, j) && is_apart && is_stale(c) && attempt_of(other)->gang_place &&
           !b->released && !b->parked && gang_set_has_slot(other);
}

static bool gang_may_hold_back(const struct control *c, const struct job *j)
{
    return c->conf->gang && (attempt_of(j)->gang_place || displaces_members(c, j));
}

static bool gang_holds_back(const struct control *c, const struct job *j,
                            const struct alloc_node *a)
{
    const struct node *n = c->cluster->nodes.data[a->node];
    if (!gang_may_hold_back(c, j) || j->state != PB__JOB_STATE__RUNNING)
        return false;
    vec_foreach (&n->holders, id) {
        struct job *other = cluster_find_job(c->cluster, *id);
        if (job_set_id(other) != job_set_id(j) && is_in_the_way(c, j, a, other))
            return true;
    }
    return false;
}

/* A job has started on CPUs of members that are to stop. */
static void hold_displacing(struct control *c, struct job *j)
{
    bool held = false;
    vec_foreach (&attempt_of(j)->alloc, a)
        held = held || (displaces_members(c, j) && gang_holds_back(c, j, a));
    if (held)
        suspend_begin_held(c, j);
}

static void gang_admit(struct control *c, struct job *j)
{
    if (j->state != PB__JOB_STATE__RUNNING)
        return;
    if (takes_part(c, j) && must_wait(c, j))
        start_suspended(c, j);
    else
        hold_displacing(c, j);
}

/* --- decisions ---------------------------------------------------------------------------------
 */

static void follow_member(struct control *c, const struct rotation_member *m, bool resumes)
{
    const struct job *first = cluster_find_job(c->cluster, m->id);
    for (uint32_t i = 0; i < job_set_count(first); i++) {
        struct job *j = job_set_component(first, i);
        if (!j || !attempt_of(j)->gang_place || job_is_final(j))
            continue;
        if (resumes && attempt_of(j)->gang_suspended)
            resume_for_turn(c, j);
        else if (!resumes && j->state == PB__JOB_STATE__RUNNING)
            suspend_for_turn(c, j);
    }
}

static void store_places(struct control *c, const struct rotation *r)
{
    c->gang->last_place = r->last > c->gang->last_place ? r->last : c->gang->last_place;
    vec_foreach (&r->members, m) {
        const struct job *first = cluster_find_job(c->cluster, m->id);
        for (uint32_t i = 0; !m->pinned && i < job_set_count(first); i++) {
            struct job *j = job_set_component(first, i);
            if (!j || !attempt_of(j)->gang_place || attempt_of(j)->gang_place == m->place)
                continue;
            attempt_make(j)->gang_place = m->place;
            job_touch(c->cluster, j);
        }
    }
}

/* Orders to resume that were held back are given where the others have stopped. A job may end when
 * its steps begin. */
static void give_held_orders(struct control *c)
{
    VEC(uint32_t) ids = {0};
    for (struct order_link *l = order_first(&c->cluster->ends); l; l = order_next(l))
        if (job_is_held_back(job_of_end(l)))
            vec_push(&ids, job_of_end(l)->id);
    vec_foreach (&ids, id)
        suspend_give_held(c, cluster_find_job(c->cluster, *id));
    vec_done(&ids);
}

static void format_members(const struct rotation *r, bool runs, struct str *out)
{
    vec_foreach (&r->members, m)
        if (m->runs == runs && !m->pinned)
            str_printf(out, " %u", m->id);
}

/* DebugFlags=Gang: each active set, and the jobs that wait for it. */
static void log_slot(struct control *c, const struct rotation *r)
{
    _cleanup_str_ struct str runs = STR_INIT, waits = STR_INIT;
    if (!control_debug_wants(c, CONF_DEBUG_gang))
        return;
    format_members(r, true, &runs);
    format_members(r, false, &waits);
    control_debug(c, gang, "active set:%s; waiting:%s", runs.len ? str_cstr(&runs) : " none",
                  waits.len ? str_cstr(&waits) : " none");
}

/* Jobs are suspended before other jobs are resumed. */
static bool decide_turns(struct control *c, struct rotation *r, bool turns)
{
    if (turns)
        rotation_turn(r);
    else
        rotation_settle(r);
    store_places(c, r);
    if (turns && r->members.len)
        log_slot(c, r);
    for (int resumes = 0; resumes < 2; resumes++)
        vec_foreach (&r->members, m)
            if (m->runs == resumes && !m->pinned)
                follow_member(c, m, resumes);
    return rotation_waits(r);
}

/* Whether jobs wait for the next switch. */
static bool decide_all(struct control *c, bool turns)
{
    bool waits = false;
    struct rotation r;
    for (size_t number = 0; gang_next_rotation(c, &number, &r);) {
        waits = decide_turns(c, &r, turns) || waits;
        rotation_done(&r);
    }
    return waits;
}

/* --- ends that are expected ----------------------------------------------------------------------
 */

#define FORECAST_LOOKS 50000 /* at members; a few milliseconds */

/* Components of a set are foreseen together: to end with the last of them. Returns whether an end
 * is another one by more than a slice. */
static bool move_ends(struct control *c, const struct rotation_member *m)
{
    const struct job *first = cluster_find_job(c->cluster, m->id);
    int64_t ends_at = control_wall(c) + (m->ends_ms + 999) / 1000;
    bool moved = false;
    for (uint32_t i = 0; i < job_set_count(first); i++) {
        struct job *j = job_set_component(first, i);
        if (!j || !gang_job_takes_part(j))
            continue;
        int64_t by_sec = ends_at - attempt_of(j)->ends.key;
        moved = moved || llabs(by_sec) > c->conf->scheduler_time_slice_sec;
        if (by_sec)
            order_move(&c->cluster->ends, &attempt_make(j)->ends, ends_at, j->id);
    }
    return moved;
}

/* Jobs that take turns end later than they would alone. Planned starts behind them are found
 * again. */
static void foresee_ends(struct control *c)
{
    int64_t switch_ms = c->gang->switch_ms - control_mono(c);
    bool moved = false;
    struct rotation r;
    for (size_t number = 0; gang_next_rotation(c, &number, &r);) {
        forecast_ends(&r, switch_ms, c->conf->scheduler_time_slice_sec * 1000, FORECAST_LOOKS);
        vec_foreach (&r.members, m)
            moved = (!m->pinned && move_ends(c, m)) || moved;
        rotation_done(&r);
    }
    c->gang->ends_moved = false;
    c->cluster->pool.freed += moved;
    c->plan_wanted = c->plan_wanted || moved;
}

/* A pass of the planner has read them already. */
static bool may_foresee(const struct control *c)
{
    return c->gang->ends_moved && !c->planning;
}

/* --- turns of the controller ---------------------------------------------------------------------
 */

/* A switch that is due comes in its time, however often the configuration changes or controllers
 * start until then; sooner when slices are shorter now. One that was due before the start comes at
 * once. */
static int64_t keep_switch_ms(const struct control *c)
{
    int64_t latest = control_mono(c) + c->conf->scheduler_time_slice_sec * 1000;
    int64_t switch_ms = c->gang->cluster ? c->gang->switch_ms : c->slice_ends_ms;
    if (!c->conf->gang)
        return 0;
    return switch_ms < latest ? switch_ms : latest;
}

/* When no job waits for a turn any longer, the next record of the store omits the end of the slice.
 * If a controller starts before that record, its first turn ignores the stored end. */
static void store_slice(struct control *c)
{
    bool is_stored = c->gang->switch_ms == c->slice_ends_ms;
    c->slice_ends_ms = c->gang->switch_ms;
    if (c->gang->switch_ms && !is_stored)
        control_save_meta(c);
}

/* Of a controller that has begun, or has another configuration: jobs that share take part when jobs
 * are to take turns, and no longer when not. */
static void rebuild_rotations(struct control *c)
{
    int64_t switch_ms = keep_switch_ms(c);
    vec_done(&c->gang->rotations);
    *c->gang = (struct gang){.cluster = c->cluster, .changed = true, .switch_ms = switch_ms};
    for (struct order_link *l = order_first(&c->cluster->ends); l; l = order_next(l)) {
        const struct attempt *attempt = attempt_of(job_of_end(l));
        if (attempt->gang_place > c->gang->last_place)
            c->gang->last_place = attempt->gang_place;
    }
    for (struct order_link *l = order_first(&c->cluster->ends); l; l = order_next(l)) {
        struct job *j = job_of_end(l);
        bool joins = takes_part(c, j) && j->state == PB__JOB_STATE__RUNNING &&
                     !attempt_of(j)->configuring && !attempt_of(j)->gang_place;
        if (!joins)
            continue;
        uint64_t place = gang_set_place(j);
        give_place(c, j, place ? place : ++c->gang->last_place);
    }
    gang_part_rotations(c);
}

/* GANG was taken out of PreemptMode. */
static void dissolve_rotations(struct control *c)
{
    VEC(uint32_t) ids = {0};
    for (struct order_link *l = order_first(&c->cluster->ends); l; l = order_next(l))
        if (attempt_of(job_of_end(l))->gang_place)
            vec_push(&ids, job_of_end(l)->id);
    vec_foreach (&ids, id) {
        struct job *j = cluster_find_job(c->cluster, *id);
        if (attempt_of(j)->gang_suspended && !job_is_final(j))
            resume_for_turn(c, j);
        attempt_make(j)->gang_place = 0;
        if (!job_is_final(j))
            control_move_end(c, j);
        job_touch(c->cluster, j);
    }
    vec_done(&ids);
    give_held_orders(c);
    c->gang->changed = false;
}

/* Until all have been decided, members are about to stop: see is_in_the_way(). */
static void follow_rotations(struct control *c, bool due)
{
    uint64_t released = c->cluster->pool.released, taken = c->cluster->pool.taken;
    if (!gang_knows_parts(c) || gang_has_joined_parts(c))
        gang_part_rotations(c);
    bool waits = decide_all(c, due);
    c->gang->released = released;
    c->gang->taken = taken;
    c->gang->changed = false;
    give_held_orders(c);
    if (due || !waits)
        c->gang->switch_ms = 0;
    if (waits)
        set_slice_timer(c);
    c->gang->ends_moved = true;
}

void gang_turn(struct control *c)
{
    bool begins = c->gang->cluster != c->cluster;
    if (begins)
        rebuild_rotations(c);
    if (begins && !c->conf->gang)
        dissolve_rotations(c);
    bool due = c->gang->switch_ms && control_mono(c) >= c->gang->switch_ms;
    if (c->conf->gang && (due || is_stale(c)))
        follow_rotations(c, due);
    if (c->conf->gang && may_foresee(c))
        foresee_ends(c);
    store_slice(c);
}

int64_t gang_due_ms(const struct control *c)
{
    if (c->conf->gang && (is_stale(c) || may_foresee(c)))
        return control_mono(c);
    return c->gang->switch_ms ? c->gang->switch_ms : INT64_MAX;
}

/* Nothing would change if it were decided again: those that run can run at once, and those that
 * wait cannot run beside them. */
static int check_rotation(const struct rotation *r, struct err *err)
{
    struct rotation again = {.counts = r->counts, .nodes = r->nodes, .last = r->last};
    int rc = 0;
    vec_foreach (&r->members, m) {
        struct rotation_member *copy = rotation_add(&again, m->id, m->place, m->runs);
        copy->pinned = m->pinned;
        vec_foreach (&m->uses, use)
            rotation_use_node(copy, use);
    }
    rotation_settle(&again);
    vec_foreach (&again.members, now)
        vec_foreach (&r->members, m)
            if (m->id == now->id && m->runs != now->runs && rc == 0)
                rc = err_set(err, -ERR_INTERNAL, "gang scheduling: job %u %s", m->id,
                             m->runs ? "runs on resources that another job has in this slot"
                                     : "is suspended, and its resources are not in use");
    rotation_done(&again);
    return rc;
}

int gang_check(const struct control *c, struct err *err)
{
    int rc = 0;
    if (!c->conf->gang || is_stale(c))
        return 0;
    struct rotation r;
    for (size_t number = 0; rc == 0 && gang_next_rotation(c, &number, &r);) {
        rc = check_rotation(&r, err);
        rotation_done(&r);
    }
    return rc;
}

/* --- what suspend.c asks and tells ---------------------------------------------------------------
 */

static int gang_check_resume(const struct job *j, struct err *err)
{
    if (!attempt_of(j)->gang_suspended)
        return 0;
    return err_set(err, -ERR_NOT_SUSPENDED, "%s: gang scheduling resumes it in its turn",
                   err_text(ERR_NOT_SUSPENDED));
}

static void gang_note_preemptor(struct control *c, const struct job *j)
{
    control_debug(c, gang, "job %u is suspended for a preemptor", j->id);
}

const struct suspend_hooks gang_hooks = {.admit = gang_admit,
                                         .keeps_suspended = gang_keeps_suspended,
                                         .leave = gang_leave,
                                         .check_resume = gang_check_resume,
                                         .note_preemptor = gang_note_preemptor,
                                         .note_stop = gang_stopped,
                                         .holds_back = gang_holds_back,
                                         .may_hold_back = gang_may_hold_back,
                                         .move_end = gang_end_moved};
