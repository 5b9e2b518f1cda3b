/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes of a job in a network of toruses are a placement of a torus at an allowed corner, by
 * the lines of the plan alone, which are laid out cell by cell.
 */
#include <stdio.h>
#include <string.h>

#include "sim/rule/rule.h"

struct torus {
    unsigned dims[3];
    unsigned first; /* number of the node in its first cell */
};

struct placement {
    unsigned dims[3], seed[3], step[3];
};

static bool read_torus(const char *text, struct torus *t)
{
    return sscanf(text, "TopologyConf=1;TorusName=t%*u;Dims=%ux%ux%u;Nodes=n[%u-", &t->dims[0],
                  &t->dims[1], &t->dims[2], &t->first) == 4;
}

static bool read_placement(const char *text, struct placement *p)
{
    int read = sscanf(text,
                      "TopologyConf=1;Placement=%ux%ux%u;AnchorSeed=%ux%ux%u;"
                      "AnchorSpacing=%ux%ux%u",
                      &p->dims[0], &p->dims[1], &p->dims[2], &p->seed[0], &p->seed[1], &p->seed[2],
                      &p->step[0], &p->step[1], &p->step[2]);
    if (read == 3) {
        memset(p->seed, 0, sizeof p->seed);
        memcpy(p->step, p->dims, sizeof p->step);
    }
    return read == 3 || read == 9;
}

static bool has_share_on_node(const struct sim_watch *w, unsigned node)
{
    vec_foreach (&w->shares, share)
        if (share->node == node)
            return true;
    return false;
}

static bool has_placement_at(const struct sim_watch *w, const struct torus *t,
                             const struct placement *p, const unsigned corner[3])
{
    for (unsigned i = 0; i < p->dims[0] * p->dims[1] * p->dims[2]; i++) {
        unsigned x = (corner[0] + i % p->dims[0]) % t->dims[0];
        unsigned y = (corner[1] + i / p->dims[0] % p->dims[1]) % t->dims[1];
        unsigned z = (corner[2] + i / p->dims[0] / p->dims[1]) % t->dims[2];
        if (!has_share_on_node(w, t->first - 1 + x + (y + z * t->dims[1]) * t->dims[0]))
            return false;
    }
    return true;
}

static bool is_placed(const struct sim_watch *w, const struct torus *t, const struct placement *p)
{
    unsigned at[3], corner[3];
    if (w->shares.len != (size_t)p->dims[0] * p->dims[1] * p->dims[2])
        return false;
    for (at[0] = 0; at[0] < t->dims[0]; at[0] += p->step[0])
        for (at[1] = 0; at[1] < t->dims[1]; at[1] += p->step[1])
            for (at[2] = 0; at[2] < t->dims[2]; at[2] += p->step[2]) {
                for (int i = 0; i < 3; i++)
                    corner[i] = (at[i] + p->seed[i]) % t->dims[i];
                if (has_placement_at(w, t, p, corner))
                    return true;
            }
    return false;
}

void sim_torus_check(struct sim *s, const struct sim_watch *w)
{
    struct torus t;
    struct placement p;
    bool any = false, placed = false;
    vec_foreach (&s->plan->items, item) {
        if (item->kind != SIM_ITEM_CONF)
            continue;
        any = read_torus(item->text, &t) || any;
        if (any && read_placement(item->text, &p))
            placed = placed || is_placed(w, &t, &p);
    }
    s->result->torus_checks += any;
    if (any && !placed)
        sim_break(s, "nodes of a job are no placement of a torus", "job %u: %zu nodes", w->job_id,
                  w->shares.len);
}
