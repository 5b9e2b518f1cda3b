/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/node/pool.h"

#include <assert.h>

#include "cluster/cluster.h"

static uint32_t count_restricted(const struct node *n)
{
    return n->restricted ? (uint32_t)bitset_count(n->restricted) : 0;
}

static bool is_of(const struct cluster *c, const struct node_kind *k, const struct node *n)
{
    return k->cpus == n->cpus && k->spec_cpus == n->spec_cpus && k->units == n->units &&
           k->cpus_per_unit == n->cpus_per_unit && k->weight == n->weight &&
           amounts_equal(&k->amounts, &n->amounts) && k->sockets == n->sockets &&
           k->cores == n->cores && k->threads == n->threads && k->tmp_mib == n->tmp_mib &&
           k->future == n->future && k->gres == conf_gres_of(c->conf, n->index) &&
           k->restricted == count_restricted(n) && k->restricted_per_gpu == n->restricted_per_gpu &&
           str_eq(k->features, node_active_features(n));
}

/* Returns the index of the node's kind, or a free index for it. */
static uint32_t find_kind(const struct cluster *c, const struct node *n)
{
    const struct pool *p = &c->pool;
    uint32_t place = (uint32_t)p->kinds.len;
    for (uint32_t i = 0; i < p->kinds.len; i++) {
        if (p->kinds.data[i].nodes == 0)
            place = place == p->kinds.len ? i : place;
        else if (is_of(c, &p->kinds.data[i], n))
            return i;
    }
    return place;
}

static void leave_kind(struct pool *p, uint32_t kind)
{
    struct node_kind *k = &p->kinds.data[kind];
    assert(k->nodes > 0);
    if (--k->nodes > 0)
        return;
    free(take_ptr(k->features));
    free(take_ptr(k->gres_total));
}

static void join_kind(struct cluster *c, const struct node *n)
{
    struct pool *p = &c->pool;
    uint32_t at = find_kind(c, n);
    if (at == p->kinds.len)
        vec_push(&p->kinds, ((struct node_kind){0}));
    struct node_kind *k = &p->kinds.data[at];
    if (k->nodes++ == 0)
        *k = (struct node_kind){.sockets = n->sockets,
                                .cores = n->cores,
                                .threads = n->threads,
                                .cpus = n->cpus,
                                .units = n->units,
                                .cpus_per_unit = n->cpus_per_unit,
                                .spec_cpus = n->spec_cpus,
                                .weight = n->weight,
                                .amounts = n->amounts,
                                .tmp_mib = n->tmp_mib,
                                .future = n->future,
                                .gres = conf_gres_of(c->conf, n->index),
                                .parts = n->parts,
                                .restricted = count_restricted(n),
                                .restricted_per_gpu = n->restricted_per_gpu,
                                .features = mem_strdup(node_active_features(n)),
                                .nodes = 1};
    p->kind[n->index] = at;
    if (k->gres_total)
        return;
    k->gres_total = mem_new_array(uint64_t, c->gres_kinds.len + 1);
    vec_foreach (&n->gres, s)
        k->gres_total[s->kind] = s->count;
}

/* Whether more may fit on the node than before. */
static bool has_more(const struct pool *p, const struct node *n, uint32_t units,
                     const struct amounts *amounts)
{
    uint32_t i = n->index;
    const struct free_view *v = &p->now;
    return units > v->units[i] || !amounts_are_within(amounts, &v->amounts[i]) || n->use ||
           v->use[i] || n->users.who < v->users[i].who || (n->jobs == n->parked && !v->whole[i]) ||
           (node_is_usable(n) && !bitset_test(p->usable, i));
}

/* Returns true if a count has grown. */
static bool copy_gres(struct pool *p, const struct node *n)
{
    bool more = false;
    vec_foreach (&n->gres, s) {
        uint64_t *to = &p->now.gres[n->index * p->gres_kinds + s->kind];
        uint64_t left = n->exclusive ? 0 : gres_left(s);
        more = more || left > *to;
        *to = left;
    }
    return more;
}

static uint32_t spare_cpus(const struct node *n)
{
    return n->exclusive || !node_is_usable(n) ? 0 : n->free_units * n->cpus_per_unit;
}

static struct amounts find_left(const struct node *n)
{
    struct amounts left = n->amounts;
    amounts_subtract(&left, &n->used);
    return left;
}

static void copy_node(struct pool *p, const struct node *n)
{
    struct free_view *v = &p->now;
    uint32_t units = n->exclusive ? 0 : n->free_units;
    struct amounts amounts = find_left(n);
    bool more = copy_gres(p, n);
    p->freed += has_more(p, n, units, &amounts) || more;
    p->weight[n->index] = n->weight;
    v->units[n->index] = units;
    v->amounts[n->index] = amounts;
    v->whole[n->index] = n->jobs == n->parked;
    v->use[n->index] = n->use;
    p->locked += n->users.who == USERS_ONLY;
    p->locked -= v->users[n->index].who == USERS_ONLY;
    v->users[n->index] = n->users;
    if (!node_is_usable(n) && bitset_test(p->usable, n->index))
        p->freed++; /* starts planned there are invalid */
    if (node_is_usable(n))
        bitset_set(p->usable, n->index);
    else
        bitset_unset(p->usable, n->index);
    spare_set(&p->spare, n->index, spare_cpus(n), node_is_usable(n) && n->jobs == n->parked);
}

