/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An arena: memory that is allocated sequentially and freed all at once, with a budget in bytes.
 * Each message has one: unpacking hostile bytes can cost at most the budget, and error paths free
 * the arena only. An arena must not be moved, because protobuf-c holds its address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "base/str.h"

/* Temporary memory of protobuf-c during unpacking, about 32 bytes per field, does not count
 * against the budget and is freed afterwards. Otherwise short strings would not fit into any
 * useful budget. */
#define ARENA_APART_MAX (64u << 20) /* bytes */

/* protobuf-c unpacks a message inside another one by recursion, and some types contain themselves,
 * so a small hostile message could use up the stack. */
#define ARENA_STACK_MAX (128u << 10) /* bytes of stack that unpacking may use: about 150 levels */

struct arena {
    struct arena_chunk *chunks, *spare;
    size_t used;   /* bytes allocated */
    size_t budget; /* 0: unlimited */
    struct arena_apart *apart;
    size_t apart_count, apart_used;
    size_t apart_max; /* ARENA_APART_MAX; users of the arena may lower it */
    bool exceeded;    /* an allocation was refused because of the budget or ARENA_STACK_MAX */
    char *stack_from; /* stack of the present arena_unpack(); NULL: none runs */
    ProtobufCAllocator allocator; /* for protobuf-c */
};

void arena_init(struct arena *a, size_t budget);
void arena_done(struct arena *a); /* frees everything; call arena_init() before the next use */
/* Frees everything allocated from it, but keeps the memory for reuse. */
void arena_reset(struct arena *a, size_t budget);
#define _cleanup_arena_ __attribute__((cleanup(arena_done)))

void *arena_alloc(struct arena *a,
                  size_t size); /* zeroed, 16-byte aligned; NULL beyond the budget */
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Unpacks a message from exactly len bytes into the arena; NULL if it is malformed, over budget, or
 * nested too deeply. */
void *arena_unpack(struct arena *a, const ProtobufCMessageDescriptor *type, const void *data,
                   size_t len);

/* Unpacks a message, to be freed by pb__TYPE__free_unpacked(m, NULL); NULL if it is malformed.
 * Running out of memory ends the process as in base/mem.h, so NULL always means malformed: a copy
 * always succeeds, and the content of a file is not mistaken for damaged. For our own bytes; use
 * arena_unpack() for bytes from outside. */
void *pb_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t len);

/* Appends the packed message. */
void pb_pack(const ProtobufCMessage *message, struct str *out);

/* Appends the bytes as field number 'field' of an outer message (tag, length, bytes): outer
 * messages are concatenations. */
void pb_pack_field(unsigned field, const void *data, size_t len, struct str *out);
