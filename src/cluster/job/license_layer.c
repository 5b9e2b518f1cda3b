/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical resources: layers, which nodes they leave to a job, and what jobs hold of them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "cluster/job/job_set_text.h"
#include "cluster/job/license_layer.h"
#include "cluster/job/license_tied.h"

/* --- what there is ------------------------------------------------------------------------------
 */

/* By the number of nodes, then by the first one. */
static bool is_ordered_before(const struct license *one, const struct license *other)
{
    size_t n = bitset_count(one->nodes), m = bitset_count(other->nodes);
    return n != m ? n < m : bitset_next(one->nodes, 0) < bitset_next(other->nodes, 0);
}

/* Notes where the layer's nodes begin and end. */
static void find_words(struct license *l)
{
    long first = bitset_next(l->nodes, 0), last = bitset_last(l->nodes);
    l->first_word = first < 0 ? 0 : (uint32_t)first / 64;
    l->words = first < 0 ? 0 : (uint32_t)last / 64 - l->first_word + 1;
}

/* Joins the layer to those below it. False: one of these is only in part within it. */
static bool join_layer(struct license *l, uint32_t i, int32_t *top, uint32_t *inside)
{
    bool joined = true;
    l[i].own = 0;
    l[i].parent = -1;
    bitset_foreach (l[i].nodes, k) {
        if (top[k] < 0)
            l[i].own++;
        else
            inside[top[k]]++;
    }
    bitset_foreach (l[i].nodes, k) {
        int32_t below = top[k];
        if (below >= 0 && inside[below] == bitset_count(l[below].nodes))
            l[below].parent = (int32_t)i;
        joined = joined && (below < 0 || l[below].parent == (int32_t)i);
        top[k] = (int32_t)i;
    }
    return joined;
}

/* Computes what depends on the layers of the resource alone, not on jobs. */
static void shape_layers(struct cluster *c, size_t first)
{
    struct license *l = &c->licenses.list.data[first];
    _cleanup_free_ int32_t *top = mem_new_array(int32_t, c->nodes.len + 1);
    _cleanup_free_ uint32_t *inside = mem_new_array(uint32_t, l->pools + 1);
    for (size_t i = 0; i < c->nodes.len; i++)
        top[i] = -1;
    for (uint32_t i = 0; i < l->pools; i++) {
        bitset_free(l[i].scope);
        l[i].scope = NULL;
    }
    l->scope = bitset_new(c->nodes.len);
    l->is_tree = true;
    for (uint32_t i = 0; i < l->pools; i++) {
        bitset_or(l->scope, l[i].nodes);
        find_words(&l[i]);
        memset(inside, 0, sizeof(*inside) * (l->pools + 1));
        l->is_tree = join_layer(l, i, top, inside) && l->is_tree;
    }
    c->licenses.changes++;
    license_begin_counts(c);
}

/* Inserts the layer among the layers of its resource, in their order. */
static void insert_layer(struct cluster *c, const char *name, struct license layer)
{
    struct licenses *all = &c->licenses;
    size_t at = all->list.len, first = at;
    while (first > 0 && str_eq(all->list.data[first - 1].name, name))
        first--;
    layer.name = mem_strdup(name);
    vec_push(&all->list, layer);
    struct license *l = all->list.data;
    for (; at > first && is_ordered_before(&layer, &l[at - 1]); at--) {
        struct license larger = l[at - 1];
        l[at - 1] = l[at];
        l[at] = larger;
    }
    for (size_t i = first; i < all->list.len; i++)
        l[i].pools = i == first ? (uint32_t)(all->list.len - first) : 0;
    all->has_tied = true;
    shape_layers(c, first);
}

void license_add_layer(struct cluster *c, const char *name, enum conf_hres_mode mode,
                       struct bitset *nodes, uint64_t total)
{
    insert_layer(c, name,
                 (struct license){.total = total, .count = total, .nodes = nodes, .mode = mode});
}

/* The configuration has them in their order. */
void license_add_tied(struct cluster *c)
{
    vec_foreach (&c->conf->hres.list, h) {
        size_t first = c->licenses.list.len;
        vec_foreach (&h->layers, layer) {
            struct license l = {.name = mem_strdup(h->name),
                                .count = layer->count,
                                .base = layer->base,
                                .nodes = bitset_dup(layer->node_set),
                                .mode = h->mode,
                                .conf = layer};
            vec_push(&c->licenses.list, l);
            license_set_count(&vec_last(&c->licenses.list), layer->count);
        }
        c->licenses.list.data[first].pools = (uint32_t)h->layers.len;
        shape_layers(c, first);
        c->licenses.has_tied = true;
    }
}