void pool_view_init(struct free_view *v, size_t nodes, size_t gres_kinds)
{
    v->units = mem_new_array(uint32_t, nodes + 1);
    v->amounts = mem_new_array(struct amounts, nodes + 1);
    v->whole = mem_new_array(bool, nodes + 1);
    v->use = mem_new_array(const struct unit_use *, nodes + 1);
    v->users = mem_new_array(struct node_users, nodes + 1);
    v->gres = mem_new_array(uint64_t, nodes * gres_kinds + 1);
}

void pool_view_copy(struct free_view *v, const struct free_view *from, size_t nodes,
                    size_t gres_kinds)
{
    size_t n = nodes + 1;
    *v = (struct free_view){.present = from->present};
    v->units = mem_dup(from->units, n * sizeof *v->units);
    v->amounts = mem_dup(from->amounts, n * sizeof *v->amounts);
    v->whole = mem_dup(from->whole, n * sizeof *v->whole);
    v->use = mem_dup(from->use, n * sizeof *v->use);
    v->users = mem_dup(from->users, n * sizeof *v->users);
    v->gres = mem_dup(from->gres, (nodes * gres_kinds + 1) * sizeof *v->gres);
}

void pool_view_done(struct free_view *v)
{
    free(v->units);
    free(v->amounts);
    free(v->whole);
    free(v->use);
    free(v->users);
    free(v->gres);
}

void pool_init(struct cluster *c)
{
    struct pool *p = &c->pool;
    size_t room = c->nodes.len + 1;
    p->kind = mem_new_array(uint32_t, room);
    p->weight = mem_new_array(uint32_t, room);
    p->gres_kinds = c->gres_kinds.len;
    pool_view_init(&p->now, c->nodes.len, p->gres_kinds);
    p->now.present = true;
    p->freed = 1;
    p->usable = bitset_new(c->nodes.len);
    spare_init(&p->spare, c->nodes.len);
    vec_foreach (&c->nodes, n) {
        join_kind(c, *n);
        copy_node(p, *n);
    }
}

void pool_done(struct pool *p)
{
    vec_foreach (&p->kinds, k) {
        free(k->features);
        free(k->gres_total);
    }
    vec_done(&p->kinds);
    free(p->kind);
    free(p->weight);
    pool_view_done(&p->now);
    bitset_free(p->usable);
    spare_done(&p->spare);
}

void pool_update(struct cluster *c, const struct node *n)
{
    struct pool *p = &c->pool;
    if (!is_of(c, &p->kinds.data[p->kind[n->index]], n)) {
        leave_kind(p, p->kind[n->index]);
        join_kind(c, n);
        p->freed++;
        c->licenses.changes++;
    }
    copy_node(p, n);
}

/* Whether the 64 nodes from there on have the same kind, as neighbours often do. */
static bool are_of_one_kind(const uint32_t *kind)
{
    uint32_t other = 0;
    for (size_t i = 0; i < 64; i++)
        other |= kind[i] ^ kind[0];
    return !other;
}

uint32_t *pool_count_kinds(const struct pool *p, const struct bitset *set)
{
    uint32_t *count = mem_new_array(uint32_t, p->kinds.len + 1);
    for (size_t first = 0; first < set->size; first += 64) {
        uint64_t word = set->word[first / 64];
        if (set->size - first >= 64 && are_of_one_kind(&p->kind[first])) {
            count[p->kind[first]] += (uint32_t)__builtin_popcountll(word);
            continue;
        }
        for (; word; word &= word - 1)
            count[p->kind[first + (size_t)__builtin_ctzll(word)]]++;
    }
    return count;
}

static bool gres_agrees(const struct pool *p, const struct node *n)
{
    vec_foreach (&n->gres, s) {
        uint64_t left = n->exclusive ? 0 : gres_left(s);
        if (p->now.gres[n->index * p->gres_kinds + s->kind] != left ||
            (s->busy && bitset_count(s->busy) != s->used))
            return false;
    }
    return true;
}

static bool is_up_to_date(const struct cluster *c, const struct node *n)
{
    const struct pool *p = &c->pool;
    uint32_t i = n->index;
    const struct free_view *v = &p->now;
    const struct amounts left = find_left(n);
    return is_of(c, &p->kinds.data[p->kind[i]], n) && p->weight[i] == n->weight &&
           v->units[i] == (n->exclusive ? 0 : n->free_units) &&
           amounts_equal(&v->amounts[i], &left) && v->whole[i] == (n->jobs == n->parked) &&
           v->users[i].who == n->users.who && v->users[i].uid == n->users.uid &&
           v->use[i] == n->use && bitset_test(p->usable, i) == node_is_usable(n) &&
           gres_agrees(p, n) && p->spare.nodes[i].cpus == spare_cpus(n) &&
           p->spare.nodes[i].whole == (node_is_usable(n) && n->jobs == n->parked);
}

int pool_check(const struct cluster *c, struct err *err)
{
    vec_foreach (&c->nodes, n)
        if (!is_up_to_date(c, *n))
            return err_set(err, -ERR_INTERNAL, "%s: the pool is not what the node is", (*n)->name);
    return 0;
}
