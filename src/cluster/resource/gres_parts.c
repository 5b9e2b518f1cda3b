/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/resource/gres_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cluster/cluster.h"

/* --- kinds -------------------------------------------------------------------------------------
 */

static bool are_counted(const struct conf_gres *g)
{
    return g->flags & CONF_GRES_COUNT_ONLY || g->count > GRES_DEVICES_MAX;
}

/* Returns the slot for entries of this name; -1: too many names. */
static long find_entry_slot(struct gres_parts *p, const struct conf_gres *g)
{
    for (long i = 0; i < GRES_PARTS_NAMES; i++) {
        if (!p->item[i])
            p->item[i] = g;
        if (strcasecmp(p->item[i]->name, g->name) == 0)
            return i;
    }
    return -1;
}

/* Returns false if the set has GPUs that are only counted, or too many. */
static bool find_gpus(const struct cluster *c, struct gres_parts *p)
{
    for (size_t i = 0; i < p->set->len; i++) {
        const struct conf_gres *g = &p->set->items[i];
        if (!conf_gres_is_gpu(g->name))
            continue;
        long kind = gres_kind_find(c, g->name, g->type);
        if (kind < 0 || are_counted(g) || g->count > GRES_PARTS_GPUS - p->gpus)
            return false;
        for (uint32_t k = 0; k < g->count; k++)
            p->gpu[p->gpus++] = (struct gres_parts_gpu){.whole = (uint32_t)kind, .device = k};
        p->whole_mask |= UINT64_C(1) << kind;
    }
    return p->gpus > 0;
}

static bool find_parts(struct gres_parts *p)
{
    for (size_t i = 0; i < p->set->len; i++) {
        const struct conf_gres *g = &p->set->items[i];
        long slot = g->n_parts ? find_entry_slot(p, g) : 0;
        if (slot < 0)
            return false;
        for (size_t k = 0; k < g->n_parts && k < p->gpus; k++)
            p->gpu[k].count[slot] += g->parts[k];
    }
    return true;
}

/* Adds a kind; false: the limit is reached. */
static bool add_kind(struct cluster *c, const char *name, enum gres_role role, uint32_t gpu,
                     uint32_t *out)
{
    for (*out = 0; *out < c->gres_kinds.len; ++*out) {
        const struct gres_kind *k = &c->gres_kinds.data[*out];
        if (k->role == role && k->gpu == gpu && strcasecmp(k->name, name) == 0)
            return true;
    }
    if (c->gres_kinds.len == GRES_KINDS_MAX)
        return false;
    vec_push(&c->gres_kinds, ((struct gres_kind){.name = name, .role = role, .gpu = gpu}));
    return true;
}

static bool add_kinds(struct cluster *c, struct gres_parts *p)
{
    for (uint32_t i = 0; i < p->gpus; i++) {
        struct gres_parts_gpu *g = &p->gpu[i];
        if (!add_kind(c, "gpu lock", GRES_LOCK, i, &g->lock))
            return false;
        for (size_t k = 0; k < GRES_PARTS_NAMES; k++) {
            if (!g->count[k])
                continue;
            if (!add_kind(c, p->item[k]->name, GRES_PART, i, &g->part[k]))
                return false;
            p->part_mask[k] |= UINT64_C(1) << g->part[k];
        }
    }
    return true;
}

static bool has_parts(const struct conf_gres_set *set)
{
    for (size_t i = 0; i < set->len; i++)
        if (set->items[i].n_parts)
            return true;
    return false;
}

/* These flags are global: if entries of one node have them, they apply to all nodes. */
static bool are_of_one_gpu(const struct cluster *c, const char *name)
{
    unsigned flags = 0;
    vec_foreach (&c->conf->gres_sets, set)
        for (size_t i = 0; i < set->len; i++)
            flags |= strcasecmp(set->items[i].name, name) == 0 ? set->items[i].flags : 0;
    return flags & CONF_GRES_ONE_SHARING ||
           (strcasecmp(name, "mps") == 0 && !(flags & CONF_GRES_ALL_SHARING));
}

