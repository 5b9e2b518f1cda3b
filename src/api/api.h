/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of libsluice share. The contract is include/sluice/sluice.h. */
#pragma once

#include "base/arena.h"
#include "rpc/client.h"
#include <sluice/sluice.h>

#define API __attribute__((visibility("default")))

struct sluice {
    struct conf *conf;
    struct rpc_client *client;
};

/* The code without its sign, the text into e; 0 stays 0. */
int api_fail(struct sluice_error *e, int rc, const struct err *err);

/* Elements of an array were named; else e says so. */
int api_check_elements(const char *elements, struct sluice_error *e);

/* A call whose effect must not happen twice: its request has an id, and it is repeated while it is
 * not known whether it arrived. */
int api_call(struct sluice *s, enum rpc_number rpc, const ProtobufCMessage *request,
             struct arena *arena, void *reply, struct err *err);
/* The same, with rpc_call()'s timeout_ms. */
int api_call_for(struct sluice *s, enum rpc_number rpc, const ProtobufCMessage *request,
                 int64_t timeout_ms, struct arena *arena, void *reply, struct err *err);

/* The stamp of a list that comes in parts: that of the first one. */
struct api_stamp {
    int64_t value;
    bool found;
};
void api_stamp_take(struct api_stamp *s, bool has, int64_t value);
