/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes the reports of nodes: results of launches, scripts and jobs, and their resource
 * usage. */
#include <stdio.h>

#include "base/status.h"
#include "cluster/job/usage.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/aside_job.h"
#include "control/life/cancel.h"
#include "control/life/finish.h"
#include "control/life/notify.h"
#include "control/life/ready.h"
#include "control/life/schedule.h"
#include "control/life/set.h"
#include "control/life/suspend.h"
#include "control/node/node.h"
#include "control/report/node_register.h"
#include "control/step/step.h"

#define SPOOL_RETRY_SEC 60

/* Writes "What: text, job 42": the keyword comes first, because listings truncate reasons. */
static void drain_for(struct control *c, struct node *n, const char *what, const char *text,
                      uint32_t job_id)
{
    struct str reason = STR_INIT;
    str_printf(&reason, "%s%s%s, job %u", what, text && *text ? ": " : "", text ? text : "",
               job_id);
    node_drain(c, n, str_cstr(&reason));
    str_done(&reason);
}

/* Requeues the job if requeue_after is set. */
static void not_launched(struct control *c, struct job *j)
{
    finish_job(c, j, PB__JOB_STATE__FAILED, 1 << 8, REASON_JOB_LAUNCH_FAILURE, NULL);
}

/* The job is requeued and held: a defect of this node's prolog may affect every node. */
static void prolog_failed(struct control *c, struct node *n, struct job *j, const char *text)
{
    bool always = j->batch && conf_list_has(c->conf->prolog_flags, "ForceRequeueOnFail");

    drain_for(c, n, "Prolog error", text, j->id);
    attempt_make(j)->requeue_after = set_may_requeue(j) || always;
    if (attempt_of(j)->requeue_after && !c->conf->sched.nohold_on_prolog_fail)
        j->held = true;
    not_launched(c, j);
}

/* The job has not run. It would fail on other nodes and on retries, until an administrator has
 * intervened. */
static void user_env_failed(struct control *c, struct job *j)
{
    attempt_make(j)->requeue_after = set_may_requeue(j);
    j->held = j->held || attempt_of(j)->requeue_after;
    not_launched(c, j);
}

/* Space is freed when other jobs end. The node is not drained, because any user could cause
 * that. */
static void spool_was_full(struct control *c, struct job *j)
{
    finish_requeue_later(c, j, SPOOL_RETRY_SEC);
    not_launched(c, j);
}

static struct job *find_attempt(struct control *c, uint32_t id, uint32_t restarts)
{
    struct job *j = cluster_find_job(c->cluster, id);
    return j && j->restarts == restarts ? j : NULL;
}

static bool refused_for_time(const Pb__Launched *e)
{
    return e->has_issued_at_ms && (e->code == ERR_CREDENTIAL_EXPIRED || e->code == ERR_SKEW);
}

/* Whether the report was already old when it arrived after a network outage: a newer one
 * follows. */
static bool is_outdated_refusal(const struct control *c, const Pb__Launched *e)
{
    return e->code == ERR_CREDENTIAL_EXPIRED &&
           c->env->wall_ms(c->env->ctx) - e->issued_at_ms >= CONTROL_CRED_MS;
}

/* Every job would fail on this node. This job has not run, and can run elsewhere. */
static void node_at_fault(struct control *c, struct node *n, struct job *j, const char *what,
                          const char *text)
{
    drain_for(c, n, what, text, j->id);
    attempt_make(j)->requeue_after = set_may_requeue(j);
    not_launched(c, j);
}

