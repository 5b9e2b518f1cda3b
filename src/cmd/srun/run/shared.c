/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/shared.h"

/* The rank after the last one of the part. */
static uint32_t end_of(const struct run *run, uint32_t part)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i <= part; i++)
        end += run->step->parts[i]->num_tasks;
    return end;
}

bool shared_node_runs(const struct run *run, size_t node, uint32_t part)
{
    const struct Pb__StepNode *n = run->step->layout[node];

    if (!run->step->n_parts)
        return true;
    uint32_t end = end_of(run, part), begin = end - run->step->parts[part]->num_tasks;
    for (size_t k = 0; k < n->n_task_ids; k++)
        if (n->task_ids[k] >= begin && n->task_ids[k] < end)
            return true;
    return false;
}

uint32_t shared_part_of_task(const struct run *run, uint32_t task)
{
    uint32_t part = 0;

    for (uint32_t end = 0; part + 1 < run->step->n_parts; part++) {
        end += run->step->parts[part]->num_tasks;
        if (task < end)
            break;
    }
    return part;
}

bool shared_starts(const struct run *run, uint32_t part, uint32_t other)
{
    for (size_t i = 0; i < run->step->n_layout; i++)
        if (run->step->layout[i]->part == part && shared_node_runs(run, i, other))
            return true;
    return false;
}

bool shared_has_others(const struct run *run, uint32_t part)
{
    for (uint32_t i = 0; i < run->step->n_parts; i++)
        if (i != part && shared_starts(run, part, i))
            return true;
    return false;
}
