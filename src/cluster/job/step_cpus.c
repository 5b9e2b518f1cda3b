/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/step_cpus.h"

#include "cluster/job/job.h"
#include "cluster/node/node.h"
#include "cluster/resource/spec.h"

struct bitset *step_cpus_of_job(const struct node *n, const struct alloc_node *a)
{
    struct bitset *set = bitset_new(spec_all_cpus(n));
    bitset_foreach (a->busy, unit) {
        size_t first = spec_place(n, (size_t)unit) * n->cpus_per_unit, count = n->cpus_per_unit;
        if (first < set->size)
            bitset_set_range(set, first, first + count <= set->size ? count : set->size - first);
    }
    return set;
}

/* Counts the CPUs of the set in the core that begins with CPU 'first'. */
static uint32_t count_in_core(const struct bitset *set, size_t first, uint32_t threads)
{
    uint32_t count = 0;
    for (size_t i = first; i < first + threads && i < set->size; i++)
        count += bitset_test(set, i);
    return count;
}

/* Moves up to 'count' CPUs, from 'first' on; returns how many were not found before 'end'. */
static uint32_t move_cpus(struct bitset *from, struct bitset *to, size_t first, size_t end,
                          uint32_t count)
{
    for (long i = bitset_next(from, first); count && i >= 0 && (size_t)i < end;
         i = bitset_next(from, (size_t)i + 1)) {
        bitset_unset(from, (size_t)i);
        bitset_set(to, (size_t)i);
        count--;
    }
    return count;
}

/* Returns the first CPU of the n-th core: socket by socket, or one core of each socket in turn. */
static size_t nth_core(const struct node *n, uint32_t threads, size_t nth, bool cyclic)
{
    size_t sockets = n->sockets ? n->sockets : 1, cores = n->cores ? n->cores : 1;
    if (cyclic && nth < sockets * cores)
        nth = nth % sockets * cores + nth / sockets;
    return nth * threads;
}

/* Chooses whole cores; the rest from the sufficient core with the fewest CPUs. Returns the number
 * of missing CPUs. */
static uint32_t choose_cores(const struct node *n, uint32_t count, bool cyclic, struct bitset *from,
                             struct bitset *to)
{
    uint32_t threads = n->threads ? n->threads : 1, fewest = UINT32_MAX;
    size_t tightest = 0, cores = (from->size + threads - 1) / threads;
    for (size_t i = 0; i < cores && count >= threads; i++) {
        size_t core = nth_core(n, threads, i, cyclic);
        if (count_in_core(from, core, threads) == threads)
            count = move_cpus(from, to, core, core + threads, count);
    }
    for (size_t i = 0; i < cores && count && count < threads; i++) {
        size_t core = nth_core(n, threads, i, cyclic);
        uint32_t has = count_in_core(from, core, threads);
        if (has < count || has >= fewest)
            continue;
        fewest = has;
        tightest = core;
    }
    return fewest == UINT32_MAX ? count : move_cpus(from, to, tightest, tightest + threads, count);
}

/* Chooses way.spread CPUs of each idle core; the rest from all cores in turn. */
static uint32_t choose_spread(const struct node *n, uint32_t count, struct step_cpus_way way,
                              struct bitset *from, struct bitset *to)
{
    uint32_t threads = n->threads ? n->threads : 1, before = 0;
    size_t cores = (from->size + threads - 1) / threads;
    for (bool idle = true; count && (idle || count != before); idle = false) {
        before = count;
        for (size_t i = 0; i < cores && count; i++) {
            size_t core = nth_core(n, threads, i, way.cyclic);
            uint32_t some = way.spread < count ? way.spread : count;
            if (!idle || count_in_core(from, core, threads) == threads)
                count -= some - move_cpus(from, to, core, core + threads, some);
        }
    }
    return count;
}

static uint32_t choose_cpus(const struct node *n, uint32_t count, struct step_cpus_way way,
                            struct bitset *from, struct bitset *to)
{
    count = way.spread ? choose_spread(n, count, way, from, to)
                       : choose_cores(n, count, way.cyclic, from, to);
    return move_cpus(from, to, 0, from->size, count); /* from anywhere */
}

static struct bitset *busy_cpus(const struct node *n, struct alloc_node *a)
{
    if (!a->step_busy)
        a->step_busy = bitset_new(spec_all_cpus(n));
    return a->step_busy;
}

static void take_own_cpus(const struct node *n, struct alloc_node *a, const struct step_node *s,
                          bool shares)
{
    if (!shares)
        bitset_or(busy_cpus(n, a), s->own);
}

void step_cpus_take(const struct node *n, struct alloc_node *a, struct step_node *s, bool shares,
                    struct step_cpus_way way)
{
    _cleanup_bitset_ struct bitset *all = step_cpus_of_job(n, a), *idle = bitset_dup(all);
    s->own = bitset_new(spec_all_cpus(n));
    if (a->step_busy)
        bitset_andnot(idle, a->step_busy);
    uint32_t left = choose_cpus(n, s->cpus, way, idle, s->own);
    bitset_andnot(all, s->own);
    /* The step shares, or its job has fewer CPUs than when steps were counted. */
    choose_cpus(n, left, way, all, s->own);
    take_own_cpus(n, a, s, shares);
}

void step_cpus_retake(const struct node *n, struct alloc_node *a, struct step_node *s, bool shares,
                      const Pb__StepNode *stored)
{
    if (!stored->has_cpu_set) { /* of an older version */
        step_cpus_take(n, a, s, shares, (struct step_cpus_way){0});
        return;
    }
    _cleanup_bitset_ struct bitset *all = step_cpus_of_job(n, a);
    s->own = bitset_new(spec_all_cpus(n));
    for (size_t i = 0; i < s->own->size && i / 8 < stored->cpu_set.len; i++)
        if (stored->cpu_set.data[i / 8] >> (i % 8) & 1 && bitset_test(all, i))
            bitset_set(s->own, i);
    if (bitset_empty(s->own)) { /* the node has changed, and its job has other CPUs */
        bitset_free(s->own);
        step_cpus_take(n, a, s, shares, (struct step_cpus_way){0});
        return;
    }
    take_own_cpus(n, a, s, shares);
}

void step_cpus_give_back(struct alloc_node *a, struct step_node *s, bool shares)
{
    if (!shares && s->own && a->step_busy)
        bitset_andnot(a->step_busy, s->own);
    bitset_free(take_ptr(s->own));
}

ProtobufCBinaryData step_cpus_pack(const struct bitset *cpus, struct arena *arena)
{
    long last = bitset_last(cpus);
    size_t len = last < 0 ? 0 : (size_t)last / 8 + 1;
    uint8_t *data = arena_alloc(arena, len + 1);
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)(cpus->word[i / 8] >> (i % 8 * 8));
    return (ProtobufCBinaryData){len, data};
}