void license_set_count(struct license *l, uint64_t count)
{
    l->count = count;
    l->total = count == LICENSE_UNLIMITED ? count : count > l->base ? count - l->base : 0;
}

void license_change_count(struct cluster *c, struct license *l, uint64_t count)
{
    license_set_count(l, count);
    c->licenses.changes++;
}

void license_format_pool(const struct license *l, struct str *out)
{
    str_puts(out, l->name);
    if (l->conf)
        str_printf(out, "(%s)", l->conf->nodes);
}

void license_format_total(const struct license *l, struct str *out)
{
    bool is_live = l->conf && l->count != l->conf->count;
    license_format_pool(l, out);
    str_printf(out, " has %llu", (unsigned long long)l->total);
    if (l->base)
        str_printf(out, " (count %llu, base %llu", (unsigned long long)l->count,
                   (unsigned long long)l->base);
    if (is_live)
        str_puts(out, l->base ? "; " : " (");
    if (is_live && l->conf->count == LICENSE_UNLIMITED)
        str_puts(out, "no limit in resources.yaml");
    else if (is_live)
        str_printf(out, "%llu in resources.yaml", (unsigned long long)l->conf->count);
    str_puts(out, l->base || is_live ? ")" : "");
}

bool license_is_per_node(const struct license *l)
{
    return l->mode == CONF_HRES_PER_NODE;
}

bool license_has_payer(const struct license *l)
{
    return l->mode == CONF_HRES_ONE_LAYER;
}

bool license_is_one_layer(const struct cluster *c, const struct license_need *need)
{
    return need->at >= 0 && c->licenses.list.data[need->at].mode == CONF_HRES_ONE_LAYER;
}

uint64_t license_amount(const struct license *l, const struct license_need *need, uint32_t nodes)
{
    return l->mode == CONF_HRES_PER_NODE ? (uint64_t)need->count * nodes : nodes ? need->count : 0;
}

/* --- which nodes -------------------------------------------------------------------------------
 */

static void swap_keys(uint64_t *a, uint64_t *b)
{
    uint64_t key = *a;
    *a = *b;
    *b = key;
}

/* Quickselect: moves the 'most' smallest keys to the front, in no order. All keys differ. */
static void move_least_first(uint64_t *keys, size_t len, size_t most)
{
    size_t first = 0, end = len;
    uint64_t chance = len;
    while (first < most && most < end) {
        size_t at = first;
        chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        swap_keys(&keys[first + (chance >> 33) % (end - first)], &keys[end - 1]);
        for (size_t i = first; i < end - 1; i++)
            if (keys[i] < keys[end - 1])
                swap_keys(&keys[i], &keys[at++]);
        swap_keys(&keys[at], &keys[end - 1]);
        if (at < most)
            first = at + 1;
        else
            end = at;
    }
}

size_t license_count_in_scope(const struct license *l, const struct bitset *set)
{
    size_t count = 0;
    for (uint32_t i = l->first_word; i < l->first_word + l->words; i++)
        count += (size_t)__builtin_popcountll(set->word[i] & l->nodes->word[i]);
    return count;
}

bool license_drop_scope(const struct license *l, struct bitset *set)
{
    uint64_t dropped = 0;
    for (uint32_t i = l->first_word; i < l->first_word + l->words; i++) {
        dropped |= set->word[i] & l->nodes->word[i];
        set->word[i] &= ~l->nodes->word[i];
    }
    return dropped != 0;
}

bool license_has_node(const struct license *l, const struct bitset *set)
{
    for (uint32_t i = l->first_word; i < l->first_word + l->words; i++)
        if (set->word[i] & l->nodes->word[i])
            return true;
    return false;
}

/* Reduces the nodes of the set in the scope to 'most'; the nodes that license_trim() is to keep are
 * the last to go. */
