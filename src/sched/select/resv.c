/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/select/resv.h"

#include <stdlib.h>
#include <string.h>

static void forget_times(struct resv_plan *p)
{
    vec_foreach (&p->begins, b) {
        bitset_free(b->nodes);
        spare_done(&b->rest);
    }
    vec_clear(&p->begins);
    p->made = false;
}

void resv_plan_init(struct resv_plan *p, const struct cluster *c, int64_t now_sec)
{
    *p = (struct resv_plan){.cluster = c, .now_sec = now_sec};
}

void resv_plan_done(struct resv_plan *p)
{
    forget_times(p);
    vec_done(&p->begins);
    vec_done(&p->blocked);
    vec_done(&p->parts);
    free(p->most);
    free(p->gres);
    free(p->whole);
}

void resv_plan_resume(struct resv_plan *p, int64_t now_sec)
{
    forget_times(p);
    vec_clear(&p->blocked);
    p->now_sec = now_sec;
}

bool resv_place(const struct job *j, size_t n, const struct resv **in)
{
    *in = n < j->resvs.len ? j->resvs.data[n] : NULL;
    return *in || (n == j->resvs.len && !j->resv_asked);
}

const struct resv *resv_home(const struct job *j)
{
    return j->resv_asked && j->resvs.len ? j->resvs.data[0] : NULL;
}

static bool reaches_out(const struct resv *in)
{
    return in->flags & (RESV_FLEX | RESV_ANY_NODES);
}

void resv_restrict(const struct resv *in, struct bitset *set)
{
    if (in && !reaches_out(in))
        bitset_and(set, in->nodes);
}

