/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Units that several jobs have: of partitions with OverSubscribe=FORCE, and with YES the jobs that
 * ask for it. Up to so many jobs as the partition says have a unit; jobs of other partitions and
 * those that do not share never do (CORE-131, CORE-132).
 *
 * Few nodes have such jobs: a node counts by units only while one is there.
 */
#include "cluster/cluster.h"

static bool has_room(const struct unit_use *u, const struct job *j)
{
    return u->jobs > 0 && u->part == j->part && u->jobs < j->part->conf.share_max;
}

uint32_t share_room(uint32_t units, const struct unit_use *use, const struct job *j)
{
    uint32_t count = 0;
    if (!use || !j->want.shared)
        return 0;
    for (uint32_t i = 0; i < units; i++)
        count += has_room(&use[i], j);
    return count;
}

void share_choose(const struct node *n, const struct job *j, uint32_t units, struct bitset *set)
{
    for (; units > 0; units--) {
        uint32_t best = n->units;
        for (uint32_t i = 0; i < n->units; i++)
            if (has_room(&n->use[i], j) && !bitset_test(set, i) &&
                (best == n->units || n->use[i].jobs < n->use[best].jobs))
                best = i;
        bitset_set(set, best);
    }
}

static void count_by_units(struct node *n)
{
    n->use = mem_new_array(struct unit_use, n->units + 1);
    bitset_foreach (n->busy, i)
        n->use[i].jobs = 1;
}

void share_occupy(struct node *n, const struct job *j, const struct bitset *units)
{
    /* A record may hold units that are no longer to be shared: they are still counted. */
    if (!n->use && (j->want.shared || bitset_intersects(n->busy, units)))
        count_by_units(n);
    bitset_or(n->busy, units);
    if (!n->use)
        return;
    bitset_foreach (units, i)
        if (n->use[i].jobs++ == 0)
            n->use[i].part = j->want.shared ? j->part : NULL;
}

void share_release(struct node *n, const struct bitset *units)
{
    if (!n->use) {
        bitset_andnot(n->busy, units);
        return;
    }
    bitset_foreach (units, i)
        if (--n->use[i].jobs == 0) {
            n->use[i].part = NULL;
            bitset_unset(n->busy, (size_t)i);
        }
    if (bitset_count(n->busy) == 0)
        free(take_ptr(n->use));
}
