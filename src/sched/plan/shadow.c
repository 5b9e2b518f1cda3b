/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>

#include "cluster/job/whole_cores.h"
#include "sched/license.h"
#include "sched/plan/node_free.h"
#include "sched/plan/shadow.h"
#include "sched/plan/timeline.h"
#include "sched/select/resv.h"

struct count {
    uint64_t nodes, tasks;
};

static void count_node(const struct cluster *c, const struct spare_need *need,
                       const struct free_view *view, size_t node, struct count *n)
{
    const struct node_kind *k = &c->pool.kinds.data[c->pool.kind[node]];
    uint32_t tasks = need->whole && !view->whole[node]
                         ? 0
                         : spare_tasks(need, view->units[node] * k->cpus_per_unit);
    n->nodes += tasks > 0;
    n->tasks += tasks;
}

/* Adds as few as possible of the nodes with free resources. */
static void add_open(const struct cluster *c, const struct spare_need *need,
                     const struct free_view *view, const struct bitset *open, struct count n,
                     struct bitset *set)
{
    bitset_foreach (open, i) {
        if (n.nodes >= need->nodes && n.tasks >= need->tasks)
            return;
        bitset_set(set, (size_t)i);
        count_node(c, need, view, (size_t)i, &n);
    }
}

void shadow_choose_nodes(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                         const struct free_view *view, struct selection *where)
{
    struct spare_need need = plan_need(j);
    struct selection other = {0};
    struct count n = {0};
    _cleanup_bitset_ struct bitset *set = bitset_dup(allowed);
    _cleanup_bitset_ struct bitset *open = bitset_dup(allowed);
    bitset_and(open, c->pool.spare.open);
    if (bitset_empty(open))
        return;
    bitset_andnot(set, open);
    if (j->want.req) {
        bitset_or(set, j->want.req);
        bitset_and(set, allowed);
        bitset_andnot(open, set);
    }
    bitset_foreach (set, i)
        count_node(c, &need, view, (size_t)i, &n);
    add_open(c, &need, view, open, n, set);
    if (select_nodes(c, j, set, view, &other) == 0) {
        struct selection keep = *where;
        *where = other;
        other = keep;
    }
    select_done(&other);
}

/* Maximum times with enough resources in total but without a possible choice. */
#define TRIES 12
#define FORESEEN_TRIES 4

bool shadow_serves(const struct cluster *c, const struct job *j)
{
    return !j->want.shared && !j->want.overcommit && !whole_cores_may_apply(c->conf, &j->want) &&
           j->part->conf.max_cpus_per_node == UINT32_MAX &&
           j->part->conf.max_cpus_per_socket == UINT32_MAX;
}

/* --- free resources later -----------------------------------------------------------------------
 */

/* Returns false if other jobs share the same units. */
static bool give_back(struct shadow *s, const struct alloc_node *a)
{
    const struct cluster *c = s->cluster;
    const struct node *n = c->nodes.data[a->node];
    struct free_view *v = &s->then;
    struct node_free left = node_free_in(v, a->node, c->pool.gres_kinds);
    if (n->use)
        return false;
    if (n->exclusive && !a->parked)
        node_free_open(left, n);
    else
        node_free_give_units(left, n, a, a->parked ? 0 : a->units);
    node_free_give_back(left, n, a);
    v->whole[a->node] = v->units[a->node] == n->units;
    if (v->whole[a->node] && !n->parked)
        v->users[a->node] = (struct node_users){0};
    if (bitset_test(c->pool.usable, a->node))
        spare_set(&s->spare, a->node, v->units[a->node] * n->cpus_per_unit, v->whole[a->node]);
    return true;
}

/* Releases the resources of all jobs that end in the same second as this one; NULL: see
 * give_back(). */
static struct order_link *pass_moment(struct shadow *s, struct order_link *l, int64_t now_sec,
                                      int64_t *at, bool *shared)
{
    *at = l->key > now_sec ? l->key : now_sec;
    for (; l && (l->key <= *at); l = order_next(l))
        vec_foreach (&attempt_of(job_of_end(l))->alloc, a)
            if (!a->released && !give_back(s, a)) {
                *shared = true;
                return NULL;
            }
    return l;
}

/* --- the planned start --------------------------------------------------------------------------
 */

static void take_shares(const struct cluster *c, struct free_view *v, const struct selection *where)
{
    vec_foreach (&where->shares, share)
        node_free_take(node_free_in(v, share->node, c->pool.gres_kinds), where, share);
}

