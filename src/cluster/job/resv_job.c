/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/resv_job.h"

#include "cluster/cluster.h"

void resv_unbind(struct job *j)
{
    vec_foreach (&j->resvs, r)
        (*r)->pending--;
    vec_clear(&j->resvs);
}

void resv_bind(struct job *j, struct resv *r)
{
    vec_push(&j->resvs, r);
    r->pending++;
}

void resv_enter(const struct cluster *c, struct job *j, struct resv *r)
{
    resv_leave(c, j);
    if (j->attempt)
        free(take_ptr(j->attempt->resv_name));
    if (!r)
        return;
    attempt_make(j)->resv = r;
    r->running++;
    attempt_make(j)->resv_name = mem_strdup(r->name);
    if (license_held(j))
        resource_use_reserved(c, r, j, 1);
}

void resv_leave(const struct cluster *c, struct job *j)
{
    struct resv *r = attempt_of(j)->resv;
    if (!r)
        return;
    if (license_held(j))
        resource_use_reserved(c, r, j, -1);
    r->running--;
    j->attempt->resv = NULL;
}

void resv_count_licenses(const struct cluster *c, struct resv *r)
{
    vec_foreach (&r->stock, s)
        s->used = 0;
    for (struct order_link *l = order_first(&c->ends); l && r->stock.len; l = order_next(l)) {
        const struct job *j = job_of_end(l);
        if (attempt_of(j)->resv == r && license_held(j))
            resource_use_reserved(c, r, j, 1);
    }
}
