/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time limits of steps that the controller enforces. The srun of a step enforces its limit by the
 * wall clock, until the limit is changed by scontrol update StepId=, or the job is suspended. The
 * limit counts the run time of the job in milliseconds: suspended time does not count.
 */
#include "base/pb.h"
#include "base/size.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/node/node.h"
#include "control/step/step.h"

#define OR(m, field, otherwise) ((m)->has_##field ? (m)->field : (otherwise))

/* A step that began with its job is limited by the limit of the job. */
static void read_limit(const struct job *j, struct step *s, const Pb__StepRecord *r)
{
    int64_t limit = cluster_bound_time(OR(r, time_limit_sec, INT64_MAX));
    int64_t after = cluster_bound_time(OR(r, start_at, 0)) - attempt_of(j)->start_at;
    int64_t begun_ms = cluster_bound_time(OR(r, begun_run_ms, after * 1000));
    bool changed = OR(r, limit_changed, 0), is_limited = limit < CLUSTER_TIME_MAX_SEC;
    s->limit_by_srun = is_limited && !changed && !(j->alloc_step && s->id == 0);
    s->limit_run_ms = is_limited && changed ? begun_ms + limit * 1000 : 0;
}

void step_limit_restore(const struct job *j, struct step *s)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__StepRecord *r =
        arena_unpack(&arena, &pb__step_record__descriptor, s->record.data, s->record.len);
    if (r)
        read_limit(j, s, r);
}

int64_t step_limit_due_ms(const struct job *j)
{
    int64_t due = INT64_MAX;
    if (j->state != PB__JOB_STATE__RUNNING)
        return due;
    vec_foreach (&attempt_of(j)->steps, s)
        if (s->limit_run_ms && !s->ending && attempt_of(j)->start_mono_ms + s->limit_run_ms < due)
            due = attempt_of(j)->start_mono_ms + s->limit_run_ms;
    return due;
}

void step_limit_enforce(struct control *c, struct job *j)
{
    int64_t ran_ms = control_mono(c) - attempt_of(j)->start_mono_ms;
    for (size_t i = 0; i < attempt_of(j)->steps.len; i++) {
        struct step *s = &attempt_of(j)->steps.data[i];
        if (!s->limit_run_ms || s->ending || ran_ms < s->limit_run_ms)
            continue;
        control_log(c, LOG_LVL_INFO, "step %u.%u has reached its time limit", j->id, s->id);
        s->timed_out = true;
        c->step_owner->end_step(c, j, s);
    }
}

/* In minutes, rounded up. */
static int find_new_limit(const Pb__StepRecord *r, const Pb__StepLimit *m, int64_t *sec,
                          struct err *err)
{
    int64_t was = cluster_bound_time(OR(r, time_limit_sec, INT64_MAX));
    int64_t change = OR(m, change_sec, 0);
    *sec = OR(m, limit_sec, was);
    if (m->has_change_sec && was >= CLUSTER_TIME_MAX_SEC)
        return control_set_error(err, ERR_TIME_LIMIT,
                                 "the step has no limit to change; set one, as in "
                                 "TimeLimit=60");
    if (change > CLUSTER_TIME_MAX_SEC || change < -CLUSTER_TIME_MAX_SEC)
        return control_set_error(err, ERR_TIME_LIMIT, NULL);
    if (m->has_change_sec)
        *sec = was + change;
    if (*sec < 60 || *sec > INT64_MAX - 60)
        return *sec < 60 ? control_set_error(err, ERR_TIME_LIMIT, "a step has at least a minute")
                         : 0;
    *sec += *sec % 60 ? 60 - *sec % 60 : 0;
    return 0;
}

static void store_record(const struct job *j, struct step *s, const Pb__StepRecord *r)
{
    str_clear(&s->record);
    pb_pack(&r->base, &s->record);
    read_limit(j, s, r);
}

/* All new limits are checked before any is changed. */
static int set_limit(struct control *c, struct job *j, struct step *s, const Pb__StepLimit *m,
                     bool apply, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__StepRecord *r =
        arena_unpack(&arena, &pb__step_record__descriptor, s->record.data, s->record.len);
    int64_t sec;
    int rc = find_new_limit(r, m, &sec, err);
    if (rc != 0 || !apply)
        return rc;
    SET(r, time_limit_sec, sec);
    SET(r, limit_changed, true);
    store_record(j, s, r);
    control_log(c, LOG_LVL_INFO, "step %u.%u has a new time limit of %lld minutes", j->id, s->id,
                sec >= CLUSTER_TIME_MAX_SEC ? -1LL : (long long)sec / 60);
    return 0;
}

