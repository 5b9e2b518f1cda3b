/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/core/counters.h"

#include "base/str.h"
#include "cluster/job/array.h"
#include "control/internal.h"
#include "sched/plan/timeline.h"

#define DAY_SEC 86400

enum counter_kind { SINCE_RESET, SINCE_START, LATEST };

void counters_begin(struct control *c)
{
#define COUNTER(name, kind, help)                                                                  \
    if (kind == SINCE_RESET)                                                                       \
        c->counters->name = 0;
#include "proto/counter.def"
#undef COUNTER
    c->counters->since_sec = control_wall(c);
}

void counters_turn(struct control *c)
{
    if (control_wall(c) / DAY_SEC != c->counters->since_sec / DAY_SEC)
        counters_begin(c);
}

int64_t counters_clock(const struct control *c)
{
    return c->env->work_usec ? c->env->work_usec(c->env->ctx) : 0;
}

void counters_look(struct control *c, int64_t begun_usec, bool backfill, bool tried)
{
    struct counters *n = c->counters;
    int64_t took = counters_clock(c) - begun_usec;
    uint64_t usec = took > 0 ? (uint64_t)took : 0;
    n->pass_usec += usec;
    n->pass_looked++;
    if (!backfill)
        return;
    n->backfill_usec += usec;
    n->backfill_looked++;
    n->backfill_tried += tried;
    n->moments = c->plan.timeline ? c->plan.timeline->moments.len : c->plan.heads.len;
}

static void add_backfill(struct control *c)
{
    struct counters *n = c->counters;
    n->bf_cycle_counter++;
    n->bf_cycle_last = n->backfill_usec;
    n->bf_cycle_sum += n->backfill_usec;
    if (n->backfill_usec > n->bf_cycle_max)
        n->bf_cycle_max = n->backfill_usec;
    n->bf_when_last_cycle = (uint64_t)control_wall(c);
    n->bf_last_depth = n->backfill_looked;
    n->bf_last_depth_try = n->backfill_tried;
    n->bf_depth_sum += n->backfill_looked;
    n->bf_depth_try_sum += n->backfill_tried;
    n->bf_queue_len = c->cluster->pending;
    n->bf_queue_len_sum += n->bf_queue_len;
    n->bf_table_size = n->moments;
    n->bf_table_size_sum += n->moments;
}

void counters_pass(struct control *c, bool complete)
{
    struct counters *n = c->counters;
    n->schedule_cycle_total++;
    n->schedule_cycle_last = n->pass_usec;
    n->schedule_cycle_sum += n->pass_usec;
    if (n->pass_usec > n->schedule_cycle_max)
        n->schedule_cycle_max = n->pass_usec;
    n->schedule_cycle_depth += n->pass_looked;
    n->schedule_queue_length = c->cluster->pending;
    if (complete)
        n->schedule_exit_end_job_queue++;
    else
        n->schedule_exit_state_changed++;
    if (n->backfill_looked)
        add_backfill(c);
    n->pass_usec = n->pass_looked = n->backfill_usec = n->backfill_looked = n->backfill_tried =
        n->moments = 0;
}

void counters_submitted(struct control *c, const struct job *j)
{
    c->counters->jobs_submitted += array_weight(j);
}

static void count_start(struct control *c, const struct job *j)
{
    c->counters->jobs_started++;
    c->counters->bf_backfilled_jobs += attempt_of(j)->backfilled;
    c->counters->bf_last_backfilled_jobs += attempt_of(j)->backfilled;
    c->counters->bf_backfilled_het_jobs += j->in_set && attempt_of(j)->backfilled;
}

static void count_end(struct control *c, const struct job *j)
{
    switch (j->state) {
    case PB__JOB_STATE__CANCELLED:
    case PB__JOB_STATE__PREEMPTED:
        c->counters->jobs_canceled += array_weight(j);
        break;
    case PB__JOB_STATE__NODE_FAIL:
    case PB__JOB_STATE__BOOT_FAIL:
        c->counters->jobs_failed += array_weight(j);
        break;
    case PB__JOB_STATE__FAILED:
        if (j->reason == REASON_JOB_LAUNCH_FAILURE) {
            c->counters->jobs_failed++;
            break;
        }
        /* fall through */
    default:
        c->counters->jobs_completed += array_weight(j);
        break;
    }
}

void counters_take(struct control *c, const struct transition *t)
{
    if (t->kind == TRANSITION_STARTED)
        count_start(c, t->job);
    else
        count_end(c, t->job);
}

void control_diag(const struct control *c, Pb__DiagCounters *out)
{
#define COUNTER(name, kind, help)                                                                  \
    out->has_##name = true;                                                                        \
    out->name = c->counters->name;
#include "proto/counter.def"
#undef COUNTER
    out->has_since_sec = true;
    out->since_sec = c->counters->since_sec;
    out->has_jobs_pending = out->has_jobs_running = true;
    out->jobs_pending = c->cluster->pending + c->cluster->folded;
    out->jobs_running = c->cluster->running;
}

void control_diag_reset(struct control *c)
{
    counters_begin(c);
}
