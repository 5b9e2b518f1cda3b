/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a waiting job could start: running jobs give back what they hold at the latest by their
 * limits. */
#include <string.h>

#include "sched/plan.h"

/* A view, and what of its parts is its own. */
struct ahead {
    struct free_view view;
    struct unit_use **own_use; /* by node; NULL: as the node has it */
};

static void view_init(const struct cluster *c, struct ahead *ahead)
{
    struct free_view *v = &ahead->view;
    const struct free_view *now = &c->pool.now;
    size_t n = c->nodes.len + 1;
    ahead->own_use = mem_new_array(struct unit_use *, n);
    v->use = memcpy(mem_new_array(const struct unit_use *, n), now->use, n * sizeof(*v->use));
    v->units = memcpy(mem_new_array(uint32_t, n), now->units, n * sizeof(*v->units));
    v->mem_mib = memcpy(mem_new_array(int64_t, n), now->mem_mib, n * sizeof(*v->mem_mib));
    v->whole = memcpy(mem_new_array(bool, n), now->whole, n * sizeof(*v->whole));
}

static void view_done(const struct cluster *c, struct ahead *ahead)
{
    for (size_t i = 0; i < c->nodes.len; i++)
        free(ahead->own_use[i]);
    free(ahead->own_use);
    free(ahead->view.use);
    free(ahead->view.units);
    free(ahead->view.mem_mib);
    free(ahead->view.whole);
}

/* How many of the units nobody has when this one does not. */
static uint32_t units_freed(struct ahead *ahead, const struct node *n, const struct alloc_node *a)
{
    struct unit_use **use = &ahead->own_use[n->index];
    uint32_t freed = 0;
    if (!n->use)
        return a->units;
    if (!*use) {
        *use = mem_new_array(struct unit_use, n->units + 1);
        memcpy(*use, n->use, n->units * sizeof(**use));
        ahead->view.use[n->index] = *use;
    }
    bitset_foreach (a->busy, i)
        freed += --(*use)[i].jobs == 0;
    return freed;
}

/* What the job holds becomes free. */
static void give_back(const struct cluster *c, const struct job *j, struct ahead *ahead)
{
    struct free_view *v = &ahead->view;
    vec_foreach (&j->alloc, a) {
        const struct node *n = c->nodes.data[a->node];
        if (a->released)
            continue;
        v->units[a->node] = n->exclusive ? n->units : v->units[a->node] + units_freed(ahead, n, a);
        v->mem_mib[a->node] += (int64_t)a->mem_mib;
        v->whole[a->node] = v->units[a->node] == n->units;
    }
}

int64_t timeline_earliest(const struct cluster *c, const struct job *j,
                          const struct bitset *allowed, int64_t now_sec, struct selection *where)
{
    struct ahead ahead;
    int64_t at = now_sec;
    view_init(c, &ahead);
    int rc = select_nodes(c, j, allowed, &ahead.view, where);
    for (struct order_link *l = order_first(&c->ends); rc != 0 && l; l = order_next(l)) {
        const struct job *running = order_item(l, struct job, ends);
        give_back(c, running, &ahead);
        at = l->key > now_sec ? l->key : now_sec;
        const struct order_link *next = order_next(l);
        if (!next || next->key != l->key)
            rc = select_nodes(c, j, allowed, &ahead.view, where);
    }
    view_done(c, &ahead);
    return rc == 0 ? at : now_sec + CLUSTER_NO_LIMIT_SEC;
}
