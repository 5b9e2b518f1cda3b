/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a waiting job could start: running jobs give back what they hold at the latest by their
 * limits. */
#include <string.h>

#include "sched/plan.h"

/* A view of the cluster after some of the running jobs have ended, and what of its parts is its
 * own.
 */
struct ahead {
    const struct cluster *c;
    struct free_view view;
    struct unit_use **own_use; /* by node; NULL: as the node has it */
    size_t given;              /* so many have ended */
    struct order_link *next;
};

struct moment { /* when running jobs end */
    int64_t at;
    size_t ended; /* jobs in all by then */
};

struct moments {
    VEC(struct moment) list;
};

/* Back to the present. */
static void rewind_to_now(struct ahead *ahead)
{
    const struct free_view *now = &ahead->c->pool.now;
    struct free_view *v = &ahead->view;
    size_t n = ahead->c->nodes.len;
    for (size_t i = 0; i < n && ahead->given; i++)
        free(take_ptr(ahead->own_use[i]));
    memcpy(v->use, now->use, n * sizeof(*v->use));
    memcpy(v->units, now->units, n * sizeof(*v->units));
    memcpy(v->mem_mib, now->mem_mib, n * sizeof(*v->mem_mib));
    memcpy(v->whole, now->whole, n * sizeof(*v->whole));
    ahead->given = 0;
    ahead->next = order_first(&ahead->c->ends);
}

static void view_init(const struct cluster *c, struct ahead *ahead)
{
    struct free_view *v = &ahead->view;
    size_t n = c->nodes.len + 1;
    ahead->c = c;
    ahead->own_use = mem_new_array(struct unit_use *, n);
    v->use = mem_new_array(const struct unit_use *, n);
    v->units = mem_new_array(uint32_t, n);
    v->mem_mib = mem_new_array(int64_t, n);
    v->whole = mem_new_array(bool, n);
    rewind_to_now(ahead);
}

static void view_done(struct ahead *ahead)
{
    for (size_t i = 0; i < ahead->c->nodes.len; i++)
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
static void give_back(const struct job *j, struct ahead *ahead)
{
    struct free_view *v = &ahead->view;
    vec_foreach (&j->alloc, a) {
        const struct node *n = ahead->c->nodes.data[a->node];
        if (a->released)
            continue;
        v->units[a->node] = n->exclusive ? n->units : v->units[a->node] + units_freed(ahead, n, a);
        v->mem_mib[a->node] += (int64_t)a->mem_mib;
        v->whole[a->node] = v->units[a->node] == n->units;
    }
}

static void go_to(struct ahead *ahead, const struct moment *m)
{
    if (ahead->given > m->ended)
        rewind_to_now(ahead);
    for (; ahead->given < m->ended; ahead->given++) {
        give_back(order_item(ahead->next, struct job, ends), ahead);
        ahead->next = order_next(ahead->next);
    }
}

static void list_moments(const struct cluster *c, int64_t now_sec, struct moments *m)
{
    size_t ended = 0;
    vec_push(&m->list, ((struct moment){now_sec, 0}));
    for (const struct order_link *l = order_first(&c->ends); l; l = order_next(l)) {
        const struct order_link *next = order_next(l);
        ended++;
        if (!next || next->key != l->key)
            vec_push(&m->list, ((struct moment){l->key > now_sec ? l->key : now_sec, ended}));
    }
}

/* Whether it fits then; 'where' gets the choice. */
static bool fits_at(struct ahead *ahead, const struct job *j, const struct bitset *allowed,
                    const struct moment *m, struct selection *where)
{
    go_to(ahead, m);
    vec_clear(&where->shares);
    return select_nodes(ahead->c, j, allowed, &ahead->view, where) == 0;
}

/* The first moment when it fits; the number of moments: none. Once it fits it does so from then on,
 * since nothing but ends is foreseen: so the steps double, and the last one is halved. */
static size_t first_fit(struct ahead *ahead, const struct job *j, const struct bitset *allowed,
                        const struct moments *m, struct selection *where)
{
    size_t last = m->list.len - 1, low = 0, high = 0; /* below 'low' it does not fit */
    while (!fits_at(ahead, j, allowed, &m->list.data[high], where)) {
        if (high == last)
            return m->list.len;
        low = high + 1;
        high = high * 2 + 1 < last ? high * 2 + 1 : last;
    }
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (fits_at(ahead, j, allowed, &m->list.data[middle], where))
            high = middle;
        else
            low = middle + 1;
    }
    fits_at(ahead, j, allowed, &m->list.data[high], where);
    return high;
}

int64_t timeline_earliest(const struct cluster *c, const struct job *j,
                          const struct bitset *allowed, int64_t now_sec, struct selection *where)
{
    struct ahead ahead = {0};
    struct moments m = {0};
    view_init(c, &ahead);
    list_moments(c, now_sec, &m);
    size_t first = first_fit(&ahead, j, allowed, &m, where);
    int64_t at = first < m.list.len ? m.list.data[first].at : now_sec + CLUSTER_NO_LIMIT_SEC;
    vec_done(&m.list);
    view_done(&ahead);
    return at;
}