void gres_parts_init(struct cluster *c)
{
    vec_foreach (&c->conf->gres_sets, set) {
        if (!has_parts(set))
            continue;
        size_t kinds = c->gres_kinds.len;
        struct gres_parts *p = mem_new(struct gres_parts);
        p->set = set;
        p->spread = c->conf->cr & CONF_CR_LL_SHARED;
        p->several = c->conf->cr & CONF_CR_SEVERAL_SHARED;
        if (!find_gpus(c, p) || !find_parts(p) || !add_kinds(c, p)) {
            c->gres_kinds.len = kinds;
            free(p);
            continue;
        }
        for (size_t k = 0; k < GRES_PARTS_NAMES; k++)
            p->one[k] = p->item[k] && are_of_one_gpu(c, p->item[k]->name);
        vec_push(&c->gres_parts, p);
    }
}

void gres_parts_done(struct cluster *c)
{
    vec_foreach (&c->gres_parts, p)
        free(*p);
    vec_done(&c->gres_parts);
}

const struct gres_parts *gres_parts_of(const struct cluster *c, const struct conf_gres_set *set)
{
    vec_foreach (&c->gres_parts, p)
        if ((*p)->set == set)
            return *p;
    return NULL;
}

const struct gres_parts_gpu *gres_parts_gpu_of(const struct gres_parts *p, uint32_t kind)
{
    for (uint32_t i = 0; p && i < p->gpus; i++) {
        const struct gres_parts_gpu *g = &p->gpu[i];
        if (g->lock == kind)
            return g;
        for (size_t k = 0; k < GRES_PARTS_NAMES; k++)
            if (g->count[k] && g->part[k] == kind)
                return g;
    }
    return NULL;
}

bool gres_parts_has(const struct node *n, uint32_t kind)
{
    return n->parts && (n->parts->whole_mask >> kind & 1 || gres_parts_gpu_of(n->parts, kind));
}

/* --- parts of a node ----------------------------------------------------------------------------
 */

void gres_parts_stock(struct node *n)
{
    const struct gres_parts *p = n->parts;
    for (uint32_t i = 0; p && i < p->gpus; i++)
        vec_push(&n->gres, ((struct gres_stock){.kind = p->gpu[i].lock, .count = 1}));
    for (size_t k = 0; k < GRES_PARTS_NAMES; k++)
        for (uint32_t i = 0; p && i < p->gpus; i++)
            if (p->gpu[i].count[k])
                vec_push(&n->gres, ((struct gres_stock){.kind = p->gpu[i].part[k],
                                                        .count = p->gpu[i].count[k],
                                                        .conf = p->item[k]}));
}

uint64_t gres_parts_used(const struct node *n, const struct gres_parts_gpu *g, size_t name)
{
    return g->count[name] ? gres_find(n, g->part[name])->used : 0;
}

static bool is_in_parts(const struct node *n, const struct gres_parts_gpu *g)
{
    for (size_t k = 0; k < GRES_PARTS_NAMES; k++)
        if (gres_parts_used(n, g, k))
            return true;
    return false;
}

void gres_parts_settle(struct node *n)
{
    const struct gres_parts *p = n->parts;
    for (uint32_t i = 0; p && i < p->gpus; i++) {
        const struct gres_parts_gpu *g = &p->gpu[i];
        struct gres_stock *s = gres_find(n, g->whole);
        assert(s && s->busy && g->device < s->busy->size);
        gres_find(n, g->lock)->used = bitset_test(s->busy, g->device);
        if (!s->shared)
            s->shared = bitset_new(s->busy->size);
        if (is_in_parts(n, g))
            bitset_set(s->shared, g->device);
        else
            bitset_unset(s->shared, g->device);
    }
}

/* --- parts in a row -----------------------------------------------------------------------------
 */

static bool is_touched(const struct gres_parts_gpu *g, size_t name, const uint64_t *row)
{
    return g->count[name] && row[g->part[name]] < g->count[name];
}

static bool is_free_whole(const struct gres_parts_gpu *g, const uint64_t *row)
{
    return row[g->lock] && !is_touched(g, 0, row) && !is_touched(g, 1, row);
}