static void on_launched(struct control *c, struct node *n, const Pb__Launched *e)
{
    struct job *j = find_attempt(c, e->job_id, e->restarts);
    if (!j || j->state == PB__JOB_STATE__PENDING || job_is_final(j) || !j->batch ||
        job_host(j)->node != n->index)
        return;
    if (e->code == 0) {
        if (!attempt_of(j)->launched)
            job_touch(c->cluster, j);
        attempt_make(j)->launched = true;
        if (!cancel_is_pending(j) && !suspend_is_pending(j))
            attempt_make(j)->repeat_mono_ms = 0;
        control_schedule(c, j);
        return;
    }
    control_log_limited(c, j->uid, LOG_LVL_ERROR, "job %u could not be started on %s: %s", j->id,
                        n->name, e->text ? e->text : err_text(e->code));
    if (refused_for_time(e) && is_outdated_refusal(c, e))
        return;
    free(j->reason_detail);
    j->reason_detail = mem_strdup(e->text);
    if (refused_for_time(e))
        node_at_fault(c, n, j, "Clock skew", e->text);
    else if (e->code == ERR_NODE_FAULT)
        node_at_fault(c, n, j, "Launch failure", e->text);
    else if (e->code == ERR_USER_ENV)
        user_env_failed(c, j);
    else if (e->code == ERR_SPOOL_FULL)
        spool_was_full(c, j);
    else if (e->has_drain && e->drain)
        prolog_failed(c, n, j, e->text);
    else
        not_launched(c, j);
}

static void on_prolog_failed(struct control *c, struct node *n, const Pb__PrologFailed *e)
{
    struct job *j = find_attempt(c, e->job_id, e->restarts);
    const struct alloc_node *a = j ? alloc_find(j, n->index) : NULL;
    if (!a || a->released || job_is_final(j)) {
        drain_for(c, n, "Prolog error", e->text, e->job_id);
        return;
    }
    free(j->reason_detail);
    j->reason_detail = mem_strdup(e->text);
    prolog_failed(c, n, j, e->text);
}

static void on_batch_ended(struct control *c, struct node *n, const Pb__BatchEnded *e)
{
    struct job *j = find_attempt(c, e->job_id, e->restarts);
    struct alloc_node *a = j ? alloc_find(j, n->index) : NULL;
    bool gone = e->has_gone && e->gone;
    if (!j)
        aside_ended(c, e->job_id, e->exit_status);
    if (gone)
        node_clear_orphan(c, n, e->job_id, e->restarts);
    if (!a || j->state == PB__JOB_STATE__PENDING)
        return;
    if (job_is_final(j)) {
        if (attempt_of(j)->completing && e->exit_status) {
            attempt_make(j)->exit_status = e->exit_status;
            job_touch(c->cluster, j);
        }
        if (gone)
            finish_node(c, j, a);
        return;
    }
    if (gone)
        alloc_release(c->cluster, j, a);
    int status = e->has_out_of_memory && e->out_of_memory ? STATUS_OUT_OF_MEMORY : e->exit_status;
    bool late = e->has_timed_out && e->timed_out;
    if (status && e->text && *e->text) {
        free(j->reason_detail);
        j->reason_detail = mem_strdup(e->text);
    }
    if (late)
        finish_job(c, j, PB__JOB_STATE__TIMEOUT, status, REASON_TIME_LIMIT, NULL);
    else
        finish_batch(c, j, status);
}

static void on_gone(struct control *c, struct node *n, const Pb__JobGone *e)
{
    node_clear_orphan(c, n, e->job_id, e->restarts);
    if (e->has_epilog_status && e->epilog_status)
        drain_for(c, n, "Epilog error", e->text, e->job_id);
    struct job *j = find_attempt(c, e->job_id, e->restarts);
    struct alloc_node *a = j ? alloc_find(j, n->index) : NULL;
    if (a && attempt_of(j)->completing)
        finish_node(c, j, a);
}

