/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Units that several jobs have: of partitions with OverSubscribe=FORCE, and with YES the jobs that
 * ask for it. Up to so many jobs as the partition says have a unit; those that do not share never
 * do (CORE-131, CORE-132), nor jobs of other partitions, but for those that share with them
 * (request.shares_parts).
 *
 * Few nodes have such jobs: a node counts by units only while one is there.
 */
#include <assert.h>

#include "cluster/cluster.h"
#include "cluster/resource/cores.h"
#include "cluster/resource/gres_cores.h"

/* Whether the job shares with those of the unit, and how many may have the unit then. Units that
 * jobs of several partitions have got are left to these when partitions share no longer. */
static uint32_t most_jobs(const struct unit_use *u, const struct job *j)
{
    const struct part *a = u->part, *b = j->part;
    bool tiers = a->conf.priority_tier == b->conf.priority_tier || j->want.shares_tiers;
    if ((a != b && !(j->want.shares_parts && tiers)) || (u->has_parts && !j->want.shares_parts))
        return 0;
    return a->conf.share_max < b->conf.share_max ? a->conf.share_max : b->conf.share_max;
}

bool share_may(const struct unit_use *u, const struct job *j)
{
    if (u->is_restricted && !gres_cores_may(&j->want.gres))
        return false;
    return j->want.shared && u->jobs > 0 && u->part && u->jobs < most_jobs(u, j);
}

const struct part *share_find_limit(const struct unit_use *u, const struct job *j)
{
    uint32_t most = j->want.shared && u->jobs && u->part ? most_jobs(u, j) : 0;
    if (!most || u->jobs < most)
        return NULL;
    return u->part->conf.share_max <= j->part->conf.share_max ? u->part : j->part;
}

void share_add_job(struct unit_use *u, const struct job *j)
{
    const struct part *part = j->want.shared ? j->part : NULL;
    u->has_parts = u->jobs && (u->has_parts || u->part != part);
    if (u->jobs++ == 0 || (part && u->part && part->conf.share_max < u->part->conf.share_max))
        u->part = part;
}

uint32_t share_room(uint32_t units, const struct unit_use *use, const struct job *j, uint32_t most)
{
    uint32_t count = 0;
    if (!use || !j->want.shared)
        return 0;
    for (uint32_t i = 0; i < units; i++)
        count += use[i].jobs <= most && share_may(&use[i], j);
    return count;
}

uint32_t share_full(uint32_t units, const struct unit_use *use, const struct job *j)
{
    uint32_t count = 0;
    if (!use || !j->want.shared)
        return 0;
    for (uint32_t i = 0; i < units; i++)
        count +=
            use[i].jobs > 0 && use[i].part && most_jobs(&use[i], j) > 1 && !share_may(&use[i], j);
    return count;
}

/* The unit in use that the fewest jobs have, of those that this job may have as well and that are
 * not in 'set'; 'units': there is none. */
static uint32_t find_least_shared(const struct unit_use *use, uint32_t units, const struct job *j,
                                  const struct bitset *set)
{
    uint32_t best = units;
    for (uint32_t i = 0; i < units; i++)
        if (share_may(&use[i], j) && !bitset_test(set, i) &&
            (best == units || use[i].jobs < use[best].jobs))
            best = i;
    return best;
}

void share_choose(const struct node *n, const struct job *j, uint32_t units, struct bitset *set)
{
    while (units > 0) {
        uint32_t least = n->use[find_least_shared(n->use, n->units, j, set)].jobs, count = 0;
        _cleanup_bitset_ struct bitset *among = bitset_new(n->units);
        for (uint32_t i = 0; i < n->units; i++)
            if (n->use[i].jobs == least && share_may(&n->use[i], j) && !bitset_test(set, i)) {
                bitset_set(among, i);
                count++;
            }
        const struct cores_want want = {.units = count < units ? count : units,
                                        .cyclic = j->want.cyclic};
        if (!cores_choose_among(n, &want, among, set))
            assert(false); /* without a limit of sockets there is always a choice */
        units -= want.units;
    }
}

/* Adds up to 'units' free units to the set; returns how many. */
static uint32_t add_free_units(const struct unit_use *use, uint32_t all, bool is_restricted,
                               uint32_t units, struct bitset *set)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all && count < units; i++)
        if (use[i].jobs == 0 && use[i].is_restricted == is_restricted) {
            bitset_set(set, i);
            count++;
        }
    return count;
}

struct unit_use *share_suppose(const struct unit_use *use, const struct job *j,
                               const struct share_supposed *supposed)
{
    uint32_t all = supposed->all, left = supposed->units;
    struct unit_use *copy = mem_new_array(struct unit_use, all + 1);
    _cleanup_bitset_ struct bitset *set = bitset_new(all);
    for (uint32_t i = 0; i < all; i++)
        copy[i] = use ? use[i]
                      : (struct unit_use){.jobs = i >= supposed->free,
                                          .is_restricted = i < supposed->free_restricted};
    left -= add_free_units(copy, all, true, supposed->restricted, set);
    left -= add_free_units(copy, all, false, left, set);
    for (uint32_t i; left && (i = find_least_shared(copy, all, j, set)) < all; left--)
        bitset_set(set, i);
    bitset_foreach (set, i)
        share_add_job(&copy[i], j);
    return copy;
}

static void count_by_units(struct node *n)
{
    n->use = mem_new_array(struct unit_use, n->units + 1);
    bitset_foreach (n->busy, i)
        n->use[i].jobs = 1;
    for (uint32_t i = 0; n->restricted && i < n->units; i++)
        n->use[i].is_restricted = bitset_test(n->restricted, i);
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
        share_add_job(&n->use[i], j);
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