static uint64_t parts_left(const struct gres_parts *p, uint32_t gpu, size_t name,
                           const uint64_t *row)
{
    const struct gres_parts_gpu *g = &p->gpu[gpu];
    if (!g->count[name] || !row[g->lock] || is_touched(g, !name, row))
        return 0;
    for (uint32_t i = 0; p->one[name] && i < p->gpus; i++)
        if (i != gpu && is_touched(&p->gpu[i], name, row))
            return 0;
    return row[g->part[name]];
}

static uint64_t count_wanted(const struct gres_wants *wants, uint64_t mask, uint32_t tasks,
                             uint64_t more)
{
    uint64_t sum = 0;
    if (wants)
        vec_foreach (&wants->list, w)
            if (w->mask & mask)
                sum += w->per_node + w->per_task * tasks + (w->per_job ? more : 0);
    return sum;
}

/* Whether fewer parts of 'a' are in use. */
static bool is_used_less(const struct gres_parts_gpu *a, const struct gres_parts_gpu *b,
                         size_t name, const uint64_t *row)
{
    uint64_t a_used = a->count[name] - row[a->part[name]];
    uint64_t b_used = b->count[name] - row[b->part[name]];
    return (double)a_used / (double)a->count[name] < (double)b_used / (double)b->count[name];
}

/* Keeps the parts of one GPU: of the first GPU with all of them, otherwise of the one with the
 * most. */
static void keep_one(const struct gres_parts *p, size_t name, uint64_t need, const uint64_t *row,
                     uint64_t *out)
{
    const struct gres_parts_gpu *best = NULL;
    for (uint32_t i = 0; i < p->gpus; i++) {
        const struct gres_parts_gpu *g = &p->gpu[i];
        uint64_t have = g->count[name] ? out[g->part[name]] : 0;
        uint64_t most = best ? out[best->part[name]] : 0;
        if (have && (!best ||
                     (most < need ? have > most
                                  : p->spread && have >= need && is_used_less(g, best, name, row))))
            best = g;
    }
    for (uint32_t i = 0; i < p->gpus; i++)
        if (p->gpu[i].count[name] && &p->gpu[i] != best)
            out[p->gpu[i].part[name]] = 0;
}

/* Leaves of each GPU what one task has of its parts. */
static void keep_one_task(const struct gres_parts *p, size_t name, const struct gres_wants *wants,
                          uint64_t *out)
{
    uint64_t each = 0;
    if (wants)
        vec_foreach (&wants->list, w)
            each += w->is_apart && w->mask & p->part_mask[name] ? w->per_task : 0;
    for (uint32_t i = 0; each && i < p->gpus; i++) {
        uint64_t *left = &out[p->gpu[i].part[name]];
        if (p->gpu[i].count[name])
            *left = *left < each ? 0 : each;
    }
}

bool gres_parts_exclude(const struct gres_parts *p, const struct gres_wants *wants)
{
    size_t ways = count_wanted(wants, p->whole_mask, 1, 1) > 0;
    for (size_t k = 0; k < GRES_PARTS_NAMES; k++)
        ways += count_wanted(wants, p->part_mask[k], 1, 1) > 0;
    return ways > 1;
}

void gres_parts_room(const struct gres_parts *p, const struct gres_wants *wants, uint32_t tasks,
                     uint64_t more, const uint64_t *row, size_t kinds, uint64_t *out)
{
    bool none = gres_parts_exclude(p, wants);
    assert(out != row && kinds <= GRES_KINDS_MAX);
    memcpy(out, row, kinds * sizeof(*out));
    for (uint32_t i = 0; i < p->gpus; i++)
        out[p->gpu[i].whole] = 0;
    for (uint32_t i = 0; i < p->gpus; i++) {
        const struct gres_parts_gpu *g = &p->gpu[i];
        out[g->lock] = 0;
        out[g->whole] += !none && is_free_whole(g, row);
        for (size_t k = 0; k < GRES_PARTS_NAMES; k++)
            if (g->count[k])
                out[g->part[k]] = none || !wants ? 0 : parts_left(p, i, k, row);
    }
    for (size_t k = 0; k < GRES_PARTS_NAMES; k++) {
        uint64_t need =
            tasks == UINT32_MAX ? UINT64_MAX : count_wanted(wants, p->part_mask[k], tasks, more);
        keep_one_task(p, k, wants, out);
        if (!p->several || p->one[k])
            keep_one(p, k, need, row, out);
    }
}

