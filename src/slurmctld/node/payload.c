/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/node/payload.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct entry {
    uint64_t number;
    size_t len;
    UT_hash_handle hh; /* in order of insertion, which is the order of removal */
    char data[];
};

struct payload_cache {
    struct entry *entries;
    size_t bytes, max_bytes;
};

struct payload_cache *payload_cache_new(size_t max_bytes)
{
    struct payload_cache *c = mem_new(struct payload_cache);
    c->max_bytes = max_bytes;
    return c;
}

static void entry_drop(struct payload_cache *c, struct entry *e)
{
    HASH_DEL(c->entries, e);
    c->bytes -= sizeof(*e) + e->len;
    free(e);
}

void payload_cache_free(struct payload_cache *c)
{
    if (!c)
        return;
    while (c->entries)
        entry_drop(c, c->entries);
    free(c);
}

static struct entry *entry_find(struct payload_cache *c, uint64_t number)
{
    struct entry *e;
    HASH_FIND(hh, c->entries, &number, sizeof(number), e);
    return e;
}

void payload_cache_drop(struct payload_cache *c, uint64_t number)
{
    struct entry *e = entry_find(c, number);
    if (e)
        entry_drop(c, e);
}

void payload_cache_put(struct payload_cache *c, uint64_t number, const void *data, size_t len)
{
    payload_cache_drop(c, number);
    size_t need = sizeof(struct entry) + len;
    if (need > c->max_bytes)
        return;
    while (c->bytes + need > c->max_bytes)
        entry_drop(c, c->entries);
    struct entry *e = mem_alloc(need);
    e->number = number;
    e->len = len;
    if (len)
        memcpy(e->data, data, len);
    c->bytes += need;
    HASH_ADD(hh, c->entries, number, sizeof(e->number), e);
}

const void *payload_cache_get(struct payload_cache *c, uint64_t number, size_t *len)
{
    struct entry *e = entry_find(c, number);
    if (!e)
        return NULL;
    *len = e->len;
    return e->data;
}
