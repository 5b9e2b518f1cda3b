/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes with RestrictedCoresPerGPU in the selection: see cluster/resource/gres_cores.h. */
#include "cluster/resource/gres_cores.h"
#include "sched/select/select.h"

static uint32_t min_u32(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

void select_divide_units(const struct cluster *c, const struct job *j, const struct node_kind *k,
                         struct select_room *room)
{
    if (!k->restricted || !room->gres || j->want.exclusive)
        return;
    room->restricted = min_u32(room->gres[c->restricted_kind], room->units);
    room->open = room->units - room->restricted;
    if (gres_cores_may(&j->want.gres))
        return;
    room->units = room->open;
    room->restricted = 0;
}

struct bitset *select_closed_units(const struct job *j, const struct node *n,
                                   const struct bitset *busy)
{
    if (!n || !n->restricted || j->want.exclusive || gres_cores_may(&j->want.gres))
        return NULL;
    struct bitset *closed = bitset_dup(busy ? busy : n->busy);
    bitset_or(closed, n->restricted);
    return closed;
}

uint64_t select_count_gpus(const struct request *r, uint32_t tasks, uint64_t more)
{
    return more + gres_wanted(&r->gres, "gpu", GRES_PER_NODE) +
           gres_wanted(&r->gres, "gpu", GRES_PER_TASK) * tasks;
}

uint32_t select_tasks_unrestricted(const struct request *r, const struct node_kind *k,
                                   const struct select_room *room, uint32_t tasks, uint64_t more)
{
    tasks = tasks < r->tasks ? tasks : r->tasks;
    for (; tasks; tasks--) {
        uint64_t gpus = select_count_gpus(r, tasks, more);
        uint32_t most = gres_cores_most(&r->gres, k->restricted_per_gpu, gpus);
        uint64_t units = (uint64_t)room->open + min_u32(room->restricted, most);
        if (select_units(r, k, tasks, r->cpus_per_gpu ? gpus : 0).units <= units)
            break;
    }
    return tasks;
}

size_t select_add_restricted(const struct cluster *c, const struct request *r,
                             const struct node_kind *k, const uint64_t *have, uint32_t units,
                             uint64_t gpus, struct gres_amount *amounts, size_t count)
{
    if (!k->restricted || r->exclusive || !gres_cores_may(&r->gres))
        return count;
    uint32_t most = gres_cores_most(&r->gres, k->restricted_per_gpu, gpus);
    uint32_t taken = min_u32(have[c->restricted_kind], most < units ? most : units);
    if (taken)
        amounts[count++] = (struct gres_amount){c->restricted_kind, taken};
    return count;
}
