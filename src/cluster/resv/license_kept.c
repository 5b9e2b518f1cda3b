/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/resv/license_kept.h"
#include "cluster/job/license_tied.h"

#include <stdlib.h>

#include "cluster/cluster.h"

uint64_t license_kept(const struct cluster *c, int32_t at, const struct resv *in, int64_t from,
                      int64_t until)
{
    uint64_t sum = 0;
    vec_foreach (&c->resvs, r) {
        if (*r == in || !(*r)->stock.len)
            continue;
        vec_foreach (&(*r)->stock, s)
            if (s->at == at && s->used < s->count && resv_overlaps(*r, from, until))
                sum += s->count - s->used;
    }
    return sum;
}

uint64_t license_beyond(int32_t at, uint64_t count, const struct resv *in)
{
    if (in)
        vec_foreach (&in->stock, s)
            if (s->at == at && s->used < s->count)
                return count > s->count - s->used ? count - (s->count - s->used) : 0;
    return count;
}

bool license_fits(const struct cluster *c, const struct job *j, const struct resv *in,
                  int64_t now_sec)
{
    bool fits = true;
    vec_foreach (&j->want.licenses.list, need) {
        const struct license *l = need->at < 0 ? NULL : &c->licenses.list.data[need->at];
        if (l && l->nodes)
            continue;
        fits = fits && l &&
               l->used + need->count +
                       license_kept(c, need->at, in, now_sec, job_ends_at(j, now_sec)) <=
                   l->total;
    }
    return fits;
}

/* --- of a job that runs, others ------------------------------------------------------------------
 */

/* Gives back what the job holds of all kinds, and clears its request for licences. resource_take()
 * must follow. */
static void drop_needs(struct cluster *c, struct job *j)
{
    resource_give_back(c, j);
    license_needs_done(&j->want.licenses);
    j->want.licenses = (struct license_needs){0};
}

/* A job may keep, or reduce, what it has of a pool that has too little. 'had': by pool. */
static int check_held(const struct cluster *c, const struct job *j, const uint64_t *had,
                      int64_t now_sec, struct err *err)
{
    vec_foreach (&c->licenses.list, l) {
        int32_t at = (int32_t)(l - c->licenses.list.data);
        uint64_t has = license_of_job(c, j, at);
        uint64_t kept = license_kept(c, at, attempt_of(j)->resv, now_sec, job_ends_at(j, now_sec));
        if (has <= had[at] || (l->used <= l->total && l->total - l->used >= kept))
            continue;
        _cleanup_str_ struct str name = STR_INIT;
        uint64_t others = l->used - has + kept;
        license_format_pool(l, &name);
        return err_set(err, -ERR_LICENSE, "%s: job %u would hold %llu of %s, %llu are free",
                       err_text(ERR_LICENSE), j->id, (unsigned long long)has, str_cstr(&name),
                       (unsigned long long)(l->total > others ? l->total - others : 0));
    }
    vec_foreach (&j->want.licenses.list, need)
        if (license_is_tied(c, need))
            vec_foreach (&attempt_of(j)->alloc, a)
                if (!a->released && !bitset_test(c->licenses.list.data[need->at].scope, a->node))
                    return license_refuse_outside(need, c->nodes.data[a->node]->name, err);
    return 0;
}

static void restore_needs(struct cluster *c, struct job *j, struct license_swap *before)
{
    drop_needs(c, j);
    j->want.licenses = before->needs;
    before->needs = (struct license_needs){0};
    vec_foreach (&before->pools, at)
        license_set_payer(j, *at);
    resource_take(c, j);
}

int license_swap(struct cluster *c, struct job *j, const char *text, int64_t now_sec,
                 struct license_swap *before, struct err *err)
{
    struct license_needs needs = {0};
    *before = (struct license_swap){0};
    int rc = text && *text ? license_read(c, text, &needs, err) : 0;
    vec_foreach (&needs.list, need)
        if (rc == 0 && need->at < 0)
            rc = license_refuse_unknown(c, need, err);
    _cleanup_free_ uint64_t *had = mem_new_array(uint64_t, c->licenses.list.len + 1);
    for (size_t i = 0; i < c->licenses.list.len; i++)
        had[i] = license_of_job(c, j, (int32_t)i);
    vec_foreach (&attempt_of(j)->holds, hold)
        vec_push(&before->pools, hold->at);
    license_needs_copy(&j->want.licenses, &before->needs);
    bool fits = false;
    uint32_t count = needs.any ? needs.list.len : 1;
    for (uint32_t n = 0; rc == 0 && !fits && n < count; n++) {
        struct err why = {0};
        drop_needs(c, j);
        license_needs_copy(&needs, &j->want.licenses);
        license_choose_alternative(j, n);
        license_keep_payers(c, j, before->pools.data, before->pools.len, had);
        resource_take(c, j);
        int failed = check_held(c, j, had, now_sec, n ? &why : err);
        fits = failed == 0;
        rc = n + 1 == count ? failed : 0;
    }
    license_needs_done(&needs);
    before->is_exchanged = true;
    if (rc != 0)
        license_swap_settle(c, j, before, false);
    return rc;
}

void license_swap_settle(struct cluster *c, struct job *j, struct license_swap *before, bool stays)
{
    if (before->is_exchanged && !stays)
        restore_needs(c, j, before);
    license_needs_done(&before->needs);
    vec_done(&before->pools);
    *before = (struct license_swap){0};
}
