/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A summary of what is free: the usable nodes with free CPUs, and the number of nodes by free CPUs.
 * In a full cluster most pending jobs do not fit; this summary tells without a look at every node.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/vec.h"

struct spare {
    struct bitset *open; /* nodes with a free CPU */
    uint64_t changes;    /* rises whenever 'open' changes */
    struct spare_node {
        uint32_t cpus; /* free CPUs */
        bool whole;
    } * nodes;
    VEC(uint32_t) by_cpus; /* number of nodes by number of free CPUs */
    uint32_t whole;        /* nodes where nothing runs */
};

void spare_init(struct spare *s, size_t nodes); /* nothing is free */
void spare_copy(struct spare *s, const struct spare *from);
void spare_done(struct spare *s);
/* Sets the free CPUs of a node. An unusable node has none. */
void spare_set(struct spare *s, uint32_t node, uint32_t cpus, bool whole);

struct spare_need {
    uint32_t nodes, tasks;   /* minimum */
    uint32_t max_nodes;      /* maximum */
    uint32_t cpus;           /* CPUs of a task */
    uint32_t node_cpus;      /* minimum CPUs on each node */
    uint32_t tasks_per_node; /* maximum; 0: any number */
    bool whole;              /* requires whole nodes */
};
static inline bool spare_same_need(const struct spare_need *a, const struct spare_need *b)
{
    return a->nodes == b->nodes && a->tasks == b->tasks && a->max_nodes == b->max_nodes &&
           a->cpus == b->cpus && a->node_cpus == b->node_cpus &&
           a->tasks_per_node == b->tasks_per_node && a->whole == b->whole;
}
/* Returns how many tasks fit into this number of free CPUs of a node. */
static inline uint32_t spare_tasks(const struct spare_need *need, uint32_t cpus)
{
    uint32_t tasks = cpus < need->node_cpus ? 0 : need->cpus == 1 ? cpus : cpus / need->cpus;
    return need->tasks_per_node && tasks > need->tasks_per_node ? need->tasks_per_node : tasks;
}

/* Returns false if no selection of nodes can satisfy the need. True is no guarantee. */
bool spare_might_do(const struct spare *s, const struct spare_need *need);
/* Computes the summary without these nodes, usable by spare_might_do() only: 'counts' (zeroed, or
 * filled before) has no per-node data. */
void spare_count_without(struct spare *counts, const struct spare *s, const struct bitset *nodes);
