/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/life/enqueue.h"

#include <stdlib.h>

#include "control/internal.h"
#include "control/life/gate.h"
#include "control/life/priority.h"
#include "control/life/schedule.h"
#include "control/life/set.h"

/* The job leaves all queues, and is queued in its partitions when no gate is closed. */
void enqueue_job(struct control *c, struct job *j)
{
    job_partitions_unqueue(j);
    enum reason reason = gate_of_job(c, j);
    j->resv_gone = j->resv_gone && j->held;
    priority_set_all(c, j);
    if (!reason)
        reason = gate_queue(c, j);
    bool ready = !reason;
    if (ready) /* of a job set none is known before the planner has looked at it */
        reason = j->set ? set_find_reason(j) : REASON_PRIORITY;
    if (ready && c->announced) /* no pass before the shutdown would set the reason */
        reason = REASON_REQ_NODE_NOT_AVAIL;
    set_queued(c, j);
    priority_accrue(c, j, ready);
    if (j->reason != reason) {
        j->reason = reason;
        free(take_ptr(j->reason_detail));
        if (reason == REASON_SYSTEM_FAILURE)
            set_name_missing(j);
        job_touch(c->cluster, j);
    }
    if (!ready)
        set_tell_reason(c, j);
    c->plan_wanted = c->plan_wanted || ready;
    control_schedule(c, j);
}

void enqueue_leave(struct control *c, const struct transition *t)
{
    job_partitions_unqueue(t->job);
    job_partitions_end_unstarted(t->job);
    resv_unbind(t->job);
}
