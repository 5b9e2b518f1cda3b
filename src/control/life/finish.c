/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a job. The job reaches its final state at once and is 'completing' while nodes still
 * hold resources of it; each node becomes free when it reports that nothing of the job is left and
 * its epilog is done (CORE-100, CORE-219).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/pb.h"
#include "base/status.h"
#include "control/core/facts.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/event/job_event.h"
#include "control/event/record.h"
#include "control/event/trigger.h"
#include "control/internal.h"
#include "control/life/depend.h"
#include "control/life/enqueue.h"
#include "control/life/finish.h"
#include "control/life/hook.h"
#include "control/life/notify.h"
#include "control/life/ready.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/life/set.h"
#include "control/life/split.h"
#include "control/life/suspend.h"
#include "control/node/node.h"
#include "control/step/step.h"

void finish_send_terminate(struct control *c, struct job *j, const struct alloc_node *a,
                           const char *why, uint32_t grace_sec)
{
    finish_send_terminate_to(c, j, c->cluster->nodes.data[a->node], why, grace_sec);
}

/* Returns the message for the user when nodes end a job in its final state. A repeated order, for
 * example to a node that was disconnected, has the same message as the first one. */
static const char *find_end_reason(const struct job *j)
{
    switch (j->state) {
    case PB__JOB_STATE__TIMEOUT:
        return j->reason == REASON_INACTIVE_LIMIT ? "INACTIVE LIMIT" : "TIME LIMIT";
    case PB__JOB_STATE__PREEMPTED:
        return "PREEMPTION";
    case PB__JOB_STATE__NODE_FAIL:
    case PB__JOB_STATE__BOOT_FAIL:
        return "NODE FAILURE";
    case PB__JOB_STATE__CANCELLED:
        return j->reason == REASON_SYSTEM_SHUTDOWN ? "SYSTEM SHUTDOWN"
               : attempt_of(j)->requeue_after      ? "REQUEUE"
                                                   : "CANCELLED";
    default:
        return NULL;
    }
}

void finish_send_terminate_to(struct control *c, struct job *j, const struct node *n,
                              const char *why, uint32_t grace_sec)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__Terminate t = PB__TERMINATE__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    t.job_id = j->id;
    t.restarts = j->restarts;
    t.uid = j->uid;
    t.gid = j->gid;
    SET(&t, grace_sec, grace_sec);
    t.why = (char *)(why ? why : find_end_reason(j));
    order.terminate = &t;
    order.attempt = facts_make_attempt(c, j, NULL, &arena);
    SET(order.attempt, exit_status, attempt_of(j)->exit_status);
    SET(order.attempt, derived_status, attempt_of(j)->derived_status);
    node_send_orders(c, n, &order);
}

void finish_send_remaining(struct control *c, struct job *j, const char *why, uint32_t grace_sec)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released)
            finish_send_terminate(c, j, a, why, grace_sec);
}

static void end_steps(struct control *c, struct job *j)
{
    while (attempt_of(j)->steps.len)
        step_remove(c, j, &vec_last(&attempt_of(j)->steps));
    while (attempt_of(j)->waiting_steps.len) {
        struct waiting_step w = step_waiting_take(c, j, j->attempt->waiting_steps.len - 1);
        control_refuse_code(c, w.call, ERR_JOB_DONE, NULL);
        str_done(&w.spec);
    }
}

/* sbatch --wait: after a job was ended, its last processes and slurmstepd's message may still be
 * written to its output, and its burst buffer may be staged out. Calls that want notices, of srun
 * and salloc, are answered at once. */
static void answer_end_calls(struct control *c, struct job *j)
{
    Pb__JobEnd end = PB__JOB_END__INIT;
    end.job_id = j->id;
    end.state = j->state;
    SET(&end, exit_status, attempt_of(j)->exit_status);
    end.failed_node = (char *)c->failed_node;
    end.why = (char *)find_end_reason(j);
    end.detail = j->reason == REASON_JOB_LAUNCH_FAILURE ? j->reason_detail : NULL;
    for (size_t i = 0; i < j->end_calls.len;) {
        uint64_t call = j->end_calls.data[i];
        bool waits = set_stages_out(j) || (attempt_of(j)->completing && end.why);
        if (waits && !notify_listens(j, call)) {
            i++;
            continue;
        }
        vec_remove(&j->end_calls, i);
        control_release(c, call);
        c->env->reply(c->env->ctx, call, &end.base);
    }
}