static int by_begin(const void *a, const void *b)
{
    const struct resv_begin *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Lists whole-node reservations by their begin, so that a job that ends earlier need not check each
 * one. */
static void make_times(struct resv_plan *p)
{
    struct resv_time t;
    vec_foreach (&p->cluster->resvs, at) {
        const struct resv *r = *at;
        if (!resv_in_parts(r) && resv_occurs(r, p->now_sec, &t) && !bitset_empty(r->nodes))
            vec_push(&p->begins,
                     ((struct resv_begin){.at = t.begin, .nodes = bitset_dup(r->nodes)}));
    }
    if (p->begins.len)
        qsort(p->begins.data, p->begins.len, sizeof *p->begins.data, by_begin);
    for (size_t i = 1; i < p->begins.len; i++)
        bitset_or(p->begins.data[i].nodes, p->begins.data[i - 1].nodes);
    p->made = true;
}

/* Counts the begins before that time. */
static size_t count_begun(const struct resv_plan *p, int64_t until)
{
    return vec_lower(&p->begins, b, b->at < until);
}

/* Whether the presently free resources might suffice, outside of all reservations. */
static bool glance_at_spare(struct resv_plan *p, const struct spare_need *need)
{
    const struct pool *pool = &p->cluster->pool;
    uint32_t hash = (need->nodes * 31 + need->tasks) * 31 + need->cpus;
    struct resv_glance *g = &p->glances[hash % RESV_GLANCES];
    if (g->freed != pool->freed || g->taken != pool->taken || !spare_same_need(&g->need, need))
        *g = (struct resv_glance){*need, pool->freed, pool->taken,
                                  spare_might_do(&pool->spare, need)};
    return g->might_do;
}

/* Free resources only shrink while jobs start, and are recounted when something has become free. */
bool resv_might_fit(struct resv_plan *p, const struct job *j, const struct spare_need *need)
{
    const struct pool *pool = &p->cluster->pool;
    if (!p->cluster->resvs.len || j->resvs.len)
        return glance_at_spare(p, need);
    if (!p->made)
        make_times(p);
    size_t n = count_begun(p, job_ends_at(j, p->now_sec));
    if (!n)
        return glance_at_spare(p, need);
    struct resv_begin *b = &p->begins.data[n - 1];
    if (b->freed != pool->freed + 1)
        spare_count_without(&b->rest, &pool->spare, b->nodes);
    b->freed = pool->freed + 1;
    return spare_might_do(&b->rest, need);
}

bool resv_is_over(const struct resv *r, const struct resv *in)
{
    return r != in && (!in || (r->flags & RESV_FIRST && !(in->flags & RESV_FIRST)));
}

/* Removes the nodes that other reservations have whole at some time in between. */
static void take_reserved(struct resv_plan *p, const struct resv *in, int64_t from, int64_t until,
                          struct bitset *set)
{
    vec_foreach (&p->cluster->resvs, at) {
        const struct resv *r = *at;
        bool over = resv_is_over(r, in), out = r != in && in && reaches_out(in);
        if (resv_in_parts(r) || (!over && !out) || !resv_overlaps(r, from, until))
            continue;
        if (over || !bitset_intersects(r->nodes, in->nodes)) {
            bitset_andnot(set, r->nodes);
            continue;
        }
        _cleanup_bitset_ struct bitset *theirs = bitset_dup(r->nodes);
        bitset_andnot(theirs, in->nodes);
        bitset_andnot(set, theirs);
    }
}

static bool narrow_nodes(struct resv_plan *p, const struct job *j, const struct resv *in,
                         int64_t from, struct bitset *set)
{
    int64_t until = job_ends_at(j, from);
    struct resv_time t;
    if (!p->cluster->resvs.len)
        return true;
    if (in && !(in->flags & RESV_FLEX) &&
        (!resv_occurs(in, from, &t) || from < t.begin || from >= t.end))
        return false; /* a later end is cut off by ResvOverRun */
    if (in || from != p->now_sec) {
        take_reserved(p, in, from, until, set);
        return true;
    }
    if (!p->made)
        make_times(p);
    size_t n = count_begun(p, until);
    if (n)
        bitset_andnot(set, p->begins.data[n - 1].nodes);
    return true;
}

bool resv_narrow(struct resv_plan *p, const struct job *j, const struct resv *in, int64_t from,
                 struct bitset *set)
{
    if (p->cluster->resvs.len && leaf_topo(p->cluster, j)) { /* it would block reserved nodes */
        _cleanup_bitset_ struct bitset *free = bitset_new(p->cluster->nodes.len);
        bitset_fill(free);
        if (!narrow_nodes(p, j, in, from, free))
            return false;
        leaf_keep_complete(p->cluster, j, free, set);
    }
    return narrow_nodes(p, j, in, from, set);
}

/* --- nodes that are reserved in part ------------------------------------------------------------
 */

/* The units and GRES of a node that reservations withhold. */
struct kept {
    uint64_t units, gres[GRES_KINDS_MAX];
};

/* Adds the job's share of the node. */
static void add_held(const struct job *j, uint32_t node, struct kept *sum)
{
    vec_foreach (&attempt_of(j)->alloc, a) {
        if (a->node != node || a->released)
            continue;
        sum->units += a->parked ? 0 : a->units;
        vec_foreach (&a->gres, held)
            sum->gres[held->kind] += held->count;
    }
}

/* Adds what the reservation withholds on the node beyond what its own jobs hold at that time. */
static void add_left(const struct cluster *c, const struct resv *r, uint32_t node, int64_t at,
                     struct kept *sum)
{
    struct kept used = {0};
    size_t kinds = r->gres ? c->gres_kinds.len : 0;
    const uint64_t *gres = r->gres ? r->gres + node * kinds : NULL;
    if (r->running)
        vec_foreach (&c->nodes.data[node]->holders, id) {
            const struct job *j = cluster_find_job(c, *id);
            if (j && attempt_of(j)->resv == r && attempt_of(j)->ends.key > at)
                add_held(j, node, &used);
        }
    uint64_t units = r->units ? r->units[node] : 0;
    sum->units += units > used.units ? units - used.units : 0;
    for (size_t k = 0; k < kinds; k++)
        sum->gres[k] += gres[k] > used.gres[k] ? gres[k] - used.gres[k] : 0;
}

static void bound_node(struct resv_plan *p, uint32_t node, uint64_t most)
{
    if (most < p->most[node])
        p->most[node] = (uint32_t)most;
}

static void bound_gres(struct resv_plan *p, uint32_t node, size_t kind, uint64_t most)
{
    uint64_t *at = &p->gres[node * p->cluster->gres_kinds.len + kind];
    *at = most < *at ? most : *at;
    p->whole[node] = false; /* a job with the whole node would hold all of them */
}

/* A job in the reservation may use what other jobs of the reservation do not. Resources that the
 * reservation does not have are limited to the free ones: cores if it has none, and GRES of other
 * names. */
static void bound_inside(struct resv_plan *p, const struct resv *r, int64_t from)
{
    bitset_foreach (r->nodes, i) {
        struct kept left = {0};
        add_left(p->cluster, r, (uint32_t)i, from, &left);
        if (r->units)
            bound_node(p, (uint32_t)i, left.units);
        for (size_t k = 0; r->gres && k < p->cluster->gres_kinds.len; k++)
            if (r->gres_mask >> k & 1)
                bound_gres(p, (uint32_t)i, k, left.gres[k]);
    }
}

/* A job in another reservation, or in none, leaves this reservation and all simultaneous ones their
 * amounts. */
static void bound_outside(struct resv_plan *p, const struct resv *r, int64_t from, int64_t at,
                          const struct free_view *view, bool with_gres)
{
    const struct cluster *c = p->cluster;
    size_t kinds = with_gres ? c->gres_kinds.len : 0;
    VEC(const struct resv *) others = {0};
    vec_foreach (&p->parts, other)
        if (*other != r && bitset_intersects((*other)->nodes, r->nodes) &&
            resv_is_at(*other, from, at))
            vec_push(&others, *other);
    bitset_foreach (r->nodes, i) {
        uint32_t node = (uint32_t)i;
        struct kept kept = {0};
        add_left(c, r, node, from, &kept);
        vec_foreach (&others, other)
            add_left(c, *other, node, from, &kept);
        if (kept.units)
            bound_node(p, node, view->units[i] > kept.units ? view->units[i] - kept.units : 0);
        const uint64_t *free = kinds ? view->gres + i * kinds : NULL;
        for (size_t k = 0; k < kinds; k++)
            if (kept.gres[k])
                bound_gres(p, node, k, free[k] > kept.gres[k] ? free[k] - kept.gres[k] : 0);
    }
    vec_done(&others);
}

/* The most is withheld when one of the reservations begins. */
static void bound_times(struct resv_plan *p, const struct resv *r, int64_t from, int64_t until,
                        const struct free_view *view, bool with_gres)
{
    struct resv_time t;
    int64_t at = from;
    for (int i = 0; i < RESV_AHEAD && resv_occurs(r, at, &t) && t.begin < until; i++, at = t.end) {
        bound_outside(p, r, from, t.begin > from ? t.begin : from, view, with_gres);
        if (p->parts.len < 2 || t.end == RESV_NEVER || r->flags & RESV_TIME_FLOAT)
            return;
    }
}

/* Starts with bounds that leave everything to the job. */
static void start_bounds(struct resv_plan *p, bool with_gres, const struct free_view *view)
{
    size_t nodes = p->cluster->nodes.len, rows = nodes * p->cluster->gres_kinds.len;
    if (!p->most)
        p->most = mem_new_array(uint32_t, nodes + 1);
    for (size_t i = 0; i < nodes; i++)
        p->most[i] = UINT32_MAX;
    p->view = *view;
    p->view.most = p->most;
    if (!with_gres)
        return;
    if (!p->gres) {
        p->gres = mem_new_array(uint64_t, rows + 1);
        p->whole = mem_new_array(bool, nodes + 1);
    }
    memcpy(p->gres, view->gres, rows * sizeof *p->gres);
    memcpy(p->whole, view->whole, nodes * sizeof *p->whole);
    p->view.gres = p->gres;
    p->view.whole = p->whole;
}

const struct free_view *resv_view(struct resv_plan *p, const struct job *j, const struct resv *in,
                                  int64_t from, const struct free_view *view)
{
    const struct cluster *c = p->cluster;
    int64_t until = job_ends_at(j, from);
    bool inside = in && resv_in_parts(in) && !reaches_out(in), with_gres = inside && in->gres;
    vec_clear(&p->parts);
    vec_foreach (&c->resvs, r)
        if (resv_in_parts(*r) && *r != in && resv_is_over(*r, in) &&
            resv_overlaps(*r, from, until)) {
            vec_push(&p->parts, *r);
            with_gres = with_gres || (*r)->gres;
        }
    if (!inside && !p->parts.len)
        return view;
    with_gres = with_gres && c->gres_kinds.len;
    start_bounds(p, with_gres, view);
    if (inside)
        bound_inside(p, in, from);
    vec_foreach (&p->parts, r)
        bound_times(p, *r, from, until, view, with_gres);
    return &p->view;
}

/* Returns the view of idle nodes, limited to the units and generic resources of the reservation. */
static bool fits_shares(const struct cluster *c, const struct job *j, const struct resv *r,
                        const struct bitset *set)
{
    size_t nodes = c->nodes.len, kinds = c->gres_kinds.len;
    _cleanup_free_ uint32_t *units = mem_new_array(uint32_t, nodes + 1);
    _cleanup_free_ struct amounts *amounts = mem_new_array(struct amounts, nodes + 1);
    _cleanup_free_ bool *whole = mem_new_array(bool, nodes + 1);
    _cleanup_free_ uint64_t *gres = mem_new_array(uint64_t, nodes * kinds + 1);
    _cleanup_free_ const struct unit_use **use = mem_new_array(const struct unit_use *, nodes + 1);
    struct selection where = {0};
    for (size_t i = 0; i < nodes; i++) {
        const struct node_kind *k = &c->pool.kinds.data[c->pool.kind[i]];
        units[i] = k->units;
        amounts[i] = k->amounts;
        whole[i] = !r->gres;
        for (size_t kind = 0; kind < kinds; kind++)
            gres[i * kinds + kind] = r->gres && r->gres_mask >> kind & 1 ? r->gres[i * kinds + kind]
                                                                         : k->gres_total[kind];
    }
    const struct free_view view = {.units = units,
                                   .amounts = amounts,
                                   .whole = whole,
                                   .gres = gres,
                                   .use = use,
                                   .most = r->units};
    bool fits = select_nodes(c, j, set, &view, &where) == 0;
    select_done(&where);
    return fits;
}

bool resv_could_serve(const struct cluster *c, const struct job *j, const struct resv *r)
{
    _cleanup_bitset_ struct bitset *set = select_candidates(c, j);
    resv_restrict(r, set);
    if (!select_fits_idle(c, j, set))
        return false;
    /* In blocks and rings running neighbours matter, which are unknown for a later time. */
    bool is_counted = resv_in_parts(r) && !reaches_out(r) && !leaf_matters(c, j);
    return !is_counted || fits_shares(c, j, r, set);
}

/* --- waiting jobs -------------------------------------------------------------------------------
 */

bool resv_same_places(const struct job *a, const struct job *b)
{
    if (a->resv_asked != b->resv_asked || a->resvs.len != b->resvs.len)
        return false;
    for (size_t i = 0; i < a->resvs.len; i++)
        if (a->resvs.data[i] != b->resvs.data[i])
            return false;
    return true;
}

bool resv_is_blocked(const struct resv_plan *p, const struct job *j)
{
    const struct resv *in = resv_home(j);
    vec_foreach (&p->blocked, r)
        if (in && *r == in)
            return true;
    return false;
}

bool resv_block(struct resv_plan *p, const struct job *j)
{
    if (!j->resvs.len || resv_is_blocked(p, j))
        return false;
    vec_push(&p->blocked, j->resvs.data[0]);
    return true;
}

/* Whether one of the requested reservations lasts long enough. */
static bool has_time(struct resv_plan *p, const struct job *j)
{
    _cleanup_bitset_ struct bitset *set = bitset_new(p->cluster->nodes.len);
    vec_foreach (&j->resvs, r)
        if (resv_narrow(p, j, *r, p->now_sec, set))
            return true;
    return false;
}

/* Whether nodes that it could use are reserved for maintenance within its time. */
static bool is_for_maint(const struct resv_plan *p, const struct job *j, const struct bitset *set)
{
    vec_foreach (&p->cluster->resvs, r)
        if ((*r)->flags & RESV_MAINT && bitset_intersects((*r)->nodes, set) &&
            resv_overlaps(*r, p->now_sec, job_ends_at(j, p->now_sec)))
            return true;
    return false;
}

bool resv_explain(struct resv_plan *p, const struct job *j, const struct bitset *set,
                  struct decision *d)
{
    if (!p->cluster->resvs.len)
        return false;
    if (j->resv_asked) {
        if (has_time(p, j))
            return false;
        d->reason = REASON_RESERVATION;
        return true;
    }
    _cleanup_bitset_ struct bitset *left = bitset_dup(set);
    resv_narrow(p, j, NULL, p->now_sec, left);
    if (select_fits_idle(p->cluster, j, left) || !select_fits_idle(p->cluster, j, set))
        return false;
    const char *detail = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher "
                         "priority partitions";
    if (is_for_maint(p, j, j->want.req ? j->want.req : set)) {
        d->reason = REASON_REQ_NODE_NOT_AVAIL;
        detail = "ReqNodeNotAvail, Reserved for maintenance";
    } else if (j->want.req) {
        d->reason = REASON_REQ_NODE_NOT_AVAIL;
        detail = "ReqNodeNotAvail, May be reserved for other job";
    }
    d->detail = mem_strdup(detail);
    return true;
}
