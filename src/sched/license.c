/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/license.h"

static int64_t ends_at(const struct job *j, int64_t from)
{
    return from + (j->limit_sec > CLUSTER_NO_LIMIT_SEC ? CLUSTER_NO_LIMIT_SEC : j->limit_sec);
}

static bool is_free(const struct cluster *c, const struct license_need *need, uint64_t given_back)
{
    if (need->at < 0)
        return false;
    const struct license *l = &c->licenses.list.data[need->at];
    return l->used - given_back + need->count <= l->total;
}

bool license_may_start(const struct license_claims *l, const struct cluster *c, const struct job *j,
                       int64_t now_sec)
{
    vec_foreach (&j->want.licenses.list, need) {
        if (!is_free(c, need, 0))
            return false;
        vec_foreach (&l->list, claim)
            if (claim->at == need->at && claim->by != j->id && claim->spare < need->count &&
                ends_at(j, now_sec) > claim->from)
                return false;
    }
    return true;
}

void license_begin(struct license_claims *l, const struct job *j, int64_t now_sec)
{
    vec_foreach (&j->want.licenses.list, need)
        vec_foreach (&l->list, claim)
            if (claim->at == need->at && claim->by != j->id && ends_at(j, now_sec) > claim->from)
                claim->spare -= need->count;
}

static uint32_t count_of(const struct job *j, int32_t at)
{
    vec_foreach (&j->want.licenses.list, need)
        if (need->at == at)
            return need->count;
    return 0;
}

/* Of a licence, by running jobs whose limits are over then. */
static uint64_t given_back(const struct cluster *c, int32_t at, int64_t until, uint64_t *work)
{
    uint64_t sum = 0;
    for (struct order_link *l = order_first(&c->ends); l && l->key <= until; l = order_next(l)) {
        const struct job *j = order_item(l, struct job, ends);
        ++*work;
        if (!job_is_final(j))
            sum += count_of(j, at);
    }
    return sum;
}

/* When it is free for this need. */
static int64_t free_at(const struct cluster *c, const struct license_need *need, int64_t now_sec,
                       uint64_t *work)
{
    uint64_t sum = 0;
    if (is_free(c, need, 0))
        return now_sec;
    for (struct order_link *l = order_first(&c->ends); l && need->at >= 0; l = order_next(l)) {
        const struct job *j = order_item(l, struct job, ends);
        ++*work;
        if (job_is_final(j))
            continue;
        sum += count_of(j, need->at);
        if (is_free(c, need, sum))
            return l->key > now_sec ? l->key : now_sec;
    }
    return 0;
}

int64_t license_earliest(const struct cluster *c, const struct job *j, int64_t now_sec,
                         uint64_t *work)
{
    int64_t latest = now_sec;
    vec_foreach (&j->want.licenses.list, need) {
        int64_t at = free_at(c, need, now_sec, work);
        if (!at)
            return 0;
        latest = at > latest ? at : latest;
    }
    return latest;
}

static bool is_claimed(const struct license_claims *l, int32_t at)
{
    vec_foreach (&l->list, claim)
        if (claim->at == at)
            return true;
    return false;
}

static bool wants_unclaimed(const struct license_claims *l, const struct job *j)
{
    vec_foreach (&j->want.licenses.list, need)
        if (!is_claimed(l, need->at))
            return true;
    return false;
}

int64_t license_claim(struct license_claims *l, const struct cluster *c, const struct job *j,
                      int64_t now_sec, int64_t not_before, uint64_t *work)
{
    if (!wants_unclaimed(l, j))
        return 0;
    int64_t from = license_earliest(c, j, now_sec, work);
    if (!from)
        return 0;
    from = not_before > from ? not_before : from;
    vec_foreach (&j->want.licenses.list, need) {
        const struct license *of = &c->licenses.list.data[need->at];
        if (is_claimed(l, need->at))
            continue;
        uint64_t taken = of->used - given_back(c, need->at, from, work) + need->count;
        vec_push(&l->list, ((struct license_claim){need->at, j->id, from,
                                                   of->total > taken ? of->total - taken : 0}));
    }
    return from;
}
