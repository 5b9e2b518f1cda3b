/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/bind_deal.h"

#include <string.h>

#include "base/mem.h"

struct table { /* while cards are dealt */
    const struct deal *d;
    struct bitset *left;
    uint32_t threads, per_socket, sockets;
    bool by_cores; /* who begins a core has all of it */
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

/* Tasks that need all the threads, all the cores or a socket each are bound to these; others have
 * all there is. */
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
    return PB__BIND_KIND__BIND_AUTO;
}

/* Up to 'count' of what is left from 'first' to 'end'; the rest of a core that it begins goes, too,
 * when cores are dealt. */
static uint32_t take(struct table *t, size_t first, size_t end, uint32_t count, struct bitset *to)
{
    for (long i = bitset_next(t->left, first); count && i >= 0 && (size_t)i < end;
         i = bitset_next(t->left, (size_t)i + 1)) {
        bitset_set(to, (size_t)i);
        bitset_unset(t->left, (size_t)i);
        count--;
    }
    long last = bitset_last(to);
    for (size_t i = (size_t)(last + 1); t->by_cores && last >= 0 && i < t->left->size; i++)
        if (i / t->threads == (size_t)last / t->threads)
            bitset_unset(t->left, i);
    return count;
}

static uint32_t take_of_socket(struct table *t, uint32_t socket, uint32_t count, struct bitset *to)
{
    size_t first = (size_t)socket * t->per_socket;

    return take(t, first, first + t->per_socket, count, to);
}

/* The socket whose turn it is that has enough for all of it; else it gets what it finds. */
static void deal_task(struct table *t, uint32_t *turn, struct bitset *to)
{
    uint32_t need = t->d->cpus_per_task;

    if (t->d->sockets == BIND_ORDER_FCYCLIC)
        for (uint32_t misses = 0; need && misses < t->sockets; *turn = (*turn + 1) % t->sockets) {
            uint32_t rest = take_of_socket(t, *turn, 1, to);
            misses = rest ? misses + 1 : 0;
            need -= !rest;
        }
    for (uint32_t i = 0; i < t->sockets && need; i++) {
        uint32_t socket = t->d->sockets == BIND_ORDER_BLOCK ? i : (*turn + i) % t->sockets;
        if (count_in(t->left, (size_t)socket * t->per_socket, t->per_socket) < need)
            continue;
        need = take_of_socket(t, socket, need, to);
        *turn = (socket + 1) % t->sockets;
    }
    take(t, 0, t->left->size, need, to);
}

/* A round of all tasks; those that find nothing left, and any that more tasks than CPUs leave
 * without, begin with all of them again. */
static void deal_all(struct table *t, struct bitset **of_task)
{
    uint32_t turn = 0;

    for (uint32_t i = 0; i < t->d->tasks; i++) {
        of_task[i] = bitset_new(t->left->size);
        if (bitset_count(t->left) < t->d->cpus_per_task) {
            bitset_copy(t->left, t->d->mine);
            turn = 0;
        }
        deal_task(t, &turn, of_task[i]);
    }
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

/* All of mine that is in the same core, socket or NUMA node. */
static void widen(const struct table *t, Pb__BindKind kind, struct bitset *set)
{
    size_t most = set->size > BIND_KERNEL_MAX ? set->size : BIND_KERNEL_MAX;
    _cleanup_bitset_ struct bitset *begun = bitset_new(most);

    bitset_foreach (set, i)
        bitset_set(begun, place_of(t, kind, (size_t)i));
    bitset_foreach (t->d->mine, i) {
        if (bitset_test(begun, place_of(t, kind, (size_t)i)))
            bitset_set(set, (size_t)i);
    }
}

void bind_deal_find(const struct deal *d, struct bitset **of_task)
{
    struct table t = {.d = d,
                      .left = bitset_dup(d->mine),
                      .threads = positive(d->map->threads),
                      .per_socket = positive(d->map->per_socket)};
    Pb__BindKind kind = d->kind == PB__BIND_KIND__BIND_AUTO ? automatic(&t) : d->kind;
    uint64_t cores = (d->cpus_per_task + t.threads - 1) / t.threads;

    t.sockets = (uint32_t)((d->mine->size + t.per_socket - 1) / t.per_socket);
    t.by_cores =
        kind != PB__BIND_KIND__BIND_THREADS && cores * d->tasks <= groups_of(d->mine, t.threads);
    if (kind == PB__BIND_KIND__BIND_AUTO) {
        for (uint32_t i = 0; i < d->tasks; i++)
            of_task[i] = bitset_dup(d->mine);
    } else {
        deal_all(&t, of_task);
        for (uint32_t i = 0; i < d->tasks; i++)
            widen(&t, kind, of_task[i]);
    }
    bitset_free(t.left);
}
