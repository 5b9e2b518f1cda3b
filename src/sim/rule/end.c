/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cause and status of each attempt's end: the record is compared with the reports of nodes,
 * sruns and owners, and with the requests about the job. A record may only state what was reported
 * or what a fault has caused.
 */
#include <string.h>

#include "base/mem.h"
#include "sim/rule/rule.h"

#define LAUNCH_STATUS (1 << 8) /* status of an attempt whose tasks could not be started */
#define TERM_STATUS 15
#define KILL_STATUS 9
#define HEARD_LATE_MS 60000

static struct sim_attempt *find_end(struct sim *s, struct sim_key key, bool make)
{
    struct sim_attempt *e;
    HASH_FIND(hh, s->ends, &key, sizeof key, e);
    if (e || !make)
        return e;
    e = mem_new(struct sim_attempt);
    e->key = key;
    HASH_ADD(hh, s->ends, key, sizeof e->key, e);
    return e;
}

void sim_end_done(struct sim *s)
{
    struct sim_attempt *e, *next;
    HASH_ITER (hh, s->ends, e, next) {
        HASH_DEL(s->ends, e);
        vec_done(&e->statuses);
        free(e);
    }
}

/* --- reports ------------------------------------------------------------------------------------
 */

static void add_status(struct sim_attempt *e, int status)
{
    vec_foreach (&e->statuses, known)
        if (*known == status)
            return;
    vec_push(&e->statuses, status);
}

void sim_end_of_script(struct sim *s, struct sim_key key, int status)
{
    struct sim_attempt *e = find_end(s, key, true);
    add_status(e, status);
    e->script_ended = true;
}

void sim_end_by_owner(struct sim *s, struct sim_key key, int status)
{
    struct sim_attempt *e = find_end(s, key, true);
    add_status(e, status);
    e->owner_ended = true;
}

void sim_end_of_step(struct sim *s, struct sim_key key, int status)
{
    struct sim_attempt *e = find_end(s, key, true);
    add_status(e, status);
    e->step_ended = true;
}

void sim_end_not_launched(struct sim *s, struct sim_key key)
{
    find_end(s, key, true)->not_launched = true;
}

/* All attempts that run or will run on the node may be lost with it. */
void sim_end_node_lost(struct sim *s, unsigned node)
{
    s->nodes.data[node].lost_at_ms = s->now_ms;
}

/* --- contents of records ------------------------------------------------------------------------
 */

static bool was_reported(const struct sim_attempt *e, int status)
{
    for (size_t i = 0; e && i < e->statuses.len; i++)
        if (e->statuses.data[i] == status)
            return true;
    return false;
}

void sim_end_begins(struct sim_watch *w, int64_t now_ms)
{
    vec_clear(&w->given);
    w->given_at_ms = now_ms;
    vec_foreach (&w->shares, share)
        vec_push(&w->given, share->node);
}

/* The record says "Cleaning" instead if a requeue was ordered meanwhile. */
static bool has_reason(const struct sim_view *v, const char *reason)
{
    return strcmp(v->reason, reason) == 0 || strcmp(v->reason, "Cleaning") == 0;
}

/* The loss may precede the attempt by some time: the controller may hear of a boot late, and once
 * more if a crash loses the turn in which it heard of the boot. */
static bool has_lost_node(const struct sim *s, const struct sim_watch *w)
{
    vec_foreach (&w->given, node)
        if (s->nodes.data[*node].lost_at_ms > w->given_at_ms - HEARD_LATE_MS ||
            !s->nodes.data[*node].configured)
            return true;
    return false;
}

/* Unknown: an attempt that started in a turn that a crash has undone; its start and nodes are not
 * known here. */
static bool is_known(const struct sim_watch *w)
{
    return !w->untimed && w->ran_from_ms && w->ran.restarts == w->view.restarts && w->given.len;
}

static const char *wrong_completion(const struct sim_attempt *e, int64_t what, int status)
{
    if (status != 0)
        return "it is COMPLETED with a status";
    bool said =
        e && (what == SIM_JOB_BATCH ? e->script_ended
                                    : e->owner_ended || (what == SIM_JOB_SRUN && e->step_ended));
    return said && was_reported(e, 0) ? NULL
                                      : "it is COMPLETED, and nobody said that it ended well";
}

