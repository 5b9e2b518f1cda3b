/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Read by tools/analyse before each source. The analyser sees one file at a time and has to know
 * what comes back from others. It does not see that the last element of a hash table is the only
 * one, and would follow each call of uthash through all buckets: for it, a table may have any
 * element after each change, and a search finds any or none.
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"

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
