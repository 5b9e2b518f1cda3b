/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char *get_indexed_name(const void *base, size_t size, size_t number)
{
    return *(const char *const *)(const void *)((const char *)base + size * number);
}

static size_t hash_name(const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return (size_t)(h ^ (h >> 32));
}

/* Returns the slot of the name, or the empty slot for it. */
static size_t slot_of(const struct conf_index *index, const void *base, size_t size,
                      const char *name)
{
    size_t i = hash_name(name) & index->mask;

    while (index->slot[i] && strcmp(get_indexed_name(base, size, index->slot[i] - 1), name) != 0)
        i = (i + 1) & index->mask;
    return i;
}

void conf_index_done(struct conf_index *index)
{
    free(index->slot);
    *index = (struct conf_index){0};
}

void conf_index_reserve(struct conf_index *index, size_t count)
{
    size_t size = 16;

    while (size < count * 2)
        size *= 2;
    conf_index_done(index);
    index->slot = mem_new_array(uint32_t, size);
    index->mask = size - 1;
}

long conf_index_add(struct conf_index *index, const void *base, size_t size, size_t number)
{
    size_t i = slot_of(index, base, size, get_indexed_name(base, size, number));

    if (index->slot[i])
        return (long)index->slot[i] - 1;
    index->slot[i] = (uint32_t)number + 1;
    return -1;
}

long conf_index_find(const struct conf_index *index, const void *base, size_t size,
                     const char *name)
{
    if (!index->slot || !name)
        return -1;
    return (long)index->slot[slot_of(index, base, size, name)] - 1;
}
