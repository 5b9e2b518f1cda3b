/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Job sets: which clients' jobs are components of one set, and the promises about their records.
 * All components start at the same moment or none does; they are queued, requeued and suspended
 * together; the end of the leader ends the others. The check runs after each turn, and on the
 * disk's records after each restart. The id of a component is the leader's id plus its offset.
 */
#include <string.h>

#include "sim/rule/rule.h"

/* --- by the plan --------------------------------------------------------------------------------
 */

struct sim_client *sim_set_leader(struct sim *s, const struct sim_client *c)
{
    long leader = c->item->component_of ? sim_client_find(s, c->item->component_of) : -1;
    return leader < 0 ? NULL : &s->clients.data[leader];
}

/* A partition limits more than the node count of a job; or a job gets more CPUs than it requests,
 * and each CPU adds memory. */
static bool has_limits(const struct sim *s)
{
    bool whole = s->whole_nodes || s->whole_sockets, has = false, by_cpu = false;
    vec_foreach (&s->plan->items, item) {
        bool part = item->kind == SIM_ITEM_PART;
        whole = whole || (part && strstr(item->text, "=CR_Socket"));
        has = has || (part && strstr(item->text, "MaxCPUs")) ||
              (part && strstr(item->text, "OverSubscribe=EXCLUSIVE"));
        by_cpu = by_cpu || strstr(item->text, "DefMemPerCPU=");
    }
    return has || (whole && by_cpu);
}

/* The component fits on any empty node, and no later request asked for more. */
static bool is_request_small(const struct sim_client *c)
{
    const struct sim_item *j = c->item;
    if (c->shrinks || c->asked[SIM_CLAIM_MEMORY] || c->asked[SIM_CLAIM_FEATURES])
        return false;
    struct sim_item little;
    sim_plan_item(&little, SIM_ITEM_JOB);
    little.id = j->id;
    little.at_ms = j->at_ms;
    little.what = j->what;
    little.uid = j->uid;
    little.component_of = j->component_of;
    little.limit_sec = j->limit_sec;
    little.run_ms = j->run_ms;
    little.requeue = j->requeue;
    little.steps = j->steps;
    little.step_ms = j->step_ms;
    little.step_tasks = j->step_tasks;
    little.held = j->held;
    little.tasks = j->tasks < 2 ? j->tasks : 0;
    little.exit_code = j->exit_code;
    little.begin_sec = j->begin_sec;
    return sim_plan_items_equal(&little, j);
}

/* The whole set fits when nothing else runs, since each component can have a node. */
bool sim_set_must_fit(struct sim *s, uint32_t set_id)
{
    const struct sim_watch *w = sim_watch_find(s, set_id);
    size_t nodes = 0;
    if (!w || w->client == UINT32_MAX)
        return false;
    const struct sim_client *leader = &s->clients.data[w->client];
    vec_foreach (&s->nodes, n)
        nodes += n->configured && n->filed && !n->dynamic;
    bool little = is_request_small(leader) && !has_limits(s);
    for (size_t i = 1; i < sim_set_count(s, leader); i++)
        little = little && is_request_small(sim_set_component(s, leader, i));
    return little && nodes >= sim_set_count(s, leader);
}

/* --- by the records -----------------------------------------------------------------------------
 */

struct sim_watch *sim_set_watch(const struct sim *s, uint32_t set_id, uint32_t offset)
{
    struct sim_watch *w = sim_watch_find(s, set_id + offset);
    return w && w->set_id == set_id ? w : NULL;
}

struct seen { /* one component of each kind; NULL: none */
    const struct sim_watch *pending, *running, *standing, *returning, *over;
    const struct sim_watch *displaced, *kept;
};

static void look_at_component(struct seen *seen, const struct sim_watch *w)
{
    const struct sim_view *v = &w->view;
    bool holds = v->state == PB__JOB_STATE__RUNNING || v->state == PB__JOB_STATE__SUSPENDED;
    if (v->state == PB__JOB_STATE__PENDING)
        seen->pending = w;
    else if (v->state == PB__JOB_STATE__RUNNING)
        seen->running = w;
    else if (v->state == PB__JOB_STATE__SUSPENDED)
        seen->standing = w;
    else if (v->requeue_after)
        seen->returning = w;
    else
        seen->over = w;
    if (holds && v->displaced)
        seen->displaced = w;
    else if (holds)
        seen->kept = w;
}

