/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hash tables: uthash, with memory from mem.h. uthash itself would call exit() without a message
 * when memory runs out, and thereby run exit handlers.
 */
#pragma once

#include "base/mem.h"

#define uthash_malloc(size) mem_alloc(size)
#define uthash_fatal(message)                                                                      \
    abort() /* unreachable: mem_alloc() does not return without memory                             \
             */

#include <uthash.h>
