/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resources that are tied to nodes: layers, and what jobs hold of them. */
#include <stdlib.h>

#include "cluster/cluster.h"

/* --- what there is ------------------------------------------------------------------------------
 */

void license_add_layer(struct cluster *c, const char *name, bool per_node, struct bitset *nodes,
                       uint64_t total)
{
    struct licenses *all = &c->licenses;
    size_t at = all->list.len, first = at;
    while (first > 0 && str_eq(all->list.data[first - 1].name, name))
        first--;
    vec_push(&all->list,
             ((struct license){
                 .name = mem_strdup(name), .total = total, .nodes = nodes, .per_node = per_node}));
    struct license *l = all->list.data;
    for (; at > first && bitset_count(l[at - 1].nodes) > bitset_count(nodes); at--) {
        struct license larger = l[at - 1];
        l[at - 1] = l[at];
        l[at] = larger;
    }
    for (size_t i = first; i < all->list.len; i++)
        l[i].layers = i == first ? (uint32_t)(all->list.len - first) : 0;
    all->layered = true;
}

bool license_is_layered(const struct cluster *c, const struct license_need *need)
{
    return need->at >= 0 && c->licenses.list.data[need->at].nodes;
}

bool license_needs_layers(const struct cluster *c, const struct job *j)
{
    if (c->licenses.layered)
        vec_foreach (&j->want.licenses.list, need)
            if (license_is_layered(c, need))
                return true;
    return false;
}

uint64_t license_amount(const struct license *l, const struct license_need *need, uint32_t nodes)
{
    return l->per_node ? (uint64_t)need->count * nodes : nodes ? need->count : 0;
}

/* --- which nodes -------------------------------------------------------------------------------
 */

