/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Suspended jobs: on nodes on which nothing of such a job runs, its units, and with --exclusive the
 * node, are available to other jobs; its memory and devices are not. The job gets the same units
 * back.
 */
#include "cluster/job/park.h"

#include <assert.h>

#include "cluster/cluster.h"
#include "cluster/resource/cores.h"
#include "cluster/resource/gres_cores.h"
#include "cluster/resource/share.h"

static bool is_alone(const struct job *j)
{
    return j->want.exclusive && !j->want.shared;
}

void park_take_units(struct node *n, const struct job *j, const struct alloc_node *a)
{
    share_occupy(n, j, a->busy);
    n->free_units = n->units - (uint32_t)bitset_count(n->busy);
    gres_cores_settle(n);
    n->exclusive = n->exclusive || is_alone(j);
    if (j->part && j->part->used_cpus)
        j->part->used_cpus[n->index] += a->cpus;
}

void park_find_parts(const struct cluster *c, struct node *n, uint32_t unit)
{
    struct unit_use now = {0};
    vec_foreach (&n->holders, id) {
        struct job *j = cluster_find_job(c, *id);
        const struct alloc_node *a = j ? alloc_find(j, n->index) : NULL;
        if (a && !a->released && !a->parked && bitset_test(a->busy, unit))
            share_add_job(&now, j);
    }
    n->use[unit].part = now.part;
    n->use[unit].has_parts = now.has_parts;
}

void park_give_units(const struct cluster *c, struct node *n, const struct job *j,
                     const struct alloc_node *a)
{
    assert(a->released || a->parked);
    share_release(n, a->busy);
    if (n->use)
        bitset_foreach (a->busy, i)
            if (n->use[i].has_parts)
                park_find_parts(c, n, (uint32_t)i);
    n->free_units = n->units - (uint32_t)bitset_count(n->busy);
    gres_cores_settle(n);
    n->exclusive = n->exclusive && !is_alone(j);
    if (j->part && j->part->used_cpus)
        j->part->used_cpus[n->index] -= a->cpus;
}

void park_leave(struct cluster *c, struct job *j, struct alloc_node *a)
{
    struct node *n = c->nodes.data[a->node];
    if (a->released || a->parked)
        return;
    a->parked = true;
    park_give_units(c, n, j, a);
    n->parked++;
    pool_update(c, n);
    job_touch(c, j);
}

/* Whether a job that does not share with this one uses the unit. */
static bool is_taken(const struct node *n, const struct job *j, size_t unit)
{
    if (!bitset_test(n->busy, unit))
        return false;
    const struct unit_use *u = n->use ? &n->use[unit] : NULL;
    return !u || !share_may(u, j);
}

static bool has_units(const struct cluster *c, const struct node *n, const struct job *j,
                      const struct alloc_node *a)
{
    if (n->exclusive || (is_alone(j) && n->jobs > n->parked))
        return false;
    bitset_foreach (a->busy, i)
        if (is_taken(n, j, (size_t)i))
            return false;
    const struct part *p = j->part;
    if (!cores_part_may(c, p, n, a->busy))
        return false;
    uint32_t used = p && p->used_cpus ? p->used_cpus[n->index] : 0;
    /* Without such neighbours it keeps its units. */
    return !used || used + a->cpus <= p->conf.max_cpus_per_node;
}

static bool is_in_the_way(const struct job *j, const struct alloc_node *a, const struct job *other)
{
    vec_foreach (&attempt_of(other)->alloc, b)
        if (b->node == a->node && !b->released && !b->parked && other != j)
            return is_alone(j) || is_alone(other) || bitset_intersects(a->busy, b->busy);
    return false;
}

#define NAMED_MAX 4 /* jobs named in a message */

/* Writes the jobs that use the unit of the node. */
static void put_jobs_of_unit(const struct cluster *c, const struct node *n, size_t unit,
                             struct str *out)
{
    unsigned found = 0;
    vec_foreach (&n->holders, id) {
        struct job *other = cluster_find_job(c, *id);
        const struct alloc_node *a = other ? alloc_find(other, n->index) : NULL;
        if (!a || a->released || a->parked || !bitset_test(a->busy, unit) || found++ >= NAMED_MAX)
            continue;
        str_printf(out, "%s%s", found > 1 ? ", " : "", JOB_ID_TEXT(other));
    }
    if (found > NAMED_MAX)
        str_printf(out, " and %u more", found - NAMED_MAX);
}

/* 0: no unit of the job has more jobs than the partitions permit. */
static int check_sharing(const struct cluster *c, const struct node *n, const struct job *j,
                         const struct alloc_node *a, struct err *err)
{
    bitset_foreach (a->busy, i) {
        const struct part *limit = n->use ? share_find_limit(&n->use[i], j) : NULL;
        _cleanup_str_ struct str jobs = STR_INIT;
        if (!limit)
            continue;
        put_jobs_of_unit(c, n, (size_t)i, &jobs);
        return err_set(err, -ERR_NODES_BUSY,
                       "%s: %s: OverSubscribe=%s:%u of partition %s lets no more jobs have its "
                       "CPUs, which job%s %s %s",
                       err_text(ERR_NODES_BUSY), n->name,
                       limit->conf.share == CONF_SHARE_FORCE ? "FORCE" : "YES",
                       limit->conf.share_max, limit->conf.name, n->use[i].jobs == 1 ? "" : "s",
                       str_cstr(&jobs), n->use[i].jobs == 1 ? "has" : "have");
    }
    return 0;
}

int park_check_return(const struct cluster *c, const struct job *j, struct err *err)
{
    vec_foreach (&attempt_of(j)->alloc, a) {
        const struct node *n = c->nodes.data[a->node];
        if (a->released || !a->parked)
            continue;
        int rc = leaf_check(c, j, a->node, err);
        if (rc < 0)
            return rc;
        if (has_units(c, n, j, a))
            continue;
        rc = check_sharing(c, n, j, a, err);
        if (rc < 0)
            return rc;
        vec_foreach (&n->holders, id) {
            const struct job *other = cluster_find_job(c, *id);
            if (other && is_in_the_way(j, a, other))
                return err_set(err, -ERR_NODES_BUSY, "%s: %s: job %u has its CPUs",
                               err_text(ERR_NODES_BUSY), n->name, *id);
        }
        return err_set(err, -ERR_NODES_BUSY,
                       "%s: %s: its partition has MaxCPUsPerNode or MaxCPUsPerSocket in use",
                       err_text(ERR_NODES_BUSY), n->name);
    }
    return 0;
}

void park_return(struct cluster *c, struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a) {
        struct node *n = c->nodes.data[a->node];
        bool returns = a->parked && !a->released;
        a->parked = false; /* also on a node that the job lost while suspended */
        if (!returns)
            continue;
        n->parked--;
        park_take_units(n, j, a);
        pool_update(c, n);
        c->pool.taken++;
    }
    c->pool.returned++;
    job_touch(c, j);
}

void park_yield(struct cluster *c, struct job *j, bool yields)
{
    if (j->yielded == yields)
        return;
    j->yielded = yields;
    if (yields)
        vec_push(&c->yielded, j->id);
    for (size_t i = c->yielded.len; !yields && i-- > 0;)
        if (c->yielded.data[i] == j->id)
            vec_remove(&c->yielded, i);
}