/* Places the job, for which running jobs leave enough at that time. False: reservations exclude
 * it. */
static bool place_job(struct shadow *s, const struct job *j, const struct bitset *allowed,
                      struct selection *where)
{
    const struct cluster *c = s->cluster;
    const struct resv *in = resv_home(j);
    _cleanup_bitset_ struct bitset *set = bitset_dup(allowed);
    _cleanup_(license_view_done) struct license_view v = {0};
    const struct free_view *view = license_view_init(&v, NULL, c, j, in, s->at_sec, &s->then);
    if (c->resvs.len) {
        select_clear(where);
        if (!resv_narrow(s->resv, j, in, s->at_sec, set))
            return false;
        view = resv_view(s->resv, j, in, s->at_sec, view);
        if (select_nodes(c, j, set, view, where) != 0)
            return false;
    }
    if (!view->pools) /* other nodes may draw from other pools, which changes what is left */
        shadow_choose_nodes(c, j, set, view, where);
    return true;
}

/* Whether running jobs leave enough for the job at that time. */
static bool is_foreseen(const struct shadow *s, const struct job *j, const struct bitset *allowed,
                        int64_t at, struct selection *where)
{
    _cleanup_(license_view_done) struct license_view v = {0};
    _cleanup_bitset_ struct bitset *open = bitset_dup(allowed);
    const struct free_view *view =
        license_view_init(&v, NULL, s->cluster, j, resv_home(j), at, &s->then);
    if (!leaf_matters(s->cluster, j))
        bitset_and(open, s->spare.open);
    return select_nodes(s->cluster, j, open, view, where) == 0;
}

/* Sets s->at_sec to the first end from 'l' on at which running jobs leave enough; CALENDAR_NEVER:
 * there is none. False: no answer is possible. */
static bool find_moment(struct shadow *s, const struct job *j, const struct bitset *allowed,
                        struct order_link *l, int64_t not_before, unsigned tries,
                        struct selection *where)
{
    struct spare_need need = plan_need(j);
    bool shared = false;
    while (l) {
        int64_t at;
        l = pass_moment(s, l, s->calendar.now_sec, &at, &shared);
        if (shared)
            return false;
        if (at < not_before || !spare_might_do(&s->spare, &need))
            continue;
        if (is_foreseen(s, j, allowed, at, where)) {
            s->at_sec = at;
            return true;
        }
        select_clear(where);
        if (--tries == 0)
            return false;
    }
    return true;
}

bool shadow_foresee(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                    int64_t now_sec, int64_t not_before, int64_t *at_sec)
{
    struct shadow s;
    struct selection where = {0};
    struct spare_need need = plan_need(j);
    struct order_link *l = order_first(&c->ends);
    bool shared = false;
    int64_t at;
    shadow_begin(&s, c, NULL, now_sec);
    while (l && !shared && l->key <= not_before)
        l = pass_moment(&s, l, now_sec, &at, &shared);
    bool fits = !shared && spare_might_do(&s.spare, &need) &&
                is_foreseen(&s, j, allowed, not_before, &where);
    bool found =
        !shared && !fits && find_moment(&s, j, allowed, l, not_before, FORESEEN_TRIES, &where);
    *at_sec = s.at_sec;
    select_done(&where);
    calendar_done(&s.calendar);
    return found && *at_sec != CALENDAR_NEVER;
}

/* Counts a node with 'less' units fewer than now. */
static void count_least(struct shadow *s, uint32_t node, uint32_t less)
{
    const struct cluster *c = s->cluster;
    const struct node_kind *k = &c->pool.kinds.data[c->pool.kind[node]];
    uint32_t now = c->pool.now.units[node] - less;
    uint32_t units = now < s->then.units[node] ? now : s->then.units[node];
    spare_set(&s->spare, node, units * k->cpus_per_unit, units == k->units);
}

/* Computes what is free now beside the planned job. */
static void see_beside(struct shadow *s)
{
    spare_done(&s->spare);
    spare_init(&s->spare, s->cluster->nodes.len);
    bitset_foreach (s->cluster->pool.spare.open, i)
        count_least(s, (uint32_t)i, 0);
}

static const struct calendar_ops shadow_ops;

