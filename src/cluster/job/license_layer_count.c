/* SPDX-License-Identifier: GPL-3.0-or-later */
/* On how many nodes a job might have its layers: numbers that hold for all requests of a class, and
 * are counted again when layers have more or less than before. */
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "cluster/job/license_layer.h"
#include "cluster/job/license_tied.h"

#define MOSTS 64     /* a power of two */
#define CLASSES 4096 /* a power of two */
#define PROBES 16
#define CLASS_NEEDS 4

struct license_key { /* what requests of a class have in common */
    uint64_t kinds;
    struct {
        int32_t at;
        uint32_t count;
    } needs[CLASS_NEEDS];
    uint32_t len;
};

struct license_class { /* requests that have equal layers and may have the same nodes */
    struct license_key key;
    struct {
        uint64_t changes; /* of licences, when it was counted; 0: it was not */
        uint64_t beside;  /* of the pool's summary of free CPUs, or of claims */
        uint64_t nodes;
    } counted[LICENSE_COUNTS];
};

struct most {         /* of one need */
    uint64_t changes; /* as in a class */
    int32_t at;
    uint32_t count;
    uint64_t nodes;
};

struct license_mosts {             /* what was counted, as long as layers have as much */
    struct most most[MOSTS];       /* by their hashes */
    struct license_class *classes; /* by their hashes */
};

void license_begin_counts(struct cluster *c)
{
    if (!c->licenses.mosts)
        c->licenses.mosts = mem_new(struct license_mosts);
}

void license_free_mosts(struct license_mosts *m)
{
    if (m)
        free(m->classes);
    free(m);
}

/* --- beside running jobs ------------------------------------------------------------------------
 */

/* A node counts in the lowest layer that contains it, and a layer passes on to its parent at most
 * the nodes for which it has enough units. */
size_t license_count_in_tree(const struct license *l, uint32_t count, const uint64_t *room,
                             const struct bitset *set)
{
    _cleanup_free_ uint64_t *below = mem_new_array(uint64_t, l->pools);
    _cleanup_free_ size_t *in_below = mem_new_array(size_t, l->pools);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < l->pools; i++) {
        size_t in = license_count_in_scope(&l[i], set);
        uint64_t most = below[i] + in - in_below[i], has = room[i] / count;
        most = has < most ? has : most;
        if (l[i].parent < 0) {
            sum += most;
            continue;
        }
        below[l[i].parent] += most;
        in_below[l[i].parent] += in;
    }
    return (size_t)sum;
}

static uint64_t count_left(const struct license *l)
{
    return l->total > l->used ? l->total - l->used : 0;
}

static uint64_t count_most_per_node(const struct license *l, uint32_t count)
{
    _cleanup_free_ uint64_t *below = mem_new_array(uint64_t, l->pools);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < l->pools; i++) {
        uint64_t most = below[i] + l[i].own, has = count_left(&l[i]) / count;
        most = has < most ? has : most;
        if (l[i].parent >= 0)
            below[l[i].parent] += most;
        else
            sum += most;
    }
    return sum;
}

static uint64_t count_most_each(const struct license *l, uint32_t count)
{
    _cleanup_free_ bool *closed = mem_new_array(bool, l->pools);
    uint64_t sum = 0;
    for (uint32_t i = l->pools; i-- > 0;) {
        closed[i] = count_left(&l[i]) < count || (l[i].parent >= 0 && closed[l[i].parent]);
        sum += closed[i] ? 0 : l[i].own;
    }
    return sum;
}

static uint64_t count_most_now(const struct license *l, uint32_t count)
{
    uint64_t any = 0;
    if (!count || (!l->is_tree && l->mode != CONF_HRES_ONE_LAYER))
        return UINT64_MAX;
    if (l->mode == CONF_HRES_PER_NODE)
        return count_most_per_node(l, count);
    if (l->mode == CONF_HRES_EACH_LAYER)
        return count_most_each(l, count);
    for (uint32_t i = 0; i < l->pools && !any; i++)
        any = count_left(&l[i]) >= count ? UINT64_MAX : 0;
    return any;
}

