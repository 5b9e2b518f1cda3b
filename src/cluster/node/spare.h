/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A glance at what is free: which usable nodes have anything left, and how many of them have how
 * much. A full cluster says no to most of its queue, and should not look at every node for that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/vec.h"

struct spare {
    struct bitset *open; /* nodes with a free CPU */
    struct spare_node {
        uint32_t cpus; /* free ones */
        bool whole;
    } * nodes;
    VEC(uint32_t) by_cpus; /* how many nodes have so many free CPUs */
    uint32_t whole;        /* nodes where nothing runs */
};

void spare_init(struct spare *s, size_t nodes); /* nothing is free */
void spare_copy(struct spare *s, const struct spare *from);
void spare_done(struct spare *s);
/* A node that is not usable has nothing. */
void spare_set(struct spare *s, uint32_t node, uint32_t cpus, bool whole);

struct spare_need {
    uint32_t nodes, tasks;   /* at least */
    uint32_t max_nodes;      /* at most */
    uint32_t cpus;           /* a task's */
    uint32_t node_cpus;      /* at least so many of a node */
    uint32_t tasks_per_node; /* at most; 0: any number */
    bool whole;              /* nodes of its own */
};
static inline bool spare_same_need(const struct spare_need *a, const struct spare_need *b)
{
    return a->nodes == b->nodes && a->tasks == b->tasks && a->max_nodes == b->max_nodes &&
           a->cpus == b->cpus && a->node_cpus == b->node_cpus &&
           a->tasks_per_node == b->tasks_per_node && a->whole == b->whole;
}
/* How many tasks so many free CPUs of a node take. */
static inline uint32_t spare_tasks(const struct spare_need *need, uint32_t cpus)
{
    uint32_t tasks = cpus < need->node_cpus ? 0 : need->cpus == 1 ? cpus : cpus / need->cpus;
    return need->tasks_per_node && tasks > need->tasks_per_node ? need->tasks_per_node : tasks;
}

/* False: no choice of nodes can do, whatever else is wanted of them. */
bool spare_might_do(const struct spare *s, const struct spare_need *need);
/* What there is without these nodes, for spare_might_do() alone: 'counts' (zero, or made before)
 * has no nodes. */
void spare_count_without(struct spare *counts, const struct spare *s, const struct bitset *nodes);
