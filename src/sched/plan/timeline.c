/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <string.h>

#include "cluster/job/whole_cores.h"
#include "sched/plan/node_free.h"
#include "sched/plan/timeline_priv.h"
#include "sched/select/resv.h"
#include "sched/select/select.h"

static const struct calendar_ops timeline_ops;

#define FILL_STEP 256    /* nodes of jobs */
#define COMPLETE_MOST 64 /* maximum nodes that are completed individually */
#define SPANS_FREE 2     /* extra spans for the ends of reservations */

/* --- construction -------------------------------------------------------------------------------
 */

static const struct node_kind *find_node_kind(const struct timeline *t, uint32_t node)
{
    const struct pool *p = &t->cluster->pool;
    return &p->kinds.data[p->kind[node]];
}

/* Allocates this number of spans; returns the index of the first one. */
static uint32_t add_spans(struct timeline *t, uint32_t count)
{
    uint32_t first = t->spans_len;
    t->spans_len += count;
    if (t->spans_len <= t->spans_room)
        return first;
    t->spans_room = t->spans_len * 2;
    t->spans = mem_realloc(t->spans, t->spans_room * sizeof(*t->spans));
    if (t->kinds)
        t->gres = mem_realloc(t->gres, t->spans_room * 2 * t->kinds * sizeof(*t->gres));
    return first;
}

/* Returns the generic resources of the span; each kind twice, see timeline.h. */
static uint64_t *gres_of(const struct timeline *t, const struct timeline_span *s)
{
    return t->kinds ? t->gres + (size_t)(s - t->spans) * 2 * t->kinds : NULL;
}

static struct node_free free_in(const struct timeline *t, struct timeline_span *s)
{
    return (struct node_free){&s->units, &s->amounts, gres_of(t, s)};
}

/* Returns the foreseen resources, which consider running jobs only. */
static struct node_free foreseen_in(const struct timeline *t, struct timeline_span *s)
{
    uint64_t *gres = gres_of(t, s);
    return (struct node_free){&s->foreseen_units, &s->foreseen, gres ? gres + t->kinds : NULL};
}

static void copy_gres(struct timeline *t, const struct timeline_span *to,
                      const struct timeline_span *from, size_t count)
{
    if (t->kinds && count)
        memmove(gres_of(t, to), gres_of(t, from), count * 2 * t->kinds * sizeof(*t->gres));
}

/* Creates the first span of the node from the view. */
static void lay_out_node(struct timeline *t, uint32_t node)
{
    struct timeline_node *n = &t->nodes[node];
    if (n->len)
        return;
    n->len = 1;
    n->room = (uint32_t)t->cluster->nodes.data[node]->holders.len + 1 + SPANS_FREE;
    n->first = add_spans(t, n->room);
    struct timeline_span *s = &t->spans[n->first];
    s->from = TIMELINE_NOW;
    s->cores = 0;
    node_free_copy(free_in(t, s), node_free_in(&t->view, node, t->kinds), t->kinds);
    node_free_copy(foreseen_in(t, s), node_free_in(&t->view, node, t->kinds), t->kinds);
    bitset_set(t->laid_out, node);
    bitset_set(t->open, node);
}

/* Whether finish_view() would change the node in the view. */
static bool needs_finish(const struct timeline *t, uint32_t node)
{
    const struct free_view *v = &t->view;
    bool is_full = v->units[node] == find_node_kind(t, node)->units;
    return v->whole[node] != is_full || (is_full && v->users[node].who != USERS_NONE);
}

/* A node stays in the view as it is now, without spans, until something is freed or taken there. */
static void begin_view(struct timeline *t)
{
    const struct cluster *c = t->cluster;
    pool_view_copy(&t->view, &c->pool.now, c->nodes.len, t->kinds);
    memset(t->view.use, 0, c->nodes.len * sizeof(*t->view.use));
    for (uint32_t i = 0; i < c->nodes.len; i++) {
        if (t->view.units[i])
            bitset_set(t->open, i);
        if (needs_finish(t, i))
            lay_out_node(t, i);
    }
}

/* A shared unit is free when the last of its jobs has ended. */
static uint32_t units_freed(struct unit_use **use, const struct node *n, const struct alloc_node *a)
{
    uint32_t freed = 0;
    if (a->parked)
        return 0;
    if (!n->use)
        return a->units;
    if (!*use)
        *use =
            memcpy(mem_new_array(struct unit_use, n->units + 1), n->use, n->units * sizeof(**use));
    bitset_foreach (a->busy, i)
        freed += --(*use)[i].jobs == 0;
    return freed;
}

