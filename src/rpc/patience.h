/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pauses of one who was asked for patience (ERR_BACKOFF), inside this room. */
#pragma once

#include <stdint.h>

struct rpc_patience {
    unsigned times; /* it was asked for */
};

/* Tells who wants to know, and how long to wait: longer each time, up to 2 s, and not as long as
 * others who were told the same at the same time. */
int64_t rpc_patience_next(struct rpc_patience *p, const char *why);
