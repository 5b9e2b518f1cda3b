/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The network, load and position of nodes in the selection for a job. */
#include <stdlib.h>

#include "cluster/node/topo.h"
#include "sched/select/select.h"

const struct topo *select_topo(const struct cluster *c, const struct job *j)
{
    uint32_t number = conf_network_index(c->conf, j->part->conf.topology);
    bool optional = c->conf->networks.data[number].optional;
    if (j->topology_waived)
        return NULL;
    return !optional || j->want.switches || j->want.segment ? c->topos[number] : NULL;
}

static bool least_loaded(const struct cluster *c, const struct job *j)
{
    return j->part->conf.lln || c->conf->cr & CONF_CR_LLN;
}

static bool is_serial(const struct request *r)
{
    return r->tasks == 1 && r->cpus_per_task == 1 && r->min_nodes == 1 && !r->exclusive;
}

bool select_has_segments(const struct topo *t)
{
    return t && t->net->kind != CONF_TOPO_TREE;
}

void select_place_segments(const struct job *j, struct chooser *ch)
{
    if (!select_has_segments(ch->topo))
        return;
    ch->segment = j->want.segment;
    ch->segments_apart = j->want.segments_apart;
    ch->segments_together = j->want.segments_together;
}

void select_place_init(struct select_place *p, const struct cluster *c, const struct job *j,
                       const struct free_view *view, struct chooser *ch)
{
    *p = (struct select_place){0};
    ch->topo = select_topo(c, j);
    ch->max_leaves = j->switches_waived || !ch->topo ? 0 : j->want.switches;
    ch->spread = j->want.spread;
    select_place_segments(j, ch);
    ch->from_end = c->conf->sched.pack_serial_at_end && is_serial(&j->want);
    if (!least_loaded(c, j))
        return;
    p->idle = mem_new_array(uint32_t, c->nodes.len + 1);
    for (size_t i = 0; i < c->nodes.len; i++)
        p->idle[i] = view->units[i] * c->pool.kinds.data[c->pool.kind[i]].cpus_per_unit;
    ch->idle = p->idle;
}

void select_place_done(struct select_place *p)
{
    free(p->idle);
}

struct bitset *select_scope(const struct cluster *c, const struct job *j)
{
    if (!leaf_matters(c, j))
        return NULL;
    struct bitset *all = bitset_new(c->nodes.len);
    bitset_fill(all);
    return all;
}

static int by_node(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    return x->node < y->node ? -1 : x->node > y->node;
}

const struct selection *select_widen(const struct cluster *c, const struct job *j,
                                     const struct selection *where, struct selection *wide)
{
    const struct topo *t = leaf_topo(c, j);
    if (!t || !where->shares.len)
        return where;
    _cleanup_bitset_ struct bitset *seen = bitset_new(c->nodes.len);
    select_copy(wide, where);
    vec_foreach (&where->shares, s)
        bitset_set(seen, s->node);
    vec_foreach (&where->shares, s) {
        uint32_t leaf = t->leaf[s->node];
        for (uint32_t i = t->first[leaf]; i < t->first[leaf + 1]; i++) {
            uint32_t node = t->nodes[i], units = c->nodes.data[node]->units;
            if (!bitset_test(seen, node))
                vec_push(&wide->shares, ((struct share){.node = node, .units = units}));
            bitset_set(seen, node);
        }
    }
    qsort(wide->shares.data, wide->shares.len, sizeof(*wide->shares.data), by_node);
    return wide;
}