void finish_refuse_ended(struct control *c, uint64_t call, const struct job *j)
{
    struct err err = {0};
    if (j->state == PB__JOB_STATE__CANCELLED && !attempt_of(j)->alloc.len) {
        err_set(&err, -ERR_JOB_DONE, "job %u was cancelled while pending", j->id);
        control_refuse(c, call, &err);
        return;
    }
    bool failed = j->reason == REASON_JOB_LAUNCH_FAILURE;
    control_refuse_code(c, call, ERR_JOB_DONE, failed ? j->reason_detail : NULL);
}

void finish_answer_waiters(struct control *c, struct job *j)
{
    answer_end_calls(c, j);
    if (j->attempt && j->attempt->board)
        vec_clear(&j->attempt->board->waits);
    if (j->array)
        split_answer_waiters(c, j->array);
    trigger_job_over(c, j);
    if (j->alloc_call) {
        finish_refuse_ended(c, j->alloc_call, j);
        j->alloc_call = 0;
    }
}

int64_t finish_purge_ms(const struct control *c, int64_t ago_ms)
{
    int64_t age_ms = c->conf->min_job_age_sec * 1000;
    if (age_ms == 0)
        return INT64_MAX;
    return control_mono(c) + (ago_ms < age_ms ? age_ms - ago_ms : 0);
}

void finish_clean(struct control *c, struct job *j)
{
    if (job_nodes_left(j) || hook_holds(j))
        return;
    struct attempt *attempt = attempt_make(j);
    attempt->completing = false;
    if (!attempt->purge_mono_ms)
        record_attempt(c, j);
    resv_leave(c->cluster, j);
    step_ports_job_clean(c, j);
    free(take_ptr(attempt->held_up));
    attempt->repeat_mono_ms = 0;
    attempt->purge_mono_ms = finish_purge_ms(c, 0);
    order_remove(&c->cluster->ends, &attempt->ends);
    job_touch(c->cluster, j);
    c->plan_wanted = true;
    depend_shelve(c->cluster, j); /* if requeued, it waits again for the same dependencies */
    depend_reindex(c->cluster, j);
    depend_changed(c, j);
    if (attempt_of(j)->requeue_after) {
        finish_requeue(c, j);
        return;
    }
    /* Calls that wait for the leader wait for its components, too. */
    struct job *leader = job_set_component(j, 0);
    if (leader && job_is_final(leader) && !attempt_of(leader)->requeue_after)
        answer_end_calls(c, leader);
    if (leader && leader->array)
        split_answer_waiters(c, leader->array);
    control_schedule(c, j);
}

/* Nodes on which nothing can have run, and nothing will run, are freed without a request to
 * them. */
void finish_release_untouched(struct control *c, struct job *j)
{
    if ((c->conf->epilog && *c->conf->epilog) ||
        attempt_of(j)->script == PB__SCRIPT_KIND__SCRIPT_PROLOG)
        return;
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->touched)
            alloc_release(c->cluster, j, a);
}

static enum transition_cause find_cause(const struct job *j, enum _Pb__JobState state)
{
    switch (state) {
    case PB__JOB_STATE__TIMEOUT:
        return CAUSE_TIME_LIMIT;
    case PB__JOB_STATE__DEADLINE:
        return CAUSE_DEADLINE;
    case PB__JOB_STATE__PREEMPTED:
        return CAUSE_PREEMPTION;
    case PB__JOB_STATE__NODE_FAIL:
    case PB__JOB_STATE__BOOT_FAIL:
        return CAUSE_NODE_FAILURE;
    default:
        break;
    }
    if (j->reason == REASON_JOB_LAUNCH_FAILURE)
        return CAUSE_LAUNCH_FAILURE;
    if (j->reason == REASON_SYSTEM_SHUTDOWN)
        return CAUSE_SHUTDOWN;
    if (state != PB__JOB_STATE__CANCELLED)
        return CAUSE_EXIT;
    return attempt_of(j)->requeue_after ? CAUSE_REQUEUE : CAUSE_CANCELLATION;
}

