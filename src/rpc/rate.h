/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Request rate limit per user: a token bucket for each user. A request takes one token and every
 * period adds some. When there are more users than the table has entries, the user with the oldest
 * request is dropped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rpc_rate_options {
    unsigned bucket;   /* requests that may come at once */
    unsigned refill;   /* further requests per period */
    int64_t period_ms; /* at least 1 */
    unsigned users;    /* number of users that are remembered */
};

struct rpc_rate;
struct rpc_rate *rpc_rate_new(const struct rpc_rate_options *options);
void rpc_rate_free(struct rpc_rate *r);
/* Takes 'count' tokens, or a full bucket if count is larger. False: too few tokens, and none is
   taken. */
bool rpc_rate_take(struct rpc_rate *r, uid_t uid, unsigned count, int64_t now_ms);
/* Takes tokens for work that is already done: 'count' of them, or all that are left. */
void rpc_rate_spend(struct rpc_rate *r, uid_t uid, unsigned count, int64_t now_ms);
