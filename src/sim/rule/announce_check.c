/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Promises about an announced shutdown: nothing starts, and running jobs end at the announced time.
 */
#include "sim/rule/rule.h"

#define LATE_MS 2000

void sim_announce_check_given(struct sim *s, uint32_t job_id)
{
    if (s->announced.is == SIM_ANNOUNCED)
        sim_break(s, "a job was started under an announced shutdown", "job %u", job_id);
}

void sim_announce_check_end(struct sim *s, uint32_t job_id)
{
    if (s->announced.is == SIM_ANNOUNCED && s->announced.timed &&
        s->now_ms < s->announced.due_ms - SIM_ANNOUNCE_EARLY_MS)
        sim_break(s, "an announced shutdown came early", "job %u was ended %lld ms before it",
                  job_id, (long long)(s->announced.due_ms - s->now_ms));
    if (s->announced.is == SIM_NOT_ANNOUNCED)
        sim_break(s, "a job was ended for a shutdown that is not announced", "job %u", job_id);
}

void sim_announce_check_late(struct sim *s)
{
    if (s->announced.is != SIM_ANNOUNCED || !s->announced.timed ||
        s->now_ms < s->announced.due_ms + LATE_MS)
        return;
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next)
        if (w->view.there && w->view.state == PB__JOB_STATE__RUNNING)
            sim_break(s, "an announced shutdown is not kept", "job %u runs %lld ms later",
                      w->job_id, (long long)(s->now_ms - s->announced.due_ms));
}