void finish_job(struct control *c, struct job *j, enum _Pb__JobState state, int exit_status,
                enum reason reason, const char *why)
{
    bool ran = j->state != PB__JOB_STATE__PENDING;
    suspend_end(c, j);
    park_yield(c->cluster, j, false);
    if (!job_state_may_become(j->state, state))
        return;
    struct attempt *attempt = attempt_make(j);
    attempt->stopped = false;
    attempt->exit_status = exit_status;
    attempt->end_at = control_wall(c);
    attempt->end_mono_ms = control_mono(c);
    attempt->boot = control_boot(c);
    if (!ran)
        attempt->start_at = attempt->end_at;
    if (reason || attempt->requeue_after || ran) /* otherwise the reason stays why it was pending */
        j->reason = reason ? reason : attempt->requeue_after ? REASON_CLEANING : REASON_NONE;
    job_set_state(c->cluster, j, state, find_cause(j, state), why);
}

void finish_steps(struct control *c, const struct transition *t)
{
    end_steps(c, t->job);
}

/* Nodes on which nothing of the job can be are released now; the others end what is left. */
void finish_release_nodes(struct control *c, const struct transition *t)
{
    struct job *j = t->job;
    finish_release_untouched(c, j);
    if (job_nodes_left(j) == 0 && !hook_holds(j)) {
        finish_clean(c, j);
        return;
    }
    struct attempt *attempt = attempt_make(j);
    alloc_begin_completing(c->cluster, j);
    order_move(&c->cluster->ends, &attempt->ends, attempt->end_at, j->id);
    attempt->repeat_mono_ms = control_mono(c) + CONTROL_REPEAT_MS;
    finish_send_remaining(c, j, t->detail, (uint32_t)c->conf->kill_wait_sec);
    control_schedule(c, j);
}

/* Not for a job that is being requeued or is already requeued. */
void finish_tell_waiters(struct control *c, const struct transition *t)
{
    if (job_is_final(t->job) && !attempt_of(t->job)->requeue_after)
        finish_answer_waiters(c, t->job);
}

void finish_node(struct control *c, struct job *j, struct alloc_node *a)
{
    if (a->released)
        return;
    alloc_release(c->cluster, j, a);
    c->plan_wanted = true;
    if (attempt_of(j)->completing)
        finish_clean(c, j);
}

void finish_node_failed(struct control *c, struct job *j, uint32_t node)
{
    struct alloc_node *a = alloc_find(j, node);
    if (!a || a->released)
        return;
    bool host = a == job_host(j);
    finish_node(c, j, a);
    if (job_is_final(j) || j->state == PB__JOB_STATE__PENDING)
        return;
    if (j->no_kill && !host) {
        if (attempt_of(j)->readying)
            ready_look(c, j);
        else if (attempt_of(j)->rebooting)
            boot_look(c, j);
        for (size_t i = attempt_of(j)->steps.len; i-- > 0;)
            step_ended_on(c, j, attempt_of(j)->steps.data[i].id, node, 1 << 8);
        return;
    }
    control_log(c, LOG_LVL_INFO, "job %u lost node %s", j->id, c->cluster->nodes.data[node]->name);
    attempt_make(j)->requeue_after = set_may_requeue(j);
    bool boot_failed = attempt_of(j)->rebooting && !attempt_of(j)->requeue_after;
    c->failed_node = c->cluster->nodes.data[node]->name;
    finish_job(c, j, boot_failed ? PB__JOB_STATE__BOOT_FAIL : PB__JOB_STATE__NODE_FAIL, 0,
               REASON_NODE_DOWN, "NODE FAILURE");
    c->failed_node = NULL;
}

