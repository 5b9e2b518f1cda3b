/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of libsluice. include/sluice/sluice.h documents the API. */
#pragma once

#include "base/arena.h"
#include "rpc/client.h"
#include <sluice/sluice.h>

#define API __attribute__((visibility("default")))

struct sluice {
    struct conf *conf;
    struct rpc_client *client;
};

/* Returns the code without its sign and copies the text to e; 0 stays 0. */
int api_fail(struct sluice_error *e, int rc, const struct err *err);

/* Checks that array elements are given; otherwise sets e. */
int api_check_elements(const char *elements, struct sluice_error *e);

/* A call that must not take effect twice: its request has an id, and it is repeated while it is
 * unknown whether it arrived. */
int api_call(struct sluice *s, enum rpc_number rpc, const ProtobufCMessage *request,
             struct arena *arena, void *reply, struct err *err);
/* The same, with rpc_call()'s timeout_ms. */
int api_call_for(struct sluice *s, enum rpc_number rpc, const ProtobufCMessage *request,
                 int64_t timeout_ms, struct arena *arena, void *reply, struct err *err);

/* The stamp of a list that arrives in parts: that of the first part. */
struct api_stamp {
    int64_t value;
    bool found;
};
void api_stamp_take(struct api_stamp *s, bool has, int64_t value);
