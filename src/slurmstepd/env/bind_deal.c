/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/env/bind_deal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct table { /* while cards are dealt */
    const struct deal *d;
    struct bitset *left;
    uint32_t threads, per_socket, sockets;
    enum dist_order cores;
    bool by_cores;       /* who begins a core has all of it */
    uint32_t turn;       /* the socket whose turn it is, */
    uint32_t *core_turn; /* and of each the core */
};

static uint32_t positive(uint32_t n)
{
    return n ? n : 1;
}

/* So many CPUs of the group of 'size' that begins with 'first' are in the set. */
static uint32_t count_in(const struct bitset *set, size_t first, uint32_t size)
{
    uint32_t count = 0;

    for (size_t i = first; i < first + size && i < set->size; i++)
        count += bitset_test(set, i);
    return count;
}

/* Groups of which there is something. */
static uint32_t groups_of(const struct bitset *set, uint32_t size)
{
    uint32_t count = 0;

    for (size_t first = 0; first < set->size; first += size)
        count += count_in(set, first, size) > 0;
    return count;
}

/* Tasks that need all the threads, all the cores or a socket each are bound to these; others as it
 * is configured, or they have all there is. */
static Pb__BindKind automatic(const struct table *t)
{
    const struct bitset *mine = t->d->mine;
    uint64_t need = (uint64_t)t->d->tasks * t->d->cpus_per_task;

    if (need == bitset_count(mine))
        return PB__BIND_KIND__BIND_THREADS;
    if (need == groups_of(mine, t->threads))
        return PB__BIND_KIND__BIND_CORES;
    if (need == groups_of(mine, t->per_socket))
        return PB__BIND_KIND__BIND_SOCKETS;
    return t->d->otherwise;
}

/* The first CPU of a core, among 'count' of them from 'first' on and beginning with number 'turn',
 * that has so many left; negative: none has. */
static long find_core(const struct table *t, size_t first, uint32_t count, uint32_t turn,
                      uint32_t least)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t core = first + (size_t)((turn + i) % count) * t->threads;
        if (count_in(t->left, core, t->threads) >= least)
            return (long)core;
    }
    return -1;
}

/* Up to 'count' CPUs of a core; the rest of it goes, too, where cores are dealt. */
static uint32_t take_of_core(struct table *t, size_t core, uint32_t count, struct bitset *to)
{
    for (size_t i = core; i < core + t->threads && i < t->left->size; i++) {
        if (!bitset_test(t->left, i) || (!count && !t->by_cores))
            continue;
        bitset_unset(t->left, i);
        if (count) {
            bitset_set(to, i);
            count--;
        }
    }
    return count;
}

/* Up to 'count' CPUs of a socket; how many it does not have. */
static uint32_t take_of_socket(struct table *t, uint32_t socket, uint32_t count, struct bitset *to)
{
    size_t first = (size_t)socket * t->per_socket;
    uint32_t cores = (t->per_socket + t->threads - 1) / t->threads;

    while (count) {
        bool block = t->cores == DIST_BLOCK, each = t->cores == DIST_FCYCLIC;
        uint32_t turn = block ? 0 : t->core_turn[socket], some = each ? 1 : count;
        uint32_t whole = some < t->threads ? some : t->threads;
        long core = find_core(t, first, cores, turn, block ? 1 : whole);
        core = core < 0 ? find_core(t, first, cores, turn, 1) : core;
        if (core < 0)
            break;
        count -= some - take_of_core(t, (size_t)core, some, to);
        t->core_turn[socket] = (uint32_t)(((size_t)core - first) / t->threads + 1) % cores;
    }
    return count;
}

/* Each CPU of the next socket that has one. */
static uint32_t deal_fully_cyclic(struct table *t, uint32_t need, struct bitset *to)
{
    for (uint32_t misses = 0; need && misses < t->sockets; t->turn = (t->turn + 1) % t->sockets) {
        uint32_t rest = take_of_socket(t, t->turn, 1, to);
        misses = rest ? misses + 1 : 0;
        need -= !rest;
    }
    return need;
}

