/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names to numbers: a hash table with open addressing over the elements of an array, each of which
 * begins with its name. The names stay with their owner. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct conf_index {
    uint32_t *slot; /* number + 1; 0: empty */
    size_t mask;
};

/* base: the array, of elements of this size. */
void conf_index_done(struct conf_index *index);
void conf_index_reserve(struct conf_index *index, size_t count); /* empties it, too */
/* Adds element 'number'. -1, or the number that has this name already. */
long conf_index_add(struct conf_index *index, const void *base, size_t size, size_t number);
long conf_index_find(const struct conf_index *index, const void *base, size_t size,
                     const char *name);
