/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of the network, of loads and of places a choice of nodes for a job looks at. */
#include <stdlib.h>

#include "cluster/node/topo.h"
#include "sched/select/select.h"

const struct topo *select_topo(const struct cluster *c, const struct job *j)
{
    uint32_t number = conf_network_index(c->conf, j->part->conf.topology);
    bool optional = c->conf->networks.data[number].optional;
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
    return t && (t->net->kind == CONF_TOPO_BLOCK || t->net->kind == CONF_TOPO_RING);
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
