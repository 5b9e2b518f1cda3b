/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layers of hierarchical resources in a pass over the queue: the units of each layer that a job
 * may take, the nodes that remain possible, and the layer that is charged. */
#include <stdlib.h>

#include "cluster/job/license_layer.h"
#include "cluster/job/license_tied.h"
#include "cluster/resv/license_kept.h"
#include "sched/common.h"
#include "sched/plan.h"
#include "sched/select/license_internal.h"
#include "sched/select/resv.h"

/* Returns, by layer of the need, the units that running jobs return until then. */
static uint64_t *count_given_back(const struct cluster *c, const struct license_need *need,
                                  int64_t until)
{
    int32_t end = license_end_of(c, need);
    uint64_t *back = mem_new_array(uint64_t, (size_t)(end - need->at));
    for (struct order_link *l = order_first(&c->ends); l && l->key <= until; l = order_next(l))
        vec_foreach (&attempt_of(job_of_end(l))->holds, hold)
            if (hold->at >= need->at && hold->at < end)
                back[hold->at - need->at] += hold->count;
    return back;
}

/* Returns the units of the layer that the job may take from 'at' to its time limit. used: by
 * running jobs. */
static uint64_t find_room(const struct license_claims *l, const struct cluster *c,
                          const struct job *j, const struct resv *in, int32_t layer, uint64_t used,
                          int64_t at)
{
    uint64_t total = c->licenses.list.data[layer].total, taken = used;
    if (l)
        taken += license_claimed_at(l, j, true, layer, at) +
                 license_kept(c, layer, in, at, job_ends_at(j, at));
    uint64_t room = total > taken ? total - taken : 0;
    for (size_t i = 0; l && i < l->list.len; i++) {
        const struct license_claim *claim = &l->list.data[i];
        if (claim->at != layer || claim->by == j->id || claim->from <= at ||
            claim->from >= job_ends_at(j, at))
            continue;
        uint64_t left = claim->spare + license_claimed_at(l, j, false, layer, claim->from);
        left += room - license_beyond(layer, room, in); /* what its reservation gives it */
        room = license_least(room, left);
    }
    return room;
}

/* Fills room with the result of find_room() for all layers of the need. */
static void find_rooms(const struct license_claims *l, const struct cluster *c, const struct job *j,
                       const struct resv *in, const struct license_need *need, const uint64_t *back,
                       int64_t at, uint64_t *room)
{
    const struct license *pools = c->licenses.list.data;
    int32_t end = license_end_of(c, need);
    int64_t until = job_ends_at(j, at);
    bool has_own = false;
    for (int32_t k = need->at; k < end; k++)
        room[k] = pools[k].used - (back ? back[k - need->at] : 0) +
                  (l ? license_kept(c, k, in, at, until) : 0);
    for (size_t i = 0; l && i < l->list.len; i++) {
        const struct license_claim *claim = &l->list.data[i];
        has_own = has_own || claim->by == j->id;
        if (claim->at >= need->at && claim->at < end && claim->by != j->id && claim->from <= at &&
            claim->until > at)
            room[claim->at] += claim->count;
    }
    for (int32_t k = need->at; k < end; k++)
        room[k] = pools[k].total > room[k] ? pools[k].total - room[k] : 0;
    for (size_t i = 0; l && i < l->list.len; i++) {
        const struct license_claim *claim = &l->list.data[i];
        if (claim->at < need->at || claim->at >= end || claim->by == j->id || claim->from <= at ||
            claim->from >= until)
            continue;
        uint64_t left =
            claim->spare + (has_own ? license_claimed_at(l, j, false, claim->at, claim->from) : 0);
        left += room[claim->at] - license_beyond(claim->at, room[claim->at], in);
        room[claim->at] = license_least(room[claim->at], left);
    }
}

const struct free_view *license_view_init(struct license_view *v, const struct license_claims *l,
                                          const struct cluster *c, const struct job *j,
                                          const struct resv *in, int64_t at,
                                          const struct free_view *view)
{
    *v = (struct license_view){0};
    if (!license_needs_tied(c, j))
        return view;
    v->room = mem_new_array(uint64_t, c->licenses.list.len);
    vec_foreach (&j->want.licenses.list, need) {
        if (!license_is_tied(c, need))
            continue;
        _cleanup_free_ uint64_t *ended = view->present ? NULL : count_given_back(c, need, at);
        const uint64_t *returned = view->returned ? view->returned + need->at : NULL;
        find_rooms(l, c, j, in, need, ended ? ended : returned, at, v->room);
    }
    v->view = *view;
    v->view.pools = v->room;
    return &v->view;
}

void license_view_done(struct license_view *v)
{
    free(v->room);
}

/* Trims the set for the needs whose layers have this mode. */
static void trim_for(const struct cluster *c, const struct job *j, const struct free_view *view,
                     enum conf_hres_mode mode, const struct bitset *keep, const uint32_t *weight,
                     struct bitset *set)
{
    vec_foreach (&j->want.licenses.list, need)
        if (license_is_tied(c, need) && c->licenses.list.data[need->at].mode == mode)
            license_trim(c, need, &view->pools[need->at], keep, weight, set);
}

/* Removes the nodes that no placement with the required nodes can use, because a layer has enough
 * units only for the required nodes. */
