/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/license.h"
#include "cluster/resv/license_kept.h"

#include "cluster/job/license_tied.h"
#include "sched/common.h"
#include "sched/plan.h"
#include "sched/select/license_internal.h"
#include "sched/select/resv.h"

#define RESV_ENDS 200 /* moments that are looked at because a reservation gives back then */

/* Whether enough units are free once 'given_back' units have been returned; considers jobs only,
 * not reservations. */
static bool is_left(const struct cluster *c, const struct license_need *need, uint64_t given_back)
{
    const struct license *l = &c->licenses.list.data[need->at];
    return l->used - given_back + need->count <= l->total;
}

/* For a job that begins there at that time. */
static bool is_free(const struct cluster *c, const struct job *j, const struct resv *in,
                    const struct license_need *need, uint64_t given_back, int64_t at)
{
    if (need->at < 0 || !is_left(c, need, given_back))
        return false;
    const struct license *l = &c->licenses.list.data[need->at];
    return l->used - given_back + need->count +
               license_kept(c, need->at, in, at, job_ends_at(j, at)) <=
           l->total;
}

bool license_may_start(const struct license_claims *l, const struct cluster *c, const struct job *j,
                       const struct resv *in, int64_t now_sec)
{
    return license_may_start_after(l, c, j, in, now_sec, NULL);
}

