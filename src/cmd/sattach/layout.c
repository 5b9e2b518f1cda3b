/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sattach/layout.h"

#include "base/hostlist.h"
#include "base/mem.h"

/* Components and parts of a step may share a node, which is named once. */
static struct hostlist *find_nodes(const Pb__StepRecord *step)
{
    struct hostlist *nodes = hostlist_new();
    _cleanup_hostlist_ struct hostlist *distinct = hostlist_new();

    for (size_t i = 0; i < step->n_layout; i++) {
        hostlist_push(nodes, step->layout[i]->node);
        hostlist_push(distinct, step->layout[i]->node);
    }
    hostlist_uniq(distinct);
    if (hostlist_count(distinct) < step->n_layout) {
        hostlist_free(nodes);
        nodes = take_ptr(distinct);
    }
    return nodes;
}

void layout_format(const Pb__StepRecord *step, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *nodes = find_nodes(step);
    size_t tasks = 0;

    for (size_t i = 0; i < step->n_layout; i++)
        tasks += step->layout[i]->n_task_ids;
    str_puts(out, "Job step layout:\n");
    str_printf(out, "\t%zu tasks, %zu nodes (", tasks, hostlist_count(nodes));
    hostlist_format(nodes, out);
    str_puts(out, ")\n\n");
    for (size_t i = 0; i < step->n_layout; i++) {
        const Pb__StepNode *n = step->layout[i];

        str_printf(out, "\tNode %zu (%s), %zu task(s): ", i, n->node, n->n_task_ids);
        for (size_t k = 0; k < n->n_task_ids; k++)
            str_printf(out, "%u ", n->task_ids[k]);
        str_putc(out, '\n');
    }
}

/* Ranks count the tasks of all parts, be they watched or not. */
static uint32_t count_tasks(const Pb__StepRecord *r)
{
    uint32_t all = 0;
    for (size_t i = 0; i < r->n_part_tasks; i++)
        all += r->part_tasks[i];
    return r->n_part_tasks ? all : r->num_tasks;
}

static uint32_t count_parts(Pb__StepRecord *const *records, size_t count)
{
    uint32_t parts = 1;
    for (size_t i = 0; i < count; i++)
        if (records[i]->n_part_offsets > parts)
            parts = (uint32_t)records[i]->n_part_offsets;
    return parts;
}

void whole_join(Pb__StepRecord *const *records, size_t count, struct arena *arena,
                struct whole *out)
{
    uint32_t parts = count_parts(records, count);
    size_t nodes = 0, placed = 0;
    for (size_t i = 0; i < count; i++)
        nodes += records[i]->n_layout;
    Pb__StepNode **layout = arena_alloc(arena, (nodes + 1) * sizeof(*layout));
    uint32_t *jobs = arena_alloc(arena, (nodes + 1) * sizeof(*jobs));
    for (uint32_t part = 0; part < parts; part++)
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < records[i]->n_layout; k++) {
                Pb__StepNode *n = records[i]->layout[k];
                if ((n->has_part ? n->part : 0) != part)
                    continue;
                jobs[placed] = records[i]->job_id;
                layout[placed++] = n;
            }
    out->step = *records[0];
    out->step.layout = layout;
    out->step.n_layout = placed;
    out->step.num_tasks = count_tasks(records[0]);
    out->jobs = jobs;
}
