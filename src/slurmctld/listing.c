/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Listings are sent in slices, so that a long one neither blocks the loop nor fills memory: the
 * next slice is made when the bytes of the last one have been sent.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "slurmctld/core/answers.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/listing.h"

struct listing {
    uint64_t call;
    listing_fn *list;
    struct arena arena; /* memory of filter and names */
    const ProtobufCMessage *filter;
    struct caller who;
    uint64_t cursor;
    UT_hash_handle hh;
};

static bool send_slice(struct ctld *c, uint64_t call, listing_fn *list, const struct caller *who,
                       const ProtobufCMessage *filter, uint64_t *cursor)
{
    _cleanup_str_ struct str out = STR_INIT;
    bool more = list(c->control, who, filter, cursor, CTLD_SLICE, &out);
    answers_give(c->answers, call, &out, more);
    return more;
}

void listing_start(struct ctld *c, const struct rpc_request *request, const struct caller *who,
                   listing_fn *list)
{
    uint64_t cursor = 0;
    if (!send_slice(c, request->call, list, who, request->body, &cursor))
        return;
    struct listing *l = mem_new(struct listing);
    l->call = request->call;
    l->list = list;
    l->filter = request->body;
    l->cursor = cursor;
    rpc_request_take(request, &l->arena);
    l->who = *who;
    l->who.user_name = arena_strdup(&l->arena, who->user_name);
    l->who.group_name = arena_strdup(&l->arena, who->group_name);
    l->who.host = arena_strdup(&l->arena, who->host);
    HASH_ADD(hh, c->listings, call, sizeof(l->call), l);
}

static void listing_end(struct ctld *c, struct listing *l)
{
    HASH_DEL(c->listings, l);
    arena_done(&l->arena);
    free(l);
}

static struct listing *listing_find(struct ctld *c, uint64_t call)
{
    struct listing *l;
    HASH_FIND(hh, c->listings, &call, sizeof(call), l);
    return l;
}

void listing_continue(void *ctx, uint64_t call)
{
    struct ctld *c = ctx;
    struct listing *l = listing_find(c, call);
    if (l && !send_slice(c, call, l->list, &l->who, l->filter, &l->cursor))
        listing_end(c, l);
}

void listing_drop(struct ctld *c, uint64_t call)
{
    struct listing *l = listing_find(c, call);
    if (l)
        listing_end(c, l);
}

void listing_drop_all(struct ctld *c)
{
    while (c->listings)
        listing_end(c, c->listings);
}
