/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/holdings.h"

#include "base/hash.h"
#include "cluster/cluster.h"

struct holding_user {
    uint32_t uid;
    struct holding has;
    UT_hash_handle hh;
};

void holdings_done(struct holdings *h)
{
    struct holding_user *u, *next;

    HASH_ITER (hh, h->users, u, next) {
        HASH_DEL(h->users, u);
        free(u);
    }
}

/* An array has one script, which counts with the first record of the array. */
static bool has_payload(const struct job *j)
{
    return !j->array || array_first(j->array) == j;
}

static struct holding holding_of(const struct job_counted *n)
{
    return (struct holding){
        .jobs = n->jobs, .record = n->record, .store = (uint64_t)n->record + n->payload};
}

static void add_holding(struct holding *to, const struct holding *what)
{
    to->jobs += what->jobs;
    to->record += what->record;
    to->store += what->store;
}

static void subtract_holding(struct holding *from, const struct holding *what)
{
    from->jobs -= what->jobs;
    from->record -= what->record;
    from->store -= what->store;
}

static struct holding_user *find_user(const struct cluster *c, uint32_t uid)
{
    struct holding_user *u;

    HASH_FIND(hh, c->holdings.users, &uid, sizeof(uid), u);
    return u;
}

void holdings_drop(struct cluster *c, struct job *j)
{
    struct holding_user *u = j->counted.jobs ? find_user(c, j->uid) : NULL;
    struct holding what = holding_of(&j->counted);

    if (!u)
        return;
    subtract_holding(&c->holdings.all, &what);
    subtract_holding(&u->has, &what);
    j->counted = (struct job_counted){0};
    if (u->has.jobs)
        return;
    HASH_DEL(c->holdings.users, u);
    free(u);
}

void holdings_count(struct cluster *c, struct job *j)
{
    struct holding_user *u;
    struct holding now;

    holdings_drop(c, j);
    u = find_user(c, j->uid);
    if (!u) {
        u = mem_new(struct holding_user);
        u->uid = j->uid;
        HASH_ADD(hh, c->holdings.users, uid, sizeof(u->uid), u);
    }
    j->counted = (struct job_counted){.jobs = 1 + array_to_come(j),
                                      .record = j->spec.len + j->live.len,
                                      .payload = has_payload(j) ? j->payload_bytes : 0};
    now = holding_of(&j->counted);
    add_holding(&c->holdings.all, &now);
    add_holding(&u->has, &now);
}

struct holding holdings_of(const struct cluster *c, uint32_t uid)
{
    const struct holding_user *u = find_user(c, uid);

    return u ? u->has : (struct holding){0};
}

static bool find_largest(const struct cluster *c, bool by_jobs, uint32_t *uid, struct holding *of)
{
    const struct holding_user *largest = c->holdings.users;

    for (const struct holding_user *u = largest; u; u = u->hh.next)
        if (by_jobs ? u->has.jobs > largest->has.jobs : u->has.store > largest->has.store)
            largest = u;
    if (!largest)
        return false;
    *uid = largest->uid;
    *of = largest->has;
    return true;
}

bool holdings_find_most_jobs(const struct cluster *c, uint32_t *uid, struct holding *of)
{
    return find_largest(c, true, uid, of);
}

bool holdings_find_most_bytes(const struct cluster *c, uint32_t *uid, struct holding *of)
{
    return find_largest(c, false, uid, of);
}

int holdings_check(const struct cluster *c, struct err *err)
{
    struct holding sum = {0}, of_users = {0};

    vec_foreach (&c->jobs, j) {
        struct holding of_job = holding_of(&(*j)->counted);
        add_holding(&sum, &of_job);
    }
    for (const struct holding_user *u = c->holdings.users; u; u = u->hh.next)
        add_holding(&of_users, &u->has);
    for (int i = 0; i < 2; i++) {
        const struct holding *other = i ? &of_users : &c->holdings.all;
        if (sum.jobs != other->jobs || sum.record != other->record || sum.store != other->store)
            return err_set(err, -ERR_INTERNAL, "what the jobs of users hold is counted wrong");
    }
    return 0;
}
