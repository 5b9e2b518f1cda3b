/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/rate.h"

#include "base/hash.h"
#include "base/mem.h"

struct bucket {
    uid_t uid;
    unsigned tokens;
    int64_t filled_ms; /* time up to which refills are accounted */
    UT_hash_handle hh; /* ordered by the last request, oldest first */
};

struct rpc_rate {
    struct rpc_rate_options options;
    struct bucket *users;
};

struct rpc_rate *rpc_rate_new(const struct rpc_rate_options *options)
{
    struct rpc_rate *r = mem_new(struct rpc_rate);

    r->options = *options;
    return r;
}

static void drop_bucket(struct rpc_rate *r, struct bucket *b)
{
    HASH_DEL(r->users, b);
    free(b);
}

void rpc_rate_free(struct rpc_rate *r)
{
    if (!r)
        return;
    while (r->users)
        drop_bucket(r, r->users);
    free(r);
}

static void fill_bucket(const struct rpc_rate *r, struct bucket *b, int64_t now_ms)
{
    const struct rpc_rate_options *o = &r->options;
    int64_t periods = (now_ms - b->filled_ms) / o->period_ms;
    uint64_t room = o->bucket - b->tokens;

    if (periods <= 0)
        return;
    b->filled_ms += periods * o->period_ms;
    if (o->refill && (uint64_t)periods >= (room + o->refill - 1) / o->refill)
        b->tokens = o->bucket;
    else
        b->tokens += (unsigned)periods * o->refill;
}

static struct bucket *bucket_of(struct rpc_rate *r, uid_t uid, int64_t now_ms)
{
    struct bucket *b;

    HASH_FIND(hh, r->users, &uid, sizeof(uid), b);
    if (b) {
        HASH_DEL(r->users, b);
    } else {
        if (HASH_COUNT(r->users) >= r->options.users && r->users)
            drop_bucket(r, r->users);
        b = mem_new(struct bucket);
        *b = (struct bucket){.uid = uid, .tokens = r->options.bucket, .filled_ms = now_ms};
    }
    HASH_ADD(hh, r->users, uid, sizeof(b->uid), b);
    return b;
}

bool rpc_rate_take(struct rpc_rate *r, uid_t uid, unsigned count, int64_t now_ms)
{
    struct bucket *b = bucket_of(r, uid, now_ms);

    fill_bucket(r, b, now_ms);
    if (count > r->options.bucket)
        count = r->options.bucket;
    if (b->tokens < count)
        return false;
    b->tokens -= count;
    return true;
}

void rpc_rate_spend(struct rpc_rate *r, uid_t uid, unsigned count, int64_t now_ms)
{
    struct bucket *b = bucket_of(r, uid, now_ms);

    fill_bucket(r, b, now_ms);
    b->tokens -= count < b->tokens ? count : b->tokens;
}
