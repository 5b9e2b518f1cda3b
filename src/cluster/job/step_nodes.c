/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/step_nodes.h"
#include "cluster/cluster.h"

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

void step_ports_format(const uint32_t *ports, size_t count, struct str *out)
{
    for (size_t i = 0; i < count;) {
        size_t last = i;
        while (last + 1 < count && ports[last + 1] == ports[last] + 1)
            last++;
        str_printf(out, "%s%u", i ? "," : "", ports[i]);
        if (last > i)
            str_printf(out, "-%u", ports[last]);
        i = last + 1;
    }
}

static bool is_on(const struct job *j, const struct step *s, const struct bitset *nodes)
{
    vec_foreach (&s->nodes, n)
        if (bitset_test(nodes, attempt_of(j)->alloc.data[n->at].node))
            return true;
    return false;
}

static bool overlaps_nodes(const struct job *j, const struct bitset *nodes)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released && bitset_test(nodes, a->node))
            return true;
    return false;
}

static void mark_ports(const uint16_t *ports, size_t count, struct bitset *used)
{
    for (size_t i = 0; i < count; i++)
        if (ports[i] < used->size)
            bitset_set(used, ports[i]);
}

void step_ports_used(const struct cluster *c, const struct bitset *nodes, struct bitset *used)
{
    for (struct order_link *l = order_first(&c->ends); l; l = order_next(l)) {
        const struct job *j = job_of_end(l);
        vec_foreach (&attempt_of(j)->steps, s)
            if (s->ports.len && is_on(j, s, nodes))
                mark_ports(s->ports.data, s->ports.len, used);
        if (j->attempt->late_ports.len && overlaps_nodes(j, nodes))
            mark_ports(j->attempt->late_ports.data, j->attempt->late_ports.len, used);
    }
}