static uint64_t mix_hash(uint64_t hash, int32_t at, uint32_t count)
{
    hash = (hash ^ ((uint64_t)(uint32_t)at << 32 | count)) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

/* Returns the place of the number for this need: one that is up to date, or else to be filled. */
static struct most *find_most(const struct cluster *c, const struct license_need *need)
{
    struct most *most = c->licenses.mosts->most;
    size_t first = mix_hash(0, need->at, need->count);
    for (size_t i = 0; i < PROBES; i++) {
        struct most *m = &most[(first + i) & (MOSTS - 1)];
        if (m->changes != c->licenses.changes || (m->at == need->at && m->count == need->count))
            return m;
    }
    return &most[first & (MOSTS - 1)];
}

uint64_t license_count_most(const struct cluster *c, const struct license_need *need)
{
    struct most *m = find_most(c, need);
    if (m->changes != c->licenses.changes || m->at != need->at || m->count != need->count)
        *m = (struct most){.changes = c->licenses.changes,
                           .at = need->at,
                           .count = need->count,
                           .nodes = count_most_now(&c->licenses.list.data[need->at], need->count)};
    return m->nodes;
}

struct class_look {
    const struct cluster *c;
    const uint64_t *left; /* by pool */
    enum license_count what;
    struct bitset *set;
};

/* Removes the nodes outside of the layers, and of layers with too little for one node. */
static void drop_closed(const struct class_look *k, int32_t at, uint32_t count)
{
    const struct license *l = &k->c->licenses.list.data[at];
    bitset_and(k->set, l->scope);
    for (uint32_t i = 0; i < l->pools; i++)
        if (k->left[at + (int32_t)i] < count)
            license_drop_scope(&l[i], k->set);
}

/* On how many nodes of the set a job may have one resource at most. MODE_1: on all of them, if a
 * layer with enough has a node of the set; for LICENSE_SURE it must have all nodes of the set. */
static uint64_t count_most_of(const struct class_look *k, int32_t at, uint32_t count)
{
    const struct license *l = &k->c->licenses.list.data[at];
    bool pays = l->mode != CONF_HRES_ONE_LAYER;
    for (uint32_t i = l->pools; i-- > 0 && !pays;)
        pays = k->left[at + (int32_t)i] >= count &&
               (k->what == LICENSE_SURE ? bitset_contains(l[i].nodes, k->set)
                                        : license_has_node(&l[i], k->set));
    if (!pays)
        return 0;
    if (l->mode == CONF_HRES_PER_NODE && l->is_tree)
        return license_count_in_tree(l, count, &k->left[at], k->set);
    return l->mode == CONF_HRES_PER_NODE && k->what == LICENSE_SURE ? 0 : UINT64_MAX;
}

static struct bitset *find_nodes_of_class(const struct cluster *c, uint64_t kinds,
                                          enum license_count what)
{
    struct bitset *set = bitset_new(c->nodes.len);
    if (what == LICENSE_NOW)
        bitset_copy(set, c->pool.spare.open);
    else
        bitset_fill(set);
    for (size_t i = 0; kinds != UINT64_MAX && i < c->nodes.len; i++)
        if (!(kinds & license_kind_bit(c->pool.kind[i])))
            bitset_unset(set, i);
    return set;
}

static uint64_t count_class(const struct cluster *c, const struct license_class *of,
                            enum license_count what, const struct license_claimed *claims)
{
    _cleanup_free_ uint64_t *left = mem_new_array(uint64_t, c->licenses.list.len);
    _cleanup_bitset_ struct bitset *set = find_nodes_of_class(c, of->key.kinds, what);
    vec_foreach (&c->licenses.list, l)
        left[l - c->licenses.list.data] = count_left(l);
    if (claims)
        claims->subtract(claims, left);
    const struct class_look k = {c, left, what, set};
    for (uint32_t i = 0; i < of->key.len; i++) {
        enum conf_hres_mode mode = c->licenses.list.data[of->key.needs[i].at].mode;
        if (mode == CONF_HRES_EACH_LAYER || (mode == CONF_HRES_PER_NODE && what == LICENSE_NOW))
            drop_closed(&k, of->key.needs[i].at, of->key.needs[i].count);
    }
    uint64_t most = bitset_count(set);
    for (uint32_t i = 0; i < of->key.len && most; i++) {
        uint64_t has = count_most_of(&k, of->key.needs[i].at, of->key.needs[i].count);
        most = has < most ? has : most;
    }
    return most;
}

/* False: the request needs more tied pools than a class has room for. */
static bool read_needs(const struct cluster *c, const struct license_needs *needs,
                       struct license_key *out)
{
    vec_foreach (&needs->list, need) {
        if (!license_is_tied(c, need) || !need->count)
            continue;
        if (out->len == CLASS_NEEDS)
            return false;
        out->needs[out->len].at = need->at;
        out->needs[out->len++].count = need->count;
    }
    return true;
}

static uint64_t hash_key(const struct license_key *key)
{
    uint64_t hash = key->kinds;
    for (uint32_t i = 0; i < key->len; i++)
        hash = mix_hash(hash, key->needs[i].at, key->needs[i].count);
    return hash;
}

static bool is_same_key(const struct license_key *a, const struct license_key *b)
{
    return a->kinds == b->kinds && a->len == b->len &&
           memcmp(a->needs, b->needs, sizeof a->needs) == 0;
}

/* Returns the place of the class: the one that it has, or else one whose class is outdated. */
static struct license_class *find_class(const struct cluster *c, struct license_class *classes,
                                        const struct license_key *key)
{
    size_t first = hash_key(key) & (CLASSES - 1);
    struct license_class *free = NULL;
    for (size_t i = 0; i < PROBES; i++) {
        struct license_class *at = &classes[(first + i) & (CLASSES - 1)];
        if (is_same_key(&at->key, key))
            return at;
        bool is_old = true;
        for (size_t k = 0; k < LICENSE_COUNTS; k++)
            is_old = is_old && at->counted[k].changes != c->licenses.changes;
        free = !free && is_old ? at : free;
    }
    free = free ? free : &classes[first];
    *free = (struct license_class){.key = *key};
    return free;
}

struct license_class *license_find_class(const struct cluster *c, const struct license_needs *needs,
                                         uint64_t kinds)
{
    struct license_key key = {.kinds = kinds};
    struct license_mosts *m = c->licenses.mosts;
    if (!m || !read_needs(c, needs, &key))
        return NULL;
    if (!m->classes)
        m->classes = mem_new_array(struct license_class, CLASSES);
    return find_class(c, m->classes, &key);
}

uint64_t license_count_class(const struct cluster *c, struct license_class *of,
                             enum license_count what, const struct license_claimed *claims)
{
    uint64_t beside = what == LICENSE_NOW ? c->pool.spare.changes : claims ? claims->version : 0;
    bool is_exact = c->pool.kinds.len < LICENSE_KINDS || of->key.kinds == UINT64_MAX;
    if (what == LICENSE_SURE && !is_exact)
        return 0;
    if (of->counted[what].changes != c->licenses.changes || of->counted[what].beside != beside) {
        of->counted[what].changes = c->licenses.changes;
        of->counted[what].beside = beside;
        of->counted[what].nodes = count_class(c, of, what, claims);
    }
    return of->counted[what].nodes;
}