/* The next socket that has enough for all of it. */
static uint32_t deal_cyclic(struct table *t, uint32_t need, struct bitset *to)
{
    for (uint32_t i = 0; i < t->sockets && need; i++) {
        uint32_t socket = (t->turn + i) % t->sockets;
        if (count_in(t->left, (size_t)socket * t->per_socket, t->per_socket) < need)
            continue;
        need = take_of_socket(t, socket, need, to);
        t->turn = (socket + 1) % t->sockets;
        break;
    }
    return need;
}

/* What no socket has alone comes from one after the other. */
static void deal_task(struct table *t, struct bitset *to)
{
    uint32_t need = t->d->cpus_per_task;

    if (t->d->sockets == DIST_FCYCLIC)
        need = deal_fully_cyclic(t, need, to);
    else if (t->d->sockets != DIST_BLOCK)
        need = deal_cyclic(t, need, to);
    for (uint32_t i = 0; i < t->sockets && need; i++)
        need = take_of_socket(t, i, need, to);
}

/* A round of all tasks; those that find nothing left, and any that more tasks than CPUs leave
 * without, begin with all of them again. */
static void deal_all(struct table *t, struct bitset **of_task)
{
    for (uint32_t i = 0; i < t->d->tasks; i++) {
        of_task[i] = bitset_new(t->left->size);
        if (bitset_count(t->left) < t->d->cpus_per_task) {
            bitset_copy(t->left, t->d->mine);
            memset(t->core_turn, 0, t->sockets * sizeof(*t->core_turn));
            t->turn = 0;
        }
        deal_task(t, of_task[i]);
    }
}

/* While there are enough. Who wants cores to be used up gets what threads they have. */
static bool has_own_cores(const struct table *t, Pb__BindKind kind)
{
    uint64_t each = t->cores == DIST_FCYCLIC ? t->d->cpus_per_task
                                             : (t->d->cpus_per_task + t->threads - 1) / t->threads;

    return kind != PB__BIND_KIND__BIND_THREADS && t->d->cores != DIST_BLOCK &&
           each * t->d->tasks <= groups_of(t->d->mine, t->threads);
}

/* The core, socket or NUMA node that a CPU is of; or the CPU itself. */
static size_t place_of(const struct table *t, Pb__BindKind kind, size_t cpu)
{
    const Pb__CpuMap *map = t->d->map;
    size_t k = cpu * map->each;

    if (kind == PB__BIND_KIND__BIND_CORES)
        return cpu / t->threads;
    if (kind == PB__BIND_KIND__BIND_SOCKETS)
        return cpu / t->per_socket;
    if (kind == PB__BIND_KIND__BIND_LDOMS)
        return k < map->n_numa && map->numa[k] < BIND_KERNEL_MAX ? map->numa[k] : 0;
    return cpu;
}

/* All that may be used that is in the same core, socket or NUMA node. */
static void widen(const struct table *t, Pb__BindKind kind, struct bitset *set)
{
    size_t most = set->size > BIND_KERNEL_MAX ? set->size : BIND_KERNEL_MAX;
    _cleanup_bitset_ struct bitset *begun = bitset_new(most);

    bitset_foreach (set, i)
        bitset_set(begun, place_of(t, kind, (size_t)i));
    bitset_foreach (t->d->around, i) {
        if (bitset_test(begun, place_of(t, kind, (size_t)i)))
            bitset_set(set, (size_t)i);
    }
}

void bind_deal_find(const struct deal *d, struct bitset **of_task)
{
    struct table t = {.d = d,
                      .left = bitset_dup(d->mine),
                      .threads = positive(d->map->threads),
                      .per_socket = positive(d->map->per_socket),
                      .cores = d->cores ? d->cores : d->sockets};
    Pb__BindKind kind = d->kind == PB__BIND_KIND__BIND_AUTO ? automatic(&t) : d->kind;

    t.sockets = (uint32_t)((d->mine->size + t.per_socket - 1) / t.per_socket);
    t.core_turn = mem_new_array(uint32_t, positive(t.sockets));
    t.by_cores = has_own_cores(&t, kind);
    if (kind == PB__BIND_KIND__BIND_AUTO) {
        for (uint32_t i = 0; i < d->tasks; i++)
            of_task[i] = bitset_dup(d->mine);
    } else {
        deal_all(&t, of_task);
        for (uint32_t i = 0; i < d->tasks; i++)
            widen(&t, kind, of_task[i]);
    }
    free(t.core_turn);
    bitset_free(t.left);
}
