/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The size of a program's arguments and environment. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/err.h"

/* Arguments and environment together, with a pointer for each string: the maximum that Linux
 * accepts (three quarters of 8 MiB, regardless of the stack limit). */
#define ARGS_BYTES_MAX (6u << 20)

static inline size_t args_bytes(char *const *list, size_t count)
{
    size_t bytes = count * sizeof(char *);

    for (size_t i = 0; i < count; i++)
        bytes += strlen(list[i]) + 1;
    return bytes;
}

/* Checks that a program can get this number of bytes: 0 or -ERR_LIMIT. */
static inline int args_check_bytes(size_t bytes, struct err *err)
{
    if (bytes <= ARGS_BYTES_MAX)
        return 0;
    return err_set(err, -ERR_LIMIT,
                   "arguments and environment have %zu bytes, and %u are the most that a program "
                   "can get: use --export to pass fewer variables",
                   bytes, ARGS_BYTES_MAX);
}
