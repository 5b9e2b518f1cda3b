/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/node/spare.h"

#include "base/mem.h"

void spare_init(struct spare *s, size_t nodes)
{
    *s = (struct spare){.open = bitset_new(nodes)};
    s->nodes = mem_new_array(struct spare_node, nodes + 1);
    vec_push(&s->by_cpus, (uint32_t)nodes);
}

void spare_copy(struct spare *s, const struct spare *from)
{
    *s = (struct spare){.open = bitset_dup(from->open), .whole = from->whole};
    s->nodes = mem_dup(from->nodes, (from->open->size + 1) * sizeof *s->nodes);
    vec_reserve(&s->by_cpus, from->by_cpus.len);
    vec_foreach (&from->by_cpus, count)
        vec_push(&s->by_cpus, *count);
}

void spare_done(struct spare *s)
{
    bitset_free(s->open);
    free(s->nodes);
    vec_done(&s->by_cpus);
}

void spare_set(struct spare *s, uint32_t node, uint32_t cpus, bool whole)
{
    struct spare_node *n = &s->nodes[node];
    if (n->cpus != cpus) {
        while (s->by_cpus.len <= cpus)
            vec_push(&s->by_cpus, 0);
        s->by_cpus.data[n->cpus]--;
        s->by_cpus.data[cpus]++;
        s->changes += !cpus != !n->cpus;
        if (cpus)
            bitset_set(s->open, node);
        else
            bitset_unset(s->open, node);
    }
    s->whole += whole;
    s->whole -= n->whole;
    *n = (struct spare_node){cpus, whole};
}

/* Counts the nodes with the most free CPUs first, which is optimal for a maximum number of
 * nodes. */
bool spare_might_do(const struct spare *s, const struct spare_need *need)
{
    uint64_t nodes = 0, tasks = 0;
    if (need->whole && s->whole < need->nodes)
        return false;
    for (size_t cpus = s->by_cpus.len; cpus-- > 1 && nodes < need->max_nodes;) {
        uint64_t count = s->by_cpus.data[cpus];
        if (!count)
            continue;
        uint64_t each = spare_tasks(need, (uint32_t)cpus);
        if (each == 0)
            break;
        count = count < need->max_nodes - nodes ? count : need->max_nodes - nodes;
        nodes += count;
        tasks += count * each;
        if (nodes >= need->nodes && tasks >= need->tasks)
            return true;
    }
    return false;
}

void spare_count_without(struct spare *counts, const struct spare *s, const struct bitset *nodes)
{
    vec_clear(&counts->by_cpus);
    vec_foreach (&s->by_cpus, count)
        vec_push(&counts->by_cpus, *count);
    counts->whole = s->whole;
    bitset_foreach (nodes, i) {
        const struct spare_node *n = &s->nodes[i];
        counts->by_cpus.data[n->cpus]--;
        counts->whole -= n->whole;
    }
}