static int compare_keys(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

/* Of the set's nodes in the scope, so many: what license_trim() wants to stay comes first. */
static bool keep_best(const struct bitset *scope, uint64_t most, const struct bitset *keep,
                      const uint32_t *weight, struct bitset *set)
{
    size_t count = bitset_count_and(set, scope), len = 0;
    if (count <= most)
        return false;
    _cleanup_free_ uint64_t *keys = mem_new_array(uint64_t, count);
    bitset_foreach (scope, i) {
        if (!bitset_test(set, (size_t)i))
            continue;
        bool first = keep && bitset_test(keep, (size_t)i);
        uint64_t light = UINT32_MAX - (weight ? weight[i] : 0);
        keys[len++] = (uint64_t)!first << 63 | light << 31 | (uint64_t)i;
    }
    qsort(keys, len, sizeof(*keys), compare_keys);
    for (size_t i = most; i < len; i++)
        bitset_unset(set, keys[i] & ((UINT64_C(1) << 31) - 1));
    return true;
}

/* Sets of nodes of which each layer takes no more than its number are the independent sets of a
 * laminar matroid when the layers are a tree: to keep the best of each layer, from the smallest one
 * up, leaves the largest set, and the one of the greatest weight. */
bool license_trim(const struct cluster *c, const struct license_need *need, const uint64_t *room,
                  const struct bitset *keep, const uint32_t *weight, struct bitset *set)
{
    const struct license *l = &c->licenses.list.data[need->at];
    _cleanup_bitset_ struct bitset *scope = bitset_new(c->nodes.len);
    for (uint32_t i = 0; i < l->layers; i++)
        bitset_or(scope, l[i].nodes);
    bool trimmed = !bitset_contains(scope, set);
    bitset_and(set, scope);
    for (uint32_t i = 0; i < l->layers; i++) {
        uint64_t most = need->count ? room[i] / need->count : UINT64_MAX;
        if (l->per_node) {
            trimmed |= keep_best(l[i].nodes, most, keep, weight, set);
        } else if (!most && bitset_intersects(set, l[i].nodes)) {
            bitset_andnot(set, l[i].nodes);
            trimmed = true;
        }
    }
    return trimmed;
}

int license_layers_possible(const struct cluster *c, const struct license_need *need,
                            uint32_t nodes, struct err *err)
{
    const struct license *l = &c->licenses.list.data[need->at];
    _cleanup_bitset_ struct bitset *set = bitset_new(c->nodes.len);
    _cleanup_free_ uint64_t *room = mem_new_array(uint64_t, l->layers);
    for (uint32_t i = 0; i < l->layers; i++)
        room[i] = l[i].total;
    bitset_fill(set);
    license_trim(c, need, room, NULL, NULL, set);
    size_t most = bitset_count(set);
    if (most < nodes || !most)
        return err_set(err, -ERR_LICENSE,
                       "%s: %u of %s requested on %u nodes, its layers have it for %zu",
                       err_text(ERR_LICENSE), need->count, need->name, nodes, most);
    return 0;
}

/* --- what jobs hold ----------------------------------------------------------------------------
 */

uint64_t license_of_job(const struct cluster *c, const struct job *j, int32_t at)
{
    if (!c->licenses.list.data[at].nodes) {
        vec_foreach (&j->want.licenses.list, need)
            if (need->at == at)
                return need->count;
        return 0;
    }
    vec_foreach (&attempt_of(j)->holds, hold)
        if (hold->at == at)
            return hold->count;
    return 0;
}

static struct license_hold *find_hold(struct job *j, int32_t at)
{
    vec_foreach (&attempt_of(j)->holds, hold)
        if (hold->at == at)
            return hold;
    vec_push(&attempt_make(j)->holds, ((struct license_hold){.at = at}));
    return &vec_last(&j->attempt->holds);
}

/* 'r': of the reservation, too; NULL: of none. */
static void count_layer(struct cluster *c, struct job *j, const struct license_need *need,
                        int32_t at, int by, struct resv *r)
{
    struct license *l = &c->licenses.list.data[at];
    struct license_hold *hold = find_hold(j, at);
    uint64_t before = hold->count;
    hold->nodes += (uint32_t)by;
    hold->count = license_amount(l, need, hold->nodes);
    l->used += hold->count - before;
    if (r)
        vec_foreach (&r->stock, s)
            if (s->layered && s->at == at)
                s->used += hold->count - before;
}

static void count_node(struct cluster *c, struct job *j, uint32_t node, int by, struct resv *r)
{
    vec_foreach (&j->want.licenses.list, need) {
        if (!license_is_layered(c, need))
            continue;
        int32_t end = need->at + (int32_t)c->licenses.list.data[need->at].layers;
        for (int32_t at = need->at; at < end; at++)
            if (bitset_test(c->licenses.list.data[at].nodes, node))
                count_layer(c, j, need, at, by, r);
    }
}

void license_follow_node(struct cluster *c, struct job *j, uint32_t node, int by)
{
    if (c->licenses.layered && license_held(j))
        count_node(c, j, node, by, attempt_of(j)->resv);
}

void license_take_layers(struct cluster *c, struct job *j)
{
    if (license_needs_layers(c, j))
        vec_foreach (&attempt_of(j)->alloc, a)
            if (!a->released)
                count_node(c, j, a->node, 1, NULL);
}

void license_give_back_layers(struct cluster *c, struct job *j)
{
    if (!j->attempt)
        return;
    vec_foreach (&j->attempt->holds, hold)
        c->licenses.list.data[hold->at].used -= hold->count;
    vec_clear(&j->attempt->holds);
}

/* What a job of these nodes is to hold. */
static uint64_t count_due(const struct cluster *c, const struct job *j,
                          const struct license_need *need, int32_t at)
{
    const struct license *l = &c->licenses.list.data[at];
    uint32_t nodes = 0;
    vec_foreach (&attempt_of(j)->alloc, a)
        nodes += !a->released && bitset_test(l->nodes, a->node);
    return license_amount(l, need, nodes);
}

int license_check_layers(const struct cluster *c, const struct job *j, uint64_t *used,
                         struct err *err)
{
    vec_foreach (&j->want.licenses.list, need) {
        if (!license_is_layered(c, need))
            continue;
        int32_t end = need->at + (int32_t)c->licenses.list.data[need->at].layers;
        for (int32_t at = need->at; at < end; at++) {
            uint64_t due = count_due(c, j, need, at);
            if (license_of_job(c, j, at) != due)
                return err_set(err, -ERR_INTERNAL, "job %u holds %llu of a layer of %s, not %llu",
                               j->id, (unsigned long long)license_of_job(c, j, at), need->name,
                               (unsigned long long)due);
            used[at] += due;
        }
    }
    return 0;
}
