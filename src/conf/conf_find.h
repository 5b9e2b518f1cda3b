/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps names to numbers: a hash table with open addressing over the elements of an array, each of
 * which begins with its name. The index does not own the names. conf_find.c also finds nodes and
 * partitions by it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct conf_index {
    uint32_t *slot; /* number + 1; 0: empty */
    size_t mask;
};

/* base is the array, with elements of this size. */
void conf_index_done(struct conf_index *index);
void conf_index_reserve(struct conf_index *index, size_t count); /* also empties it */
/* Adds element 'number'. Returns -1, or the number that already has this name. */
long conf_index_add(struct conf_index *index, const void *base, size_t size, size_t number);
long conf_index_find(const struct conf_index *index, const void *base, size_t size,
                     const char *name);