static void leave_out_full(const struct cluster *c, const struct job *j,
                           const struct free_view *view, struct bitset *set)
{
    vec_foreach (&j->want.licenses.list, need) {
        const struct license *l =
            license_is_tied(c, need) ? &c->licenses.list.data[need->at] : NULL;
        if (!l || l->mode != CONF_HRES_PER_NODE || !need->count)
            continue;
        for (uint32_t i = 0; i < l->pools; i++) {
            uint64_t most = view->pools[need->at + (int32_t)i] / need->count;
            if (most <= (j->want.req ? license_count_in_scope(&l[i], j->want.req) : 0))
                license_drop_scope(&l[i], set);
        }
    }
}

uint32_t license_count_useful_nodes(const struct job *j)
{
    const struct request *r = &j->want;
    bool per_node = r->ntasks_per_node && !r->tasks_given;
    uint32_t most = per_node ? r->tasks / r->ntasks_per_node : r->tasks;
    most = most > r->good_nodes ? most : r->good_nodes;
    most = most > j->part->conf.min_nodes ? most : j->part->conf.min_nodes;
    return most < r->max_nodes ? most : r->max_nodes;
}

/* See license_narrow(); of a set that modes 2 and 3 leave. */
static bool find_anchors(const struct cluster *c, const struct job *j, const struct free_view *view,
                         const uint32_t *weight, const struct bitset *set, struct bitset **anchored)
{
    _cleanup_bitset_ struct bitset *candidates = bitset_dup(set);
    leave_out_full(c, j, view, candidates);
    if (!license_find_anchors(c, &j->want.licenses, view->pools, j->want.req, weight, set,
                              candidates, anchored))
        return false;
    if (*anchored && j->want.req)
        bitset_or(*anchored, j->want.req);
    return !*anchored || bitset_count(*anchored) <= license_count_useful_nodes(j);
}

/* Layers that admit or exclude single nodes are applied first, layers that limit the number of
 * nodes last. */
bool license_narrow(const struct cluster *c, const struct job *j, const struct free_view *view,
                    const uint32_t *weight, struct bitset *set, struct bitset **anchored)
{
    *anchored = NULL;
    if (!view->pools)
        return true;
    trim_for(c, j, view, CONF_HRES_EACH_LAYER, j->want.req, weight, set);
    if (!find_anchors(c, j, view, weight, set, anchored))
        return false;
    trim_for(c, j, view, CONF_HRES_PER_NODE, *anchored ? *anchored : j->want.req, weight, set);
    return true;
}

uint64_t *license_list_totals(const struct cluster *c, const struct job *j)
{
    if (!license_needs_tied(c, j))
        return NULL;
    uint64_t *room = mem_new_array(uint64_t, c->licenses.list.len);
    vec_foreach (&c->licenses.list, l)
        room[l - c->licenses.list.data] = l->total;
    return room;
}

bool license_may_have_nodes(const struct cluster *c, const struct job *j,
                            const struct free_view *view, const struct bitset *set, uint32_t nodes)
{
    _cleanup_bitset_ struct bitset *open = bitset_dup(set), *anchored = NULL;
    if (!view->pools)
        return true;
    trim_for(c, j, view, CONF_HRES_EACH_LAYER, j->want.req, NULL, open);
    if (!find_anchors(c, j, view, NULL, open, &anchored))
        return false;
    bool enough = true;
    vec_foreach (&j->want.licenses.list, need)
        if (license_is_tied(c, need))
            enough = enough && license_leaves_nodes(c, need, &view->pools[need->at], j->want.req,
                                                    open, nodes);
    return enough;
}

void license_choose_payers(const struct cluster *c, const struct job *j,
                           const struct free_view *view, struct selection *where)
{
    if (!view->pools)
        return;
    _cleanup_bitset_ struct bitset *nodes = bitset_new(c->nodes.len);
    vec_foreach (&where->shares, share)
        bitset_set(nodes, share->node);
    vec_foreach (&j->want.licenses.list, need) {
        if (!license_is_one_layer(c, need))
            continue;
        int32_t at = license_choose_layer(c, need, &view->pools[need->at], nodes, NULL);
        if (at >= 0)
            vec_push(&where->payers, at);
    }
}

static bool layers_fit(const struct cluster *c, const struct job *j, const struct resv *in,
                       const struct selection *where, int64_t now_sec)
{
    if (!where)
        return true;
    vec_foreach (&j->want.licenses.list, need) {
        bool pays = !license_is_one_layer(c, need);
        for (int32_t at = need->at; license_is_tied(c, need) && at < license_end_of(c, need);
             at++) {
            uint64_t room = find_room(NULL, c, j, in, at,
                                      c->licenses.list.data[at].used +
                                          license_kept(c, at, in, now_sec, job_ends_at(j, now_sec)),
                                      now_sec);
            uint64_t amount = license_amount_on(c, need, at, where);
            if (amount > room)
                return false;
            pays = pays || amount;
        }
        if (!pays && need->count)
            return false;
    }
    return true;
}

static bool layers_leave_nodes(const struct license_claims *claims, const struct cluster *c,
                               const struct job *j, const struct bitset *allowed, int64_t now_sec)
{
    if (!license_needs_tied(c, j))
        return true;
    struct selection where = {0};
    _cleanup_(license_view_done) struct license_view v = {0};
    const struct free_view *view =
        license_view_init(&v, claims, c, j, resv_home(j), now_sec, &c->pool.now);
    bool fits = select_nodes(c, j, allowed, view, &where) == 0;
    select_done(&where);
    return fits;
}

const struct common_ops common_layer = {
    .fits = layers_fit,
    .leaves_nodes = layers_leave_nodes,
    .held = license_of_job,
};
