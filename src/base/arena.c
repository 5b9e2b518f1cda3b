/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/arena.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define CHUNK_FIRST 4096
#define CHUNK_LAST (256 * 1024)
#define APART_MIN 1024 /* size of protobuf-c's first table that is not on its stack */
#define APART_COUNT 64 /* number of entries, small enough to search */

struct arena_chunk {
    struct arena_chunk *next;
    size_t size, used;
    _Alignas(16) unsigned char data[];
};

/* An allocation of this size may be a table of protobuf-c, whose sizes are 32 times a power of two
 * and which is freed soon. If it is not, it is kept until the arena is freed. */
struct arena_apart {
    struct arena_apart *next;
    size_t size;
    _Alignas(16) unsigned char data[];
};

static bool is_apart(const struct arena *a, size_t size)
{
    return size >= APART_MIN && !(size & (size - 1)) && a->apart_count < APART_COUNT &&
           size + a->apart_used <= a->apart_max;
}

/* Each message is allocated before the messages inside it are unpacked. */
static bool is_too_deep(const struct arena *a)
{
    return a->stack_from &&
           a->stack_from - (char *)__builtin_frame_address(0) > (ptrdiff_t)ARENA_STACK_MAX;
}

static void *pb_alloc(void *arena, size_t size)
{
    struct arena *a = arena;
    struct arena_apart *one;

    if (is_too_deep(a)) {
        a->exceeded = true;
        return NULL;
    }
    if (!is_apart(a, size))
        return arena_alloc(a, size);
    one = mem_realloc(NULL, sizeof(*one) + size); /* not zeroed: the caller fills it */
    one->size = size;
    one->next = a->apart;
    a->apart = one;
    a->apart_count++;
    a->apart_used += size;
    return one->data;
}

static void apart_remove(struct arena *a, struct arena_apart **at)
{
    struct arena_apart *one = *at;

    *at = one->next;
    a->apart_count--;
    a->apart_used -= one->size;
    free(one);
}

static void pb_free(void *arena, void *p)
{
    struct arena *a = arena;

    for (struct arena_apart **at = &a->apart; *at; at = &(*at)->next)
        if ((*at)->data == p) {
            apart_remove(a, at);
            return;
        }
}

void arena_init(struct arena *a, size_t budget)
{
    *a = (struct arena){
        .budget = budget,
        .apart_max = ARENA_APART_MAX,
        .allocator = {.alloc = pb_alloc, .free = pb_free, .allocator_data = a},
    };
}

static void free_all(struct arena_chunk **list)
{
    while (*list) {
        struct arena_chunk *chunk = *list;
        *list = chunk->next;
        free(chunk);
    }
}

void arena_done(struct arena *a)
{
    free_all(&a->chunks);
    free_all(&a->spare);
    while (a->apart)
        apart_remove(a, &a->apart);
    a->used = 0;
}

void arena_reset(struct arena *a, size_t budget)
{
    while (a->chunks) {
        struct arena_chunk *chunk = a->chunks;
        a->chunks = chunk->next;
        memset(chunk->data, 0, chunk->used);
        chunk->used = 0;
        chunk->next = a->spare;
        a->spare = chunk;
    }
    while (a->apart)
        apart_remove(a, &a->apart);
    a->used = 0;
    a->budget = budget;
    a->exceeded = false;
}

/* Adds a chunk with space for size bytes as the first one. Each chunk is twice as large as the
 * previous one, so a small message takes a page and a large one few allocations. */
static struct arena_chunk *chunk_add(struct arena *a, size_t size)
{
    struct arena_chunk *kept = a->spare;
    if (kept && kept->size >= size) {
        a->spare = kept->next;
        kept->next = a->chunks;
        return a->chunks = kept;
    }
    size_t want = a->chunks ? a->chunks->size * 2 : CHUNK_FIRST;
    if (want > CHUNK_LAST)
        want = CHUNK_LAST;
    if (want < size)
        want = size;
    struct arena_chunk *chunk = mem_alloc(sizeof(*chunk) + want);
    chunk->size = want;
    chunk->next = a->chunks;
    a->chunks = chunk;
    return chunk;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size = size ? (size + 15) & ~(size_t)15 : 16;
    if (a->budget && (size > a->budget || a->used > a->budget - size)) {
        a->exceeded = true;
        return NULL;
    }
    struct arena_chunk *chunk = a->chunks;
    if (!chunk || chunk->size - chunk->used < size)
        chunk = chunk_add(a, size);
    void *p = chunk->data + chunk->used;
    chunk->used += size;
    a->used += size;
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    if (!s)
        return NULL;
    size_t size = strlen(s) + 1;
    char *copy = arena_alloc(a, size);
    return copy ? memcpy(copy, s, size) : NULL;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int len = vsnprintf(NULL, 0, fmt, ap);
    char *text = len < 0 ? NULL : arena_alloc(a, (size_t)len + 1);
    if (text)
        vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return text;
}

void *arena_unpack(struct arena *a, const ProtobufCMessageDescriptor *type, const void *data,
                   size_t len)
{
    a->stack_from = __builtin_frame_address(0);
    void *message =
        protobuf_c_message_unpack(type, &a->allocator, len, len ? data : (const void *)"");
    a->stack_from = NULL;
    return message;
}

static void *alloc_message_part(void *unused, size_t size)
{
    return mem_realloc(NULL, size);
}

static void free_message_part(void *unused, void *p)
{
    free(p);
}

void *pb_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t len)
{
    ProtobufCAllocator allocator = {.alloc = alloc_message_part, .free = free_message_part};
    return protobuf_c_message_unpack(type, &allocator, len, len ? data : (const void *)"");
}

/* Extends out by len bytes; NULL if its cap forbids that. */
static uint8_t *str_extend(struct str *out, size_t len)
{
    if (out->overflow || (out->cap && (len > out->cap || out->len > out->cap - len))) {
        out->overflow = true;
        return NULL;
    }
    str_reserve(out, len);
    uint8_t *at = (uint8_t *)out->data + out->len;
    out->len += len;
    out->data[out->len] = '\0';
    return at;
}

void pb_pack(const ProtobufCMessage *message, struct str *out)
{
    uint8_t *at = str_extend(out, protobuf_c_message_get_packed_size(message));
    if (at)
        protobuf_c_message_pack(message, at);
}

static size_t put_varint(uint64_t value, uint8_t *at)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        at[n++] = (uint8_t)(value | 0x80);
    at[n++] = (uint8_t)value;
    return n;
}

void pb_pack_field(unsigned field, const void *data, size_t len, struct str *out)
{
    uint8_t head[20];
    size_t n = put_varint((uint64_t)field << 3 | 2, head);
    n += put_varint(len, head + n);
    uint8_t *at = str_extend(out, n + len);
    if (!at)
        return;
    memcpy(at, head, n);
    if (len)
        memcpy(at + n, data, len);
}
