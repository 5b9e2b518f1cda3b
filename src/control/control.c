/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine as a whole: its life cycle, and the end of each turn. */
#include <stdio.h>

#include "base/pb.h"
#include "cluster/job/job_set_text.h"
#include "control/admin/node_dynamic.h"
#include "control/admin/shutdown.h"
#include "control/core/counters.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/due.h"
#include "control/event/event.h"
#include "control/event/record.h"
#include "control/event/trigger.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/depend.h"
#include "control/life/priority.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/life/split.h"
#include "control/life/start.h"
#include "control/life/transition.h"
#include "control/query/test_only.h"
#include "control/query/why.h"
#include "control/report/reboot.h"
#include "control/step/step.h"
#include "control/submit/submit.h"

#define PLAN_WORK 100000 /* visited nodes: one or two milliseconds */

/* The tables name functions of the whole room. */
#define BEGIN(function) void function(struct control *c);
#define END(function) void function(struct control *c);
#define TURN(function) void function(struct control *c);
#define DUE(function) int64_t function(const struct control *c);
#define CHECK(function) int function(const struct control *c, struct err *err);
#include "control/machine.def"

typedef void part_fn(struct control *c);

/* Calls the functions in order; NULL ends the list. */
static void call_parts(struct control *c, part_fn *const *functions)
{
    for (; *functions; functions++)
        (*functions)(c);
}

struct control *control_new(struct conf *conf, const struct env *env)
{
    struct control *c = mem_new(struct control);
    c->conf = conf;
    c->debug = conf->debug;
    c->env = env;
    c->cluster = cluster_new(conf);
    c->cluster->zone = env->zone;
    control_set_sched_log(c, conf->slurm_sched_log_level);
    c->ranking = mem_new(struct ranking);
    c->why = mem_new(struct why_line);
    c->news = mem_new(struct news);
    c->counters = mem_new(struct counters);
    c->triggers = mem_new(struct triggers);
    c->burst = mem_new(struct burst_desk);
    c->events = mem_new(struct event_log);
    c->attempts = mem_new(struct event_log);
    transition_observe(c);
    c->on_plan_dropped = why_begin_anew;
    c->next_id = c->reserved_id = c->given_id = conf->first_job_id;
    c->store_free = UINT64_MAX;
    c->wake_at_ms = INT64_MAX;
    c->resume_look_ms = INT64_MAX;
    c->plan_work = PLAN_WORK;
    arena_init(&c->restored, 0);
    static part_fn *const begin[] = {
#define BEGIN(function) function,
#include "control/machine.def"
        NULL};
    call_parts(c, begin);
    return c;
}

void control_free(struct control *c)
{
    if (!c)
        return;
    static part_fn *const end[] = {
#define END(function) function,
#include "control/machine.def"
        NULL};
    start_drop_plan(c);
    plan_notes_done(&c->plan_notes);
    priority_done(c);
    str_done(&c->said);
    why_done(c);
    trigger_done(c->triggers);
    event_done(c->events);
    event_done(c->attempts);
    burst_desk_done(c->burst);
    cluster_free(c->cluster);
    conf_free(c->conf);
    idmap_done(&c->calls);
    step_waiting_done(c);
    node_dynamic_free(c);
    str_done(&c->newer);
    vec_done(&c->asides);
    vec_done(&c->ports_awaited);
    depend_forget_told(c);
    vec_foreach (&c->fresh, fresh)
        free(fresh->said);
    vec_done(&c->fresh);
    arena_done(&c->restored);
    free(c->ranking);
    free(c->why);
    free(c->news);
    free(c->counters);
    free(c->triggers);
    free(c->burst);
    call_parts(c, end);
    free(c->events);
    free(c->attempts);
    free(c);
}

void control_set_plan_work(struct control *c, uint64_t work)
{
    c->plan_work = work;
}

const char *control_node_addr(const struct control *c, const char *name)
{
    return node_addr(cluster_find_node(c->cluster, name));
}

const struct conf *control_conf(const struct control *c)
{
    return c->conf;
}

void control_set_store_low(struct control *c, bool low)
{
    c->store_low = low;
}

void control_set_store_free(struct control *c, uint64_t bytes)
{
    c->store_free = bytes;
}

uint64_t control_epoch(const struct control *c)
{
    return c->epoch;
}

