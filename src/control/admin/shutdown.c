/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An announced shutdown (CORE-158): no job starts; jobs that still run at its time are ended as at
 * a time limit, with KillWait between SIGTERM and SIGKILL, and requeued if permitted. --signal
 * warns before it as before a time limit. The announcement is a record: a controller that is
 * started meanwhile continues it without repeating what was done.
 */
#include <signal.h>

#include "base/pb.h"
#include "control/admin/shutdown.h"
#include "control/core/reply.h"
#include "control/internal.h"
#include "control/life/finish.h"
#include "control/life/schedule.h"
#include "control/life/set.h"

#define CLEAN_MS 10000 /* time after SIGKILL for epilogs and the reports of nodes */
#define LAST_SEC (INT64_C(1) << 40)

/* Calls act() for jobs that hold nodes, by id: an action on one job may end others. */
static void each_holding(struct control *c, void (*act)(struct control *, struct job *))
{
    VEC(uint32_t) ids = {0};
    for (struct order_link *l = order_first(&c->cluster->ends); l; l = order_next(l))
        vec_push(&ids, job_of_end(l)->id);
    vec_foreach (&ids, id) {
        struct job *j = cluster_find_job(c->cluster, *id);
        if (j)
            act(c, j);
    }
    vec_done(&ids);
}

static void set_warning(struct control *c, struct job *j)
{
    if (job_is_final(j) || attempt_of(j)->configuring)
        return;
    control_set_end(c, j);
    control_schedule(c, j);
}

static void end_job(struct control *c, struct job *j)
{
    if (job_is_final(j) || j->state == PB__JOB_STATE__PENDING) /* ended with another component */
        return;
    control_log(c, LOG_LVL_INFO, "job %u is ended for the announced shutdown", j->id);
    attempt_make(j)->requeue_after = set_may_requeue(j);
    finish_job(c, j, PB__JOB_STATE__CANCELLED, SIGTERM, REASON_SYSTEM_SHUTDOWN, "SYSTEM SHUTDOWN");
}

/* --- its record ---------------------------------------------------------------------------------
 */

static void save_shutdown(struct control *c)
{
    struct str packed = STR_INIT;
    Pb__Announced m = PB__ANNOUNCED__INIT;
    if (c->shutdown_over)
        return;
    m.has_at_sec = m.has_at_mono_ms = m.has_boot = true;
    m.at_sec = (c->env->wall_ms(c->env->ctx) + c->shutdown_mono_ms - control_mono(c) + 999) / 1000;
    m.at_mono_ms = c->shutdown_mono_ms;
    m.boot = control_boot(c);
    m.has_passed = m.passed = c->shutdown_passed;
    pb_pack(&m.base, &packed);
    c->env->put(c->env->ctx, RECORD_SHUTDOWN, 0, NULL, packed.data, packed.len);
    str_done(&packed);
}

int shutdown_restore(struct control *c, const void *data, size_t len, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__Announced *m = arena_unpack(&arena, &pb__announced__descriptor, data, len);
    if (!m)
        return err_set(err, -ERR_STORE_DAMAGED,
                       "the announced shutdown: its record does not decode");
    if (m->at_sec < 1 || m->at_sec > LAST_SEC || m->at_mono_ms < 0 ||
        m->at_mono_ms > LAST_SEC * 1000)
        return err_set(err, -ERR_STORE_DAMAGED,
                       "the announced shutdown: its record has no time that can be");
    if (m->base.n_unknown_fields)
        return err_set(err, -ERR_VERSION,
                       "the announced shutdown was written by a newer version, with what this one "
                       "does not know and could not keep");
    c->announced = true;
    c->shutdown_passed = m->passed;
    if (m->boot && m->boot == control_boot(c))
        c->shutdown_mono_ms = m->at_mono_ms;
    else /* another machine or another boot: only the wall clock is left */
        c->shutdown_mono_ms = control_mono(c) + m->at_sec * 1000 - c->env->wall_ms(c->env->ctx);
    if (c->shutdown_mono_ms < 0) /* before this boot, which the record cannot express */
        c->shutdown_mono_ms = 0;
    return 0;
}

void shutdown_resume(struct control *c)
{
    int64_t now = control_mono(c);
    c->start_mono_ms = now;
    if (!c->announced)
        return;
    /* No controller ran at that time: the grace of jobs begins now. */
    if (!c->shutdown_passed && c->shutdown_mono_ms < now)
        c->shutdown_mono_ms = now;
    control_log(
        c, LOG_LVL_INFO, "a shutdown is announced: nothing starts, jobs %s %lld s",
        c->shutdown_passed ? "were told to end, for" : "have",
        (long long)(c->shutdown_passed ? now - c->shutdown_mono_ms : c->shutdown_mono_ms - now) /
            1000);
    save_shutdown(c);
}

static void forget_shutdown(struct control *c)
{
    if (c->announced && !c->shutdown_over)
        c->env->del(c->env->ctx, RECORD_SHUTDOWN, 0, NULL);
}

/* This process still remembers the shutdown: no job starts in its last turns. */
void shutdown_over(struct control *c)
{
    forget_shutdown(c);
    c->shutdown_over = true;
}

/* --- execution ----------------------------------------------------------------------------------
 */

void control_announce(struct control *c, int64_t in_sec)
{
    if (in_sec < 0) {
        forget_shutdown(c);
        c->announced = false;
        control_log(c, LOG_LVL_INFO, "the announced shutdown is called off");
    } else {
        c->announced = true;
        c->shutdown_passed = false;
        c->shutdown_mono_ms = control_mono(c) + in_sec * 1000;
        save_shutdown(c);
        control_log(c, LOG_LVL_INFO, "shutdown announced: no job starts, %zu jobs have %lld s left",
                    c->cluster->ends.count, (long long)in_sec);
    }
    each_holding(c, set_warning);
    c->plan_wanted = true;
}

bool control_is_announced(const struct control *c)
{
    return c->announced;
}

static int64_t last_ms(const struct control *c)
{
    return c->shutdown_mono_ms + CLEAN_MS +
           (c->conf->kill_wait_sec + c->conf->unkillable_step_timeout_sec) * 1000;
}

/* Soon after a start some nodes that must stop as well are not connected yet. */
static bool reaches_nodes(const struct control *c)
{
    if (control_mono(c) - c->start_mono_ms >= CLEAN_MS)
        return true;
    vec_foreach (&c->cluster->nodes, n)
        if (!(*n)->connected && !(*n)->down && !(*n)->future)
            return false;
    return true;
}

static bool is_empty(const struct control *c)
{
    return !c->cluster->ends.count || (c->shutdown_passed && control_mono(c) >= last_ms(c));
}

bool control_may_shut_down(const struct control *c)
{
    return c->announced && is_empty(c) && reaches_nodes(c);
}

int64_t shutdown_due_ms(const struct control *c)
{
    if (!c->announced || control_may_shut_down(c))
        return INT64_MAX;
    if (is_empty(c))
        return c->start_mono_ms + CLEAN_MS;
    return c->shutdown_passed ? last_ms(c) : c->shutdown_mono_ms;
}

void shutdown_tick(struct control *c)
{
    if (!c->announced || c->shutdown_passed || control_mono(c) < c->shutdown_mono_ms)
        return;
    c->shutdown_passed = true;
    c->shutdown_mono_ms = control_mono(c);
    save_shutdown(c);
    each_holding(c, end_job);
}
