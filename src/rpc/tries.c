/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/tries.h"

#include "rpc/rpc.h"

static int64_t connect_timeout_ms; /* 0: none */

void rpc_set_connect_timeout(int64_t ms)
{
    connect_timeout_ms = ms;
}

void rpc_tries_init(struct rpc_tries *t, int count, int64_t until_ms)
{
    *t = (struct rpc_tries){.count = count,
                            .at = -1,
                            .until_ms = until_ms,
                            .each_ms = connect_timeout_ms ? connect_timeout_ms : INT64_MAX};
}

static int64_t quick_patience_ms(const struct rpc_tries *t, int64_t left_ms)
{
    int64_t share = left_ms / (2 * (int64_t)(t->count - t->at));

    if (t->count == 1)
        return left_ms;
    return share < RPC_TRIES_QUICK_MS ? share : RPC_TRIES_QUICK_MS;
}

static int choose_next(struct rpc_tries *t, int64_t now_ms, int64_t *patience_ms)
{
    int64_t left_ms = t->until_ms > now_ms ? t->until_ms - now_ms : 0;

    t->at++;
    if (!t->again && t->at < t->count) {
        *patience_ms = quick_patience_ms(t, left_ms);
        return t->at;
    }
    if (!t->again)
        t->at = 0;
    t->again = true;
    if (t->count == 1 || left_ms == 0)
        return -1;
    while (t->at < t->count && !(t->silent >> t->at & 1))
        t->at++;
    if (t->at >= t->count)
        return -1;
    *patience_ms = left_ms / __builtin_popcount(t->silent >> t->at);
    return t->at;
}

int rpc_tries_next(struct rpc_tries *t, int64_t now_ms, int64_t *patience_ms)
{
    int at = choose_next(t, now_ms, patience_ms);

    if (at >= 0 && *patience_ms > t->each_ms)
        *patience_ms = t->each_ms;
    return at;
}

void rpc_tries_silent(struct rpc_tries *t)
{
    t->silent |= 1u << t->at;
}
