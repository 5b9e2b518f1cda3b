/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which tasks of a step run where in its job's allocation: on CPUs, memory and devices that no
 * other step uses, unless it overlaps. Nothing is taken by it: step.c does that.
 */
#pragma once

#include "cluster/job/step_cpus.h"
#include "cluster/resource/dist.h"
#include "control/step/step.h"

struct step_layout { /* of one step under construction, arrays by place in the allocation */
    const struct cluster *cluster;
    struct job *j;
    const Pb__StepSpec *spec;
    bool *usable, overlap, overcommit;
    uint32_t *cap, *by_cpus, *by_gres, *most,
        *tasks; /* tasks that fit now, that could ever, that are placed */
    uint32_t wanted_nodes, count, cpus_per_task, num_tasks;
    struct step_gres gres;
    struct dist dist;
    uint32_t *ports; /* its own; NULL */
    size_t port_count;
    uint32_t *order; /* arbitrary distribution: the place of each task; NULL */
    bool nodes_given;
    const struct step_layout *before; /* of the parts of the same step that come first; NULL */
    bool shares;                      /* it may have tasks on the nodes of those of its job */
};

/* What cannot be had now is -ERR_NODES_BUSY; other codes say that it never can. l->before and
 * l->shares are given: the step gets no ports of those parts, and of its job no nodes of those
 * parts, or with 'shares' what they leave there of CPUs and memory. The arrays are
 * the arena's; step_layout_done() in any case. */
int step_layout_find(struct control *c, struct job *j, const Pb__StepSpec *spec,
                     struct arena *arena, struct step_layout *l, struct err *err);
void step_layout_done(struct step_layout *l);

/* CPUs of the job's on a node that so many tasks keep: all of a core of which they use some
 * threads.
 */
uint32_t step_layout_cpus(const struct step_layout *l, const struct node *n,
                          const struct alloc_node *a, uint32_t tasks);
/* The step gets all CPUs that its job has on its nodes: unless --exact, and with --whole. */
bool step_layout_is_whole(const struct step_layout *l);
/* Which ones it gets. */
struct step_cpus_way step_layout_way(const struct step_layout *l, const struct node *n);
/* MiB of a node that so many tasks need; 0: none of its own. What comes with the environment of the
 * job is no request of the step's: as much as the job has there is shared by its steps. */
uint64_t step_layout_memory(const struct step_layout *l, const struct alloc_node *a,
                            uint32_t tasks);
/* MiB of a node that a step with so many tasks there gets: of a step with all CPUs, the memory per
 * CPU counts for all of them that tasks may use. 0: all memory of the job, shared with its other
 * steps. */
uint64_t step_layout_granted_memory(const struct step_layout *l, const struct alloc_node *a,
                                    uint32_t tasks);
/* step_waiting.c: -ERR_NODES_BUSY, with the steps that hold the resource, and the option that
 * helps.
 */
int step_layout_busy(const struct control *c, const struct step_layout *l, struct err *err);
/* The task numbers of each node, from 'first' on: blocks of consecutive ones, or dealt like cards.
 * at: the places of the nodes in the allocation. */
void step_layout_number(const struct step_layout *l, uint32_t first, Pb__StepNode **nodes,
                        const uint32_t *at, size_t count);