void finish_without(struct control *c, struct job *j, bool host)
{
    if (j->no_kill && !host && job_nodes_left(j) > 0) {
        job_touch(c->cluster, j);
        step_end_lost(c, j);
        return;
    }
    attempt_make(j)->requeue_after = set_may_requeue(j);
    finish_job(c, j, PB__JOB_STATE__NODE_FAIL, 0, REASON_NODE_DOWN, "NODE FAILURE");
}

/* Also sets the begin time in the request, which is read again when the job is queued, changed or
 * restored. */
static void delay_begin(struct control *c, struct job *j, int64_t sec)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t at = control_wall(c) + sec;
    if (sec == 0 || j->begin_at >= at)
        return;
    Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    SET(spec, begin_at_sec, at);
    job_repack(&j->spec, &spec->base);
    j->begin_at = at;
}

void finish_requeue_later(struct control *c, struct job *j, int64_t sec)
{
    attempt_make(j)->requeue_after = set_may_requeue(j);
    if (attempt_of(j)->requeue_after)
        delay_begin(c, j, sec);
}

/* Returns the limit before it was shortened. */
static int64_t limit_asked(const struct job *j, const Pb__JobSpec *spec)
{
    if (spec->has_time_limit_sec)
        return spec->time_limit_sec > 0 ? spec->time_limit_sec : INT64_MAX;
    if (!j->part)
        return j->limit_sec;
    const struct conf_part *p = &j->part->conf;
    return p->default_time_sec > 0 ? p->default_time_sec : p->max_time_sec;
}

/* The job waits again for all partitions of its submission, as they are now, and for the licences
 * of its request. */
static void reopen_choices(struct control *c, struct job *j)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec *spec = job_unpack_spec(j, &arena);
    struct err err = {0};
    job_set_sharing(c->cluster, j);
    license_reopen_request(c->cluster, j, spec->licenses);
    if (j->time_min_sec)
        j->limit_sec = limit_asked(j, spec);
    if (!spec->partition || !strchr(spec->partition, ',') ||
        !job_partitions_resolve(c->cluster, j, spec->partition))
        return;
    if (job_read_spec(c->cluster, j, spec, &err) != 0) { /* it keeps its present request */
        control_log(c, LOG_LVL_ERROR, "job %u: %s", j->id, err.text);
        job_partitions_end(j);
    }
    free(take_ptr(j->part_name));
}

/* MaxBatchRequeue. Requeues by scontrol and by preemption do not count. */
static void count_auto_requeue(struct control *c, struct job *j, enum _Pb__JobState ended_as)
{
    if (!j->batch || ended_as == PB__JOB_STATE__CANCELLED || ended_as == PB__JOB_STATE__PREEMPTED)
        return;
    if (++j->auto_requeues >= c->conf->max_batch_requeue)
        j->admin_hold = true;
}

/* Requeues the job as a new attempt: a node that knows the old attempt does not start it again. */
void finish_requeue(struct control *c, struct job *j)
{
    _cleanup_free_ char *attempt = job_event_describe_attempt(c, j);
    if (j->attempt)
        j->attempt->requeue_after = false;
    alloc_clear(c->cluster, j);
    if (!job_state_may_become(j->state, PB__JOB_STATE__PENDING))
        return;
    count_auto_requeue(c, j, j->state);
    resv_begin_job(c, j, NULL);
    reopen_choices(c, j);
    j->restarts = set_find_next_restarts(j);
    attempt_drop(c->cluster, j);
    delay_begin(c, j, c->conf->sched.requeue_delay);
    j->eligible_at = control_wall(c); /* a later begin time still applies */
    if (j->begin_at > j->eligible_at)
        j->eligible_at = j->begin_at;
    bool launch_failed = j->reason == REASON_JOB_LAUNCH_FAILURE;
    j->reason = REASON_NONE;
    char *why = take_ptr(j->reason_detail);
    job_set_state(c->cluster, j, PB__JOB_STATE__PENDING, CAUSE_REQUEUE, attempt);
    depend_requeue(c, j);
    enqueue_job(c, j);
    if (j->burst && j->burst->failed && why)
        j->reason_detail = mem_strdup(why);
    else if (j->held && why && launch_failed) /* Slurm's words, and the cause */
        j->reason_detail = mem_printf("launch failed requeued held: %s", why);
    else if (j->held || j->admin_hold)
        j->reason_detail = mem_strdup("job requeued in held state");
    free(why);
}

