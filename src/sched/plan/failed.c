/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/failed.h"
#include "cluster/job/license_tied.h"

#include "sched/plan.h"

void failed_begin(struct plan_failures *f)
{
    *f = (struct plan_failures){.by_licenses.by_licenses = true, .closed.by_licenses = true};
}

void failed_clear(struct plan_failures *f)
{
    alike_clear(&f->by_nodes);
    alike_clear(&f->by_licenses);
    alike_clear(&f->closed);
}

void failed_done(struct plan_failures *f)
{
    alike_done(&f->by_nodes);
    alike_done(&f->by_licenses);
    alike_done(&f->closed);
}

/* It is the same for all views of the job, such as those with one alternative licence. */
static uint64_t find_hash(const struct plan *p, const struct job *j)
{
    struct plan_look *look = p->look;
    if (!look->of || look->of->id != j->id)
        return alike_hash(j, p->cluster->pool.locked);
    if (!look->has_hash)
        look->hash = alike_hash(j, p->cluster->pool.locked);
    look->has_hash = true;
    return look->hash;
}

static bool is_failure_known(const struct plan *p, const struct alike *set, const struct job *j)
{
    return set->list.len && alike_has(set, j, p->cluster->pool.locked, find_hash(p, j));
}

static void add_failed_job(struct plan *p, struct alike *set, const struct job *j)
{
    alike_add(set, j, p->cluster->pool.locked, find_hash(p, j));
}

void failed_forget_licenses(struct plan *p)
{
    alike_clear(&p->failures.by_licenses);
    alike_clear(&p->failures.closed);
}

/* Licences of the cluster are checked at the gate. Searches behind the gate depend on pools that
 * are tied to nodes, and on reservations, each of which has licences of its own. */
static bool depends_on_licenses(const struct plan *p, const struct job *j)
{
    return j->want.licenses.list.len &&
           (p->cluster->resvs.len || license_needs_tied(p->cluster, j));
}

/* A job of several partitions differs between them. Its own claims in one partition may have caused
 * the failure of an equal job, and do not apply to the job itself in another partition. */
void failed_add(struct plan *p, const struct job *j)
{
    if (!j->partitions)
        add_failed_job(
            p, depends_on_licenses(p, j) ? &p->failures.by_licenses : &p->failures.by_nodes, j);
}

bool failed_has(const struct plan *p, const struct job *j)
{
    if (j->time_min_sec) /* its run time may be shorter than that of the failed job */
        return false;
    return is_failure_known(p, &p->failures.by_nodes, j) ||
           (!j->partitions && is_failure_known(p, &p->failures.by_licenses, j));
}

void failed_add_closed(struct plan *p, const struct job *j)
{
    bool is_view = j->partitions || j->want.licenses.any || p->asks;
    if (!is_view && license_needs_tied(p->cluster, j))
        add_failed_job(p, &p->failures.closed, j);
}

bool failed_has_closed(const struct plan *p, const struct job *j)
{
    bool is_view = j->partitions || j->in_set || p->asks;
    return !is_view && is_failure_known(p, &p->failures.closed, j);
}