/* Makes space for another span of the node: its spans move to the end if necessary. */
static void reserve_span(struct timeline *t, struct timeline_node *n)
{
    if (n->len < n->room)
        return;
    uint32_t to = add_spans(t, n->room * 2);
    memcpy(&t->spans[to], &t->spans[n->first], n->len * sizeof(*t->spans));
    copy_gres(t, &t->spans[to], &t->spans[n->first], n->len);
    n->first = to;
    n->room *= 2;
}

/* Releases the resources that a running job holds on a node: jobs come in the order of their
 * ends. */
static void give_back(struct timeline *t, const struct alloc_node *a, int64_t at)
{
    const struct node *n = t->cluster->nodes.data[a->node];
    struct timeline_node *node = &t->nodes[a->node];
    lay_out_node(t, a->node);
    reserve_span(t, node);
    struct timeline_span *last = &t->spans[node->first + node->len - 1];
    if (last->from != at) {
        last[1] = last[0];
        copy_gres(t, last + 1, last, 1);
        last++;
        last->from = at;
        node->len++;
    }
    struct node_free left = free_in(t, last);
    if (n->exclusive && !a->parked) /* suspended jobs keep their part of it */
        node_free_open(left, n);
    else
        node_free_give_units(left, n, a, units_freed(&t->filled_use[a->node], n, a));
    node_free_give_back(left, n, a);
    node_free_bound(left, n);
    node_free_copy(foreseen_in(t, last), left, t->kinds);
}

static void free_use(const struct timeline *t, struct unit_use **use)
{
    for (size_t i = 0; i < t->cluster->nodes.len; i++)
        free(take_ptr(use[i]));
}

static void forget_use(struct timeline *t)
{
    free_use(t, t->use);
    for (size_t i = 0; i < t->cluster->nodes.len; i++)
        t->view.use[i] = NULL;
}

void timeline_add_moment(struct timeline *t, int64_t at)
{
    size_t place = t->moments.len;
    while (place > 0 && t->moments.data[place - 1] > at)
        place--;
    if (place > 0 && t->moments.data[place - 1] == at)
        return;
    vec_push(&t->moments, at);
    memmove(&t->moments.data[place + 1], &t->moments.data[place],
            (t->moments.len - 1 - place) * sizeof(at));
    t->moments.data[place] = at;
}

void timeline_begin(struct timeline *t, const struct cluster *c, int64_t now_sec)
{
    size_t n = c->nodes.len + 1;
    *t = (struct timeline){.calendar = {&timeline_ops, now_sec},
                           .cluster = c,
                           .kinds = c->pool.gres_kinds,
                           .fill_step = FILL_STEP,
                           .ends_changes = c->ends.changes,
                           .freed = c->pool.freed,
                           .taken = c->pool.taken};
    t->nodes = mem_new_array(struct timeline_node, n);
    t->use = mem_new_array(struct unit_use *, n);
    t->filled_use = mem_new_array(struct unit_use *, n);
    t->laid_out = bitset_new(c->nodes.len);
    t->open = bitset_new(c->nodes.len);
    begin_view(t);
    timeline_add_moment(t, TIMELINE_NOW);
}