void control_stop(struct control *c, bool all)
{
    if (all)
        shutdown_over(c);
    c->triggers->lead.stopped = true;
    c->reserved_id = c->next_id;
    control_save_meta(c);
}

/* --- the end of a turn --------------------------------------------------------------------------
 */

static void set_wake(struct control *c)
{
    static int64_t (*const due[])(const struct control *c) = {
#define DUE(function) function,
#include "control/machine.def"
    };
    control_note_awake(c); /* the turn may have been woken by a message */
    const struct order_link *job = order_first(&c->cluster->due),
                            *node = order_first(&c->cluster->unresponsive);
    int64_t at = job ? job->key : INT64_MAX;
    if (node && node->key < at)
        at = node->key;
    if (c->resume_look_ms < at)
        at = c->resume_look_ms;
    for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
        int64_t part_at = due[i](c);
        at = part_at < at ? part_at : at;
    }
    if (c->burst->pools_due_mono_ms && c->burst->pools_due_mono_ms < at)
        at = c->burst->pools_due_mono_ms;
    if (c->ranking->moving || why_is_due(c))
        at = control_mono(c);
    if (at == INT64_MAX || at == c->wake_at_ms)
        return;
    c->wake_at_ms = at;
    c->env->wake_at(c->env->ctx, at);
}

static void write_dirty(struct control *c)
{
    struct str packed = STR_INIT;
    size_t left = 0;
    vec_foreach (&c->cluster->dirty, id) {
        struct job *j = cluster_find_job(c->cluster, *id);
        if (!j || !j->dirty)
            continue;
        if (control_is_on_trial(j)) {
            c->cluster->dirty.data[left++] = *id;
            continue;
        }
        j->dirty = false;
        job_pack_live(c->cluster, j);
        str_clear(&packed);
        job_pack_record(j, &packed);
        holdings_count(c->cluster, j);
        c->env->put(c->env->ctx, RECORD_JOB, j->id, NULL, packed.data, packed.len);
    }
    c->cluster->dirty.len = left;
    str_done(&packed);
}

void control_sort_begun(struct control *c)
{
    begun_sort(c->cluster);
}

void control_turn(struct control *c)
{
    static part_fn *const turn[] = {
#define TURN(function) function,
#include "control/machine.def"
        NULL};
    c->turns++;
    call_parts(c, turn);
    if (c->forgetful) /* they stay stale, and are packed when they are listed */
        vec_clear(&c->cluster->dirty);
    if (c->cluster->dirty.len)
        write_dirty(c);
    if (c->cluster->dirty_arrays.len)
        split_write(c);
    vec_trim(&c->cluster->dirty);
    vec_trim(&c->cluster->jobs); /* no loop over them is running at the end of a turn */
    set_wake(c);
}

/* --- the rest
 * --------------------------------------------------------------------------------------- */

static void waiter_gone(struct control *c, struct job *j, uint64_t call)
{
    if (j->alloc_call == call) {
        j->alloc_call = 0;
        if (j->state == PB__JOB_STATE__PENDING || attempt_of(j)->configuring)
            j->gone_mono_ms = control_mono(c);
    }
    for (size_t i = j->end_calls.len; i-- > 0;)
        if (j->end_calls.data[i] == call)
            vec_remove(&j->end_calls, i);
    struct attempt *attempt = j->attempt;
    notice_drop_wait(attempt ? attempt->board : NULL, call);
    if (j->state == PB__JOB_STATE__RUNNING)
        inactive_look(c, j);
    for (size_t i = attempt ? attempt->waiting_steps.len : 0; i-- > 0;)
        if (attempt->waiting_steps.data[i].call == call) {
            struct waiting_step w = step_waiting_take(c, j, i);
            str_done(&w.spec);
            if (step_is_awaited(j))
                j->gone_mono_ms = control_mono(c);
        }
    control_schedule(c, j);
}

void control_call_gone(struct control *c, uint64_t call)
{
    uint32_t id;
    if (why_call_gone(c, call) || event_call_gone(c, call) || burst_call_gone(c, call) ||
        !idmap_get(&c->calls, call, &id))
        return;
    idmap_remove(&c->calls, call);
    split_call_gone(c, id, call);
    struct job *j = cluster_find_job(c->cluster, id);
    if (j)
        waiter_gone(c, j, call);
}

