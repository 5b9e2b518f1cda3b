/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/select/resv_deal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int refuse_parts(const struct cluster *c, const struct gres_wants *wants, struct err *err)
{
    vec_foreach (&wants->list, w)
        for (size_t k = 0; k < c->gres_kinds.len; k++)
            if (w->mask >> k & 1 && c->gres_kinds.data[k].role != GRES_PLAIN)
                return err_set(err, -ERR_GRES,
                               "%s: gres/%s: parts of GPUs cannot be reserved: reserve nodes",
                               err_text(ERR_GRES), w->name);
    return 0;
}

int resv_wish_read(const struct cluster *c, const struct resv *r, struct resv_wish *out,
                   struct err *err)
{
    *out = (struct resv_wish){0};
    int rc = gres_parse(c, r->gres_per_node, GRES_PER_NODE, &out->wants, err);
    if (rc == 0)
        rc = gres_parse(c, r->gres_total, GRES_PER_JOB, &out->wants, err);
    if (rc == 0)
        rc = refuse_parts(c, &out->wants, err);
    if (rc == 0)
        rc = gres_check_known(c, &out->wants, err);
    if (rc != 0)
        resv_wish_done(out);
    return rc;
}

void resv_wish_done(struct resv_wish *w)
{
    gres_wants_done(&w->wants);
    *w = (struct resv_wish){0};
}

void resv_stock_init(struct resv_stock *s, const struct cluster *c)
{
    s->kinds = c->gres_kinds.len;
    s->gres = mem_new_array(uint64_t, c->nodes.len * s->kinds + 1);
    vec_foreach (&c->nodes, n)
        vec_foreach (&(*n)->gres, stock)
            if (!gres_parts_has(*n, stock->kind))
                s->gres[(*n)->index * s->kinds + stock->kind] = stock->count;
}

void resv_stock_done(struct resv_stock *s)
{
    free(take_ptr(s->gres));
}

/* Returns the share of number 'at' of 'count' nodes. */
static uint64_t divide_want(const struct gres_want *w, uint32_t at, uint32_t count)
{
    return w->per_node + (count ? w->per_job / count + (at < w->per_job % count) : 0);
}

/* Takes a node's share; 'taken' receives the counts by kind. False: the node has too little. */
static bool take_share(const struct resv_wish *w, const struct resv_stock *s, size_t node,
                       uint32_t at, uint32_t count, uint64_t *taken)
{
    uint64_t rest[GRES_KINDS_MAX];
    memcpy(rest, s->gres + node * s->kinds, s->kinds * sizeof *rest);
    vec_foreach (&w->wants.list, want)
        if (gres_take(want->mask, divide_want(want, at, count), s->kinds, rest, taken))
            return false;
    return true;
}

bool resv_wish_fits(const struct resv_wish *w, const struct resv_stock *s, size_t node, uint32_t at,
                    uint32_t count)
{
    return take_share(w, s, node, at, count, NULL);
}

static void keep_taken(const struct cluster *c, struct resv *r, size_t at, const uint64_t *taken)
{
    for (size_t k = 0; k < c->gres_kinds.len; k++)
        if (taken[k])
            resv_keep_gres(c, r, at, (uint32_t)k, taken[k]);
}

bool resv_wish_deal(const struct cluster *c, const struct resv_wish *w, const struct resv_stock *s,
                    const struct bitset *nodes, struct resv *r, size_t *node)
{
    uint32_t at = 0, count = (uint32_t)bitset_count(nodes);
    resv_clear_gres(r);
    bitset_foreach (nodes, i) {
        uint64_t taken[GRES_KINDS_MAX] = {0};
        if (!take_share(w, s, i, at, count, taken)) {
            *node = i;
            resv_clear_gres(r);
            return false;
        }
        keep_taken(c, r, at++, taken);
    }
    return true;
}

bool resv_wish_deal_some(const struct cluster *c, const struct resv_wish *w,
                         const struct resv_stock *s, const struct bitset *from, struct resv *r,
                         struct bitset *chosen)
{
    uint64_t left[GRES_WANTS_MAX], rest[GRES_KINDS_MAX], missing = 0;
    size_t at = 0;
    resv_clear_gres(r);
    for (size_t i = 0; i < w->wants.list.len; i++)
        missing += left[i] = w->wants.list.data[i].per_job;
    bitset_foreach (from, node) {
        uint64_t taken[GRES_KINDS_MAX] = {0}, before = missing;
        if (!missing)
            break;
        memcpy(rest, s->gres + node * s->kinds, s->kinds * sizeof *rest);
        missing = 0;
        for (size_t i = 0; i < w->wants.list.len; i++) {
            left[i] = gres_take(w->wants.list.data[i].mask, left[i], s->kinds, rest, taken);
            missing += left[i];
        }
        if (missing == before)
            continue;
        bitset_set(chosen, node);
        keep_taken(c, r, at++, taken);
    }
    if (missing)
        resv_clear_gres(r);
    return !missing;
}

/* Gives the node its share from the first stock that covers it; otherwise the share is reserved by
 * name only, for when the node gets the GRES. */
static void deal_node(const struct cluster *c, const struct resv_wish *w,
                      const struct resv_stock *stocks, size_t count, size_t node, size_t at,
                      struct resv *r)
{
    uint64_t taken[GRES_KINDS_MAX] = {0}, rest[GRES_KINDS_MAX];
    size_t use = 0;
    while (use + 1 < count && !resv_wish_fits(w, &stocks[use], node, 0, 0))
        use++;
    memcpy(rest, stocks[use].gres + node * stocks[use].kinds, stocks[use].kinds * sizeof *rest);
    vec_foreach (&w->wants.list, want) {
        uint64_t missing = gres_take(want->mask, want->per_node, stocks[use].kinds, rest, taken);
        if (missing)
            vec_push(&r->node_gres, ((struct resv_gres){at, mem_strdup(want->name),
                                                        mem_strdup(want->type), missing}));
    }
    keep_taken(c, r, at, taken);
}

void resv_wish_deal_added(const struct cluster *c, const struct resv_wish *w,
                          const struct resv_stock *stocks, size_t count, struct resv *r)
{
    size_t at = 0, next = 0;
    struct resv old = *r;
    r->node_gres = (typeof(r->node_gres)){0};
    bitset_foreach (r->nodes, node) {
        size_t first = next;
        for (; next < old.node_gres.len && old.node_gres.data[next].at <= at; next++)
            vec_push(&r->node_gres, old.node_gres.data[next]);
        if (first == next)
            deal_node(c, w, stocks, count, (size_t)node, at, r);
        at++;
    }
    assert(next == old.node_gres.len);
    vec_done(&old.node_gres);
}
