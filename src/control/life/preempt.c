/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preemption as decided by the planner: a victim is ended, requeued or suspended, according to
 * PreemptMode of its partition. The preemptor starts when the resources are free; until then the
 * planner reserves the nodes. Suspended victims resume automatically.
 */
#include <signal.h>

#include "control/core/reply.h"
#include "control/event/job_event.h"
#include "control/internal.h"
#include "control/life/cancel.h"
#include "control/life/finish.h"
#include "control/life/preempt.h"
#include "control/life/schedule.h"
#include "control/life/suspend.h"
#include "sched/plan/preempt.h"

static int64_t grace_sec(const struct job *j)
{
    return j->part && j->part->conf.grace_time_sec > 0 ? j->part->conf.grace_time_sec : 0;
}

/* Signals a victim with a GraceTime. A victim that waits for its turn gets the signal when it
 * resumes; SIGCONT would let it run beside the job whose turn it is. */
static void warn_job(struct control *c, struct job *j)
{
    bool own = j->warn_signal && preempt_has(c->conf, "send_user_signal");
    if (!attempt_stands_by(j))
        cancel_notify(c, j, SIGCONT);
    cancel_notify(c, j, own ? (int)j->warn_signal : SIGTERM);
}

static void end_preempted(struct control *c, struct job *j)
{
    int64_t grace = grace_sec(j);
    attempt_make(j)->preempted_at = control_wall(c);
    if (!grace || attempt_of(j)->configuring || attempt_is_parked(j)) {
        finish_job(c, j, PB__JOB_STATE__PREEMPTED, SIGTERM, REASON_NONE, "PREEMPTION");
        return;
    }
    attempt_make(j)->grace_mono_ms = control_mono(c) + grace * 1000;
    park_yield(c->cluster, j, true);
    warn_job(c, j);
    control_set_end(c, j);
    job_touch(c->cluster, j);
    control_schedule(c, j);
}

static void requeue_victim(struct control *c, struct job *j)
{
    attempt_make(j)->preempted_at = control_wall(c);
    attempt_make(j)->requeue_after = true;
    finish_job(c, j, PB__JOB_STATE__PREEMPTED, SIGTERM, REASON_NONE, "PREEMPTION");
}

/* Returns the component with this offset if it holds nodes; for an ordinary job the job itself. */
static struct job *find_preempted_component(const struct job *j, uint32_t offset)
{
    struct job *component = job_set_component(j, offset);
    return component && !job_is_final(component) ? component : NULL;
}

/* The other components follow their leader, except those with a GraceTime of their own. */
static void displace_set(struct control *c, struct job *leader, enum preempt_mode mode)
{
    for (uint32_t i = job_set_count(leader) - 1; i > 0; i--) {
        struct job *j = find_preempted_component(leader, i);
        if (!j)
            continue;
        if (mode == PREEMPT_SUSPEND)
            suspend_for_preemptor(c, j);
        else if (mode == PREEMPT_CANCEL && grace_sec(j))
            end_preempted(c, j);
        else
            attempt_make(j)->preempted_at = control_wall(c);
    }
}

void preempt_displace(struct control *c, struct job *j, const struct job *by)
{
    enum preempt_mode mode = preempt_mode_of_job(c->conf, j);
    if (!attempt_has_units(j) || mode == PREEMPT_OFF)
        return;
    if (mode == PREEMPT_REQUEUE && !j->may_requeue)
        mode = PREEMPT_CANCEL;
    const char *how = mode == PREEMPT_SUSPEND   ? "suspended"
                      : mode == PREEMPT_REQUEUE ? "queued again"
                                                : "ended";
    control_log(c, LOG_LVL_INFO, "job %u is %s to make room for job %u", j->id, how, by->id);
    control_sched(c, "sched: JobId=%s is preempted for JobId=%s", JOB_ID_TEXT(j), JOB_ID_TEXT(by));
    displace_set(c, j, mode);
    if (mode == PREEMPT_SUSPEND)
        suspend_for_preemptor(c, j);
    else if (mode == PREEMPT_REQUEUE)
        requeue_victim(c, j);
    else
        end_preempted(c, j);
    c->plan_wanted = true;
}

void preempt_resume(struct control *c, struct job *j)
{
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        struct err err = {0};
        struct job *component = find_preempted_component(j, i);
        if (!component || component->state != PB__JOB_STATE__SUSPENDED)
            continue;
        if (suspend_resume(c, component, &err) != 0)
            control_log(c, LOG_LVL_ERROR, "job %u cannot go on: %s", component->id, err.text);
        else
            control_log(c, LOG_LVL_INFO, "job %u goes on", component->id);
    }
}

void preempt_restored(struct control *c, struct job *j)
{
    if (!attempt_of(j)->preempted_at || job_is_final(j) || j->state == PB__JOB_STATE__PENDING)
        return;
    int64_t left = attempt_of(j)->preempted_at + grace_sec(j) - control_wall(c);
    left = left < 0 ? 0 : left > grace_sec(j) ? grace_sec(j) : left;
    attempt_make(j)->grace_mono_ms = control_mono(c) + left * 1000;
}
