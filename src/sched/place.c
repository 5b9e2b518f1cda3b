/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/place.h"

static const char *first_outside(const struct cluster *c, const struct bitset *nodes,
                                 const struct bitset *set)
{
    bitset_foreach (nodes, i)
        if (!bitset_test(set, (size_t)i))
            return c->nodes.data[i]->name;
    return "?";
}

static int check(const struct cluster *c, const struct job *j, const struct bitset *nodes,
                 struct err *err)
{
    size_t count = bitset_count(nodes);

    if (count < j->want.min_nodes || count > j->want.max_nodes)
        return err_set(err, -ERR_NODE_COUNT, "%s: %zu nodes, and it asks for %u",
                       err_text(ERR_NODE_COUNT), count, j->want.min_nodes);
    _cleanup_bitset_ struct bitset *may = select_candidates(c, j);
    if (!bitset_contains(may, nodes))
        return err_set(err, -ERR_NODE_CONFIG,
                       "%s: %s is not of its partition, or not as it asks for",
                       err_text(ERR_NODE_CONFIG), first_outside(c, nodes, may));
    if (!bitset_contains(c->pool.usable, nodes))
        return err_set(err, -ERR_NODES_DOWN, "%s: %s", err_text(ERR_NODES_DOWN),
                       first_outside(c, nodes, c->pool.usable));
    return 0;
}

int place_find(const struct cluster *c, struct job *j, struct bitset *nodes, struct selection *out,
               struct err *err)
{
    struct request asked = j->want;
    int rc = check(c, j, nodes, err);

    if (rc != 0)
        return rc;
    j->want.req = nodes;
    j->want.min_nodes = j->want.max_nodes = j->want.good_nodes = (uint32_t)bitset_count(nodes);
    rc = select_nodes(c, j, nodes, NULL, out);
    j->want = asked;
    if (rc != 0)
        return err_set(err, -ERR_NODES_BUSY, "%s", err_text(ERR_NODES_BUSY));
    return 0;
}
