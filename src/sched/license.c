/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/license.h"

#include "sched/resv.h"

#define STEPS_MAX 100000 /* moments that are looked at */

static int64_t ends_at(const struct job *j, int64_t from)
{
    return from + (j->limit_sec > CLUSTER_NO_LIMIT_SEC ? CLUSTER_NO_LIMIT_SEC : j->limit_sec);
}

/* For a job that begins there at that time. */
static bool is_free(const struct cluster *c, const struct job *j, const struct resv *in,
                    const struct license_need *need, uint64_t given_back, int64_t at)
{
    if (need->at < 0)
        return false;
    const struct license *l = &c->licenses.list.data[need->at];
    uint64_t taken = l->used - given_back + need->count;
    return taken <= l->total &&
           taken + license_kept(c, need->at, in, at, ends_at(j, at)) <= l->total;
}

bool license_may_start(const struct license_claims *l, const struct cluster *c, const struct job *j,
                       const struct resv *in, int64_t now_sec)
{
    vec_foreach (&j->want.licenses.list, need) {
        if (!is_free(c, j, in, need, 0, now_sec))
            return false;
        vec_foreach (&l->list, claim)
            if (claim->at == need->at && claim->by != j->id &&
                claim->spare < license_beyond(need, in) && ends_at(j, now_sec) > claim->from)
                return false;
    }
    return true;
}

bool license_may_start_somewhere(const struct license_claims *l, const struct cluster *c,
                                 const struct job *j, int64_t now_sec)
{
    const struct resv *in;
    if (!j->want.licenses.list.len)
        return true;
    for (size_t i = 0; resv_place(j, i, &in); i++)
        if (license_may_start(l, c, j, in, now_sec))
            return true;
    return false;
}

void license_begin(struct license_claims *l, const struct job *j, const struct resv *in,
                   int64_t now_sec)
{
    vec_foreach (&j->want.licenses.list, need)
        vec_foreach (&l->list, claim)
            if (claim->at == need->at && claim->by != j->id && ends_at(j, now_sec) > claim->from)
                claim->spare -= license_beyond(need, in);
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

/* The next moment after 'at' at which a reservation gives it back; INT64_MAX: there is none. */
static int64_t next_resv_end(const struct cluster *c, int32_t license, int64_t at)
{
    int64_t first = INT64_MAX;
    struct resv_time t;
    vec_foreach (&c->resvs, r)
        vec_foreach (&(*r)->stock, s)
            if (s->at == license && !((*r)->flags & RESV_TIME_FLOAT) && resv_occurs(*r, at, &t) &&
                t.end < first)
                first = t.end;
    return first;
}

/* When it is free for this need. What jobs in reservations give back counts as if others had it:
 * the time is late at worst. */
static int64_t free_at(const struct cluster *c, const struct job *j,
                       const struct license_need *need, int64_t now_sec, uint64_t *work)
{
    const struct resv *in = resv_home(j);
    struct order_link *l = order_first(&c->ends);
    uint64_t sum = 0;
    int64_t at = now_sec;
    for (unsigned steps = 0; need->at >= 0 && steps < STEPS_MAX; steps++) {
        if (is_free(c, j, in, need, sum, at))
            return at;
        *work += 1 + c->resvs.len;
        at = next_resv_end(c, need->at, at);
        if (l && l->key < at)
            at = l->key > now_sec ? l->key : now_sec;
        if (at == INT64_MAX)
            return 0;
        for (; l && l->key <= at; l = order_next(l)) {
            const struct job *other = order_item(l, struct job, ends);
            ++*work;
            sum += job_is_final(other) ? 0 : count_of(other, need->at);
        }
    }
    return 0;
}

int64_t license_earliest(const struct cluster *c, const struct job *j, int64_t now_sec,
                         uint64_t *work)
{
    int64_t latest = now_sec;
    vec_foreach (&j->want.licenses.list, need) {
        int64_t at = free_at(c, j, need, now_sec, work);
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
        uint64_t taken = of->used - given_back(c, need->at, from, work) + need->count +
                         license_kept(c, need->at, resv_home(j), from, ends_at(j, from));
        vec_push(&l->list, ((struct license_claim){need->at, j->id, from,
                                                   of->total > taken ? of->total - taken : 0}));
    }
    return from;
}