static int64_t pick_later_time(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

bool timeline_fill(struct timeline *t, size_t work)
{
    const struct order *ends = &t->cluster->ends;
    if (t->filled)
        return false;
    struct order_link *l =
        t->filling ? order_after(ends, t->last.key, t->last.tie) : order_first(ends);
    size_t done = 0;
    for (; l && done < work; l = order_next(l)) {
        const struct attempt *attempt = attempt_of_end(l);
        int64_t at = pick_later_time(l->key, t->calendar.now_sec);
        vec_foreach (&attempt->alloc, a)
            if (!a->released && !t->nodes[a->node].complete)
                give_back(t, a, at);
        timeline_add_moment(t, at);
        done += 1 + attempt->alloc.len;
        t->filling = true;
        t->last.key = l->key;
        t->last.tie = l->tie;
    }
    if (l)
        return true;
    free_use(t, t->filled_use);
    t->filled = true;
    return false;
}

void timeline_fill_until(struct timeline *t, int64_t at)
{
    while (!t->filled && (!t->filling || t->last.key <= at))
        timeline_fill(t, t->fill_step);
}

void timeline_fill_moments(struct timeline *t, size_t index)
{
    while (!t->filled &&
           (!t->filling || t->moments.len <= index ||
            t->moments.data[index] > pick_later_time(t->last.key, t->calendar.now_sec)))
        timeline_fill(t, t->fill_step);
}

bool timeline_is_stale(const struct timeline *t)
{
    const struct cluster *c = t->cluster;
    return !t->filled && (t->ends_changes != c->ends.changes || t->freed != c->pool.freed ||
                          t->taken != c->pool.taken);
}

struct node_end { /* the end of a job on a node */
    const struct order_link *link;
    const struct alloc_node *a;
};

static int compare_ends(const void *a, const void *b)
{
    const struct order_link *x = ((const struct node_end *)a)->link;
    const struct order_link *y = ((const struct node_end *)b)->link;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->tie < y->tie ? -1 : x->tie > y->tie;
}

static bool is_filled_in(const struct timeline *t, const struct order_link *l)
{
    return t->filling && (l->key < t->last.key || (l->key == t->last.key && l->tie <= t->last.tie));
}

/* Releases the resources of all jobs on the node. */
static void complete_node(struct timeline *t, uint32_t node)
{
    const struct node *n = t->cluster->nodes.data[node];
    if (t->filled || t->nodes[node].complete)
        return;
    VEC(struct node_end) ends = {0};
    vec_foreach (&n->holders, id) {
        const struct attempt *attempt = attempt_of(cluster_find_job(t->cluster, *id));
        if (attempt->ends.in && !is_filled_in(t, &attempt->ends))
            vec_foreach (&attempt->alloc, a)
                if (a->node == node && !a->released)
                    vec_push(&ends, ((struct node_end){&attempt->ends, a}));
    }
    if (ends.len)
        qsort(ends.data, ends.len, sizeof(*ends.data), compare_ends);
    vec_foreach (&ends, end)
        give_back(t, end->a, pick_later_time(end->link->key, t->calendar.now_sec));
    vec_done(&ends);
    t->nodes[node].complete = true;
}

/* A reservation may be added only after all ends on its nodes. */
static void prepare_nodes(struct timeline *t, const struct selection *where)
{
    if (where->shares.len > COMPLETE_MOST)
        timeline_fill(t, SIZE_MAX);
    vec_foreach (&where->shares, share)
        complete_node(t, share->node);
}

void timeline_init(struct timeline *t, const struct cluster *c, int64_t now_sec)
{
    timeline_begin(t, c, now_sec);
    timeline_fill(t, SIZE_MAX);
}

/* Adds the begins and ends of the reservations' next occurrences, several for a repeating one: a
 * start can only be at one of these times. */
void timeline_set_resv(struct timeline *t, struct resv_plan *resv)
{
    t->resv = resv;
    vec_foreach (&t->cluster->resvs, r) {
        struct resv_time when;
        int64_t at = t->calendar.now_sec;
        for (int i = 0; i < RESV_AHEAD && resv_occurs(*r, at, &when); i++, at = when.end) {
            if ((*r)->flags & RESV_TIME_FLOAT)
                break;
            if (when.begin > t->calendar.now_sec)
                timeline_add_moment(t, when.begin);
            if (when.end == RESV_NEVER)
                break;
            timeline_add_moment(t, when.end);
        }
    }
}

void timeline_set_licenses(struct timeline *t, const struct license_claims *claims, int64_t due)
{
    t->claims = claims;
    t->not_before = due;
    if (due > t->calendar.now_sec)
        timeline_add_moment(t, due);
    vec_foreach (&claims->list, claim)
        timeline_add_moment(t, claim->until);
}

void timeline_done(struct timeline *t)
{
    if (!t->cluster)
        return;
    if (t->trial.open)
        timeline_end_trial(t, true);
    vec_done(&t->trial.nodes);
    vec_done(&t->trial.placed);
    vec_done(&t->trial.moments);
    forget_use(t);
    free_use(t, t->filled_use);
    free(t->filled_use);
    free(t->spans);
    vec_done(&t->moments);
    free(t->nodes);
    bitset_free(t->laid_out);
    bitset_free(t->open);
    free(t->use);
    free(t->broken);
    pool_view_done(&t->view);
    free(t->gres);
}

/* --- queries ------------------------------------------------------------------------------------
 */

static struct timeline_span *span_at(const struct timeline *t, uint32_t node, int64_t at)
{
    struct timeline_span *s = &t->spans[t->nodes[node].first];
    for (struct timeline_span *end = s + t->nodes[node].len; s + 1 < end && s[1].from <= at;)
        s++;
    return s;
}

/* Derives the other fields of the view from the free resources. 'now': a job that is completing
 * after a suspension holds no units, but the node is not empty. */
static void finish_view(struct timeline *t, uint32_t node, bool now)
{
    t->view.whole[node] = t->view.units[node] == find_node_kind(t, node)->units &&
                          (!now || t->cluster->pool.now.whole[node]);
    bool empty = t->view.whole[node] && !t->cluster->nodes.data[node]->parked;
    t->view.users[node] = empty ? (struct node_users){0} : t->cluster->pool.now.users[node];
}

/* Computes what is free all the time from 'from' to 'until', in local variables, because searches
 * spend most of their time here. */
static void view_between(struct timeline *t, uint32_t node, int64_t from, int64_t until)
{
    const size_t kinds = t->kinds;
    struct timeline_span *s = span_at(t, node, from);
    const struct timeline_span *end = &t->spans[t->nodes[node].first + t->nodes[node].len];
    uint32_t units = s->units;
    struct amounts amounts = s->amounts;
    const struct node_free view = node_free_in(&t->view, node, kinds),
                           least = {&units, &amounts, view.gres};
    if (kinds)
        node_free_copy(least, free_in(t, s), kinds);
    for (s++; s < end && s->from < until; s++)
        node_free_limit(least, free_in(t, s), kinds);
    *view.units = units;
    *view.amounts = amounts;
    finish_view(t, node, from == TIMELINE_NOW);
}

/* Computes what is free at that time if only running jobs count. */
static void view_foreseen(struct timeline *t, uint32_t node, int64_t at)
{
    node_free_copy(node_free_in(&t->view, node, t->kinds), foreseen_in(t, span_at(t, node, at)),
                   t->kinds);
    finish_view(t, node, false);
}

/* A part was placed on the node in the trial: its units may be shared, too. */
static void suppose_use(struct timeline *t, const struct timeline_placed *placed)
{
    uint32_t node = placed->node;
    struct unit_use *before = t->use[node];
    if (!t->view.use[node] && !placed->job->want.shared)
        return;
    t->use[node] = share_suppose(t->view.use[node], placed->job, &placed->supposed);
    t->view.use[node] = t->use[node];
    free(before);
}

/* Adds units that other jobs use at that time, for a job that may share them. */
static void view_shared(struct timeline *t, const struct job *j, int64_t at)
{
    const struct cluster *c = t->cluster;
    if (!j->want.shared)
        return;
    forget_use(t);
    for (struct order_link *l = order_first(&c->ends); l && l->key <= at; l = order_next(l))
        vec_foreach (&attempt_of(job_of_end(l))->alloc, a)
            if (!a->released && c->pool.now.use[a->node])
                units_freed(&t->use[a->node], c->nodes.data[a->node], a);
    for (size_t i = 0; i < c->nodes.len; i++)
        t->view.use[i] = t->use[i] ? t->use[i] : c->pool.now.use[i];
    vec_foreach (&t->trial.placed, placed)
        suppose_use(t, placed);
}

static bool choose_span_nodes(struct timeline *t, const struct job *j, const struct bitset *allowed,
                              const struct free_view *view, struct selection *where)
{
    _cleanup_bitset_ struct bitset *open = NULL;
    if (!j->want.shared && !leaf_matters(t->cluster, j)) {
        open = bitset_dup(allowed);
        bitset_and(open, t->open);
        allowed = open;
    }
    select_clear(where);
    bool fits = select_nodes(t->cluster, j, allowed, view, where) == 0;
    if (j->want.shared)
        forget_use(t);
    return fits;
}

bool timeline_fits_from(struct timeline *t, const struct job *j, const struct bitset *allowed,
                        int64_t from, struct selection *where)
{
    int64_t at = from == TIMELINE_NOW ? t->calendar.now_sec : from, until = job_ends_at(j, at);
    _cleanup_bitset_ struct bitset *set = NULL;
    const struct free_view *view = &t->view;
    timeline_fill_until(t, from);
    if (t->resv && t->cluster->resvs.len) {
        set = bitset_dup(allowed);
        select_clear(where);
        if (!resv_narrow(t->resv, j, t->in, at, set))
            return false;
        allowed = set;
    }
    _cleanup_bitset_ struct bitset *all = select_scope(t->cluster, j);
    const struct bitset *seen = all ? all : allowed;
    bitset_foreach (t->laid_out, i)
        if (bitset_test(seen, (size_t)i))
            view_between(t, (uint32_t)i, from, until);
    view_shared(t, j, from);
    timeline_find_broken(t, j, seen, from, until, true);
    t->view.present = from == TIMELINE_NOW;
    if (set)
        view = resv_view(t->resv, j, t->in, at, view);
    _cleanup_(license_view_done) struct license_view v = {0};
    if (t->claims)
        view = license_view_init(&v, t->claims, t->cluster, j, t->in, at, view);
    return choose_span_nodes(t, j, allowed, view, where);
}

bool timeline_is_foreseen(struct timeline *t, const struct job *j, const struct bitset *allowed,
                          int64_t at, struct selection *where)
{
    timeline_fill_until(t, at);
    _cleanup_bitset_ struct bitset *all = select_scope(t->cluster, j);
    const struct bitset *seen = all ? all : allowed;
    bitset_foreach (t->laid_out, i)
        if (bitset_test(seen, (size_t)i))
            view_foreseen(t, (uint32_t)i, at);
    view_shared(t, j, at);
    timeline_find_broken(t, j, seen, at, at + 1, false);
    t->view.present = false;
    const struct free_view *view = &t->view;
    _cleanup_(license_view_done) struct license_view v = {0};
    if (t->claims)
        view = license_view_init(&v, NULL, t->cluster, j, t->in, at, view);
    return choose_span_nodes(t, j, allowed, view, where);
}

bool timeline_fits_now(struct timeline *t, const struct job *j, const struct bitset *allowed,
                       struct selection *where)
{
    return timeline_fits_from(t, j, allowed, TIMELINE_NOW, where);
}

/* --- reservations -------------------------------------------------------------------------------
 */

/* Makes a span of the node begin at that time. */
static void split_span(struct timeline *t, uint32_t node, int64_t at)
{
    struct timeline_node *n = &t->nodes[node];
    reserve_span(t, n);
    struct timeline_span *spans = &t->spans[n->first];
    size_t i = (size_t)(span_at(t, node, at) - spans);
    if (spans[i].from == at)
        return;
    memmove(&spans[i + 2], &spans[i + 1], (n->len - i - 1) * sizeof(*spans));
    copy_gres(t, &spans[i + 2], &spans[i + 1], n->len - i - 1);
    spans[i + 1] = spans[i];
    copy_gres(t, &spans[i + 1], &spans[i], 1);
    spans[i + 1].from = at;
    n->len++;
}

static bool has_saved(const struct timeline *t, uint32_t node)
{
    vec_foreach (&t->trial.nodes, saved)
        if (saved->node == node)
            return true;
    return false;
}

static void save_node(struct timeline *t, uint32_t node)
{
    if (!t->trial.open || has_saved(t, node))
        return;
    const struct timeline_node *n = &t->nodes[node];
    const struct timeline_span *first = &t->spans[n->first];
    struct timeline_saved saved = {.node = node, .len = n->len};
    saved.spans = mem_dup(first, n->len * sizeof(*first));
    if (t->kinds)
        saved.gres = mem_dup(gres_of(t, first), n->len * 2 * t->kinds * sizeof(*t->gres));
    vec_push(&t->trial.nodes, saved);
}

void timeline_begin_trial(struct timeline *t)
{
    assert(!t->trial.open);
    timeline_fill(t, SIZE_MAX);
    t->trial.open = true;
    vec_foreach (&t->moments, at)
        vec_push(&t->trial.moments, *at);
}

/* The spans of the node may have moved meanwhile. */
static void restore_node(struct timeline *t, const struct timeline_saved *saved)
{
    struct timeline_node *n = &t->nodes[saved->node];
    struct timeline_span *first = &t->spans[n->first];
    n->len = saved->len;
    memcpy(first, saved->spans, saved->len * sizeof(*first));
    if (t->kinds)
        memcpy(gres_of(t, first), saved->gres, saved->len * 2 * t->kinds * sizeof(*t->gres));
}

void timeline_end_trial(struct timeline *t, bool keep)
{
    assert(t->trial.open);
    vec_foreach (&t->trial.nodes, saved) {
        if (!keep)
            restore_node(t, saved);
        free(saved->spans);
        free(saved->gres);
    }
    vec_clear(&t->trial.nodes);
    vec_clear(&t->trial.placed);
    if (!keep) { /* times added by reservations are removed */
        vec_clear(&t->moments);
        vec_foreach (&t->trial.moments, at)
            vec_push(&t->moments, *at);
    }
    vec_clear(&t->trial.moments);
    t->trial.open = false;
}

/* The cores of the share if the job takes whole cores of CPUs. */
static uint32_t count_whole_cores(const struct timeline *t, const struct job *j,
                                  const struct share *share)
{
    const struct node *n = t->cluster->nodes.data[share->node];
    uint32_t together = whole_cores_units(&j->want, n->threads, n->cpus_per_unit, n->units);
    return together > 1 ? share->units / together : 0;
}

static void take_part(struct timeline *t, const struct job *j, const struct selection *of,
                      const struct share *share, int64_t from, bool runs)
{
    int64_t until = job_ends_at(j, from == TIMELINE_NOW ? t->calendar.now_sec : from);
    lay_out_node(t, share->node);
    save_node(t, share->node);
    if (t->trial.open)
        vec_push(&t->trial.placed,
                 ((struct timeline_placed){j, share->node,
                                           node_free_suppose(t->cluster, &t->view, of, share)}));
    split_span(t, share->node, from);
    split_span(t, share->node, until);
    struct timeline_span *s = &t->spans[t->nodes[share->node].first];
    for (struct timeline_span *end = s + t->nodes[share->node].len; s < end && s->from < until;
         s++) {
        if (s->from < from)
            continue;
        node_free_take(free_in(t, s), of, share);
        s->cores += runs ? 0 : count_whole_cores(t, j, share);
        if (runs)
            node_free_take(foreseen_in(t, s), of, share);
    }
}

static void take_parts(struct timeline *t, const struct job *j, const struct selection *where,
                       int64_t from, bool runs)
{
    _cleanup_(select_done) struct selection wide = {0};
    where = select_widen(t->cluster, j, where, &wide);
    prepare_nodes(t, where);
    vec_foreach (&where->shares, s)
        take_part(t, j, where, s, from, runs);
}

void timeline_reserve(struct timeline *t, const struct job *j, const struct selection *where,
                      int64_t from)
{
    take_parts(t, j, where, from, false);
    timeline_add_moment(t, job_ends_at(j, from));
}

void timeline_start(struct timeline *t, const struct job *j, const struct selection *where)
{
    take_parts(t, j, where, TIMELINE_NOW, true);
    timeline_add_moment(t, job_ends_at(j, t->calendar.now_sec));
}

/* --- the calendar interface ---------------------------------------------------------------------
 */

static bool serve_any(const struct cluster *c, const struct job *j)
{
    (void)c;
    (void)j;
    return true;
}

static bool find_start(struct calendar *cal, const struct job *j, const struct bitset *allowed,
                       int64_t not_before, struct selection *where, int64_t *at_sec)
{
    struct timeline *t = (struct timeline *)cal;
    t->in = resv_home(j);
    t->not_before = not_before;
    if (not_before > cal->now_sec)
        timeline_add_moment(t, not_before);
    *at_sec = timeline_find(t, j, allowed, where);
    if (!where->shares.len)
        *at_sec = CALENDAR_NEVER;
    return true;
}

static void reserve_start(struct calendar *cal, const struct job *j, const struct selection *where,
                          int64_t at_sec)
{
    if (where->shares.len)
        timeline_reserve((struct timeline *)cal, j, where, at_sec);
}

static bool might_always_fit(const struct calendar *cal, const struct job *j)
{
    (void)cal;
    (void)j;
    return true;
}

static bool fit_now(struct calendar *cal, const struct job *j, const struct resv *in,
                    const struct bitset *allowed, struct selection *where)
{
    struct timeline *t = (struct timeline *)cal;
    t->in = in;
    return timeline_fits_now(t, j, allowed, where);
}

static void begin_job(struct calendar *cal, const struct job *j, const struct selection *where)
{
    timeline_start((struct timeline *)cal, j, where);
}

static void end_timeline(struct calendar *cal)
{
    timeline_done((struct timeline *)cal);
}

static const struct calendar_ops timeline_ops = {"timeline",    serve_any,        find_start,
                                                 reserve_start, might_always_fit, fit_now,
                                                 begin_job,     end_timeline};
