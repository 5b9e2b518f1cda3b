/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/leaf.h"

#include "cluster/cluster.h"
#include "cluster/node/topo.h"

const struct topo *leaf_topo(const struct cluster *c, const struct job *j)
{
    if (!j->want.topo_alone || j->want.shared)
        return NULL;
    return c->topos[conf_network_index(c->conf, j->part ? j->part->conf.topology : NULL)];
}

/* The share that a suspended job keeps on a node excludes no other job, until the job ends. */
static bool counts_on_node(const struct job *j, const struct alloc_node *a)
{
    return !a->released && (!a->parked || attempt_of(j)->completing);
}

static bool holds_nodes(const struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released)
            return true;
    return false;
}

bool leaf_matters(const struct cluster *c, const struct job *j)
{
    return c->leaf_jobs.len || leaf_topo(c, j);
}

static void remove_leaf(const struct topo *t, uint32_t leaf, struct bitset *set)
{
    for (uint32_t i = t->first[leaf]; i < t->first[leaf + 1]; i++)
        bitset_unset(set, t->nodes[i]);
}

/* For a running job: removes the leaves on which it is in this view. */
static void remove_leaves_of(const struct cluster *c, const struct job *j,
                             const struct free_view *view, struct bitset *set)
{
    const struct topo *t = leaf_topo(c, j);
    if (!t)
        return;
    vec_foreach (&attempt_of(j)->alloc, a)
        if (counts_on_node(j, a) && !view->whole[a->node])
            remove_leaf(t, t->leaf[a->node], set);
}

static bool is_leaf_empty(const struct topo *t, uint32_t leaf, const struct free_view *view)
{
    for (uint32_t i = t->first[leaf]; i < t->first[leaf + 1]; i++)
        if (!view->whole[t->nodes[i]])
            return false;
    return true;
}

static bool is_leaf_in(const struct topo *t, uint32_t leaf, const struct bitset *set)
{
    for (uint32_t i = t->first[leaf]; i < t->first[leaf + 1]; i++)
        if (!bitset_test(set, t->nodes[i]))
            return false;
    return true;
}

void leaf_narrow(const struct cluster *c, const struct job *j, const struct free_view *view,
                 struct bitset *set)
{
    const struct topo *t = leaf_topo(c, j);
    vec_foreach (&c->leaf_jobs, id) {
        const struct job *other = cluster_find_job(c, *id);
        if (other && *id != j->id)
            remove_leaves_of(c, other, view, set);
    }
    for (uint32_t leaf = 0; t && leaf < t->leaves; leaf++)
        if (!is_leaf_empty(t, leaf, view))
            remove_leaf(t, leaf, set);
}

void leaf_keep_complete(const struct cluster *c, const struct job *j, const struct bitset *free,
                        struct bitset *set)
{
    const struct topo *t = leaf_topo(c, j);
    for (uint32_t leaf = 0; t && leaf < t->leaves; leaf++)
        if (!is_leaf_in(t, leaf, free))
            remove_leaf(t, leaf, set);
}

void leaf_widen(const struct cluster *c, struct bitset *set)
{
    _cleanup_bitset_ struct bitset *before = bitset_dup(set);
    for (size_t i = 0; i < c->conf->networks.len; i++) {
        const struct topo *t = c->topos[i];
        if (!t)
            continue;
        bitset_foreach (before, node) {
            uint32_t leaf = t->leaf[node];
            for (uint32_t k = t->first[leaf]; k < t->first[leaf + 1]; k++)
                bitset_set(set, t->nodes[k]);
        }
    }
}

/* Whether the job runs in the node's leaf of its network, including on the node itself. */
static bool runs_beside(const struct cluster *c, const struct job *j, uint32_t node)
{
    const struct topo *t = leaf_topo(c, j);
    if (!t)
        return false;
    vec_foreach (&attempt_of(j)->alloc, a)
        if (counts_on_node(j, a) && t->leaf[a->node] == t->leaf[node])
            return true;
    return false;
}

/* Adds the other nodes of the leaves on which the job runs. */
static void add_blocked_by(const struct cluster *c, const struct job *j, struct bitset *blocked)
{
    const struct topo *t = leaf_topo(c, j);
    if (!t)
        return;
    _cleanup_bitset_ struct bitset *rest = bitset_new(c->nodes.len);
    vec_foreach (&attempt_of(j)->alloc, a)
        if (counts_on_node(j, a) && !bitset_test(rest, a->node)) /* its leaf is not added yet */
            for (uint32_t i = t->first[t->leaf[a->node]]; i < t->first[t->leaf[a->node] + 1]; i++)
                bitset_set(rest, t->nodes[i]);
    vec_foreach (&attempt_of(j)->alloc, a)
        if (counts_on_node(j, a))
            bitset_unset(rest, a->node);
    bitset_or(blocked, rest);
}

struct bitset *leaf_find_blocked(const struct cluster *c)
{
    struct bitset *blocked = bitset_new(c->nodes.len);
    vec_foreach (&c->leaf_jobs, id) {
        const struct job *j = cluster_find_job(c, *id);
        if (j)
            add_blocked_by(c, j, blocked);
    }
    return blocked;
}

static void list_job(struct cluster *c, const struct job *j)
{
    bool holds = holds_nodes(j), known = false;
    for (size_t i = c->leaf_jobs.len; i-- > 0;) {
        known = known || c->leaf_jobs.data[i] == j->id;
        if (!holds && c->leaf_jobs.data[i] == j->id)
            vec_remove(&c->leaf_jobs, i);
    }
    if (holds && !known)
        vec_push(&c->leaf_jobs, j->id);
}

void leaf_follow(struct cluster *c, const struct job *j)
{
    if (j->want.topo_alone)
        list_job(c, j);
}

/* Returns another job that runs on the node; NULL: none. */
static const struct job *find_runner(const struct cluster *c, const struct job *j, uint32_t node)
{
    vec_foreach (&c->nodes.data[node]->holders, id) {
        struct job *other = cluster_find_job(c, *id);
        const struct alloc_node *a = other && other != j ? alloc_find(other, node) : NULL;
        if (a && counts_on_node(other, a))
            return other;
    }
    return NULL;
}

const struct job *leaf_find_other(const struct cluster *c, const struct job *j, uint32_t node)
{
    const struct topo *t = leaf_topo(c, j);
    vec_foreach (&c->leaf_jobs, id) {
        const struct job *other = cluster_find_job(c, *id);
        if (other && *id != j->id && runs_beside(c, other, node))
            return other;
    }
    uint32_t leaf = t ? t->leaf[node] : 0;
    for (uint32_t i = t ? t->first[leaf] : 0; t && i < t->first[leaf + 1]; i++) {
        const struct job *other = find_runner(c, j, t->nodes[i]);
        if (other)
            return other;
    }
    return NULL;
}

int leaf_check(const struct cluster *c, const struct job *j, uint32_t node, struct err *err)
{
    const struct job *other = leaf_find_other(c, j, node);
    if (!other)
        return 0;
    return err_set(err, -ERR_NODES_BUSY,
                   "%s: %s: job %s has nodes of the same block, switch, ring or torus",
                   err_text(ERR_NODES_BUSY), c->nodes.data[node]->name, JOB_ID_TEXT(other));
}
