/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The placement of a step's tasks in its job's allocation: on CPUs, memory and devices that no
 * other step uses, unless it overlaps. The layout allocates nothing; step.c does.
 */
#pragma once

#include "cluster/job/step_cpus.h"
#include "cluster/resource/dist.h"
#include "control/step/step.h"

struct step_layout { /* for one step; arrays by index in the allocation */
    const struct cluster *cluster;
    struct job *j;
    const Pb__StepSpec *spec;
    bool *usable, overlap, overcommit;
    uint32_t *cap, *by_cpus, *by_gres, *most,
        *tasks; /* cap: tasks that fit now; most: that could ever fit; tasks: that are placed */
    uint32_t wanted_nodes, count, cpus_per_task, num_tasks;
    struct step_gres gres;
    struct dist dist;
    uint32_t *ports; /* own ports; NULL: none */
    size_t port_count;
    uint32_t *order; /* arbitrary distribution: node index of each task; NULL */
    bool nodes_given;
    const struct step_layout *before; /* the preceding parts of the same step; NULL */
    bool shares; /* it may have tasks on the nodes of preceding parts of its job */
};

/* -ERR_NODES_BUSY: not possible now; other codes: never possible. The caller sets l->before and
 * l->shares: the step gets no ports of the preceding parts, and no nodes of those in the same job,
 * or with 'shares' the CPUs and memory that they leave there. The arrays are in the arena;
 * step_layout_done() must be called in any case. */
int step_layout_find(struct control *c, struct job *j, const Pb__StepSpec *spec,
                     struct arena *arena, struct step_layout *l, struct err *err);
void step_layout_done(struct step_layout *l);

/* Returns the CPUs of the job on a node that this number of tasks occupies: all CPUs of a core of
 * which the tasks use some threads. */
uint32_t step_layout_cpus(const struct step_layout *l, const struct node *n,
                          const struct alloc_node *a, uint32_t tasks);
/* Whether the step gets all CPUs of its job on its nodes: without --exact, or with --whole. */
bool step_layout_is_whole(const struct step_layout *l);
/* Returns how its CPUs are chosen. */
struct step_cpus_way step_layout_way(const struct step_layout *l, const struct node *n);
/* Returns the MiB that this number of tasks needs on a node; 0: no memory of its own. Memory that
 * comes from the job's environment is not a request of the step: the steps share the job's memory
 * on the node. */
uint64_t step_layout_memory(const struct step_layout *l, const struct alloc_node *a,
                            uint32_t tasks);
/* Returns the MiB that a step with this number of tasks gets on a node. If the step gets all
 * CPUs, memory per CPU counts for all usable CPUs. 0: all memory of the job, shared with its
 * other steps. */
uint64_t step_layout_granted_memory(const struct step_layout *l, const struct alloc_node *a,
                                    uint32_t tasks);
/* step_waiting.c: returns -ERR_NODES_BUSY with the steps that hold the resource, and the option
 * that helps. */
int step_layout_busy(const struct control *c, const struct step_layout *l, struct err *err);
/* Sets the task numbers of each node, from 'first' on: blocks of consecutive numbers, or dealt
 * cyclically. at: index of each node in the allocation. */
void step_layout_number(const struct step_layout *l, uint32_t first, Pb__StepNode **nodes,
                        const uint32_t *at, size_t count);
