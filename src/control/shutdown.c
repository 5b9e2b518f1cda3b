/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An announced shutdown (CORE-158): nothing is started any more; what still runs when its time has
 * come is ended as at a time limit, with KillWait between SIGTERM and SIGKILL, and goes back to the
 * queue where it may. --signal warns before that as before a time limit.
 */
#include <signal.h>

#include "control/internal.h"

#define CLEAN_MS 10000 /* for what comes after SIGKILL: epilogs, and the nodes' word */

/* Jobs that hold nodes, by id: what is done to one may end others. */
static void each_holding(struct control *c, void (*act)(struct control *, struct job *))
{
    VEC(uint32_t) ids = {0};
    for (struct order_link *l = order_first(&c->cluster->ends); l; l = order_next(l))
        vec_push(&ids, order_item(l, struct job, ends)->id);
    vec_foreach (&ids, id) {
        struct job *j = cluster_find_job(c->cluster, *id);
        if (j)
            act(c, j);
    }
    vec_done(&ids);
}

static void set_warning(struct control *c, struct job *j)
{
    if (job_is_final(j) || j->configuring)
        return;
    control_set_end(c, j);
    control_schedule(c, j);
}

static void end_job(struct control *c, struct job *j)
{
    if (job_is_final(j))
        return;
    control_log(c, LOG_LVL_INFO, "job %u is ended for the announced shutdown", j->id);
    j->requeue_after = j->may_requeue;
    finish_job(c, j, PB__JOB_STATE__CANCELLED, SIGTERM, "SystemShutdown", "SYSTEM SHUTDOWN");
}

void control_announce(struct control *c, int64_t in_sec)
{
    bool retract = in_sec < 0;
    c->shutdown_mono_ms = retract ? 0 : control_mono(c) + in_sec * 1000;
    c->shutdown_passed = false;
    if (retract)
        control_log(c, LOG_LVL_INFO, "the announced shutdown is called off");
    else
        control_log(c, LOG_LVL_INFO,
                    "shutdown announced: nothing starts any more, %zu jobs have %lld s left",
                    c->cluster->ends.count, (long long)in_sec);
    each_holding(c, set_warning);
    c->plan_wanted = true;
}

bool control_is_announced(const struct control *c)
{
    return c->shutdown_mono_ms != 0;
}

static int64_t last_ms(const struct control *c)
{
    return c->shutdown_mono_ms + CLEAN_MS +
           (c->conf->kill_wait_sec + c->conf->unkillable_step_timeout_sec) * 1000;
}

bool control_may_shut_down(const struct control *c)
{
    if (!c->shutdown_mono_ms)
        return false;
    return !c->cluster->ends.count || (c->shutdown_passed && control_mono(c) >= last_ms(c));
}

int64_t shutdown_due_ms(const struct control *c)
{
    if (!c->shutdown_mono_ms || control_may_shut_down(c))
        return INT64_MAX;
    return c->shutdown_passed ? last_ms(c) : c->shutdown_mono_ms;
}

void shutdown_tick(struct control *c)
{
    if (!c->shutdown_mono_ms || c->shutdown_passed || control_mono(c) < c->shutdown_mono_ms)
        return;
    c->shutdown_passed = true;
    each_holding(c, end_job);
}