static bool keep_best(const struct license *l, uint64_t most, const struct bitset *keep,
                      const uint32_t *weight, struct bitset *set)
{
    size_t count = most ? license_count_in_scope(l, set) : 0, len = 0;
    if (!most)
        return license_drop_scope(l, set);
    if (count <= most)
        return false;
    _cleanup_free_ uint64_t *keys = mem_new_array(uint64_t, count);
    for (size_t word = l->first_word; len < count; word++)
        for (uint64_t left = set->word[word] & l->nodes->word[word]; left; left &= left - 1) {
            size_t i = word * 64 + (size_t)__builtin_ctzll(left);
            bool first = keep && bitset_test(keep, i);
            uint64_t light = UINT32_MAX - (weight ? weight[i] : 0);
            keys[len++] = (uint64_t)!first << 63 | light << 31 | i;
        }
    move_least_first(keys, len, most);
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
    if (l->mode == CONF_HRES_ONE_LAYER)
        return false;
    bool trimmed = !bitset_contains(l->scope, set);
    bitset_and(set, l->scope);
    for (uint32_t i = 0; i < l->pools; i++) {
        uint64_t most = need->count ? room[i] / need->count : UINT64_MAX;
        if (l->mode == CONF_HRES_PER_NODE) {
            trimmed |= keep_best(&l[i], most, keep, weight, set);
        } else if (!most) {
            trimmed |= license_drop_scope(&l[i], set);
        }
    }
    return trimmed;
}

static bool layers_have(const struct license *l, uint32_t count, const uint64_t *room,
                        const struct bitset *required)
{
    for (uint32_t i = 0; i < l->pools; i++)
        if (license_count_in_scope(&l[i], required) > room[i] / count)
            return false;
    return bitset_contains(l->scope, required);
}

bool license_leaves_nodes(const struct cluster *c, const struct license_need *need,
                          const uint64_t *room, const struct bitset *required,
                          const struct bitset *set, size_t nodes)
{
    const struct license *l = &c->licenses.list.data[need->at];
    if (need->count && l->is_tree && l->mode == CONF_HRES_PER_NODE)
        return license_count_in_tree(l, need->count, room, set) >= nodes &&
               (!required ||
                (bitset_contains(set, required) && layers_have(l, need->count, room, required)));
    _cleanup_bitset_ struct bitset *left = bitset_dup(set);
    license_trim(c, need, room, required, NULL, left);
    return bitset_count(left) >= nodes && (!required || bitset_contains(left, required));
}

int32_t license_choose_layer(const struct cluster *c, const struct license_need *need,
                             const uint64_t *room, const struct bitset *set, int32_t *otherwise)
{
    const struct license *l = &c->licenses.list.data[need->at];
    int32_t lowest = -1;
    for (uint32_t i = 0; i < l->pools; i++) {
        if (!license_has_node(&l[i], set))
            continue;
        if (room && room[i] >= need->count)
            return need->at + (int32_t)i;
        lowest = lowest < 0 ? need->at + (int32_t)i : lowest;
    }
    if (otherwise)
        *otherwise = lowest;
    return -1;
}

/* --- mode 1: which nodes have a layer with room ------------------------------------------------
 */

#define NEEDS_MAX 64 /* of mode 1 in a job; each is a bit */

/* For each node of the set, the needs of mode 1 that a layer of the node can pay. */
static uint64_t *find_payers(const struct cluster *c, const struct license_needs *needs,
                             const uint64_t *room, uint64_t *all)
{
    uint64_t *pays = NULL;
    *all = 0;
    vec_foreach (&needs->list, need) {
        size_t n = (size_t)(need - needs->list.data);
        if (!license_is_one_layer(c, need) || n >= NEEDS_MAX)
            continue;
        const struct license *l = &c->licenses.list.data[need->at];
        if (!pays)
            pays = mem_new_array(uint64_t, c->nodes.len + 1);
        *all |= UINT64_C(1) << n;
        for (uint32_t i = 0; i < l->pools; i++)
            if (room[need->at + (int32_t)i] >= need->count)
                bitset_foreach (l[i].nodes, k)
                    pays[k] |= UINT64_C(1) << n;
    }
    return pays;
}

/* Finds the node of the set that pays most of the open units; among equals the heaviest. */
static long find_best_payer(const uint64_t *pays, uint64_t open, const uint32_t *weight,
                            const struct bitset *set)
{
    long best = -1;
    int most = 0;
    bitset_foreach (set, i) {
        int count = __builtin_popcountll(pays[i] & open);
        if (count > most ||
            (count && count == most && weight && best >= 0 && weight[i] > weight[best])) {
            best = i;
            most = count;
        }
    }
    return best;
}