void shadow_begin(struct shadow *s, const struct cluster *c, struct resv_plan *resv,
                  int64_t now_sec)
{
    *s = (struct shadow){
        .calendar = {&shadow_ops, now_sec}, .cluster = c, .resv = resv, .at_sec = CALENDAR_NEVER};
    pool_view_copy(&s->then, &c->pool.now, c->nodes.len, c->pool.gres_kinds);
    s->then.present = false;
    spare_copy(&s->spare, &c->pool.spare);
}

static bool find_start(struct calendar *cal, const struct job *j, const struct bitset *allowed,
                       int64_t not_before, struct selection *where, int64_t *at_sec)
{
    struct shadow *s = (struct shadow *)cal;
    bool waits_for_resv =
        s->cluster->resvs.len && select_nodes(s->cluster, j, allowed, &s->then, where) == 0;
    if (waits_for_resv ||
        !find_moment(s, j, allowed, order_first(&s->cluster->ends), not_before, TRIES, where) ||
        (s->at_sec != CALENDAR_NEVER && !place_job(s, j, allowed, where)))
        return false;
    *at_sec = s->at_sec;
    return true;
}

static void reserve_start(struct calendar *cal, const struct job *j, const struct selection *where,
                          int64_t at_sec)
{
    struct shadow *s = (struct shadow *)cal;
    _cleanup_(select_done) struct selection wide = {0};
    assert(s->at_sec == at_sec);
    take_shares(s->cluster, &s->then, select_widen(s->cluster, j, where, &wide));
    see_beside(s);
}

static void end_shadow(struct calendar *cal)
{
    struct shadow *s = (struct shadow *)cal;
    pool_view_done(&s->then);
    pool_view_done(&s->least);
    spare_done(&s->spare);
    *s = (struct shadow){0};
}

/* --- jobs beside the planned start --------------------------------------------------------------
 */

static bool touches_plan(const struct shadow *s, const struct job *j, int64_t now_sec)
{
    return s->at_sec != INT64_MAX && job_ends_at(j, now_sec) > s->at_sec;
}

static bool might_fit(const struct calendar *cal, const struct job *j)
{
    const struct shadow *s = (const struct shadow *)cal;
    struct spare_need need = plan_need(j);
    return !touches_plan(s, j, cal->now_sec) || spare_might_do(&s->spare, &need);
}

static void see_least(struct shadow *s, const struct job *j, const struct bitset *allowed)
{
    const struct cluster *c = s->cluster;
    _cleanup_bitset_ struct bitset *all = select_scope(c, j);
    const struct free_view *now = &c->pool.now, *then = &s->then;
    size_t kinds = c->pool.gres_kinds;
    if (!s->least.units)
        pool_view_init(&s->least, c->nodes.len, kinds);
    bitset_foreach (all ? all : allowed, i) {
        struct node_free least = node_free_in(&s->least, (uint32_t)i, kinds);
        node_free_copy(least, node_free_in(now, (uint32_t)i, kinds), kinds);
        node_free_limit(least, node_free_in(then, (uint32_t)i, kinds), kinds);
        s->least.users[i] = now->users[i];
        s->least.whole[i] =
            now->whole[i] && *least.units == c->pool.kinds.data[c->pool.kind[i]].units;
    }
    s->least.present = true;
}

static bool fit_now(struct calendar *cal, const struct job *j, const struct resv *in,
                    const struct bitset *allowed, struct selection *where)
{
    struct shadow *s = (struct shadow *)cal;
    if (!touches_plan(s, j, cal->now_sec))
        return true;
    see_least(s, j, allowed);
    select_clear(where);
    const struct free_view *view = resv_view(s->resv, j, in, cal->now_sec, &s->least);
    _cleanup_(license_view_done) struct license_view v = {0};
    if (s->claims)
        view = license_view_init(&v, s->claims, s->cluster, j, in, cal->now_sec, view);
    return select_nodes(s->cluster, j, allowed, view, where) == 0;
}

static void begin_job(struct calendar *cal, const struct job *j, const struct selection *where)
{
    struct shadow *s = (struct shadow *)cal;
    _cleanup_(select_done) struct selection wide = {0};
    where = select_widen(s->cluster, j, where, &wide);
    if (touches_plan(s, j, cal->now_sec))
        take_shares(s->cluster, &s->then, where);
    vec_foreach (&where->shares, share)
        count_least(s, share->node, share->units);
}

static const struct calendar_ops shadow_ops = {"shadow",  shadow_serves, find_start, reserve_start,
                                               might_fit, fit_now,       begin_job,  end_shadow};
