/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a waiting job could start: running jobs give back what they hold at the latest by their
 * limits. */
#include "sched/plan.h"

static void view_init(const struct cluster *c, struct free_view *v)
{
    v->units = mem_new_array(uint32_t, c->nodes.len + 1);
    v->mem_mib = mem_new_array(int64_t, c->nodes.len + 1);
    v->whole = mem_new_array(bool, c->nodes.len + 1);
    vec_foreach (&c->nodes, at) {
        const struct node *n = *at;
        v->units[n->index] = n->exclusive ? 0 : n->free_units;
        v->mem_mib[n->index] = (int64_t)(n->mem_mib - n->used_mem_mib);
        v->whole[n->index] = n->jobs == 0;
    }
}

static void view_done(struct free_view *v)
{
    free(v->units);
    free(v->mem_mib);
    free(v->whole);
}

/* What the job holds becomes free. */
static void give_back(const struct cluster *c, const struct job *j, struct free_view *v)
{
    vec_foreach (&j->alloc, a) {
        const struct node *n = c->nodes.data[a->node];
        if (a->released)
            continue;
        v->units[a->node] = n->exclusive ? n->units : v->units[a->node] + a->units;
        v->mem_mib[a->node] += (int64_t)a->mem_mib;
        v->whole[a->node] = v->units[a->node] == n->units;
    }
}

int64_t timeline_earliest(const struct cluster *c, const struct job *j,
                          const struct bitset *allowed, int64_t now_sec, struct selection *where)
{
    struct free_view view;
    int64_t at = now_sec;
    view_init(c, &view);
    int rc = select_nodes(c, j, allowed, &view, where);
    for (struct order_link *l = order_first(&c->ends); rc != 0 && l; l = order_next(l)) {
        const struct job *running = order_item(l, struct job, ends);
        give_back(c, running, &view);
        at = l->key > now_sec ? l->key : now_sec;
        const struct order_link *next = order_next(l);
        if (!next || next->key != l->key)
            rc = select_nodes(c, j, allowed, &view, where);
    }
    view_done(&view);
    return rc == 0 ? at : now_sec + CLUSTER_NO_LIMIT_SEC;
}
