/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/license.h"
#include "cluster/resv/license_kept.h"

#include "sched/common.h"
#include "sched/plan.h"
#include "sched/select/resv.h"

#define RESV_ENDS 200 /* moments that are looked at because a reservation gives back then */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* As far as jobs go: there are as many when so many have been given back. */
static bool is_left(const struct cluster *c, const struct license_need *need, uint64_t given_back)
{
    const struct license *l = &c->licenses.list.data[need->at];
    return l->used - given_back + need->count <= l->total;
}

/* For a job that begins there at that time. */
static bool is_free(const struct cluster *c, const struct job *j, const struct resv *in,
                    const struct license_need *need, uint64_t given_back, int64_t at)
{
    if (need->at < 0 || !is_left(c, need, given_back))
        return false;
    const struct license *l = &c->licenses.list.data[need->at];
    return l->used - given_back + need->count +
               license_kept(c, need->at, in, at, job_ends_at(j, at)) <=
           l->total;
}

bool license_may_start(const struct license_claims *l, const struct cluster *c, const struct job *j,
                       const struct resv *in, int64_t now_sec)
{
    return license_may_start_after(l, c, j, in, now_sec, NULL);
}

bool license_may_start_after(const struct license_claims *l, const struct cluster *c,
                             const struct job *j, const struct resv *in, int64_t now_sec,
                             const uint64_t *returned)
{
    vec_foreach (&j->want.licenses.list, need) {
        if (license_is_tied(c, need))
            continue;
        uint64_t back = returned && need->at >= 0 ? returned[need->at] : 0;
        if (!is_free(c, j, in, need, back, now_sec))
            return false;
        vec_foreach (&l->list, claim)
            if (claim->at == need->at && claim->by != j->id &&
                claim->spare < license_beyond(need->at, need->count, in) &&
                job_ends_at(j, now_sec) > claim->from)
                return false;
    }
    return true;
}

bool license_may_start_somewhere(const struct license_claims *l, const struct cluster *c,
                                 const struct job *j, int64_t now_sec)
{
    const struct resv *in;
    if (!j->want.licenses.list.len)
        return true;
    for (size_t i = 0; resv_place(j, i, &in); i++)
        if (license_may_start(l, c, j, in, now_sec))
            return true;
    return false;
}

/* The end of the need's pools. */
static int32_t end_of(const struct cluster *c, const struct license_need *need)
{
    return need->at < 0 ? need->at : need->at + (int32_t)c->licenses.list.data[need->at].layers;
}

/* Whether units of the pool that a job of 'from' returns can be had by a job of 'in': those of a
 * reservation return to it. */
static bool returns_to(const struct resv *from, const struct resv *in, int32_t at)
{
    if (from && from != in)
        vec_foreach (&from->stock, s)
            if (s->at == at)
                return false;
    return true;
}

bool license_add_returned(const struct cluster *c, const struct job *j, const struct job *victim,
                          int64_t now_sec, uint64_t *returned)
{
    bool any = false;
    vec_foreach (&j->want.licenses.list, need) {
        if (!license_is_tied(c, need) && is_free(c, j, resv_home(j), need, 0, now_sec))
            continue;
        for (int32_t at = need->at; at < end_of(c, need); at++) {
            uint64_t count = license_of_job(c, victim, at);
            if (!count || !returns_to(attempt_of(victim)->resv, resv_home(j), at))
                continue;
            any = true;
            if (returned)
                returned[at] += count;
        }
    }
    return any;
}

/* What a job takes of the pool on the nodes that are chosen for it. */
static uint64_t amount_on(const struct cluster *c, const struct license_need *need, int32_t at,
                          const struct selection *where)
{
    const struct license *l = &c->licenses.list.data[at];
    uint32_t nodes = 0;
    if (!l->nodes)
        return need->count;
    if (l->mode == CONF_HRES_ONE_LAYER) {
        vec_foreach (&where->payers, layer)
            if (*layer == at)
                return need->count;
        return 0;
    }
    vec_foreach (&where->shares, share)
        nodes += bitset_test(l->nodes, share->node);
    return license_amount(l, need, nodes);
}

void license_begin(struct license_claims *l, const struct cluster *c, const struct job *j,
                   const struct resv *in, const struct selection *where, int64_t now_sec)
{
    vec_foreach (&j->want.licenses.list, need)
        vec_foreach (&l->list, claim)
            if (claim->at >= need->at && claim->at < end_of(c, need) && claim->by != j->id &&
                job_ends_at(j, now_sec) > claim->from)
                claim->spare -=
                    least(claim->spare,
                          license_beyond(claim->at, amount_on(c, need, claim->at, where), in));
}

