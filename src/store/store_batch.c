/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/store_internal.h"

uint32_t store_sum(uint32_t kind, uint64_t number, const char *name, const void *data, size_t len)
{
    /* The checksum covers the key, so that a row with the bytes of another row is detected. */
    uint8_t key[12];
    for (int i = 0; i < 4; i++)
        key[i] = (uint8_t)(kind >> (8 * i));
    for (int i = 0; i < 8; i++)
        key[4 + i] = (uint8_t)(number >> (8 * i));
    uint32_t sum = crc32c(0, key, name ? 4 : sizeof(key));
    if (name)
        sum = crc32c(sum, name, strlen(name) + 1);
    return crc32c(sum, data, len);
}

struct store_batch *store_batch_new(void)
{
    return mem_new(struct store_batch);
}

void store_batch_free(struct store_batch *b)
{
    if (!b)
        return;
    vec_done(&b->changes);
    str_done(&b->bytes);
    free(b->slots);
    free(b);
}

bool store_batch_empty(const struct store_batch *b)
{
    return b->changes.len == 0;
}

const char *store_change_name(const struct store_batch *b, const struct store_change *c)
{
    return c->named ? b->bytes.data + c->name_at : NULL;
}

const void *store_change_data(const struct store_batch *b, const struct store_change *c)
{
    return c->len ? b->bytes.data + c->data_at : "";
}

static uint64_t key_hash(uint32_t kind, uint64_t number, const char *name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ kind;
    for (const char *p = name; p && *p; p++)
        h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
    h = (h ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 32);
}

/* Returns the slot of the key, or the empty slot for it. */
static uint32_t *slot_find(struct store_batch *b, uint32_t kind, uint64_t number, const char *name)
{
    for (uint64_t i = key_hash(kind, number, name);; i++) {
        uint32_t *slot = &b->slots[i & (b->slot_count - 1)];
        if (*slot == 0)
            return slot;
        const struct store_change *c = &b->changes.data[*slot - 1];
        if (c->kind == kind && c->named == (name != NULL) && c->number == number &&
            str_eq(store_change_name(b, c), name))
            return slot;
    }
}

static void slots_grow(struct store_batch *b)
{
    b->slot_count = b->slot_count ? b->slot_count * 4 : 64;
    free(b->slots);
    b->slots = mem_new_array(uint32_t, b->slot_count);
    for (size_t i = 0; i < b->changes.len; i++) {
        const struct store_change *c = &b->changes.data[i];
        *slot_find(b, c->kind, c->number, store_change_name(b, c)) = (uint32_t)i + 1;
    }
}

static struct store_change *change_of(struct store_batch *b, uint32_t kind, uint64_t number,
                                      const char *name)
{
    if ((b->changes.len + 1) * 2 > b->slot_count)
        slots_grow(b);
    number = name ? 0 : number;
    uint32_t *slot = slot_find(b, kind, number, name);
    if (*slot == 0) {
        struct store_change c = {.kind = kind, .number = number, .named = name != NULL};
        if (name) {
            c.name_at = b->bytes.len;
            str_append(&b->bytes, name, strlen(name) + 1);
        }
        vec_push(&b->changes, c);
        *slot = (uint32_t)b->changes.len;
    }
    return &b->changes.data[*slot - 1];
}

uint64_t store_batch_bytes(const struct store_batch *b)
{
    return b->bytes.len;
}

void store_put(struct store_batch *b, uint32_t kind, uint64_t number, const char *name,
               const void *data, size_t len)
{
    struct store_change *c = change_of(b, kind, number, name);
    c->delete = c->aside = false;
    c->data_at = b->bytes.len;
    c->len = len;
    str_append(&b->bytes, data, len);
}

void store_delete(struct store_batch *b, uint32_t kind, uint64_t number, const char *name)
{
    struct store_change *c = change_of(b, kind, number, name);
    c->delete = true;
    c->aside = false;
    c->len = 0;
}

void store_set_aside(struct store_batch *b, uint32_t kind, uint64_t number, const char *name,
                     const char *why)
{
    struct store_change *c = change_of(b, kind, number, name);
    c->delete = false;
    c->aside = true;
    c->data_at = b->bytes.len;
    c->len = strlen(why);
    str_append(&b->bytes, why, c->len);
}

static int change_order(const void *a, const void *b, void *batch)
{
    const struct store_change *x = a, *y = b;
    if (x->named != y->named)
        return x->named ? 1 : -1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->named)
        return strcmp(store_change_name(batch, x), store_change_name(batch, y));
    return x->number < y->number ? -1 : x->number > y->number;
}

void store_batch_sort(struct store_batch *b)
{
    free(take_ptr(b->slots));
    b->slot_count = 0;
    if (b->changes.len > 1)
        qsort_r(b->changes.data, b->changes.len, sizeof(b->changes.data[0]), change_order, b);
}