/* Whether any node of the set does: for each need some layer with room has all of them. */
static bool can_layers_pay(const struct cluster *c, const struct license_needs *needs,
                           const uint64_t *room, const struct bitset *set)
{
    vec_foreach (&needs->list, need) {
        const struct license *l = need->at < 0 ? NULL : &c->licenses.list.data[need->at];
        bool pays = !l || l->mode != CONF_HRES_ONE_LAYER;
        for (uint32_t i = pays ? 0 : l->pools; i-- > 0 && !pays;)
            pays = room[need->at + (int32_t)i] >= need->count && bitset_contains(l[i].nodes, set);
        if (!pays)
            return false;
    }
    return true;
}

/* Few nodes are best, and to take the one that pays the most finds the fewest for up to three
 * needs. */
bool license_find_anchors(const struct cluster *c, const struct license_needs *needs,
                          const uint64_t *room, const struct bitset *required,
                          const uint32_t *weight, const struct bitset *set,
                          const struct bitset *candidates, struct bitset **out)
{
    uint64_t all, open;
    *out = NULL;
    if (can_layers_pay(c, needs, room, set))
        return true;
    _cleanup_free_ uint64_t *pays = find_payers(c, needs, room, &all);
    if (!pays)
        return true;
    open = all;
    if (required)
        bitset_foreach (required, i)
            open &= bitset_test(set, (size_t)i) ? ~pays[i] : ~UINT64_C(0);
    bool everywhere = true;
    bitset_foreach (set, i)
        everywhere = everywhere && (pays[i] & open) == open;
    if (!open || everywhere)
        return !open || !bitset_empty(set);
    struct bitset *anchors = bitset_new(c->nodes.len);
    while (open) {
        long best = find_best_payer(pays, open, weight, candidates);
        if (best < 0) {
            bitset_free(anchors);
            return false;
        }
        bitset_set(anchors, (size_t)best);
        open &= ~pays[best];
    }
    *out = anchors;
    return true;
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
static void set_hold(struct cluster *c, struct license_hold *hold, uint64_t count, struct resv *r)
{
    uint64_t before = hold->count;
    hold->count = count;
    c->licenses.list.data[hold->at].used += count - before;
    c->licenses.changes += count != before;
    if (r)
        vec_foreach (&r->stock, s)
            if (s->at == hold->at)
                s->used += count - before;
}

static void count_layer(struct cluster *c, struct job *j, const struct license_need *need,
                        int32_t at, int by, struct resv *r)
{
    struct license_hold *hold = find_hold(j, at);
    hold->nodes += (uint32_t)by;
    set_hold(c, hold, license_amount(&c->licenses.list.data[at], need, hold->nodes), r);
}

/* Mode 1: the hold that says which layer pays; NULL: none yet. */
static struct license_hold *find_payment(const struct cluster *c, struct job *j,
                                         const struct license_need *need)
{
    int32_t end = need->at + (int32_t)c->licenses.list.data[need->at].pools;
    vec_foreach (&attempt_of(j)->holds, hold)
        if (hold->at >= need->at && hold->at < end)
            return hold;
    return NULL;
}

void license_set_payer(struct job *j, int32_t at)
{
    (void)find_hold(j, at);
}

void license_keep_payers(const struct cluster *c, struct job *j, const int32_t *pools, size_t count,
                         const uint64_t *had)
{
    vec_foreach (&j->want.licenses.list, need)
        for (size_t i = 0; i < count && license_is_one_layer(c, need); i++)
            if (pools[i] >= need->at && had[pools[i]] >= need->count &&
                pools[i] < need->at + (int32_t)c->licenses.list.data[need->at].pools)
                license_set_payer(j, pools[i]);
}

/* Charges the chosen layer, otherwise the lowest layer that contains the nodes. The same layer is
 * charged while the job runs, even if the job gets or loses nodes. */
static void pay_one_layer(struct cluster *c, struct job *j, const struct license_need *need,
                          struct bitset *nodes, struct resv *r)
{
    struct license_hold *hold = find_payment(c, j, need);
    if (!hold) {
        const struct license *l = &c->licenses.list.data[need->at];
        _cleanup_free_ uint64_t *room = mem_new_array(uint64_t, l->pools);
        int32_t lowest = -1;
        for (uint32_t i = 0; i < l->pools; i++)
            room[i] = l[i].total > l[i].used ? l[i].total - l[i].used : 0;
        int32_t at = license_choose_layer(c, need, room, nodes, &lowest);
        at = at < 0 ? lowest : at;
        if (at < 0)
            return;
        hold = find_hold(j, at);
    }
    set_hold(c, hold, need->count, r);
}

static void count_node(struct cluster *c, struct job *j, uint32_t node, int by, struct resv *r)
{
    vec_foreach (&j->want.licenses.list, need) {
        if (!license_is_tied(c, need))
            continue;
        if (license_is_one_layer(c, need)) {
            _cleanup_bitset_ struct bitset *nodes = bitset_new(c->nodes.len);
            bitset_set(nodes, node);
            if (by > 0)
                pay_one_layer(c, j, need, nodes, r);
            continue;
        }
        int32_t end = need->at + (int32_t)c->licenses.list.data[need->at].pools;
        for (int32_t at = need->at; at < end; at++)
            if (bitset_test(c->licenses.list.data[at].nodes, node))
                count_layer(c, j, need, at, by, r);
    }
}

static void follow_node(struct cluster *c, struct job *j, uint32_t node, int by)
{
    if (c->licenses.has_tied && license_held(j))
        count_node(c, j, node, by, attempt_of(j)->resv);
}

/* In mode 1, for all nodes together. */
static void take_one_layers(struct cluster *c, struct job *j)
{
    _cleanup_bitset_ struct bitset *nodes = bitset_new(c->nodes.len);
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released)
            bitset_set(nodes, a->node);
    vec_foreach (&j->want.licenses.list, need)
        if (license_is_one_layer(c, need))
            pay_one_layer(c, j, need, nodes, NULL);
}