/* Of a licence, by running jobs whose limits are over then. */
static uint64_t given_back(const struct cluster *c, int32_t at, int64_t until, uint64_t *work)
{
    uint64_t sum = 0;
    for (struct order_link *l = order_first(&c->ends); l && l->key <= until; l = order_next(l)) {
        const struct job *j = job_of_end(l);
        ++*work;
        if (!job_is_final(j))
            sum += license_of_job(c, j, at);
    }
    return sum;
}

/* The next moment after 'at' at which a reservation gives it back; INT64_MAX: there is none. */
static int64_t next_resv_end(const struct cluster *c, int32_t license, int64_t at)
{
    int64_t first = INT64_MAX;
    struct resv_time t;
    vec_foreach (&c->resvs, r)
        vec_foreach (&(*r)->stock, s)
            if (s->at == license && !((*r)->flags & RESV_TIME_FLOAT) && resv_occurs(*r, at, &t) &&
                t.end < first)
                first = t.end;
    return first;
}

/* What others have a claim on at that time, or the job itself. */
static uint64_t claimed_at(const struct license_claims *l, const struct job *j, bool others,
                           int32_t license, int64_t at)
{
    uint64_t sum = 0;
    for (size_t i = 0; l && i < l->list.len; i++) {
        const struct license_claim *claim = &l->list.data[i];
        if (claim->at == license && (claim->by != j->id) == others && claim->from <= at &&
            claim->until > at)
            sum += claim->count;
    }
    return sum;
}

/* Whether it leaves the others what they are to have after it has begun. What is left to it is
 * beside its own claim, which it has no more then. */
static bool leaves_claims(const struct license_claims *l, const struct job *j,
                          const struct license_need *need, int64_t at)
{
    for (size_t i = 0; l && i < l->list.len; i++) {
        const struct license_claim *claim = &l->list.data[i];
        if (claim->at != need->at || claim->by == j->id || claim->from <= at ||
            claim->from >= job_ends_at(j, at))
            continue;
        uint64_t own = claimed_at(l, j, false, need->at, claim->from);
        if (claim->spare + own < license_beyond(need->at, need->count, resv_home(j)))
            return false;
    }
    return true;
}

/* 'back': what running jobs have given back by then. What jobs in reservations give back counts as
 * if others had it: the time is late at worst. */
static bool is_due(const struct license_claims *l, const struct cluster *c, const struct job *j,
                   const struct license_need *need, uint64_t back, int64_t at)
{
    if (need->at < 0)
        return false;
    back -= claimed_at(l, j, true, need->at, at); /* perhaps below 0: their sum is what counts */
    return is_free(c, j, resv_home(j), need, back, at) && leaves_claims(l, j, need, at);
}

bool license_is_due(const struct license_claims *l, const struct cluster *c, const struct job *j,
                    int64_t at, uint64_t *work)
{
    vec_foreach (&j->want.licenses.list, need)
        if (need->at < 0 || (!license_is_tied(c, need) &&
                             !is_due(l, c, j, need, given_back(c, need->at, at, work), at)))
            return false;
    return true;
}

static int64_t next_claim_end(const struct license_claims *l, int32_t license, int64_t at)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; l && i < l->list.len; i++) {
        const struct license_claim *claim = &l->list.data[i];
        if (claim->at == license && claim->until > at && claim->until < first)
            first = claim->until;
    }
    return first;
}

/* The first moment at which it is due for this need. */
static int64_t due_at(const struct license_claims *l, const struct cluster *c, const struct job *j,
                      const struct license_need *need, int64_t now_sec, uint64_t *work)
{
    struct order_link *end = order_first(&c->ends);
    uint64_t sum = 0;
    unsigned looks = 0;
    int64_t at = now_sec;
    if (license_is_tied(c, need)) /* its nodes decide */
        return at;
    while (need->at >= 0) {
        bool left = is_left(c, need, sum);
        *work += left ? 1 + c->resvs.len : 1;
        if (is_due(l, c, j, need, sum, at))
            return at;
        int64_t claim = left ? next_claim_end(l, need->at, at) : INT64_MAX;
        int64_t resv = left && looks < RESV_ENDS ? next_resv_end(c, need->at, at) : INT64_MAX;
        looks += resv < claim;
        at = resv < claim ? resv : claim;
        if (end && end->key < at)
            at = end->key > now_sec ? end->key : now_sec;
        if (at == INT64_MAX)
            return 0;
        for (; end && end->key <= at; end = order_next(end)) {
            const struct job *other = job_of_end(end);
            ++*work;
            sum += job_is_final(other) ? 0 : license_of_job(c, other, need->at);
        }
    }
    return 0;
}