/* Parses "1-9,18", which the configuration has checked. */
static bool lists_code(const char *codes, int code)
{
    for (const char *s = codes; s && *s; s += *s == ',') {
        char *end;
        long from = strtol(s, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;
        if (from <= code && code <= to)
            return true;
        s = end;
    }
    return false;
}

/* Ends the job by the wait status of its script or step. */
void finish_ran(struct control *c, struct job *j, int status)
{
    if (status_is_out_of_memory(status))
        finish_job(c, j, PB__JOB_STATE__OUT_OF_MEMORY, status, REASON_OUT_OF_MEMORY, NULL);
    else if (status)
        finish_job(c, j, PB__JOB_STATE__FAILED, status, REASON_NONZERO_EXIT_CODE, NULL);
    else
        finish_job(c, j, PB__JOB_STATE__COMPLETED, 0, REASON_NONE, NULL);
}

void finish_batch(struct control *c, struct job *j, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    bool may = set_may_requeue(j), hold = may && lists_code(c->conf->requeue_exit_hold, code);
    attempt_make(j)->requeue_after = hold || (may && lists_code(c->conf->requeue_exit, code));
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        struct job *component = job_set_component(j, i);
        if (!component)
            continue;
        component->held = component->held || hold;
        component->special_exit = hold;
    }
    finish_ran(c, j, status);
}

void control_job_complete(struct control *c, uint64_t call, const struct caller *who,
                          const Pb__JobComplete *r)
{
    struct job *j = cluster_find_job(c->cluster, r->job_id);
    if (!j) {
        control_refuse_code(c, call, ERR_NO_JOB, NULL);
        return;
    }
    if (who->uid != j->uid && !who->is_admin) {
        control_refuse_code(c, call, control_denial(c, who, j), NULL);
        return;
    }
    if (step_is_stale(j, r->has_restarts, r->restarts)) {
        control_refuse_code(c, call, ERR_JOB_DONE, NULL);
        return;
    }
    int status = r->has_exit_status ? r->exit_status : r->step ? r->step->exit_status : 0;
    if (r->step && r->step->exit_status > attempt_of(j)->derived_status)
        attempt_make(j)->derived_status = r->step->exit_status;
    if (j->state == PB__JOB_STATE__PENDING)
        finish_job(c, j, PB__JOB_STATE__CANCELLED, 0, REASON_NONE, NULL);
    else if (!job_is_final(j) && !j->batch)
        finish_ran(c, j, status);
    control_done(c, call);
}

void control_job_wait_end(struct control *c, uint64_t call, const struct caller *who,
                          const Pb__JobIdRequest *r)
{
    struct array *a = array_find(c->cluster, r->job_id);
    Pb__StepId id = NAMED_JOB(r);
    struct job *j = a ? array_first(a) : named_any(c, &id);
    struct err err = {0};
    if (!j) {
        control_refuse_code(c, call, ERR_NO_JOB, NULL);
    } else if (!control_owns(who, j)) {
        control_refuse_code(c, call, control_denial(c, who, j), NULL);
    } else if (!a && named_job(c, &id, &j, &err) != 0) {
        control_refuse(c, call, &err);
    } else if (a) {
        split_await(c, a, call);
    } else {
        vec_push(&j->end_calls, call);
        control_hold(c, call, j);
        notify_await(c, j, call, r);
        if (job_is_final(j) && !attempt_of(j)->requeue_after)
            finish_answer_waiters(c, j);
    }
}
