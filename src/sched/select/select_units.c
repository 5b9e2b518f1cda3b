/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The number of units that tasks take on a node, and the number of tasks that its units hold. */
#include <stdlib.h>

#include "cluster/job/whole_cores.h"
#include "cluster/resource/cores.h"
#include "sched/select/select.h"

/* Returns the CPUs of a unit that tasks may use: --threads-per-core. */
uint32_t select_cpus_used(const struct request *r, const struct node_kind *k)
{
    if (!r->use_threads || r->use_threads >= k->threads || k->cpus_per_unit < k->threads)
        return k->cpus_per_unit;
    return k->cpus_per_unit / k->threads * r->use_threads;
}

uint32_t select_units_together(const struct request *r, const struct node_kind *k)
{
    uint32_t cpus = whole_cores_units(r, k->threads, k->cpus_per_unit, k->units);
    return cpus > 1 ? cpus : whole_sockets_units(r, k->sockets, k->units, k->spec_cpus);
}

struct node_kind select_kind_of_cores(const struct request *r, const struct node_kind *k)
{
    struct node_kind cores = *k;
    uint32_t together = select_units_together(r, k);
    cores.units /= together;
    cores.cpus_per_unit *= together;
    return cores;
}

uint32_t select_count_cpus_used(const struct request *r, const struct node_kind *k, uint32_t units)
{
    const struct node_kind cores = select_kind_of_cores(r, k);
    return units / select_units_together(r, k) * select_cpus_used(r, &cores);
}

/* Returns the units that tasks with 'cpus' CPUs in total take of one socket, or of a node if
 * sockets do not matter. */
static uint64_t count_units_of_socket(const struct request *r, const struct node_kind *k,
                                      uint64_t tasks, uint64_t cpus)
{
    uint64_t units = (cpus + select_cpus_used(r, k) - 1) / select_cpus_used(r, k);
    uint64_t per_unit = (uint64_t)r->tasks_per_core * (k->cpus_per_unit / k->threads);
    uint64_t by_core = per_unit ? (tasks + per_unit - 1) / per_unit : 0;
    return units > by_core ? units : by_core;
}

/* Returns the units of a socket with its maximum number of tasks; 0: any number. */
static uint32_t count_units_per_socket(const struct request *r, const struct node_kind *k)
{
    uint64_t tasks = r->tasks_per_socket;
    uint64_t units = tasks ? count_units_of_socket(r, k, tasks, tasks * r->cpus_per_task) : 0;
    return units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

/* Returns the units that the tasks take on a node. */
static uint64_t count_units_of_node(const struct request *r, const struct node_kind *k,
                                    uint64_t tasks)
{
    if (!r->tasks_per_socket)
        return count_units_of_socket(r, k, tasks, (r->overcommit ? 1 : tasks) * r->cpus_per_task);
    uint64_t rest = tasks % r->tasks_per_socket;
    return tasks / r->tasks_per_socket * count_units_per_socket(r, k) +
           (rest ? count_units_of_socket(r, k, rest, rest * r->cpus_per_task) : 0);
}

/* Returns how many of a socket's permitted tasks fit on its units when it is idle. */
static uint64_t count_tasks_of_socket(const struct job *j, const struct node_kind *k)
{
    const struct request *r = &j->want;
    uint64_t tasks = r->tasks_per_socket < k->cpus ? r->tasks_per_socket : k->cpus;
    uint32_t units = k->units / k->sockets,
             most = j->part->conf.max_cpus_per_socket / k->cpus_per_unit;
    units = units < most ? units : most;
    while (tasks && count_units_of_socket(r, k, tasks, tasks * r->cpus_per_task) > units)
        tasks--;
    return tasks;
}

/* Returns the tasks that --ntasks-per-core and --ntasks-per-socket permit. In another view only the
 * number of sockets is known. */
uint32_t select_tasks_by_cores(const struct cluster *c, const struct job *j,
                               const struct node_kind *k, const struct select_room *room)
{
    const struct request *r = &j->want;
    uint64_t per_unit = (uint64_t)r->tasks_per_core * (k->cpus_per_unit / k->threads);
    uint64_t tasks = per_unit ? per_unit * room->units : UINT32_MAX;
    if (r->tasks_per_core && k->cpus_per_unit < k->threads) /* units are CPUs */
        tasks = (uint64_t)r->tasks_per_core * room->units / k->threads;
    if (r->tasks_per_socket) {
        uint64_t by_socket = count_tasks_of_socket(j, k) * k->sockets;
        _cleanup_free_ uint32_t *left = room->node ? cores_part_left(c, j->part, room->node) : NULL;
        _cleanup_bitset_ struct bitset *closed = select_closed_units(j, room->node, room->busy);
        const struct cores_pack pack = {.per_socket = r->tasks_per_socket,
                                        .used = select_cpus_used(r, k),
                                        .cpus = r->cpus_per_task,
                                        .per_unit = (uint32_t)per_unit,
                                        .together = room->together,
                                        .socket_left = left,
                                        .busy = closed ? closed : room->busy};
        if (room->node)
            by_socket = cores_tasks(room->node, &pack);
        tasks = by_socket < tasks ? by_socket : tasks;
    }
    return tasks < UINT32_MAX ? (uint32_t)tasks : UINT32_MAX;
}

/* Returns the free units, limited on each socket to the units of its permitted tasks. */
static uint32_t count_spread_units(const struct cluster *c, const struct job *j,
                                   const struct node_kind *k, const struct select_room *room)
{
    uint32_t per_socket = count_units_per_socket(&j->want, k);
    if (!per_socket || !room->node)
        return UINT32_MAX;
    _cleanup_free_ uint32_t *left = cores_part_left(c, j->part, room->node);
    uint32_t together = room->together ? room->together : 1;
    _cleanup_bitset_ struct bitset *closed = select_closed_units(j, room->node, room->busy);
    const struct bitset *busy = closed ? closed : room->busy;
    return cores_room(room->node, busy, per_socket * together, left, together) / together;
}

uint32_t select_tasks_paid_for(const struct cluster *c, const struct job *j,
                               const struct node_kind *k, const struct select_room *room,
                               uint32_t cpus, uint32_t tasks)
{
    const struct request *r = &j->want;
    uint32_t units = cpus / select_cpus_used(r, k), most = count_spread_units(c, j, k, room);
    units = units < most ? units : most;
    while (tasks && count_units_of_node(r, k, tasks) > units)
        tasks--;
    return tasks;
}

struct cores_want select_units(const struct request *r, const struct node_kind *k, uint32_t tasks,
                               uint64_t gpus)
{
    const struct node_kind cores = select_kind_of_cores(r, k);
    uint32_t together = select_units_together(r, k);
    uint64_t cpus = gpus * r->cpus_per_gpu > r->min_cpus ? gpus * r->cpus_per_gpu : r->min_cpus;
    uint64_t own = count_units_of_node(r, &cores, tasks),
             units = count_units_of_socket(r, &cores, tasks, cpus);
    if (r->exclusive)
        return (struct cores_want){.units = k->units, .together = together};
    units = own > units ? own : units;
    struct cores_want want = {.units = (units ? (uint32_t)units : 1) * together,
                              .per_socket = count_units_per_socket(r, &cores) * together,
                              .together = together};
    want.beyond = want.per_socket ? want.units - (uint32_t)own * together : 0;
    return want;
}