/* --- choice ------------------------------------------------------------------------------------
 */

static void subtract_amounts(uint64_t *row, const struct gres_amount *amounts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert(row[amounts[i].kind] >= amounts[i].count);
        row[amounts[i].kind] -= amounts[i].count;
    }
}

size_t gres_parts_add_rest(const struct gres_parts *p, const uint64_t *row, size_t kinds,
                           struct gres_amount *amounts, size_t count)
{
    uint64_t rest[GRES_KINDS_MAX], room[GRES_KINDS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (gres_parts_gpu_of(p, amounts[i].kind))
            amounts[n++] = amounts[i];
    memcpy(rest, row, kinds * sizeof(*rest));
    subtract_amounts(rest, amounts, n);
    gres_parts_room(p, NULL, 0, 0, rest, kinds, room);
    for (uint32_t k = 0; k < kinds; k++)
        if (room[k])
            amounts[n++] = (struct gres_amount){k, room[k]};
    return n;
}

static bool has_parts_of(const struct gres_parts_gpu *g, const struct gres_amount *amounts,
                         size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < GRES_PARTS_NAMES; k++)
            if (g->count[k] && g->part[k] == amounts[i].kind)
                return true;
    return false;
}

size_t gres_parts_add_locks(const struct gres_parts *p, const uint64_t *row,
                            struct gres_amount *amounts, size_t count)
{
    size_t n = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t left = amounts[i].count;
        for (uint32_t k = 0; k < p->gpus && left; k++) {
            const struct gres_parts_gpu *g = &p->gpu[k];
            if (g->whole != amounts[i].kind || !is_free_whole(g, row) ||
                has_parts_of(g, amounts, count))
                continue;
            amounts[n++] = (struct gres_amount){g->lock, 1};
            left--;
        }
    }
    return n;
}

static const struct gres_amount *find_amount(const struct gres_amount *amounts, size_t count,
                                             uint32_t kind)
{
    for (size_t i = 0; i < count; i++)
        if (amounts[i].kind == kind)
            return &amounts[i];
    return NULL;
}

void gres_parts_devices(const struct node *n, const struct gres_amount *amounts, size_t count,
                        struct bitset **devices)
{
    const struct gres_parts *p = n->parts;
    for (uint32_t i = 0; p && i < p->gpus; i++) {
        const struct gres_parts_gpu *g = &p->gpu[i];
        const struct gres_amount *whole = find_amount(amounts, count, g->whole);
        if (!whole || !find_amount(amounts, count, g->lock))
            continue;
        struct bitset **of = &devices[whole - amounts];
        if (!*of)
            *of = bitset_new(gres_find(n, g->whole)->busy->size);
        bitset_set(*of, g->device);
    }
}

bool gres_parts_fit(const struct node *n, const struct gres_amount *amounts, size_t count)
{
    const struct gres_parts *p = n->parts;
    uint64_t row[GRES_KINDS_MAX] = {0};
    if (!p)
        return true;
    vec_foreach (&n->gres, s)
        row[s->kind] = gres_left(s);
    for (uint32_t i = 0; i < p->gpus; i++) {
        const struct gres_parts_gpu *g = &p->gpu[i];
        bool in_parts = has_parts_of(g, amounts, count);
        if (find_amount(amounts, count, g->lock) && (in_parts || !is_free_whole(g, row)))
            return false;
        for (size_t k = 0; k < GRES_PARTS_NAMES; k++) {
            const struct gres_amount *a =
                g->count[k] ? find_amount(amounts, count, g->part[k]) : NULL;
            if (a && a->count > parts_left(p, i, k, row))
                return false;
        }
    }
    uint64_t room[GRES_KINDS_MAX];
    gres_parts_room(p, NULL, 0, 0, row, GRES_KINDS_MAX, room);
    for (size_t i = 0; i < count; i++)
        if (p->whole_mask >> amounts[i].kind & 1 && amounts[i].count > room[amounts[i].kind])
            return false;
    return true;
}
