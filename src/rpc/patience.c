/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/patience.h"

#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "rpc/client.h"

#define FIRST_MS 100
#define LONGEST_MS 2000

static rpc_backoff_fn *tell;

void rpc_on_backoff(rpc_backoff_fn *fn)
{
    tell = fn;
}

int64_t rpc_patience_next(struct rpc_patience *p, const char *why)
{
    int64_t ms = p->times < 5 ? FIRST_MS << p->times : LONGEST_MS;
    struct timespec now;

    ms = ms < LONGEST_MS ? ms : LONGEST_MS;
    clock_gettime(CLOCK_MONOTONIC, &now);
    p->times++;
    if (tell)
        tell(why);
    return ms / 2 + (now.tv_nsec / 1000 + (int64_t)getpid() * 7919) % ms;
}
