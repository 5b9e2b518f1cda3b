/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is due: limits, warnings, orders that are given again, the end of what is kept. */
#include <signal.h>

#include "control/submit/submit.h"

#define BEGIN_LOOK_SEC 60
#define PURGE_LATER_MS 1000
#define SILENT_LOOK_MS 500
#define OVERSLEPT_MS 2000 /* woken later than this: not for load, nothing ran here */

/* Seconds that jobs of its partition may exceed their limits by. */
static int64_t over_limit_sec(const struct control *c, const struct job *j)
{
    int64_t of_part = j->part ? j->part->conf.over_time_limit_sec : -1;
    return of_part >= 0 ? of_part : c->conf->over_time_limit_sec;
}

int64_t control_left_sec(const struct control *c, const struct job *j)
{
    if (j->state == PB__JOB_STATE__SUSPENDED) /* nobody knows when it goes on */
        return CLUSTER_NO_LIMIT_SEC;
    int64_t left = job_limit_sec(j) - (control_mono(c) - attempt_of(j)->start_mono_ms) / 1000;
    return left > 0 ? left : 0;
}

void control_set_end(struct control *c, struct job *j)
{
    struct attempt *attempt = attempt_make(j);
    int64_t over = over_limit_sec(c, j), now = control_mono(c);
    if (j->state == PB__JOB_STATE__SUSPENDED) {
        attempt->limit_mono_ms = INT64_MAX;
        attempt->warn_mono_ms = attempt->mail_mono_ms = 0;
        return;
    }
    int64_t limit_at = attempt->start_mono_ms + job_limit_sec(j) * 1000;
    bool never = j->limit_sec == INT64_MAX || over >= CLUSTER_NO_LIMIT_SEC;
    attempt->limit_mono_ms = never ? INT64_MAX : limit_at + over * 1000;
    int64_t resv_ms = resv_limit_ms(c, j);
    attempt->limit_mono_ms = resv_ms < attempt->limit_mono_ms ? resv_ms : attempt->limit_mono_ms;
    if (attempt->grace_mono_ms && attempt->grace_mono_ms < attempt->limit_mono_ms)
        attempt->limit_mono_ms = attempt->grace_mono_ms;
    if (attempt->limit_mono_ms < now)
        attempt->limit_mono_ms = now;
    mail_schedule(c, j);
    attempt->warn_mono_ms = 0;
    if (j->limit_sec == INT64_MAX)
        limit_at = INT64_MAX;
    if (c->announced && c->shutdown_mono_ms < limit_at)
        limit_at = c->shutdown_mono_ms;
    if (j->warn_signal && !attempt_of(j)->warned && limit_at != INT64_MAX) {
        int64_t at = limit_at - (int64_t)j->warn_sec * 1000;
        attempt->warn_mono_ms = at > now ? at : now;
    }
}

static void earlier(int64_t *due, int64_t at)
{
    if (at > 0 && at < *due)
        *due = at;
}

void control_schedule(struct control *c, struct job *j)
{
    const struct attempt *attempt = attempt_of(j);
    int64_t due = INT64_MAX;
    c->triggers.stale = true; /* one may wait for its limit */
    if (j->state == PB__JOB_STATE__PENDING) {
        int64_t wait = j->begin_at - control_wall(c);
        if (wait > 0) /* a time of the wall clock, which may be set meanwhile */
            earlier(&due, control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        wait = depend_wait_sec(c, j);
        if (wait > 0)
            earlier(&due, control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        if (depend_is_doomed(c, j) || depend_has_doomed_part(c, j))
            earlier(&due, control_mono(c));
        earlier(&due, deadline_due_ms(c, j));
        wait = j->preempt_look_at - control_wall(c);
        if (wait > 0)
            earlier(&due, control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        wait = plan_switches_until(c->cluster, j) - control_wall(c);
        if (wait > 0)
            earlier(&due, control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        if (j->gone_mono_ms)
            earlier(&due, j->gone_mono_ms + CONTROL_WAITER_MS);
    } else {
        if ((attempt_of(j)->configuring || step_is_awaited(j)) && j->gone_mono_ms)
            earlier(&due, j->gone_mono_ms + CONTROL_WAITER_MS);
        if (!job_is_final(j) && !attempt_of(j)->configuring) {
            earlier(&due, attempt->limit_mono_ms);
            earlier(&due, attempt->warn_mono_ms);
            earlier(&due, attempt->mail_mono_ms);
            earlier(&due, attempt->unlaunched_mono_ms);
            earlier(&due, inactive_due_ms(c, j));
            earlier(&due, step_limit_due_ms(j));
        }
        earlier(&due, attempt->repeat_mono_ms);
        earlier(&due, attempt->purge_mono_ms);
    }
    if (due == INT64_MAX)
        order_remove(&c->cluster->due, &j->due);
    else
        order_move(&c->cluster->due, &j->due, due, j->id);
}

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

static void purge(struct control *c, struct job *j)
{
    c->env->del(c->env->ctx, RECORD_JOB, j->id, NULL);
    if (j->id >= c->given_id && j->id < c->next_id) /* nothing else says that it was given */
        control_save_meta(c);
    split_purge(c, j);
    cluster_remove_job(c->cluster, j);
}

static void job_due(struct control *c, struct job *j)
{
    const struct attempt *attempt = attempt_of(j);
    int64_t now = control_mono(c);
    if (attempt->purge_mono_ms && now >= attempt->purge_mono_ms && depend_needs(c, j))
        attempt_make(j)->purge_mono_ms = now + PURGE_LATER_MS;
    if (attempt->purge_mono_ms && now >= attempt->purge_mono_ms) {
        purge(c, j);
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
        submit_enqueue(c, j);
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

/* A node's time may be over because this process stood still, with the node's messages unread in
 * its socket. So a node is failed only if nothing of it has come some time later, and if this
 * process was not late for that second look either. */
static void fail_silent_nodes(struct control *c, int64_t now)
{
    struct order_link *l;
    while ((l = order_first(&c->cluster->silent)) && l->key <= now) {
        struct node *n = order_item(l, struct node, silence);
        if (n->overdue && now - l->key < SILENT_LOOK_MS) {
            node_fail_silent(c, n);
        } else {
            n->overdue = true;
            order_move(&c->cluster->silent, &n->silence, now + SILENT_LOOK_MS, n->index);
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
    fail_silent_nodes(c, now);
    update_node_resume_due(c);
    trigger_lead_tick(c);
    shutdown_tick(c);
    priority_tick(c);
    resv_tick(c);
}
