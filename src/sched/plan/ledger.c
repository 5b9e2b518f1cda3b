/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/ledger.h"

#include <assert.h>
#include <stdlib.h>

#include "cluster/job/whole_cores.h"
#include "cluster/resource/cores.h"
#include "sched/plan/node_free.h"

void ledger_begin_on(struct ledger *l, const struct cluster *c, const struct free_view *base)
{
    *l = (struct ledger){.cluster = c, .base = base};
}

void ledger_end(struct ledger *l)
{
    vec_foreach (&l->entries, e) {
        free(e->own_use);
        bitset_free(e->own_busy);
    }
    free(l->busy);
    if (l->has_view)
        pool_view_done(&l->view);
    vec_done(&l->entries);
    vec_done(&l->gres);
}

const struct free_view *ledger_view(const struct ledger *l)
{
    return l->has_view ? &l->view : l->base;
}

static void save_node(struct ledger *l, uint32_t node)
{
    size_t kinds = l->cluster->pool.gres_kinds;
    const struct free_view *v = &l->view;
    vec_push(&l->entries, ((struct ledger_entry){.node = node,
                                                 .units = v->units[node],
                                                 .amounts = v->amounts[node],
                                                 .whole = v->whole[node],
                                                 .users = v->users[node],
                                                 .use = v->use[node],
                                                 .busy = l->busy ? l->busy[node] : NULL}));
    for (size_t k = 0; k < kinds; k++)
        vec_push(&l->gres, v->gres[node * kinds + k]);
}

static struct node_users add_user(const struct node_users *u, const struct job *j)
{
    if (u->who == USERS_MANY || (u->who != USERS_NONE && u->uid != j->uid))
        return (struct node_users){.who = USERS_MANY};
    bool only = j->want.user_alone || u->who == USERS_ONLY;
    return (struct node_users){.who = only ? USERS_ONLY : USERS_ONE, .uid = j->uid};
}

static struct unit_use *suppose_use(const struct ledger *l, const struct job *j,
                                    const struct selection *where, const struct share *s)
{
    const struct share_supposed supposed = node_free_suppose(l->cluster, &l->view, where, s);
    return share_suppose(l->view.use[s->node], j, &supposed);
}

/* Returns the units in use once alloc_place() has chosen those of the share. */
static struct bitset *choose_units(const struct ledger *l, const struct job *j,
                                   const struct share *s)
{
    const struct node *n = l->cluster->nodes.data[s->node];
    uint32_t left = l->view.units[s->node], own = s->units < left ? s->units : left;
    const struct cores_want want = {.units = own,
                                    .per_socket = s->per_socket,
                                    .beyond = s->units == own ? s->beyond : 0,
                                    .cyclic = j->want.cyclic,
                                    .together = whole_units_on(&j->want, n)};
    struct bitset *busy = bitset_dup(l->busy[s->node] ? l->busy[s->node] : n->busy);
    _cleanup_bitset_ struct bitset *chosen = bitset_new(n->units);
    if (cores_choose_beside(n, &want, busy, chosen))
        bitset_or(busy, chosen);
    else
        bitset_fill(busy);
    return busy;
}

static void place_share(struct ledger *l, const struct job *j, const struct selection *where,
                        const struct share *s)
{
    struct free_view *v = &l->view;
    size_t kinds = l->cluster->pool.gres_kinds;
    bool alone = j->want.exclusive && !j->want.shared;
    struct node_free left = node_free_in(v, s->node, kinds);
    save_node(l, s->node);
    if (v->use[s->node] || j->want.shared)
        vec_last(&l->entries).own_use = suppose_use(l, j, where, s);
    if (l->busy)
        l->busy[s->node] = vec_last(&l->entries).own_busy = choose_units(l, j, s);
    node_free_take(left, where, s);
    if (alone)
        node_free_close(left, kinds);
    v->whole[s->node] = false;
    v->users[s->node] = add_user(&v->users[s->node], j);
    if (vec_last(&l->entries).own_use)
        v->use[s->node] = vec_last(&l->entries).own_use;
}

static void make_view(struct ledger *l)
{
    const struct free_view *base = l->base;
    size_t nodes = l->cluster->nodes.len;
    pool_view_copy(&l->view, base, nodes, l->cluster->pool.gres_kinds);
    l->has_view = true;
    if (!l->chooses_units)
        return;
    l->view.busy = l->busy = mem_new_array(struct bitset *, nodes + 1);
    for (size_t i = 0; base->busy && i < nodes; i++)
        l->busy[i] = base->busy[i];
}

void ledger_place(struct ledger *l, const struct job *j, const struct selection *where)
{
    if (!l->has_view)
        make_view(l);
    _cleanup_(select_done) struct selection wide = {0};
    where = select_widen(l->cluster, j, where, &wide);
    vec_foreach (&where->shares, s)
        place_share(l, j, where, s);
}

size_t ledger_mark(const struct ledger *l)
{
    return l->entries.len;
}

void ledger_roll_back(struct ledger *l, size_t mark)
{
    struct free_view *v = &l->view;
    size_t kinds = l->cluster->pool.gres_kinds;
    assert(mark <= l->entries.len);
    while (l->entries.len > mark) {
        struct ledger_entry e = vec_pop(&l->entries);
        l->gres.len -= kinds;
        const struct node_free before = {&e.units, &e.amounts,
                                         kinds ? l->gres.data + l->gres.len : NULL};
        node_free_copy(node_free_in(v, e.node, kinds), before, kinds);
        v->whole[e.node] = e.whole;
        v->users[e.node] = e.users;
        v->use[e.node] = e.use;
        free(e.own_use);
        if (l->busy)
            l->busy[e.node] = e.busy;
        bitset_free(e.own_busy);
    }
}
