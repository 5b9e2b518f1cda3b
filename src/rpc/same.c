/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls with equal requests: the reply to the first is sent to all of them. */
#include "base/mem.h"
#include "base/vec.h"
#include "rpc/server_priv.h"

struct rpc_same {
    uint64_t first; /* the first call, which may have ended */
    VEC(uint64_t) others;
    UT_hash_handle hh;
};

static struct rpc_same *find_same(struct rpc_server *s, uint64_t first)
{
    struct rpc_same *same;

    HASH_FIND(hh, s->same, &first, sizeof(first), same);
    return same;
}

static void forget_same(struct rpc_server *s, struct rpc_same *same)
{
    HASH_DELETE(hh, s->same, same);
    vec_done(&same->others);
    free(same);
}

void rpc_call_join(struct rpc_server *s, uint64_t first, uint64_t other)
{
    struct rpc_same *same = find_same(s, first);

    if (first == other)
        return;
    if (!same) {
        same = mem_new(struct rpc_same);
        same->first = first;
        HASH_ADD(hh, s->same, first, sizeof(same->first), same);
    }
    if (same->others.len == RPC_SAME_MAX)
        vec_remove(&same->others, 0);
    vec_push(&same->others, other);
}

bool rpc_call_is_joined(struct rpc_server *s, uint64_t first, uint64_t other)
{
    struct rpc_same *same = find_same(s, first);

    for (size_t i = 0; same && i < same->others.len; i++)
        if (same->others.data[i] == other)
            return true;
    return first == other;
}

uint64_t rpc_call_heir(struct rpc_server *s, uint64_t first)
{
    struct rpc_same *same = find_same(s, first);
    uint64_t heir = 0;

    for (size_t i = 0; same && i < same->others.len; i++) {
        uint64_t other = same->others.data[i];

        if (heir)
            rpc_call_join(s, heir, other);
        else if (rpc_call_find(s, other))
            heir = other;
    }
    if (same)
        forget_same(s, same);
    return heir;
}

size_t rpc_same_list(struct rpc_server *s, uint64_t first, uint64_t others[RPC_SAME_MAX], bool take)
{
    struct rpc_same *same = s->same ? find_same(s, first) : NULL;
    size_t count = same ? same->others.len : 0;

    for (size_t i = 0; i < count; i++)
        others[i] = same->others.data[i];
    if (same && take)
        forget_same(s, same);
    return count;
}

void rpc_same_forget_all(struct rpc_server *s)
{
    while (s->same)
        forget_same(s, s->same);
}
