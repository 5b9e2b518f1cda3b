/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An arena: memory handed out in order and freed all at once, with a byte budget. One per message:
 * unpacking hostile bytes can cost at most the budget, and every error path frees by freeing the
 * arena. An arena does not move: protobuf-c holds its address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "base/str.h"

/* What protobuf-c needs while it unpacks, about 32 bytes for each field of the message, is beside
 * the budget and freed when it is done: short strings would not fit into any budget that is of use
 * against others. */
#define ARENA_APART_MAX (64u << 20) /* bytes */

struct arena {
    struct arena_chunk *chunks, *spare;
    size_t used;   /* bytes handed out */
    size_t budget; /* 0: none */
    struct arena_apart *apart;
    size_t apart_count, apart_used;
    size_t apart_max;             /* ARENA_APART_MAX; the user may set it to less */
    bool exceeded;                /* something was refused for the budget */
    ProtobufCAllocator allocator; /* for protobuf-c */
};

void arena_init(struct arena *a, size_t budget);
void arena_done(struct arena *a); /* everything from it is gone; init again before use */
/* Everything from it is gone, but its memory is kept for what comes next. */
void arena_reset(struct arena *a, size_t budget);
#define _cleanup_arena_ __attribute__((cleanup(arena_done)))

void *arena_alloc(struct arena *a,
                  size_t size); /* zeroed, 16-byte aligned; NULL beyond the budget */
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A message out of bytes, living in the arena; NULL when malformed or over budget. Consumes exactly
 * len bytes. */
void *arena_unpack(struct arena *a, const ProtobufCMessageDescriptor *type, const void *data,
                   size_t len);

/* A message out of bytes, freed by pb__TYPE__free_unpacked(m, NULL); NULL when malformed. Memory
 * that lacks ends the process as in base/mem.h: NULL says nothing else, so that a copy always
 * succeeds, and what a file holds is not taken for damaged. For bytes of our own; those from
 * outside go through arena_unpack(). */
void *pb_unpack(const ProtobufCMessageDescriptor *type, const void *data, size_t len);

/* Appends a message's bytes. */
void pb_pack(const ProtobufCMessage *message, struct str *out);

/* Appends it as field number 'field' of an outer message (tag, length, bytes): outer messages are
 * concatenations. */
void pb_pack_field(unsigned field, const void *data, size_t len, struct str *out);
