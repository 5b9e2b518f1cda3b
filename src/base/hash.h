/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hash tables: uthash, with memory from mem.h. By itself it would end the process without a word
 * when there is none left, and by exit(), which runs what others have registered for their end.
 */
#pragma once

#include "base/mem.h"

#define uthash_malloc(size) mem_alloc(size)
#define uthash_fatal(message) abort() /* not reached: mem_alloc() has not returned */

#include <uthash.h>
