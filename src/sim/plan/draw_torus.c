/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A network of toruses, and jobs whose node counts are sizes of placements. */
#include <assert.h>

#include "sim/plan/draw.h"

#define SIZES_MOST 32 /* number of placement sizes to choose from */

struct sizes {
    int64_t of[SIZES_MOST];
    int64_t count;
};

static void draw_placement(struct draw *d, const int64_t dims[3], struct sizes *sizes)
{
    int64_t shape[3], seed[3], step[3], size = 1;
    for (int i = 0; i < 3; i++) {
        shape[i] = between(d, 1, dims[i]);
        seed[i] = between(d, 0, dims[i] - 1);
        step[i] = between(d, 1, 2);
        size *= shape[i];
    }
    bool custom = chance(d, 50);
    struct sim_item *line = add(d, SIM_ITEM_CONF);
    PUT(line->text, "TopologyConf=1;Placement=%lldx%lldx%lld", (long long)shape[0],
        (long long)shape[1], (long long)shape[2]);
    if (custom)
        PUT(line->text, ";AnchorSeed=%lldx%lldx%lld;AnchorSpacing=%lldx%lldx%lld",
            (long long)seed[0], (long long)seed[1], (long long)seed[2], (long long)step[0],
            (long long)step[1], (long long)step[2]);
    if (sizes->count < SIZES_MOST)
        sizes->of[sizes->count++] = size;
}

/* Lays out a torus from the first node on; returns the number of its nodes. */
static int64_t draw_torus(struct draw *d, int64_t number, int64_t first, struct sizes *sizes)
{
    int64_t left = d->nodes - first + 1, dims[3], cells;
    dims[0] = between(d, 1, left < 4 ? left : 4);
    dims[1] = between(d, 1, left / dims[0] < 3 ? left / dims[0] : 3);
    dims[2] = between(d, 1, left / dims[0] / dims[1] < 2 ? left / dims[0] / dims[1] : 2);
    cells = dims[0] * dims[1] * dims[2];
    conf(d, "TopologyConf=1;TorusName=t%lld;Dims=%lldx%lldx%lld;Nodes=n[%lld-%lld]",
         (long long)number, (long long)dims[0], (long long)dims[1], (long long)dims[2],
         (long long)first, (long long)(first + cells - 1));
    if (chance(d, 80)) {
        conf(d, "TopologyConf=1;Placement=1x1x1");
        if (sizes->count < SIZES_MOST)
            sizes->of[sizes->count++] = 1;
    }
    for (int64_t i = between(d, 1, 3); i > 0; i--)
        draw_placement(d, dims, sizes);
    return cells;
}

void sim_draw_toruses(struct draw *d)
{
    struct sizes sizes = {0};
    int64_t number = 0;
    conf(d, "TopologyConf=net:torus3d:default");
    for (int64_t first = 1; first <= d->nodes;)
        first += draw_torus(d, ++number, first, &sizes);
    assert(sizes.count > 0); /* there is a node, and each torus has a placement */
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || chance(d, 15))
            continue;
        j->min_nodes = sizes.of[between(d, 0, sizes.count - 1)];
        j->max_nodes = chance(d, 20) ? j->min_nodes + between(d, 0, 4) : 0;
        if (j->tasks && j->tasks < j->min_nodes)
            j->tasks = j->min_nodes;
    }
}
