/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a request in a test. */
#pragma once

#include "rpc/rpc_test_util.h"

#include "proto/ctl.pb-c.h"

struct rpc_test_result {
    bool done;
    unsigned count; /* number of completions; a request has one */
    int code;
    struct err err;
    char host[64]; /* the host that answered a ping */
};

static void rpc_test_note_result(void *ctx, int code, const ProtobufCMessage *reply,
                                 const struct err *err)
{
    struct rpc_test_result *r = ctx;

    r->done = true;
    r->count++;
    r->code = code;
    r->err = *err;
    if (reply && reply->descriptor == &pb__ping_reply__descriptor)
        snprintf(r->host, sizeof(r->host), "%s", ((const Pb__PingReply *)reply)->host);
}
