/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --deadline: a job that could not end before its deadline is not started, and a job that starts
 * late gets only the time that is left. Only the clock decides, never an estimate: a job is
 * cancelled when even a start at this moment would be too late, whatever start is planned.
 */
#include "control/life/deadline.h"
#include "base/timefmt.h"
#include "control/internal.h"

#define LOOK_SEC 3600 /* the wall clock may be set: check again */

int64_t deadline_needed_sec(const struct job *j)
{
    if (j->time_min_sec)
        return j->time_min_sec;
    return j->limit_sec == INT64_MAX ? 0 : j->limit_sec;
}

bool deadline_missed(const struct control *c, const struct job *j)
{
    return j->deadline_at && control_wall(c) + deadline_needed_sec(j) > j->deadline_at;
}

int64_t deadline_due_ms(const struct control *c, const struct job *j)
{
    if (!j->deadline_at)
        return INT64_MAX;
    int64_t wait = j->deadline_at - deadline_needed_sec(j) + 1 - control_wall(c);
    wait = wait < 0 ? 0 : wait < LOOK_SEC ? wait : LOOK_SEC;
    return control_mono(c) + wait * 1000;
}

void deadline_limit(const struct control *c, struct job *j)
{
    int64_t left = j->deadline_at - control_wall(c);
    if (j->deadline_at && left < j->limit_sec)
        j->limit_sec = left > 1 ? left : 1;
}

int deadline_check(const struct control *c, const struct job *j, struct err *err)
{
    char when[TIME_TEXT_MAX];

    if (!deadline_missed(c, j))
        return 0;
    if (j->deadline_at <= control_wall(c))
        return err_set(err, -ERR_DEADLINE, "%s: %s is in the past", err_text(ERR_DEADLINE),
                       time_format_date(j->deadline_at, "", when));
    return err_set(err, -ERR_DEADLINE, "%s: the job needs %lld seconds, and has %lld",
                   err_text(ERR_DEADLINE), (long long)deadline_needed_sec(j),
                   (long long)(j->deadline_at - control_wall(c)));
}
