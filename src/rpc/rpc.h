/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of RPCs (rpc.def) at run time, and the roles of callers.
 */
#pragma once

#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

enum rpc_number {
#define RPC(number, name, request, reply, who, lane, help) RPC_##name = number,
#include "rpc/rpc.def"
#undef RPC
};

enum rpc_who {
    RPC_WHO_USER = 1,
    RPC_WHO_OPERATOR = 2,
    RPC_WHO_ADMIN = 4,
    RPC_WHO_NODE = 8,
    RPC_WHO_LOCAL = 16,
    RPC_WHO_KEY = 32,
};
enum rpc_lane { RPC_LANE_READ, RPC_LANE_WRITE, RPC_LANE_STREAM, RPC_LANE_SESSION };

struct rpc_info {
    uint16_t number;
    const char *name;
    const ProtobufCMessageDescriptor *request, *reply;
    unsigned who;
    enum rpc_lane lane;
};

const struct rpc_info *rpc_find(unsigned number); /* NULL: unknown */

/* Limits, all of them (tests at limit-1, limit, limit+1). */
#define RPC_BODY_MAX_ANON                                                                          \
    (64u << 10) /* before a token was checked: of USER requests other than the ones below */
#define RPC_BODY_MAX (16u << 20) /* authenticated: submissions, launches */
#define RPC_ARENA_FACTOR 8 /* an unpacked message may take this many times its bytes, plus 64 KiB  \
                            */
#define RPC_READ_TIMEOUT_MS                                                                        \
    10000 /* from the first byte of a frame to its last; slow senders are cut */
#define RPC_CONNECTIONS_MAX 16384
#define RPC_CONNECTIONS_PER_PEER 4096 /* of one uid on the local socket, or of one address */
