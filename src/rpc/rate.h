/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often a user may ask: a bucket of tokens for each, of which a request takes one and every
 * period adds some. Of users beyond the table's size the one is forgotten who asked longest ago.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rpc_rate_options {
    unsigned bucket;   /* requests that may come at once */
    unsigned refill;   /* further ones each period */
    int64_t period_ms; /* at least 1 */
    unsigned users;    /* that are remembered */
};

struct rpc_rate;
struct rpc_rate *rpc_rate_new(const struct rpc_rate_options *options);
void rpc_rate_free(struct rpc_rate *r);
/* 'count' tokens, or as many as a bucket has if that is less. False: not now, and none is taken. */
bool rpc_rate_take(struct rpc_rate *r, uid_t uid, unsigned count, int64_t now_ms);
/* The same for what has been done already: as many of them as there are. */
void rpc_rate_spend(struct rpc_rate *r, uid_t uid, unsigned count, int64_t now_ms);