/* Shows the delay in the job's reason, and notifies a waiting srun or salloc. */
static void on_held_up(struct control *c, struct node *n, const Pb__HeldUp *e)
{
    struct job *j = find_attempt(c, e->job_id, e->restarts);
    const struct alloc_node *a = j ? alloc_find(j, n->index) : NULL;
    if (!a || a->released || j->state == PB__JOB_STATE__PENDING)
        return;
    struct attempt *attempt = attempt_make(j);
    _cleanup_free_ char *by_node = mem_printf("%s: ", n->name);
    if (!e->text && !(attempt->held_up && str_starts(attempt->held_up, by_node)))
        return;
    free(attempt->held_up);
    attempt->held_up = e->text ? mem_printf("%s%.500s", by_node, e->text) : NULL;
    job_touch(c->cluster, j);
    if (attempt->held_up)
        control_log(c, LOG_LVL_INFO, "job %u is held up, %s", j->id, attempt->held_up);
    if (attempt->held_up)
        notify_held_up(c, j);
}

/* A repeated event is not counted twice, whatever this controller remembers of it. */
static void count_usage(struct control *c, struct node *n, const Pb__NodeEvent *e)
{
    const Pb__BatchEnded *b = e->batch_ended;
    const Pb__StepEnded *t = e->step_ended;
    const Pb__Usage *usage = b ? b->usage : t ? t->usage : NULL;
    struct job *j =
        usage ? find_attempt(c, b ? b->job_id : t->job_id, b ? b->restarts : t->restarts) : NULL;
    struct alloc_node *a = j ? alloc_find(j, n->index) : NULL;
    struct step *s = a && t ? step_find(j, t->step_id) : NULL;
    if (!a || e->seq <= a->usage_seq)
        return;
    a->usage_seq = e->seq;
    if (!attempt_of(j)->usage)
        attempt_make(j)->usage = mem_new(struct str);
    usage_merge_packed(attempt_of(j)->usage, usage, n->name, false);
    if (s)
        usage_merge_packed(&s->usage, usage, n->name, true);
    job_touch(c->cluster, j);
}

static void on_event(struct control *c, struct node *n, const Pb__NodeEvent *e)
{
    count_usage(c, n, e);
    if (e->launched)
        on_launched(c, n, e->launched);
    if (e->batch_ended)
        on_batch_ended(c, n, e->batch_ended);
    if (e->step_ended) {
        const Pb__StepEnded *s = e->step_ended;
        struct job *j = find_attempt(c, s->job_id, s->restarts);
        bool memory = s->has_out_of_memory && s->out_of_memory;
        if (j && s->text && alloc_find(j, n->index)) {
            free(j->reason_detail);
            j->reason_detail = mem_strdup(s->text);
            job_touch(c->cluster, j);
        }
        if (j)
            step_ended_on(c, j, s->step_id, n->index,
                          memory ? STATUS_OUT_OF_MEMORY : s->exit_status);
    }
    if (e->job_gone)
        on_gone(c, n, e->job_gone);
    if (e->trouble)
        node_drain(c, n, e->trouble->reason);
    if (e->prolog_failed)
        on_prolog_failed(c, n, e->prolog_failed);
    if (e->held_up)
        on_held_up(c, n, e->held_up);
    if (e->halted)
        suspend_halted(c, n, e->halted);
    if (e->prepared)
        ready_node(c, n, e->prepared);
}

/* The node was unresponsive for too long and given up, but its session survived: its present state
 * is unknown. */
static void request_node_report(struct control *c, const struct node *n)
{
    Pb__Empty empty = PB__EMPTY__INIT;
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    order.report = &empty;
    node_send_orders(c, n, &order);
}

void control_node_report(struct control *c, const char *name, const Pb__NodeReport *r)
{
    struct node *n = cluster_find_node(c->cluster, name);
    uint64_t last = 0;
    if (!n)
        return;
    node_heard(c, n);
    if (!n->registered)
        request_node_report(c, n);
    if (r->has_free_mem_mib)
        n->free_mem_mib = r->free_mem_mib;
    if (r->has_cpu_load_centi)
        n->load_centi = r->cpu_load_centi;
    for (size_t i = 0; i < r->n_events; i++) {
        on_event(c, n, r->events[i]);
        last = r->events[i]->seq > last ? r->events[i]->seq : last;
    }
    if (last)
        c->env->ack(c->env->ctx, name, last);
}