int control_may_read_script(struct control *c, const struct caller *who, const Pb__JobIdRequest *r,
                            uint32_t *payload, uint32_t *bytes, struct err *err)
{
    const Pb__StepId id = NAMED_JOB(r);
    struct job *j = named_any(c, &id);
    if (!j)
        return control_set_error(err, ERR_NO_JOB, NULL);
    if (!control_owns(who, j))
        return control_set_error(err, control_denial(c, who, j), NULL);
    int rc = named_job(c, &id, &j, err);
    if (rc == 0 && !job_set_is_leader(j) && !j->payload_bytes)
        rc = err_set(err, -ERR_NO_JOB, "%s: " JOB_SET_TEXT_NO_SCRIPT, err_text(ERR_NO_JOB),
                     JOB_ID_TEXT(j), NAMED_SET_TEXT(j));
    if (rc == 0) {
        *payload = split_payload_id(j);
        *bytes = j->payload_bytes;
    }
    return rc;
}

uint32_t control_next_job_id(const struct control *c)
{
    return c->next_id;
}

void control_stats(const struct control *c, Pb__CtlStats *s)
{
    size_t up = 0;
    vec_foreach (&c->cluster->nodes, n)
        up += node_is_usable(*n);
    s->has_jobs = s->has_pending = s->has_running = s->has_turns = s->has_nodes = s->has_nodes_up =
        true;
    s->jobs = c->cluster->jobs.len;
    s->pending = c->cluster->pending;
    s->running = c->cluster->ends.count; /* running and completing jobs */
    s->turns = c->turns;
    s->nodes = c->cluster->nodes.len;
    s->nodes_up = up;
}

/* Components start together, and are requeued together. */
static int check_set_states(const struct job_set *set, struct err *err)
{
    uint32_t waits = 0, runs = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const struct job *j = set->jobs[i];
        waits = j && j->state == PB__JOB_STATE__PENDING ? j->id : waits;
        runs = j && j->state != PB__JOB_STATE__PENDING && !job_is_final(j) ? j->id : runs;
    }
    if (!waits || !runs)
        return 0;
    return err_set(err, -ERR_INTERNAL, "job %u runs, and job %u of the same set is pending", runs,
                   waits);
}

int control_check(const struct control *c, struct err *err)
{
    static int (*const check[])(const struct control *c, struct err *err) = {
#define CHECK(function) function,
#include "control/machine.def"
    };
    size_t pending = 0, holding = 0;
    int rc = 0;
    for (size_t i = 0; i < sizeof(check) / sizeof(check[0]) && rc == 0; i++)
        rc = check[i](c, err);
    if (rc != 0)
        return rc;
    vec_foreach (&c->cluster->jobs, at) {
        const struct job *j = *at;
        pending += j->state == PB__JOB_STATE__PENDING;
        holding += attempt_of(j)->ends.in;
        if (depend_check(c, j, err) != 0)
            return -ERR_INTERNAL;
        if (job_partitions_is_queued(j) && j->state != PB__JOB_STATE__PENDING)
            return err_set(err, -ERR_INTERNAL, "job %u is queued and not pending", j->id);
        if (!job_partitions_keys_hold(j))
            return err_set(err, -ERR_INTERNAL, "job %u is not queued by its priority", j->id);
        if (job_nodes_left(j) && !attempt_of(j)->ends.in)
            return err_set(err, -ERR_INTERNAL, "job %u holds nodes and nothing ends it", j->id);
    }
    if (pending != c->cluster->pending || holding != c->cluster->ends.count)
        return err_set(err, -ERR_INTERNAL, "the counts of jobs are wrong");
    rc = array_check(c->cluster, err);
    rc = rc ? rc : holdings_check(c->cluster, err);
    rc = rc ? rc : job_set_check(c->cluster, err);
    vec_foreach (&c->cluster->sets.list, set)
        rc = rc ? rc : check_set_states(*set, err);
    return rc ? rc : resource_check(c->cluster, err);
}

void control_submit(struct control *c, uint64_t call, const struct caller *who,
                    const Pb__SubmitRequest *r)
{
    str_clear(&c->said);
    if (r->has_test_only && r->test_only)
        test_only_submit(c, call, who, r);
    else
        submit_batch(c, call, who, r);
}
