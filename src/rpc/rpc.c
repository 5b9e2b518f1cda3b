/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/rpc.h"

#include <stddef.h>

#include "base/pb.h"

#include "proto/all.h"

/* The names used in rpc.def. */
#define USER RPC_WHO_USER
#define OPERATOR RPC_WHO_OPERATOR
#define ADMIN RPC_WHO_ADMIN
#define NODE RPC_WHO_NODE
#define LOCAL RPC_WHO_LOCAL
#define KEY RPC_WHO_KEY

/* Indexed by RPC number. */
static const struct rpc_info table[] = {
#define RPC(number_, name_, request_, reply_, who_, lane_, kib_, help_)                            \
    [number_] = {.number = number_,                                                                \
                 .name = #name_,                                                                   \
                 .request = &request_##__descriptor,                                               \
                 .reply = &reply_##__descriptor,                                                   \
                 .who = who_,                                                                      \
                 .lane = RPC_LANE_##lane_,                                                         \
                 .body_max = (kib_)*1024u},
#include "rpc/rpc.def"
#undef RPC
};

const struct rpc_info *rpc_find(unsigned number)
{
    if (number >= sizeof(table) / sizeof(table[0]) || !table[number].name)
        return NULL;
    return &table[number];
}

int rpc_check_size(const struct rpc_info *rpc, size_t len, struct err *err)
{
    if (len <= rpc->body_max)
        return 0;
    return err_set(err, -ERR_TOO_BIG, "a request %s of %zu bytes: at most %u are accepted",
                   rpc->name, len, rpc->body_max);
}

static ProtobufCMessage *check_unpacked(const struct rpc_info *rpc, ProtobufCMessage *message,
                                        size_t len, const struct arena *arena, struct err *err)
{
    if (!message && arena->exceeded)
        err_set(err, -ERR_TOO_BIG, "%s: too many or too deeply nested parts in %zu bytes",
                rpc->name, len);
    else if (!message)
        err_set(err, -ERR_PROTOCOL, "malformed body of %s", rpc->name);
    return message;
}

/* Limits the memory of an unpacked message. A small message may consist of parts that take many
 * times their packed size. A large message is large because of its text; many small parts would
 * block the thread that serves all callers for too long. */
static void begin_arena(struct arena *arena, size_t len, size_t factor)
{
    size_t most = 2 * len + RPC_ARENA_LARGE, budget = len * factor;

    arena_init(arena, (budget < most ? budget : most) + RPC_ARENA_EXTRA);
    if (budget > most)
        arena->apart_max = RPC_ARENA_LARGE + len / 2;
}

ProtobufCMessage *rpc_unpack(const struct rpc_info *rpc, const void *bytes, size_t len,
                             size_t factor, struct arena *arena, struct err *err)
{
    begin_arena(arena, len, factor);
    return check_unpacked(rpc, arena_unpack(arena, rpc->request, bytes, len), len, arena, err);
}

ProtobufCMessage *rpc_unpack_lent(const struct rpc_info *rpc, const void *bytes, size_t len,
                                  size_t factor, struct arena *arena, struct err *err)
{
    arena_init(arena, len * factor + RPC_ARENA_EXTRA);
    return check_unpacked(rpc, pb_unpack_lent(arena, rpc->request, bytes, len), len, arena, err);
}

bool rpc_allowed(const struct rpc_info *rpc, unsigned roles)
{
    const unsigned of_session = RPC_WHO_NODE | RPC_WHO_KEY;
    unsigned others = rpc->who & ~(unsigned)RPC_WHO_LOCAL;

    if ((rpc->lane == RPC_LANE_SESSION) != ((roles & of_session) != 0))
        return false;
    if (rpc->lane == RPC_LANE_SESSION)
        return (rpc->who & roles & of_session) != 0;
    if (!(rpc->who & RPC_WHO_LOCAL))
        return (others & roles) != 0;
    if (!(roles & RPC_WHO_LOCAL))
        return false;
    return others ? (others & roles) != 0 : (roles & RPC_WHO_DAEMON) != 0;
}
