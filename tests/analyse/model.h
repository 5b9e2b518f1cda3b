/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Read by tools/analyse before each source. The analyser sees one file at a time and has to know
 * what comes back from others. It does not see that the last element of a hash table is the only
 * one, and would follow each call of uthash through all buckets: for it, a table may have any
 * element after each change, and a search finds any or none.
 */
#pragma once

#include <utlist.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"

#define err_set(err, code, ...) ((void)(err_set)(err, code, __VA_ARGS__), (code))

void *model_change(void *head, const void *element) __attribute__((returns_nonnull));
void *model_find(void *head, const void *key, size_t len);
void *model_take(void *head, const void *element);
#undef HASH_ADD_KEYPTR
#define HASH_ADD_KEYPTR(hh, head, key, len, add) ((head) = model_change(head, add))
#undef HASH_FIND
#define HASH_FIND(hh, head, key, len, out) ((out) = model_find(head, key, len))
#undef HASH_DELETE
#define HASH_DELETE(hh, head, element) ((head) = model_take(head, element))

/* An element that was added is there. The analyser knows neither that a list with a head has a last
 * element, nor that an array with room has memory. */
void *model_grow(void *data, size_t size) __attribute__((returns_nonnull));
#undef vec_push
#define vec_push(v, x)                                                                             \
    ((v)->data = model_grow((v)->data, sizeof(*(v)->data)), (v)->data[(v)->len++] = (x), (void)0)
#undef DL_DELETE
#define DL_DELETE(head, element)                                                                   \
    do {                                                                                           \
        if ((head) == (element) && !(element)->next && (element)->prev != (element))               \
            __builtin_unreachable(); /* the only one is before itself */                           \
        DL_DELETE2(head, element, prev, next);                                                     \
    } while (0)