static void take_layers(struct cluster *c, struct job *j)
{
    if (!license_needs_tied(c, j))
        return;
    take_one_layers(c, j);
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released)
            count_node(c, j, a->node, 1, NULL);
}

static void give_back_layers(struct cluster *c, struct job *j)
{
    if (!j->attempt)
        return;
    vec_foreach (&j->attempt->holds, hold)
        c->licenses.list.data[hold->at].used -= hold->count;
    c->licenses.changes += j->attempt->holds.len != 0;
    vec_clear(&j->attempt->holds);
}

/* Counts the units that a job on these nodes must hold. */
static uint64_t count_due(const struct cluster *c, const struct job *j,
                          const struct license_need *need, int32_t at)
{
    const struct license *l = &c->licenses.list.data[at];
    uint32_t nodes = 0;
    vec_foreach (&attempt_of(j)->alloc, a)
        nodes += !a->released && bitset_test(l->nodes, a->node);
    return license_amount(l, need, nodes);
}

/* Mode 1: one layer pays, and pays all. */
static int check_payment(const struct cluster *c, const struct job *j,
                         const struct license_need *need, uint64_t *used, struct err *err)
{
    int32_t end = need->at + (int32_t)c->licenses.list.data[need->at].pools;
    unsigned payers = 0;
    vec_foreach (&attempt_of(j)->holds, hold) {
        if (hold->at < need->at || hold->at >= end)
            continue;
        used[hold->at] += hold->count;
        if (payers++ || hold->count != need->count)
            return err_set(err, -ERR_INTERNAL,
                           "job %u holds %llu of a layer of %s, not %u of one layer", j->id,
                           (unsigned long long)hold->count, need->name, need->count);
    }
    return 0;
}

int license_check_tied(const struct cluster *c, const struct job *j, uint64_t *used,
                       struct err *err)
{
    vec_foreach (&j->want.licenses.list, need) {
        if (!license_is_tied(c, need))
            continue;
        int rc = license_is_one_layer(c, need) ? check_payment(c, j, need, used, err) : 0;
        if (rc != 0)
            return rc;
        if (license_is_one_layer(c, need))
            continue;
        int32_t end = need->at + (int32_t)c->licenses.list.data[need->at].pools;
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

/* --- components of a job set -------------------------------------------------------------------
 */

/* The choice of nodes for several components does not look at the layers of several. */
static int check_set(const struct cluster *c, const struct job *any, struct err *err)
{
    const struct job *layered = NULL;
    for (uint32_t i = 0; i < job_set_count(any); i++) {
        const struct job *j = job_set_component(any, i);
        if (!j || !license_needs_tied(c, j))
            continue;
        if (layered)
            return err_set(err, -ERR_NOT_SUPPORTED, JOB_SET_TEXT_LAYERS, layered->set_offset, i);
        layered = j;
    }
    return 0;
}

/* For what a request could ever have, reservations, the check and the record, see license.c: it has
 * the pools of both kinds. */
const struct resource_ops resource_layer = {
    .set_possible = check_set,
    .take = take_layers,
    .give_back = give_back_layers,
    .follow_node = follow_node,
};
