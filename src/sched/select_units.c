/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many units of a node tasks take, and how many tasks its units hold. */
#include <stdlib.h>

#include "cluster/cores.h"
#include "sched/select.h"

/* Of a unit's CPUs, those that tasks may use: --threads-per-core. */
uint32_t select_cpus_used(const struct request *r, const struct node_kind *k)
{
    if (!r->use_threads || r->use_threads >= k->threads || k->cpus_per_unit < k->threads)
        return k->cpus_per_unit;
    return k->cpus_per_unit / k->threads * r->use_threads;
}

/* Units that so many tasks, of so many CPUs in all, take of one socket, or where that does not
 * matter. */
static uint64_t units_together(const struct request *r, const struct node_kind *k, uint64_t tasks,
                               uint64_t cpus)
{
    uint64_t units = (cpus + select_cpus_used(r, k) - 1) / select_cpus_used(r, k);
    uint64_t per_unit = (uint64_t)r->tasks_per_core * (k->cpus_per_unit / k->threads);
    uint64_t by_core = per_unit ? (tasks + per_unit - 1) / per_unit : 0;
    return units > by_core ? units : by_core;
}

/* Units of a socket that has as many tasks as one may have; 0: any number. */
uint32_t select_units_per_socket(const struct request *r, const struct node_kind *k)
{
    uint64_t tasks = r->tasks_per_socket;
    uint64_t units = tasks ? units_together(r, k, tasks, tasks * r->cpus_per_task) : 0;
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

/* Units that so many tasks take of a node. */
static uint64_t units_of(const struct request *r, const struct node_kind *k, uint64_t tasks,
                         uint64_t cpus)
{
    uint64_t units = units_together(r, k, tasks, cpus);
    if (!r->tasks_per_socket)
        return units;
    uint64_t rest = tasks % r->tasks_per_socket;
    uint64_t apart = tasks / r->tasks_per_socket * select_units_per_socket(r, k) +
                     (rest ? units_together(r, k, rest, rest * r->cpus_per_task) : 0);
    return units > apart ? units : apart;
}

/* Of the tasks that an idle socket may have, those that it has the units for. */
static uint64_t tasks_in_socket(const struct job *j, const struct node_kind *k)
{
    const struct request *r = &j->want;
    uint64_t tasks = r->tasks_per_socket < k->cpus ? r->tasks_per_socket : k->cpus;
    uint32_t units = k->units / k->sockets,
             most = j->part->conf.max_cpus_per_socket / k->cpus_per_unit;
    units = units < most ? units : most;
    while (tasks && units_together(r, k, tasks, tasks * r->cpus_per_task) > units)
        tasks--;
    return tasks;
}

/* Tasks that --ntasks-per-core and --ntasks-per-socket allow. Of sockets in another view it is only
 * known how many there are. */
uint32_t select_tasks_by_cores(const struct cluster *c, const struct job *j,
                               const struct node_kind *k, const struct select_room *room)
{
    const struct request *r = &j->want;
    uint64_t per_unit = (uint64_t)r->tasks_per_core * (k->cpus_per_unit / k->threads);
    uint64_t tasks = per_unit ? per_unit * room->units : UINT32_MAX;
    if (r->tasks_per_core && k->cpus_per_unit < k->threads) /* CPUs are handed out */
        tasks = (uint64_t)r->tasks_per_core * room->units / k->threads;
    if (r->tasks_per_socket) {
        uint64_t by_socket = tasks_in_socket(j, k) * k->sockets;
        _cleanup_free_ uint32_t *left = room->node ? cores_part_left(c, j->part, room->node) : NULL;
        if (room->node)
            by_socket = cores_tasks(room->node, &(struct cores_pack){r->tasks_per_socket,
                                                                     select_cpus_used(r, k),
                                                                     r->cpus_per_task, left});
        tasks = by_socket < tasks ? by_socket : tasks;
    }
    return tasks < UINT32_MAX ? (uint32_t)tasks : UINT32_MAX;
}

/* Of the tasks that cores and sockets hold, those whose units there are the CPUs and the memory
 * for: tasks that do not share cores have more units than their CPUs would. */
uint32_t select_tasks_paid_for(const struct request *r, const struct node_kind *k, uint32_t cpus,
                               uint32_t tasks)
{
    uint32_t units = cpus / select_cpus_used(r, k);
    while (tasks && units_of(r, k, tasks, (uint64_t)tasks * r->cpus_per_task) > units)
        tasks--;
    return tasks;
}

uint32_t select_units(const struct request *r, const struct node_kind *k, uint32_t tasks,
                      uint64_t gpus)
{
    uint64_t cpus = r->overcommit ? 1 : (uint64_t)tasks * r->cpus_per_task;
    cpus = cpus > r->min_cpus ? cpus : r->min_cpus;
    cpus = cpus > gpus * r->cpus_per_gpu ? cpus : gpus * r->cpus_per_gpu;
    uint32_t units = r->exclusive ? k->units : (uint32_t)units_of(r, k, tasks, cpus);
    return units ? units : 1;
}