bool license_may_start_after(const struct license_claims *l, const struct cluster *c,
                             const struct job *j, const struct resv *in, int64_t now_sec,
                             const uint64_t *returned)
{
    vec_foreach (&j->want.licenses.list, need) {
        if (license_is_tied(c, need))
            continue;
        uint64_t back = returned && need->at >= 0 ? returned[need->at] : 0;
        if (!is_free(c, j, in, need, back, now_sec))
            return false;
        vec_foreach (&l->list, claim)
            if (claim->at == need->at && claim->by != j->id &&
                claim->spare < license_beyond(need->at, need->count, in) &&
                job_ends_at(j, now_sec) > claim->from)
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

/* Whether units that a job in reservation 'from' returns are available to a job in 'in': units of a
 * reservation return to that reservation. */
static bool returns_to(const struct resv *from, const struct resv *in, int32_t at)
{
    if (from && from != in)
        vec_foreach (&from->stock, s)
            if (s->at == at)
                return false;
    return true;
}

bool license_add_returned(const struct cluster *c, const struct job *j, const struct job *victim,
                          int64_t now_sec, uint64_t *returned)
{
    bool any = false;
    vec_foreach (&j->want.licenses.list, need) {
        if (!license_is_tied(c, need) && is_free(c, j, resv_home(j), need, 0, now_sec))
            continue;
        for (int32_t at = need->at; at < license_end_of(c, need); at++) {
            uint64_t count = license_of_job(c, victim, at);
            if (!count || !returns_to(attempt_of(victim)->resv, resv_home(j), at))
                continue;
            any = true;
            if (returned)
                returned[at] += count;
        }
    }
    return any;
}

uint64_t license_amount_on(const struct cluster *c, const struct license_need *need, int32_t at,
                           const struct selection *where)
{
    const struct license *l = &c->licenses.list.data[at];
    uint32_t nodes = 0;
    if (!l->nodes)
        return need->count;
    if (license_has_payer(l)) {
        vec_foreach (&where->payers, payer)
            if (*payer == at)
                return need->count;
        return 0;
    }
    vec_foreach (&where->shares, share)
        nodes += bitset_test(l->nodes, share->node);
    return license_amount(l, need, nodes);
}

static void note_change(struct license_claims *l, const struct license_claim *claim)
{
    uint64_t hash = l->version ^ (uint64_t)(uint32_t)claim->at << 32 ^ claim->by;
    hash = (hash ^ hash >> 29) * UINT64_C(0x9E3779B97F4A7C15) + claim->count;
    hash = (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15) + claim->spare;
    l->version = hash | 1;
}

/* Of a claim by another job, that 'count' of the units that it leaves have been taken. */
static void reduce_spare(struct license_claims *l, struct license_claim *claim, uint64_t count)
{
    uint64_t before = claim->spare;
    claim->spare -= license_least(claim->spare, count);
    if (claim->spare != before)
        note_change(l, claim);
}

void license_begin(struct license_claims *l, const struct cluster *c, const struct job *j,
                   const struct resv *in, const struct selection *where, int64_t now_sec)
{
    vec_foreach (&j->want.licenses.list, need)
        vec_foreach (&l->list, claim)
            if (claim->at >= need->at && claim->at < license_end_of(c, need) &&
                claim->by != j->id && job_ends_at(j, now_sec) > claim->from)
                reduce_spare(
                    l, claim,
                    license_beyond(claim->at, license_amount_on(c, need, claim->at, where), in));
}

/* Sums the units of a licence that running jobs return by then, at their time limits. */
static uint64_t given_back(const struct cluster *c, int32_t at, int64_t until, uint64_t *work)
{
    uint64_t sum = 0;
    for (struct order_link *l = order_first(&c->ends); l && l->key <= until; l = order_next(l)) {
        const struct job *j = job_of_end(l);
        ++*work;
        if (!job_is_final(j))
            sum += license_of_job(c, j, at);
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

uint64_t license_claimed_at(const struct license_claims *l, const struct job *j, bool others,
                            int32_t license, int64_t at)
{
    uint64_t sum = 0;
    for (size_t i = 0; l && i < l->list.len; i++) {
        const struct license_claim *claim = &l->list.data[i];
        if (claim->at == license && (claim->by != j->id) == others && claim->from <= at &&
            claim->until > at)
            sum += claim->count;
    }
    return sum;
}

/* Whether the job, if it starts at 'at', leaves the units that other jobs have claimed for later.
 * Its own claim ends when it starts, so these units count as free. */
static bool leaves_claims(const struct license_claims *l, const struct job *j,
                          const struct license_need *need, int64_t at)
{
    for (size_t i = 0; l && i < l->list.len; i++) {
        const struct license_claim *claim = &l->list.data[i];
        if (claim->at != need->at || claim->by == j->id || claim->from <= at ||
            claim->from >= job_ends_at(j, at))
            continue;
        uint64_t own = license_claimed_at(l, j, false, need->at, claim->from);
        if (claim->spare + own < license_beyond(need->at, need->count, resv_home(j)))
            return false;
    }
    return true;
}

/* Whether the units are free at 'at'. back: units that running jobs return by then. Units that jobs
 * in reservations return are not counted for other jobs, so the time may be too late, never too
 * early. */
static bool is_due(const struct license_claims *l, const struct cluster *c, const struct job *j,
                   const struct license_need *need, uint64_t back, int64_t at)
{
    if (need->at < 0)
        return false;
    back -= license_claimed_at(l, j, true, need->at,
                               at); /* perhaps below 0: their sum is what counts */
    return is_free(c, j, resv_home(j), need, back, at) && leaves_claims(l, j, need, at);
}

bool license_is_due(const struct license_claims *l, const struct cluster *c, const struct job *j,
                    int64_t at, uint64_t *work)
{
    vec_foreach (&j->want.licenses.list, need)
        if (need->at < 0 || (!license_is_tied(c, need) &&
                             !is_due(l, c, j, need, given_back(c, need->at, at, work), at)))
            return false;
    return true;
}

static int64_t next_claim_end(const struct license_claims *l, int32_t license, int64_t at)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; l && i < l->list.len; i++) {
        const struct license_claim *claim = &l->list.data[i];
        if (claim->at == license && claim->until > at && claim->until < first)
            first = claim->until;
    }
    return first;
}

/* The first moment at which it is due for this need. */
static int64_t due_at(const struct license_claims *l, const struct cluster *c, const struct job *j,
                      const struct license_need *need, int64_t now_sec, uint64_t *work)
{
    struct order_link *end = order_first(&c->ends);
    uint64_t sum = 0;
    unsigned looks = 0;
    int64_t at = now_sec;
    if (license_is_tied(c, need)) /* its nodes decide */
        return at;
    while (need->at >= 0) {
        bool left = is_left(c, need, sum);
        *work += left ? 1 + c->resvs.len : 1;
        if (is_due(l, c, j, need, sum, at))
            return at;
        int64_t claim = left ? next_claim_end(l, need->at, at) : INT64_MAX;
        int64_t resv = left && looks < RESV_ENDS ? next_resv_end(c, need->at, at) : INT64_MAX;
        looks += resv < claim;
        at = resv < claim ? resv : claim;
        if (end && end->key < at)
            at = end->key > now_sec ? end->key : now_sec;
        if (at == INT64_MAX)
            return 0;
        for (; end && end->key <= at; end = order_next(end)) {
            const struct job *other = job_of_end(end);
            ++*work;
            sum += job_is_final(other) ? 0 : license_of_job(c, other, need->at);
        }
    }
    return 0;
}

int64_t license_earliest(const struct license_claims *l, const struct cluster *c,
                         const struct job *j, int64_t now_sec, uint64_t *work)
{
    int64_t latest = now_sec;
    vec_foreach (&j->want.licenses.list, need) {
        int64_t at = due_at(l, c, j, need, now_sec, work);
        if (!at)
            return 0;
        latest = at > latest ? at : latest;
    }
    return latest;
}

/* 'by': 0, anybody. */
static bool is_claimed(const struct license_claims *l, const struct cluster *c,
                       const struct license_need *need, uint32_t by)
{
    int32_t end = need->at < 0 ? 0 : license_end_of(c, need);
    vec_foreach (&l->list, claim)
        if (claim->at >= need->at && claim->at < end && (!by || claim->by == by))
            return true;
    return false;
}

bool license_is_first(const struct license_claims *l, const struct cluster *c, const struct job *j)
{
    vec_foreach (&j->want.licenses.list, need)
        if (!is_claimed(l, c, need, 0))
            return true;
    return false;
}

bool license_is_alone(const struct license_claims *l, const struct cluster *c, const struct job *j)
{
    vec_foreach (&l->list, claim)
        if (claim->by != j->id)
            vec_foreach (&j->want.licenses.list, need)
                if (claim->at >= need->at && claim->at < license_end_of(c, need))
                    return false;
    return !j->want.licenses.list.len || !c->resvs.len;
}

/* Adds a claim of the job on 'count' of a pool. back: units that running jobs return by then. */
static void add_claim(struct license_claims *l, const struct cluster *c, const struct job *j,
                      int32_t at, uint64_t count, int64_t from, uint64_t back)
{
    const struct license *of = &c->licenses.list.data[at];
    struct license_claim new = {
        at, j->id, from, job_ends_at(j, from), license_beyond(at, count, resv_home(j)), 0};
    uint64_t taken = of->used - back + count + license_claimed_at(l, j, true, at, from) +
                     license_kept(c, at, resv_home(j), from, new.until);
    new.spare = of->total > taken ? of->total - taken : 0;
    vec_foreach (&l->list, claim)
        if (claim->at == at && claim->by != j->id && claim->from >= from && claim->from < new.until)
            reduce_spare(l, claim, new.count);
    vec_push(&l->list, new);
    note_change(l, &new);
}

/* Tied pools are left out: a claim on them always has a placement. */
static bool is_first_of_cluster(const struct license_claims *l, const struct cluster *c,
                                const struct job *j)
{
    vec_foreach (&j->want.licenses.list, need)
        if (!license_is_tied(c, need) && !is_claimed(l, c, need, 0))
            return true;
    return false;
}

int64_t license_claim(struct license_claims *l, const struct cluster *c, const struct job *j,
                      int64_t now_sec, int64_t not_before, uint64_t *work)
{
    if (!is_first_of_cluster(l, c, j))
        return 0;
    int64_t from = license_earliest(l, c, j, now_sec, work);
    if (!from)
        return 0;
    from = not_before > from ? not_before : from;
    vec_foreach (&j->want.licenses.list, need)
        if (!license_is_tied(c, need) && !is_claimed(l, c, need, 0))
            add_claim(l, c, j, need->at, need->count, from, given_back(c, need->at, from, work));
    return license_needs_tied(c, j) ? 0 : from;
}

/* Returns, by pool, the units of tied pools that running jobs return by then. */
static uint64_t *list_given_back(const struct cluster *c, int64_t until, uint64_t *work)
{
    uint64_t *back = mem_new_array(uint64_t, c->licenses.list.len);
    for (struct order_link *l = order_first(&c->ends); l && l->key <= until; l = order_next(l)) {
        const struct job *j = job_of_end(l);
        ++*work;
        if (!job_is_final(j))
            vec_foreach (&attempt_of(j)->holds, hold)
                back[hold->at] += hold->count;
    }
    return back;
}

void license_keep(struct license_claims *l, const struct cluster *c, const struct job *j,
                  const struct selection *where, int64_t from, uint64_t *work)
{
    _cleanup_free_ uint64_t *back =
        license_needs_tied(c, j) ? list_given_back(c, from, work) : NULL;
    vec_foreach (&j->want.licenses.list, need) {
        if (need->at < 0 || is_claimed(l, c, need, j->id))
            continue;
        bool is_tied = license_is_tied(c, need);
        assert(back || !is_tied);
        for (int32_t at = need->at; at < license_end_of(c, need); at++) {
            uint64_t count = license_amount_on(c, need, at, where);
            if (count)
                add_claim(l, c, j, at, count, from,
                          is_tied ? back[at] : given_back(c, at, from, work));
        }
    }
}

void license_drop_claims(struct license_claims *l, const struct job *j)
{
    size_t left = 0;
    vec_foreach (&l->list, claim) {
        if (claim->by != j->id)
            l->list.data[left++] = *claim;
        else
            note_change(l, claim);
    }
    l->list.len = left;
}

/* --- as a kind of resource ---------------------------------------------------------------------
 */

static bool licenses_fit(const struct cluster *c, const struct job *j, const struct resv *in,
                         const struct selection *where, int64_t now_sec)
{
    (void)where; /* licences are the cluster's */
    return license_fits(c, j, in, now_sec);
}

const struct common_ops common_license = {
    .fits = licenses_fit,
    .find_short = license_find_short,
    .held = license_of_job,
};