#define BREAK_TWO(s, promise, a, b, when)                                                          \
    sim_break(s, promise, "%s: job %u, and job %u of the same set", when, (a)->job_id, (b)->job_id)

static void check_states(struct sim *s, const struct seen *seen, const struct sim_watch *leader,
                         const char *when)
{
    const struct sim_watch *holds = seen->running ? seen->running : seen->standing;
    const struct sim_watch *goes_on = holds           ? holds
                                      : seen->pending ? seen->pending
                                                      : seen->returning;
    if (seen->pending && holds)
        BREAK_TWO(s, "a component runs while another one is pending", holds, seen->pending, when);
    if (seen->pending && seen->over)
        BREAK_TWO(s, "a component waits while another one is over", seen->pending, seen->over,
                  when);
    if (seen->returning && holds)
        BREAK_TWO(s, "a component runs while another one returns to the queue", holds,
                  seen->returning, when);
    if (seen->returning && seen->over)
        BREAK_TWO(s, "a component returns to the queue while another one is over", seen->returning,
                  seen->over, when);
    bool begins = seen->running && seen->running->view.configuring && seen->standing &&
                  sim_turn_awaited(seen->standing); /* the component will follow the others */
    if (seen->running && seen->standing && !begins)
        BREAK_TWO(s, "a component stands still while another one runs", seen->standing,
                  seen->running, when);
    if (seen->displaced && seen->kept)
        BREAK_TWO(s, "a component makes room and another one does not", seen->displaced, seen->kept,
                  when);
    if (leader && leader->view.there && leader == seen->over && goes_on)
        BREAK_TWO(s, "the leader is over and a component goes on", leader, goes_on, when);
}

/* A component starts when its own prolog and its burst buffer function have ended. */
static bool has_prolog(const struct sim *s)
{
    vec_foreach (&s->plan->items, item)
        if (item->kind == SIM_ITEM_CONF &&
            (strstr(item->text, "Prolog") || strstr(item->text, "BurstBuffer")))
            return true;
    return false;
}

/* Components that run now are of the same attempt, and started at the same moment. */
static void check_begin(struct sim *s, const struct sim_watch *a, const struct sim_watch *b,
                        const char *when)
{
    if (a->view.restarts != b->view.restarts)
        BREAK_TWO(s, "components run in different attempts", a, b, when);
    if (a->given_at_ms != b->given_at_ms && !a->untimed && !b->untimed)
        BREAK_TWO(s, "components were not given their nodes at the same moment", a, b, when);
    if (a->view.start_at != b->view.start_at && !has_prolog(s))
        BREAK_TWO(s, "components have not begun at the same moment", a, b, when);
}

/* 'any' is a component that exists. */
static void check_set(struct sim *s, const struct sim_watch *any, const char *when)
{
    struct seen seen = {0};
    const struct sim_watch *leader = sim_set_watch(s, any->set_id, 0), *purged = NULL, *runs = NULL;
    bool all_over = true;
    for (uint32_t i = 0; i < any->view.set_count; i++) {
        const struct sim_watch *w = sim_set_watch(s, any->set_id, i);
        if (!w || (!w->view.there && !w->purged)) {
            sim_break(s, "a set has lost a component", "%s: component %u of job %u", when, i,
                      any->set_id);
            return;
        }
        if (!w->view.there) {
            purged = w;
            continue;
        }
        if (w->view.set_id != any->set_id || w->view.set_offset != i ||
            w->view.set_count != any->view.set_count)
            sim_break(s, "a component is in another place of its set",
                      "%s: job %u is %u of %u of job %u", when, w->job_id, w->view.set_offset,
                      w->view.set_count, w->view.set_id);
        look_at_component(&seen, w);
        all_over = all_over && sim_view_is_final(w->view.state) && !w->view.requeue_after;
        if (w->view.state != PB__JOB_STATE__RUNNING && w->view.state != PB__JOB_STATE__SUSPENDED)
            continue;
        if (runs)
            check_begin(s, runs, w, when);
        runs = w;
    }
    check_states(s, &seen, leader, when);
    if (purged && !all_over)
        sim_break(s, "a component was forgotten that others need", "%s: job %u", when,
                  purged->job_id);
}

