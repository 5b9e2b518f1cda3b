/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/select/place.h"

#include "sched/select/resv.h"

static const char *first_outside(const struct cluster *c, const struct bitset *nodes,
                                 const struct bitset *set)
{
    bitset_foreach (nodes, i)
        if (!bitset_test(set, (size_t)i))
            return c->nodes.data[i]->name;
    return "?";
}

static int check_nodes(const struct cluster *c, const struct job *j, const struct bitset *nodes,
                       struct err *err)
{
    size_t count = bitset_count(nodes);

    if (count < j->want.min_nodes || count > j->want.max_nodes ||
        (j->want.sizes && !idset_has(j->want.sizes, (uint32_t)count)))
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

/* Finds a reservation of the job, or none, in which it may use all of these nodes now and fits. */
static int find_place(const struct cluster *c, const struct job *j, const struct bitset *nodes,
                      struct resv_plan *resv, struct selection *out, const struct resv **into,
                      struct err *err)
{
    const struct resv *in;
    size_t open = 0;
    for (size_t i = 0; resv_place(j, i, &in); i++) {
        _cleanup_bitset_ struct bitset *set = bitset_dup(nodes);
        resv_restrict(in, set);
        if (!resv_narrow(resv, j, in, resv->now_sec, set) || !bitset_equal(set, nodes))
            continue;
        open++;
        const struct free_view *view = resv_view(resv, j, in, resv->now_sec, &c->pool.now);
        if (select_nodes(c, j, nodes, view, out) != 0)
            continue;
        *into = in;
        return 0;
    }
    return err_set(err, -ERR_NODES_BUSY, open ? "%s" : "%s: reservations keep it from there",
                   err_text(ERR_NODES_BUSY));
}

int place_find(const struct cluster *c, const struct job *j, struct bitset *nodes, int64_t now_sec,
               struct selection *out, const struct resv **into, struct err *err)
{
    struct job there = *j; /* as if it required these nodes */
    struct resv_plan resv;
    int rc = check_nodes(c, j, nodes, err);

    if (rc != 0)
        return rc;
    there.want.req = nodes;
    there.want.min_nodes = there.want.max_nodes = there.want.good_nodes =
        (uint32_t)bitset_count(nodes);
    resv_plan_init(&resv, c, now_sec);
    rc = find_place(c, &there, nodes, &resv, out, into, err);
    resv_plan_done(&resv);
    return rc;
}
