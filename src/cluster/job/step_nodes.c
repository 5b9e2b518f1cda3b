/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/step_nodes.h"

static void add_node(struct step_nodes *s, const Pb__StepNode *node)
{
    long at = node->part > 0 ? hostlist_find(s->names, node->node) : -1;

    if (at < 0) {
        at = (long)s->tasks.len;
        hostlist_push(s->names, node->node);
        vec_push(&s->tasks, 0);
        vec_push(&s->cpus, 0);
    }
    s->tasks.data[at] += (uint32_t)node->n_task_ids;
    s->cpus.data[at] += node->cpus;
}

void step_nodes_init(struct step_nodes *s, Pb__StepNode *const *layout, size_t count)
{
    *s = (struct step_nodes){.names = hostlist_new()};
    for (size_t i = 0; i < count; i++)
        add_node(s, layout[i]);
}

void step_nodes_done(struct step_nodes *s)
{
    hostlist_free(s->names);
    vec_done(&s->tasks);
    vec_done(&s->cpus);
}