int64_t license_earliest(const struct license_claims *l, const struct cluster *c,
                         const struct job *j, int64_t now_sec, uint64_t *work)
{
    int64_t latest = now_sec;
    vec_foreach (&j->want.licenses.list, need) {
        int64_t at = due_at(l, c, j, need, now_sec, work);
        if (!at)
            return 0;
        latest = at > latest ? at : latest;
    }
    return latest;
}

/* 'by': 0, anybody. */
static bool is_claimed(const struct license_claims *l, const struct cluster *c,
                       const struct license_need *need, uint32_t by)
{
    int32_t end = need->at < 0 ? 0 : end_of(c, need);
    vec_foreach (&l->list, claim)
        if (claim->at >= need->at && claim->at < end && (!by || claim->by == by))
            return true;
    return false;
}

bool license_is_first(const struct license_claims *l, const struct cluster *c, const struct job *j)
{
    vec_foreach (&j->want.licenses.list, need)
        if (!is_claimed(l, c, need, 0))
            return true;
    return false;
}

bool license_is_alone(const struct license_claims *l, const struct cluster *c, const struct job *j)
{
    vec_foreach (&l->list, claim)
        if (claim->by != j->id)
            vec_foreach (&j->want.licenses.list, need)
                if (claim->at >= need->at && claim->at < end_of(c, need))
                    return false;
    return !j->want.licenses.list.len || !c->resvs.len;
}

/* Adds a claim of the job on 'count' of a pool. */
static void add_claim(struct license_claims *l, const struct cluster *c, const struct job *j,
                      int32_t at, uint64_t count, int64_t from, uint64_t *work)
{
    const struct license *of = &c->licenses.list.data[at];
    struct license_claim new = {
        at, j->id, from, job_ends_at(j, from), license_beyond(at, count, resv_home(j)), 0};
    uint64_t taken = of->used - given_back(c, at, from, work) + count +
                     claimed_at(l, j, true, at, from) +
                     license_kept(c, at, resv_home(j), from, new.until);
    new.spare = of->total > taken ? of->total - taken : 0;
    vec_foreach (&l->list, claim)
        if (claim->at == at && claim->by != j->id && claim->from >= from && claim->from < new.until)
            claim->spare -= least(claim->spare, new.count);
    vec_push(&l->list, new);
}

/* Of layers nobody has a claim without a place. */
static bool is_first_of_cluster(const struct license_claims *l, const struct cluster *c,
                                const struct job *j)
{
    vec_foreach (&j->want.licenses.list, need)
        if (!license_is_tied(c, need) && !is_claimed(l, c, need, 0))
            return true;
    return false;
}

int64_t license_claim(struct license_claims *l, const struct cluster *c, const struct job *j,
                      int64_t now_sec, int64_t not_before, uint64_t *work)
{
    if (!is_first_of_cluster(l, c, j))
        return 0;
    int64_t from = license_earliest(l, c, j, now_sec, work);
    if (!from)
        return 0;
    from = not_before > from ? not_before : from;
    vec_foreach (&j->want.licenses.list, need)
        if (!license_is_tied(c, need) && !is_claimed(l, c, need, 0))
            add_claim(l, c, j, need->at, need->count, from, work);
    return license_needs_tied(c, j) ? 0 : from;
}

void license_keep(struct license_claims *l, const struct cluster *c, const struct job *j,
                  const struct selection *where, int64_t from, uint64_t *work)
{
    vec_foreach (&j->want.licenses.list, need) {
        if (need->at < 0 || is_claimed(l, c, need, j->id))
            continue;
        for (int32_t at = need->at; at < end_of(c, need); at++) {
            uint64_t count = amount_on(c, need, at, where);
            if (count)
                add_claim(l, c, j, at, count, from, work);
        }
    }
}

void license_drop_claims(struct license_claims *l, const struct job *j)
{
    size_t left = 0;
    vec_foreach (&l->list, claim)
        if (claim->by != j->id)
            l->list.data[left++] = *claim;
    l->list.len = left;
}

/* --- layers ------------------------------------------------------------------------------------
 */