void sim_set_put(struct sim *s, struct sim_watch *w, const struct sim_view *before)
{
    const struct sim_view *v = &w->view;
    w->set_id = v->set_count ? v->set_id : 0;
    if (before->there && (before->set_id != v->set_id || before->set_offset != v->set_offset ||
                          before->set_count != v->set_count))
        sim_break(s, "a job left its set, or went to another one", "job %u", w->job_id);
    if (v->set_count)
        vec_push(&s->sets_put, w->job_id);
}

void sim_set_turn(struct sim *s)
{
    vec_foreach (&s->sets_put, id) {
        const struct sim_watch *w = sim_watch_find(s, *id);
        if (w->view.there && w->view.set_count)
            check_set(s, w, "after a turn");
    }
    vec_clear(&s->sets_put);
}

void sim_set_restart(struct sim *s)
{
    vec_clear(&s->sets_put);
    for (struct sim_watch *w = s->watches; w; w = w->hh.next) {
        w->set_id = w->view.there && w->view.set_count ? w->view.set_id : w->set_id;
        if (w->view.there && w->view.set_count)
            check_set(s, w, "on disk");
    }
}

/* --- answers ------------------------------------------------------------------------------------
 */

/* Each component is on disk with its set, or has been purged. */
void sim_set_promised(struct sim *s, const struct sim_client *leader)
{
    size_t count = sim_set_count(s, leader);
    s->result->sets += count > 1 && !sim_set_component(s, leader, 1)->job_id;
    for (size_t i = 1; i < count; i++) {
        struct sim_client *c = sim_set_component(s, leader, i);
        const struct sim_watch *w = sim_watch_find(s, leader->job_id + (uint32_t)i);
        struct sim_view v;
        c->job_id = leader->job_id + (uint32_t)i;
        if (w && w->purged)
            continue;
        if (!sim_view_stored(s, c->job_id, &v) || v.set_id != leader->job_id || v.set_offset != i ||
            v.set_count != count || v.name[0] != 'j' ||
            strtoll(v.name + 1, NULL, 10) != c->item->id)
            sim_break(s, "a component of an acknowledged job is not on disk", "job %u, %zu of %u",
                      c->job_id, i, leader->job_id);
    }
}

/* The whole set is cancelled, and no component may continue. The ids of a set are unknown until its
 * submission is acknowledged. */
void sim_set_cancelled(struct sim *s, const struct sim_client *leader)
{
    for (size_t i = 1; leader->job_id && i < sim_set_count(s, leader); i++) {
        const struct sim_client *c = sim_set_component(s, leader, i);
        const struct sim_watch *w = sim_watch_find(s, c->job_id);
        struct sim_view v;
        if (w && w->purged)
            continue;
        if (!sim_view_stored(s, c->job_id, &v) || !sim_view_is_final(v.state) || v.requeue_after)
            sim_break(s, "a cancelled job of which a component goes on",
                      "job %u of job %u is in state %d on disk", c->job_id, leader->job_id,
                      v.state);
    }
}

/* An order that is allowed only for the whole set was accepted for one component. */
void sim_set_check_order(struct sim *s, const struct sim_client *c, const struct sim_item *a)
{
    bool whole = a->what == SIM_DO_SUSPEND || a->what == SIM_DO_CONTINUE ||
                 a->what == SIM_DO_REQUEUE || a->what == SIM_DO_REQUEUE_HOLD;
    if (whole && c->job_id && sim_set_leader(s, c))
        sim_break(s, "an order for one component was taken that is for all", "job %u", c->job_id);
}
