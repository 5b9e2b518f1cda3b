/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/select/resv.h"

#include <stdlib.h>

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

/* What is taken whole, by the time from which it is: a job that ends before needs not ask each. */
static void make_times(struct resv_plan *p)
{
    struct resv_time t;
    vec_foreach (&p->cluster->resvs, at) {
        const struct resv *r = *at;
        if (!r->units && resv_occurs(r, p->now_sec, &t) && !bitset_empty(r->nodes))
            vec_push(&p->begins,
                     ((struct resv_begin){.at = t.begin, .nodes = bitset_dup(r->nodes)}));
    }
    if (p->begins.len)
        qsort(p->begins.data, p->begins.len, sizeof *p->begins.data, by_begin);
    for (size_t i = 1; i < p->begins.len; i++)
        bitset_or(p->begins.data[i].nodes, p->begins.data[i - 1].nodes);
    p->made = true;
}

/* How many of them begin before. */
static size_t count_begun(const struct resv_plan *p, int64_t until)
{
    return vec_lower(&p->begins, b, b->at < until);
}

/* Whether what is free now might do, outside of all reservations. */
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

/* What is free gets less while jobs start, and is counted anew when something has become free. */
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

/* Whether it takes what a job of 'in' has. */
static bool is_over(const struct resv *r, const struct resv *in)
{
    return r != in && (!in || (r->flags & RESV_FIRST && !(in->flags & RESV_FIRST)));
}

/* The nodes that others have whole at some time between. */
static void take_reserved(struct resv_plan *p, const struct resv *in, int64_t from, int64_t until,
                          struct bitset *set)
{
    vec_foreach (&p->cluster->resvs, at) {
        const struct resv *r = *at;
        bool over = is_over(r, in), out = r != in && in && reaches_out(in);
        if (r->units || (!over && !out) || !resv_overlaps(r, from, until))
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
        return false; /* a job that ends later is ended by ResvOverRun */
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

/* --- nodes that are reserved in parts ----------------------------------------------------------
 */

/* Units of the node that jobs of the reservation have then. */
static uint32_t units_inside(const struct cluster *c, const struct resv *r, uint32_t node,
                             int64_t at)
{
    uint32_t units = 0;
    vec_foreach (&c->nodes.data[node]->holders, id) {
        const struct job *j = cluster_find_job(c, *id);
        if (!j || attempt_of(j)->resv != r || attempt_of(j)->ends.key <= at)
            continue;
        vec_foreach (&attempt_of(j)->alloc, a)
            units += a->node == node && !a->released && !a->parked ? a->units : 0;
    }
    return units;
}

static uint32_t units_left(const struct cluster *c, const struct resv *r, uint32_t node, int64_t at)
{
    uint32_t used = r->running ? units_inside(c, r, node, at) : 0;
    return r->units[node] > used ? r->units[node] - used : 0;
}

static void bound_node(struct resv_plan *p, uint32_t node, uint32_t most)
{
    if (most < p->most[node])
        p->most[node] = most;
}

/* A job of it has what others of its do not have. */
static void bound_inside(struct resv_plan *p, const struct resv *r, int64_t from)
{
    bitset_foreach (r->nodes, i)
        bound_node(p, (uint32_t)i, units_left(p->cluster, r, (uint32_t)i, from));
}

/* A job of another, or of none, leaves it that, and to the others what they keep at the same time.
 */
static void bound_outside(struct resv_plan *p, const struct resv *r, int64_t from, int64_t at,
                          const struct free_view *view)
{
    VEC(const struct resv *) others = {0};
    vec_foreach (&p->parts, other)
        if (*other != r && bitset_intersects((*other)->nodes, r->nodes) &&
            resv_is_at(*other, from, at))
            vec_push(&others, *other);
    bitset_foreach (r->nodes, i) {
        uint32_t node = (uint32_t)i, kept = units_left(p->cluster, r, node, from);
        vec_foreach (&others, other)
            kept += (*other)->units[i] ? units_left(p->cluster, *other, node, from) : 0;
        bound_node(p, node, view->units[i] > kept ? view->units[i] - kept : 0);
    }
    vec_done(&others);
}

/* Most is kept when one of them begins. */
static void bound_times(struct resv_plan *p, const struct resv *r, int64_t from, int64_t until,
                        const struct free_view *view)
{
    struct resv_time t;
    int64_t at = from;
    for (int i = 0; i < RESV_AHEAD && resv_occurs(r, at, &t) && t.begin < until; i++, at = t.end) {
        bound_outside(p, r, from, t.begin > from ? t.begin : from, view);
        if (p->parts.len < 2 || t.end == RESV_NEVER || r->flags & RESV_TIME_FLOAT)
            return;
    }
}

const struct free_view *resv_view(struct resv_plan *p, const struct job *j, const struct resv *in,
                                  int64_t from, const struct free_view *view)
{
    const struct cluster *c = p->cluster;
    int64_t until = job_ends_at(j, from);
    bool inside = in && in->units && !reaches_out(in);
    vec_clear(&p->parts);
    vec_foreach (&c->resvs, r)
        if ((*r)->units && *r != in && is_over(*r, in) && resv_overlaps(*r, from, until))
            vec_push(&p->parts, *r);
    if (!inside && !p->parts.len)
        return view;
    if (!p->most)
        p->most = mem_new_array(uint32_t, c->nodes.len + 1);
    for (size_t i = 0; i < c->nodes.len; i++)
        p->most[i] = UINT32_MAX;
    if (inside)
        bound_inside(p, in, from);
    vec_foreach (&p->parts, r)
        bound_times(p, *r, from, until, view);
    p->view = *view;
    p->view.most = p->most;
    return &p->view;
}

/* --- those that wait ---------------------------------------------------------------------------
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

/* Of those asked for, one whose time is long enough is there. */
static bool has_time(struct resv_plan *p, const struct job *j)
{
    _cleanup_bitset_ struct bitset *set = bitset_new(p->cluster->nodes.len);
    vec_foreach (&j->resvs, r)
        if (resv_narrow(p, j, *r, p->now_sec, set))
            return true;
    return false;
}

/* Whether nodes that it could have are reserved for that within its time. */
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
