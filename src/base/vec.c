/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/vec.h"

size_t vec_grow(void **data, size_t len, size_t size, size_t most)
{
    size_t want = len < 4 ? 8 : len * 2;
    size_t bytes;
    want = want < len || want > most ? most : want;
    /* A size that no allocator can provide ends the process in the usual way. */
    if (want <= len || __builtin_mul_overflow(want, size, &bytes))
        bytes = SIZE_MAX / 2;
    *data = mem_realloc(*data, bytes);
    return want;
}
