/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/begun.h"

#include <stdlib.h>

#include "cluster/cluster.h"

#define OLD_MOST 64 /* maximum old entries, in addition to the number of running jobs */

struct dated {
    int64_t start_at;
    struct begun_job job;
};

struct job *begun_job(const struct cluster *c, const struct begun_job *b)
{
    struct job *j = cluster_find_job(c, b->id);
    bool runs = j && j->restarts == b->restarts &&
                (j->state == PB__JOB_STATE__RUNNING || j->state == PB__JOB_STATE__SUSPENDED);
    return runs ? j : NULL;
}

static void drop_old(struct cluster *c)
{
    size_t left = 0;
    vec_foreach (&c->begun.list, b)
        if (begun_job(c, b))
            c->begun.list.data[left++] = *b;
    c->begun.list.len = left;
}

static uint32_t cpus_of(const struct job *j)
{
    uint64_t cpus = 0;
    vec_foreach (&attempt_of(j)->alloc, a)
        cpus += a->cpus;
    return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

void begun_add(struct cluster *c, const struct job *j)
{
    if (c->begun.list.len > 2 * c->running + OLD_MOST)
        drop_old(c);
    vec_push(&c->begun.list, ((struct begun_job){j->id, j->restarts, cpus_of(j)}));
}

static int by_start(const void *a, const void *b)
{
    const struct dated *x = a, *y = b;
    if (x->start_at != y->start_at)
        return x->start_at < y->start_at ? -1 : 1;
    return x->job.id < y->job.id ? -1 : x->job.id > y->job.id;
}

void begun_sort(struct cluster *c)
{
    if (!c->begun.mixed)
        return;
    drop_old(c);
    size_t n = c->begun.list.len;
    _cleanup_free_ struct dated *dated = mem_new_array(struct dated, n + 1);
    for (size_t i = 0; i < n; i++) {
        dated[i].job = c->begun.list.data[i];
        const struct job *j = begun_job(c, &dated[i].job);
        dated[i].start_at = attempt_of(j)->start_at;
        dated[i].job.cpus = cpus_of(j);
    }
    qsort(dated, n, sizeof(*dated), by_start);
    for (size_t i = 0; i < n; i++)
        c->begun.list.data[i] = dated[i].job;
    c->begun.mixed = false;
}