/* The step that srun requests together with its job may be impossible to lay out. */
static const char *wrong_failure(const struct sim_attempt *e, const struct sim_view *v,
                                 int64_t what)
{
    bool launch = has_reason(v, "JobLaunchFailure");
    bool may_fail = (e && e->not_launched) || what == SIM_JOB_SRUN;
    bool own = v->exit_status == LAUNCH_STATUS || was_reported(e, v->exit_status);
    if (launch && own && may_fail)
        return NULL;
    if (strcmp(v->reason, "JobLaunchFailure") == 0)
        return "nobody said that it was not launched";
    if (!has_reason(v, "NonZeroExitCode"))
        return "FAILED has another reason";
    if (v->exit_status == 0 || !was_reported(e, v->exit_status))
        return "nobody reported that status";
    return NULL;
}

/* The controller sets the status of steps on a node that the job has returned, or has lost while
 * the job continued. */
static bool may_be_missing_node(const struct sim *s, const struct sim_watch *w,
                                const struct sim_client *c, int status)
{
    return (c->shrinks && status == KILL_STATUS) ||
           (status == LAUNCH_STATUS && c->item->no_kill && (!is_known(w) || has_lost_node(s, w)));
}

/* --- of a job set, whose components may end together */

static const struct sim_watch *find_watched_component(const struct sim *s,
                                                      const struct sim_watch *w, uint32_t n)
{
    if (!w->set_id)
        return n ? NULL : w;
    return n < w->view.set_count ? sim_set_watch(s, w->set_id, n) : NULL;
}

static bool any_lost_node(const struct sim *s, const struct sim_watch *w)
{
    const struct sim_watch *o;
    for (uint32_t n = 0; (o = find_watched_component(s, w, n)); n++)
        if (!is_known(o) || has_lost_node(s, o))
            return true;
    return false;
}

static bool is_of_missing_node(const struct sim *s, const struct sim_watch *w)
{
    const struct sim_watch *o;
    for (uint32_t n = 0; (o = find_watched_component(s, w, n)); n++)
        if (o->client != UINT32_MAX &&
            may_be_missing_node(s, o, &s->clients.data[o->client], w->view.exit_status))
            return true;
    return false;
}

/* Merges the reports about the attempts of all components. */
static void add_reports(struct sim *s, const struct sim_watch *w, struct sim_attempt *all)
{
    const struct sim_watch *o;
    for (uint32_t n = 0; (o = find_watched_component(s, w, n)); n++) {
        const struct sim_attempt *e =
            find_end(s, (struct sim_key){o->job_id, w->view.restarts}, false);
        if (!e)
            continue;
        vec_foreach (&e->statuses, status)
            add_status(all, *status);
        all->script_ended = all->script_ended || e->script_ended;
        all->step_ended = all->step_ended || e->step_ended;
        all->owner_ended = all->owner_ended || e->owner_ended;
        all->not_launched = all->not_launched || e->not_launched;
    }
}

static const char *wrong_end(struct sim *s, const struct sim_watch *w, const struct sim_attempt *e)
{
    const struct sim_view *v = &w->view;
    const struct sim_client *c = w->client == UINT32_MAX ? NULL : &s->clients.data[w->client];
    bool own = v->exit_status == 0 || was_reported(e, v->exit_status);
    switch (v->state) {
    case PB__JOB_STATE__COMPLETED:
        return c ? wrong_completion(e, c->item->what, v->exit_status) : NULL;
    case PB__JOB_STATE__FAILED:
        return c && !is_of_missing_node(s, w) ? wrong_failure(e, v, c->item->what) : NULL;
    case PB__JOB_STATE__NODE_FAIL:
        if (!has_reason(v, "NodeDown"))
            return "NODE_FAIL has another reason";
        if (!any_lost_node(s, w))
            return "NODE_FAIL, and none of its nodes was lost";
        return own ? NULL : "nobody reported that status";
    case PB__JOB_STATE__TIMEOUT:
        if (!has_reason(v, "TimeLimit") && !has_reason(v, "InactiveLimit"))
            return "TIMEOUT has another reason";
        return own ? NULL : "nobody reported that status";
    case PB__JOB_STATE__CANCELLED:
    case PB__JOB_STATE__PREEMPTED:
        return own || v->exit_status == TERM_STATUS || v->exit_status == KILL_STATUS
                   ? NULL
                   : "nobody reported that status";
    case PB__JOB_STATE__OUT_OF_MEMORY:
        return "no node said that it had no memory";
    default:
        return NULL;
    }
}

void sim_end_check(struct sim *s, const struct sim_watch *w)
{
    struct sim_attempt reported = {0};
    add_reports(s, w, &reported);
    const char *wrong = wrong_end(s, w, &reported);
    vec_done(&reported.statuses);
    if (wrong)
        sim_break(s, "an attempt ended otherwise than was reported",
                  "job %u restart %u, state %d, status %d, %s: %s", w->job_id, w->view.restarts,
                  w->view.state, w->view.exit_status, w->view.reason, wrong);
}
