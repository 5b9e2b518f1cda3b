/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The clock of a job: the end of its time limit, and the next action.
 *
 * InactiveLimit: an allocation ends when its srun or salloc is gone. A running client holds the
 * call through which it gets messages (notify.c); the call ends with the connection, also when the
 * host is unresponsive. Sruns of steps count as well. After a restart each client has the whole
 * time to reconnect.
 *
 * --deadline: a job that could not end before its deadline is not started, and a job that starts
 * late gets only the time that is left. Only the clock decides, never an estimate: a job is
 * cancelled when even a start at this moment would be too late, whatever start is planned.
 */
#include "control/life/schedule.h"
#include "base/timefmt.h"
#include "control/event/trigger.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/depend.h"
#include "control/life/mail.h"
#include "control/life/resv.h"
#include "control/life/suspend.h"
#include "control/step/step.h"

#define BEGIN_LOOK_SEC 60

/* Returns the seconds by which jobs of its partition may exceed their limits. */
static int64_t over_limit_sec(const struct control *c, const struct job *j)
{
    int64_t of_part = j->part ? j->part->conf.over_time_limit_sec : -1;
    return of_part >= 0 ? of_part : c->conf->over_time_limit_sec;
}

int64_t control_ran_ms(const struct control *c, const struct job *j)
{
    return attempt_ran_ms(j, control_mono(c));
}

void control_start_clock(struct control *c, struct job *j, int64_t ran_ms)
{
    struct attempt *attempt = attempt_make(j);
    attempt->start_mono_ms = control_mono(c) - ran_ms;
    attempt->start_wall_ms = control_wall_ms(c) - ran_ms;
    attempt->boot = control_boot(c);
}

int64_t control_left_ms(const struct control *c, const struct job *j)
{
    if (attempt_is_parked(j))
        return CLUSTER_NO_LIMIT_SEC * 1000;
    int64_t left_ms = job_limit_sec(j) * 1000 - control_ran_ms(c, j);
    return left_ms > 0 ? left_ms : 0;
}

/* Returns the end of the job if it runs from now on. */
static int64_t ends_at(const struct control *c, const struct job *j)
{
    return control_wall(c) + (control_left_ms(c, j) + 999) / 1000;
}

void control_move_end(struct control *c, struct job *j)
{
    order_move(&c->cluster->ends, &attempt_make(j)->ends, ends_at(c, j), j->id);
    suspend_move_end(c, j);
}

void control_set_end(struct control *c, struct job *j)
{
    struct attempt *attempt = attempt_make(j);
    int64_t over = over_limit_sec(c, j), now = control_mono(c);
    if (j->state == PB__JOB_STATE__SUSPENDED) {
        attempt->limit_mono_ms = attempt->grace_mono_ms ? attempt->grace_mono_ms : INT64_MAX;
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

static void take_earlier(int64_t *due, int64_t at)
{
    if (at > 0 && at < *due)
        *due = at;
}

void control_schedule(struct control *c, struct job *j)
{
    const struct attempt *attempt = attempt_of(j);
    int64_t due = INT64_MAX;
    c->triggers->stale = true; /* a trigger may wait for its limit */
    take_earlier(&due, burst_due_ms(j));
    if (j->state == PB__JOB_STATE__PENDING) {
        int64_t wait = j->begin_at - control_wall(c);
        if (wait > 0) /* a wall clock time, which may change */
            take_earlier(&due,
                         control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        wait = depend_wait_sec(c, j);
        if (wait > 0)
            take_earlier(&due,
                         control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        if (depend_is_doomed(c, j) || depend_has_doomed_part(c, j))
            take_earlier(&due, control_mono(c));
        take_earlier(&due, deadline_due_ms(c, j));
        wait = j->preempt_look_at - control_wall(c);
        if (wait > 0)
            take_earlier(&due,
                         control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        wait = plan_switches_until(c->cluster, j) - control_wall(c);
        if (wait > 0)
            take_earlier(&due,
                         control_mono(c) + (wait < BEGIN_LOOK_SEC ? wait : BEGIN_LOOK_SEC) * 1000);
        if (j->gone_mono_ms)
            take_earlier(&due, j->gone_mono_ms + CONTROL_WAITER_MS);
    } else {
        if ((attempt_of(j)->configuring || step_is_awaited(j)) && j->gone_mono_ms)
            take_earlier(&due, j->gone_mono_ms + CONTROL_WAITER_MS);
        if (!job_is_final(j) && !attempt_of(j)->configuring) {
            take_earlier(&due, attempt->limit_mono_ms);
            take_earlier(&due, attempt->warn_mono_ms);
            take_earlier(&due, attempt->mail_mono_ms);
            take_earlier(&due, attempt->unlaunched_mono_ms);
            take_earlier(&due, inactive_due_ms(c, j));
            take_earlier(&due, step_limit_due_ms(j));
        }
        take_earlier(&due, attempt->repeat_mono_ms);
        take_earlier(&due, attempt->purge_mono_ms);
    }
    if (due == INT64_MAX)
        order_remove(&c->cluster->due, &j->due);
    else
        order_move(&c->cluster->due, &j->due, due, j->id);
}

#define SLACK_MS 5000 /* for a client that is reconnecting or just starting */

static bool is_meant(const struct control *c, const struct job *j)
{
    return c->conf->inactive_limit_sec > 0 && !j->batch && !j->want.unattended &&
           job_set_is_leader(j) &&
           !(j->part && j->part->conf.root_only); /* the user who started it there is responsible */
}

void inactive_look(struct control *c, struct job *j)
{
    struct attempt *attempt = attempt_make(j);
    bool attended = attempt->board && attempt->board->waits.len;
    if (attended)
        attempt->left_mono_ms = 0;
    else if (!attempt->left_mono_ms)
        attempt->left_mono_ms = control_mono(c);
}

int64_t inactive_due_ms(const struct control *c, const struct job *j)
{
    int64_t left = attempt_of(j)->left_mono_ms;
    if (!left || j->state != PB__JOB_STATE__RUNNING || attempt_of(j)->configuring ||
        !is_meant(c, j))
        return INT64_MAX;
    return left + c->conf->inactive_limit_sec * 1000 + SLACK_MS;
}

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
