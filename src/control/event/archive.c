/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/event/archive.h"

#include "base/pb.h"
#include "control/event/event.h"
#include "control/internal.h"

/* A job with --immediate that could not start at once was rejected: it is not accounted. */
static bool is_recorded(const struct control *c, const struct job *j)
{
    return !c->forgetful && !c->preview && !(j->trial && !attempt_of(j)->start_mono_ms);
}

void archive_attempt(struct control *c, struct job *j)
{
    _cleanup_str_ struct str record = STR_INIT;
    if (!is_recorded(c, j))
        return;
    job_pack_live(c->cluster, j);
    pb_pack_field(1, j->spec.data, j->spec.len, &record);
    pb_pack_field(2, j->live.data, j->live.len, &record);
    event_keep_row(c, j->uid, EVENT_ROW_ATTEMPT, &record);
}

void archive_step(struct control *c, const struct job *j, const struct step *s)
{
    _cleanup_str_ struct str record = STR_INIT;
    Pb__StepRecord r = PB__STEP_RECORD__INIT;
    if (!is_recorded(c, j))
        return;
    job_pack_step(s, &record);
    job_name_step(j, &r);
    r.step_id = s->id;
    SET(&r, uid, j->uid);
    SET(&r, state, PB__STEP_STATE__STEP_ENDED);
    SET(&r, end_at, control_wall(c));
    SET(&r, job_run_ms, attempt_ran_ms(j, control_mono(c)));
    if (j->restarts)
        SET(&r, restarts, j->restarts);
    if (job_is_final(j))
        SET(&r, ended_with_job, j->state);
    pb_pack(&r.base, &record);
    event_keep_row(c, j->uid, EVENT_ROW_STEP, &record);
}