/* Of each layer of the need, what running jobs have given back until then. */
static uint64_t *count_given_back(const struct cluster *c, const struct license_need *need,
                                  int64_t until)
{
    int32_t end = end_of(c, need);
    uint64_t *back = mem_new_array(uint64_t, (size_t)(end - need->at));
    for (struct order_link *l = order_first(&c->ends); l && l->key <= until; l = order_next(l))
        vec_foreach (&attempt_of(job_of_end(l))->holds, hold)
            if (hold->at >= need->at && hold->at < end)
                back[hold->at - need->at] += hold->count;
    return back;
}

/* What the job may take of the layer from then to its limit. 'used': by running jobs. */
static uint64_t find_room(const struct license_claims *l, const struct cluster *c,
                          const struct job *j, const struct resv *in, int32_t layer, uint64_t used,
                          int64_t at)
{
    uint64_t total = c->licenses.list.data[layer].total, taken = used;
    if (l)
        taken +=
            claimed_at(l, j, true, layer, at) + license_kept(c, layer, in, at, job_ends_at(j, at));
    uint64_t room = total > taken ? total - taken : 0;
    for (size_t i = 0; l && i < l->list.len; i++) {
        const struct license_claim *claim = &l->list.data[i];
        if (claim->at != layer || claim->by == j->id || claim->from <= at ||
            claim->from >= job_ends_at(j, at))
            continue;
        uint64_t left = claim->spare + claimed_at(l, j, false, layer, claim->from);
        left += room - license_beyond(layer, room, in); /* what its reservation gives it */
        room = least(room, left);
    }
    return room;
}

/* What the job may take of the layers of the need, now or then, to its limit: as find_room(), for
 * all of them at once. */
static void find_rooms(const struct license_claims *l, const struct cluster *c, const struct job *j,
                       const struct resv *in, const struct license_need *need, const uint64_t *back,
                       int64_t at, uint64_t *room)
{
    const struct license *pools = c->licenses.list.data;
    int32_t end = end_of(c, need);
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
            claim->spare + (has_own ? claimed_at(l, j, false, claim->at, claim->from) : 0);
        left += room[claim->at] - license_beyond(claim->at, room[claim->at], in);
        room[claim->at] = least(room[claim->at], left);
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

/* The needs whose layers have this mode. */
static void trim_for(const struct cluster *c, const struct job *j, const struct free_view *view,
                     enum conf_hres_mode mode, const struct bitset *keep, const uint32_t *weight,
                     struct bitset *set)
{
    vec_foreach (&j->want.licenses.list, need)
        if (license_is_tied(c, need) && c->licenses.list.data[need->at].mode == mode)
            license_trim(c, need, &view->pools[need->at], keep, weight, set);
}

/* Leaves out the nodes that no placement with the required ones can have: a layer has enough for
 * those alone. */
static void leave_out_full(const struct cluster *c, const struct job *j,
                           const struct free_view *view, struct bitset *set)
{
    vec_foreach (&j->want.licenses.list, need) {
        const struct license *l =
            license_is_tied(c, need) ? &c->licenses.list.data[need->at] : NULL;
        if (!l || l->mode != CONF_HRES_PER_NODE || !need->count)
            continue;
        for (uint32_t i = 0; i < l->layers; i++) {
            uint64_t most = view->pools[need->at + (int32_t)i] / need->count;
            if (most <= (j->want.req ? license_count_in_layer(&l[i], j->want.req) : 0))
                license_drop_layer(&l[i], set);
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

/* Layers of which each node is in or out come first, those where the number of nodes counts last.
 */
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

/* --- as kinds of resources ---------------------------------------------------------------------
 */

static bool licenses_fit(const struct cluster *c, const struct job *j, const struct resv *in,
                         const struct selection *where, int64_t now_sec)
{
    (void)where; /* licences are the cluster's */
    return license_fits(c, j, in, now_sec);
}

const struct common_ops common_license = {
    .fits = licenses_fit,
    .find_short = license_find_short,
    .held = license_of_job,
};

static bool layers_fit(const struct cluster *c, const struct job *j, const struct resv *in,
                       const struct selection *where, int64_t now_sec)
{
    if (!where)
        return true;
    vec_foreach (&j->want.licenses.list, need) {
        bool pays = !license_is_one_layer(c, need);
        for (int32_t at = need->at; license_is_tied(c, need) && at < end_of(c, need); at++) {
            uint64_t room = find_room(NULL, c, j, in, at,
                                      c->licenses.list.data[at].used +
                                          license_kept(c, at, in, now_sec, job_ends_at(j, now_sec)),
                                      now_sec);
            uint64_t amount = amount_on(c, need, at, where);
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
