/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Due actions: limits, warnings, repeated orders, purges. */
#include <signal.h>

#include "control/admin/shutdown.h"
#include "control/admin/update_node.h"
#include "control/core/reply.h"
#include "control/due.h"
#include "control/event/record.h"
#include "control/event/trigger.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/cancel.h"
#include "control/life/depend.h"
#include "control/life/enqueue.h"
#include "control/life/finish.h"
#include "control/life/mail.h"
#include "control/life/priority.h"
#include "control/life/ready.h"
#include "control/life/resv.h"
#include "control/life/schedule.h"
#include "control/life/set.h"
#include "control/life/split.h"
#include "control/life/start.h"
#include "control/life/suspend.h"
#include "control/node/node.h"
#include "control/report/node_register.h"
#include "control/step/step.h"

#define PURGE_LATER_MS 1000
#define SILENT_LOOK_MS 500
/* Woken later than this: the process was suspended, load does not explain it. */
#define OVERSLEPT_MS 2000

static void repeat_orders(struct control *c, struct job *j)
{
    struct attempt *attempt = attempt_make(j);
    attempt->repeat_mono_ms = control_mono(c) + CONTROL_REPEAT_MS;
    if (attempt_of(j)->completing && job_nodes_left(j))
        finish_send_remaining(c, j, NULL, (uint32_t)c->conf->kill_wait_sec);
    else if (j->state == PB__JOB_STATE__RUNNING && j->batch && !attempt_of(j)->launched &&
             !attempt_of(j)->configuring)
        start_send_batch(c, j);
    else if (attempt_of(j)->readying && !job_is_final(j))
        ready_ask_again(c, j);
    else
        attempt->repeat_mono_ms = 0;
    if (suspend_repeat(c, j))
        attempt->repeat_mono_ms = control_mono(c) + CONTROL_REPEAT_MS;
    if (!job_is_final(j) && j->state != PB__JOB_STATE__PENDING)
        cancel_repeat_steps(c, j);
}

static void purge_job(struct control *c, struct job *j)
{
    c->env->del(c->env->ctx, RECORD_JOB, j->id, NULL);
    /* No other record says that the id was assigned. */
    if (j->id >= c->given_id && j->id < c->next_id)
        control_save_meta(c);
    split_purge(c, j);
    cluster_remove_job(c->cluster, j);
}

static void job_due(struct control *c, struct job *j)
{
    const struct attempt *attempt = attempt_of(j);
    int64_t now = control_mono(c);
    if (attempt->purge_mono_ms && now >= attempt->purge_mono_ms &&
        (depend_needs(c, j) || set_needs(j) || burst_needs(j)))
        attempt_make(j)->purge_mono_ms = now + PURGE_LATER_MS;
    if (attempt->purge_mono_ms && now >= attempt->purge_mono_ms) {
        purge_job(c, j);
        return;
    }
    bool gone = j->gone_mono_ms && now >= j->gone_mono_ms + CONTROL_WAITER_MS;
    bool runs =
        !job_is_final(j) && j->state != PB__JOB_STATE__PENDING && !attempt_of(j)->configuring;
    if ((j->state == PB__JOB_STATE__PENDING || attempt_of(j)->configuring || step_is_awaited(j)) &&
        gone)
        finish_job(c, j, PB__JOB_STATE__CANCELLED, 0, REASON_NONE, NULL);
    else if (j->state == PB__JOB_STATE__PENDING && depend_is_doomed(c, j))
        finish_job(c, j, PB__JOB_STATE__CANCELLED, 0, REASON_DEPENDENCY_NEVER_SATISFIED, NULL);
    else if (j->state == PB__JOB_STATE__PENDING && depend_has_doomed_part(c, j))
        depend_part(c, j);
    else if (j->state == PB__JOB_STATE__PENDING && deadline_missed(c, j))
        finish_job(c, j, PB__JOB_STATE__DEADLINE, 0, REASON_DEADLINE, NULL);
    else if (j->state == PB__JOB_STATE__PENDING)
        enqueue_job(c, j);
    else if (runs && now >= attempt->limit_mono_ms && attempt->grace_mono_ms &&
             now >= attempt->grace_mono_ms)
        finish_job(c, j, PB__JOB_STATE__PREEMPTED, SIGTERM, REASON_NONE, "PREEMPTION");
    else if (runs && now >= attempt->limit_mono_ms)
        finish_job(c, j, PB__JOB_STATE__TIMEOUT, 0, REASON_TIME_LIMIT, "TIME LIMIT");
    else if (runs && now >= inactive_due_ms(c, j))
        finish_job(c, j, PB__JOB_STATE__TIMEOUT, 0, REASON_INACTIVE_LIMIT, "INACTIVE LIMIT");
    runs = runs && j->state == PB__JOB_STATE__RUNNING;
    if (runs && attempt_of(j)->warn_mono_ms && now >= attempt_of(j)->warn_mono_ms)
        cancel_warn(c, j);
    if (runs && attempt_of(j)->mail_mono_ms && now >= attempt_of(j)->mail_mono_ms)
        mail_due(c, j);
    if (runs && now >= step_limit_due_ms(j))
        step_limit_enforce(c, j);
    if (!job_is_final(j) && attempt_of(j)->unlaunched_mono_ms &&
        now >= attempt_of(j)->unlaunched_mono_ms)
        step_ask_unlaunched(c, j);
    burst_due(c, j);
    if (attempt_of(j)->repeat_mono_ms && now >= attempt_of(j)->repeat_mono_ms)
        repeat_orders(c, j);
    control_schedule(c, j);
}

void control_note_awake(struct control *c)
{
    int64_t late_ms = control_mono(c) - c->wake_at_ms;
    if (c->wake_at_ms == INT64_MAX || late_ms < OVERSLEPT_MS)
        return;
    c->wake_at_ms = INT64_MAX;
    control_log(c, LOG_LVL_INFO,
                "this controller stood still for %lld s or more: nodes have SlurmdTimeout anew",
                (long long)late_ms / 1000);
    vec_foreach (&c->cluster->nodes, n)
        if ((*n)->silence.in)
            node_heard(c, *n);
    trigger_lead_await(c);
}

/* A node may seem unresponsive because this process was suspended, with the node's messages unread
 * in its socket. So a node is only failed if nothing has arrived some time later, and if this
 * process was on time for that second check. */
static void fail_unresponsive_nodes(struct control *c, int64_t now)
{
    struct order_link *l;
    while ((l = order_first(&c->cluster->unresponsive)) && l->key <= now) {
        struct node *n = order_item(l, struct node, silence);
        if (n->overdue && now - l->key < SILENT_LOOK_MS) {
            node_fail_silent(c, n);
        } else {
            n->overdue = true;
            order_move(&c->cluster->unresponsive, &n->silence, now + SILENT_LOOK_MS, n->index);
        }
    }
}

void control_tick(struct control *c)
{
    control_note_awake(c);
    int64_t now = control_mono(c);
    struct order_link *l;
    c->wake_at_ms = INT64_MAX;
    while ((l = order_first(&c->cluster->due)) && l->key <= now) {
        struct job *j = order_item(l, struct job, due);
        order_remove(&c->cluster->due, l);
        job_due(c, j);
    }
    fail_unresponsive_nodes(c, now);
    update_node_resume_due(c);
    trigger_lead_tick(c);
    shutdown_tick(c);
    priority_tick(c);
    resv_tick(c);
    burst_tick(c);
}
