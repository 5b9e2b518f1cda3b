/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pieces of a file as they are sent: each is read and compressed once for all receivers at the
 * same position. A piece ends at a multiple of the block size, or at the end of the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Fits a processor's cache, and keeps the delay per tree level small. */
#define CAST_BLOCK (512u << 10)
#define CAST_BLOCK_MIN (64u << 10)
#define CAST_BLOCK_MAX (4u << 20)

/* Rounds to a valid piece size: a multiple of the smallest one, within the limits. */
uint32_t cast_block_round(uint64_t wanted);

/* Fills buf with len bytes of the file; fewer bytes are an error. */
typedef int cast_read_fn(void *ctx, uint64_t at, void *buf, size_t len, struct err *err);

struct cast_piece {
    const void *data; /* valid until the next call */
    size_t len, raw_len;
    bool packed;
};

struct cast_blocks;
struct cast_blocks *cast_blocks_new(uint32_t block, bool pack, cast_read_fn *read, void *ctx);
void cast_blocks_free(struct cast_blocks *b);

/* Returns the piece that begins at offset 'at' of a file of 'size' bytes, at < size. */
size_t cast_blocks_len(const struct cast_blocks *b, uint64_t at, uint64_t size);
int cast_blocks_get(struct cast_blocks *b, uint64_t at, size_t len, struct cast_piece *out,
                    struct err *err);
/* Lends a piece that stays valid until the next call of this function, so that it need not be
   read. len 0: none. */
void cast_blocks_lend(struct cast_blocks *b, uint64_t at, const void *data, size_t len);
/* Keeps a piece that was received compressed, so that it is not compressed again. */
void cast_blocks_keep(struct cast_blocks *b, uint64_t at, size_t raw_len, const void *data,
                      size_t len);

/* Whether this build supports compression. */
bool cast_block_can_pack(void);
/* Decompresses to exactly raw_len bytes; otherwise -ERR_PROTOCOL. */
int cast_block_unpack(const void *data, size_t len, void *out, size_t raw_len, struct err *err);