static void take_over_limit(const struct job *j, struct step *s)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__StepRecord *r =
        arena_unpack(&arena, &pb__step_record__descriptor, s->record.data, s->record.len);
    SET(r, limit_changed, true);
    store_record(j, s, r);
}

void step_limit_take_over(struct job *j)
{
    vec_foreach (&attempt_of(j)->steps, s)
        if (s->limit_by_srun)
            take_over_limit(j, s);
}

static bool is_meant(const struct step *s, const Pb__StepLimit *m)
{
    return m->has_step_id ? s->id == m->step_id : !s->ending;
}

int step_limit_update(struct control *c, struct job *j, const Pb__StepLimit *m, struct err *err)
{
    size_t count = 0;
    if (j->state == PB__JOB_STATE__PENDING)
        return control_set_error(err, ERR_JOB_PENDING, NULL);
    if (job_is_final(j))
        return control_set_error(err, ERR_FINISHED, NULL);
    for (int apply = 0; apply <= 1; apply++)
        vec_foreach (&attempt_of(j)->steps, s) {
            int rc = is_meant(s, m) ? set_limit(c, j, s, m, apply, err) : 0;
            if (rc != 0)
                return rc;
            count += is_meant(s, m);
        }
    if (!count && !m->has_step_id && j->batch)
        return control_set_error(err, ERR_NO_STEP,
                                 "the job has only its batch script, whose limit is that of the "
                                 "job: update the job");
    if (!count)
        return control_set_error(err, ERR_NO_STEP, NULL);
    job_touch(c->cluster, j);
    c->step_owner->reschedule(c, j);
    return 0;
}

/* --- unlaunched steps ----------------------------------------------------------------------------
 * A step that is never launched: after a step is created, its srun may die before the launch. The
 * controller takes no part in launches and is not notified. When the step's credential has expired,
 * its nodes are asked once: a node without the step reports its end. */

/* Clocks of nodes may be slightly behind. */
#define ASK_AFTER_MS (CONTROL_CRED_MS + 10000)

static void send_step_query(struct control *c, struct job *j, const struct alloc_node *a,
                            uint32_t step_id)
{
    Pb__StepLook look = PB__STEP_LOOK__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    look.job_id = j->id;
    look.restarts = j->restarts;
    look.step_id = step_id;
    order.look = &look;
    node_send_orders(c, c->cluster->nodes.data[a->node], &order);
}

static bool is_old(const struct control *c, const struct step *s)
{
    return control_mono(c) >= s->made_mono_ms + ASK_AFTER_MS;
}

void step_watch(struct control *c, struct job *j, struct step *s)
{
    struct attempt *attempt = attempt_make(j);
    s->made_mono_ms = control_mono(c);
    s->asked = false;
    if (attempt->unlaunched_mono_ms == 0) {
        attempt->unlaunched_mono_ms = s->made_mono_ms + ASK_AFTER_MS;
        c->step_owner->reschedule(c, j);
    }
}

void step_ask_unlaunched(struct control *c, struct job *j)
{
    int64_t next = INT64_MAX;
    vec_foreach (&attempt_of(j)->steps, s) {
        if (!s->asked && is_old(c, s)) {
            s->asked = true;
            vec_foreach (&s->nodes, n)
                if (!n->ended)
                    send_step_query(c, j, &attempt_of(j)->alloc.data[n->at], s->id);
        }
        if (!s->asked && s->made_mono_ms + ASK_AFTER_MS < next)
            next = s->made_mono_ms + ASK_AFTER_MS;
    }
    attempt_make(j)->unlaunched_mono_ms = next == INT64_MAX ? 0 : next;
}

static bool lists_step(const Pb__Presence *p, uint32_t step_id)
{
    for (size_t i = 0; p && i < p->n_step_ids; i++)
        if (p->step_ids[i] == step_id)
            return true;
    return false;
}

void step_ask_again(struct control *c, struct job *j, const struct alloc_node *a,
                    const Pb__Presence *present)
{
    vec_foreach (&attempt_of(j)->steps, s)
        vec_foreach (&s->nodes, n)
            if (&attempt_of(j)->alloc.data[n->at] == a && !n->ended && is_old(c, s) &&
                !lists_step(present, s->id))
                send_step_query(c, j, a, s->id);
}
