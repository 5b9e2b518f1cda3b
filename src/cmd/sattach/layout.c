/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sattach/layout.h"

#include "base/hostlist.h"
#include "cluster/job/step_nodes.h"

/* Components and parts of a step may share a node: the node lists the tasks of all of them. */
static void put_node(const Pb__StepRecord *step, const struct step_nodes *nodes, size_t number,
                     struct str *out)
{
    char name[HOSTLIST_NAME_MAX + 1];
    bool shares = nodes->tasks.len < step->n_layout;

    hostlist_nth(nodes->names, number, name);
    str_printf(out, "\tNode %zu (%s), %u task(s): ", number, name, nodes->tasks.data[number]);
    for (size_t i = shares ? 0 : number; i < (shares ? step->n_layout : number + 1); i++) {
        const Pb__StepNode *n = step->layout[i];

        for (size_t k = 0; str_eq(n->node, name) && k < n->n_task_ids; k++)
            str_printf(out, "%u ", n->task_ids[k]);
    }
    str_putc(out, '\n');
}

void layout_format(const Pb__StepRecord *step, struct str *out)
{
    _cleanup_(step_nodes_done) struct step_nodes nodes;
    uint32_t tasks = 0;

    step_nodes_init(&nodes, step->layout, step->n_layout);
    vec_foreach (&nodes.tasks, count)
        tasks += *count;
    str_puts(out, "Job step layout:\n");
    str_printf(out, "\t%u tasks, %zu nodes (", tasks, nodes.tasks.len);
    hostlist_format(nodes.names, out);
    str_puts(out, ")\n\n");
    for (size_t i = 0; i < nodes.tasks.len; i++)
        put_node(step, &nodes, i, out);
}

/* Ranks count the tasks of all parts, including parts that are not watched. */
static uint32_t count_step_tasks(const Pb__StepRecord *r)
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
    out->step.num_tasks = count_step_tasks(records[0]);
    out->jobs = jobs;
}
