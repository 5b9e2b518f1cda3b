/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program is given: arguments and environment. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/err.h"

/* Both together, with a pointer for each string: the most that Linux takes (three quarters of 8
 * MiB, however large the stack may be), so that more could never run. */
#define ARGS_BYTES_MAX (6u << 20)

static inline size_t args_bytes(char *const *list, size_t count)
{
    size_t bytes = count * sizeof(char *);

    for (size_t i = 0; i < count; i++)
        bytes += strlen(list[i]) + 1;
    return bytes;
}

/* Whether a program can be given this number of bytes: 0 or -ERR_LIMIT. */
static inline int args_check_bytes(size_t bytes, struct err *err)
{
    if (bytes <= ARGS_BYTES_MAX)
        return 0;
    return err_set(err, -ERR_LIMIT,
                   "arguments and environment have %zu bytes, and %u are the most that a program "
                   "can get: use --export to pass fewer variables",
                   bytes, ARGS_BYTES_MAX);
}
