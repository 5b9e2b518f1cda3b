/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cast/block.h"

#include <string.h>

#ifdef HAVE_LZ4
#include <lz4.h>
#endif

#include "base/mem.h"

#define KEPT 4 /* pieces: the children are at similar positions */

struct kept {
    uint64_t at;
    size_t len, raw_len; /* raw_len 0: unused */
    bool packed;
    char *data;
};

struct cast_blocks {
    uint32_t block;
    bool pack;
    cast_read_fn *read;
    void *ctx;
    size_t room, next;
    char *raw;              /* uncompressed piece */
    struct cast_piece lent; /* len 0: none */
    uint64_t lent_at;
    struct kept kept[KEPT];
};

uint32_t cast_block_round(uint64_t wanted)
{
    if (wanted >= CAST_BLOCK_MAX)
        return CAST_BLOCK_MAX;
    if (wanted <= CAST_BLOCK_MIN)
        return CAST_BLOCK_MIN;
    return (uint32_t)(wanted - wanted % CAST_BLOCK_MIN);
}

bool cast_block_can_pack(void)
{
#ifdef HAVE_LZ4
    return true;
#else
    return false;
#endif
}

static size_t get_packed_size_max(uint32_t block)
{
#ifdef HAVE_LZ4
    return (size_t)LZ4_compressBound((int)block);
#else
    return block;
#endif
}

/* Returns the compressed length; 0: it would not be shorter. */
static size_t compress_block(const char *raw, size_t len, char *out, size_t room)
{
#ifdef HAVE_LZ4
    int packed = LZ4_compress_default(raw, out, (int)len, (int)room);

    return packed > 0 && (size_t)packed < len ? (size_t)packed : 0;
#else
    return 0;
#endif
}

int cast_block_unpack(const void *data, size_t len, void *out, size_t raw_len, struct err *err)
{
#ifdef HAVE_LZ4
    if (len <= CAST_BLOCK_MAX && raw_len <= CAST_BLOCK_MAX &&
        LZ4_decompress_safe(data, out, (int)len, (int)raw_len) == (int)raw_len)
        return 0;
    return err_set(err, -ERR_PROTOCOL, "a compressed piece of the file is damaged");
#else
    return err_set(err, -ERR_NOT_SUPPORTED,
                   "it comes compressed, and this node's build knows no LZ4; use --compress=none");
#endif
}

struct cast_blocks *cast_blocks_new(uint32_t block, bool packs, cast_read_fn *read, void *ctx)
{
    struct cast_blocks *b = mem_new(struct cast_blocks);

    b->block = block;
    b->pack = packs && cast_block_can_pack();
    b->read = read;
    b->ctx = ctx;
    b->room = b->pack ? get_packed_size_max(block) : block;
    return b;
}

void cast_blocks_free(struct cast_blocks *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < KEPT; i++)
        free(b->kept[i].data);
    free(b->raw);
    free(b);
}

size_t cast_blocks_len(const struct cast_blocks *b, uint64_t at, uint64_t size)
{
    uint64_t end = (at / b->block + 1) * b->block;

    return (size_t)((end < size ? end : size) - at);
}

static struct kept *find_kept(struct cast_blocks *b, uint64_t at, size_t len)
{
    for (size_t i = 0; i < KEPT; i++)
        if (b->kept[i].raw_len == len && b->kept[i].at == at)
            return &b->kept[i];
    return NULL;
}

/* Reuses the oldest entry. */
static struct kept *take_place(struct cast_blocks *b)
{
    struct kept *k = &b->kept[b->next];

    b->next = (b->next + 1) % KEPT;
    k->raw_len = 0;
    if (!k->data)
        k->data = mem_alloc(b->room);
    return k;
}

static int fill_block(struct cast_blocks *b, struct kept *k, uint64_t at, size_t len,
                      struct err *err)
{
    size_t packed = 0;
    int rc;

    if (b->pack && !b->raw)
        b->raw = mem_alloc(b->block);
    rc = b->read(b->ctx, at, b->pack ? b->raw : k->data, len, err);
    if (rc)
        return rc;
    if (b->pack) {
        packed = compress_block(b->raw, len, k->data, b->room);
        if (!packed)
            memcpy(k->data, b->raw, len);
    }
    k->packed = packed != 0;
    k->len = packed ? packed : len;
    k->at = at;
    k->raw_len = len;
    return 0;
}

int cast_blocks_get(struct cast_blocks *b, uint64_t at, size_t len, struct cast_piece *out,
                    struct err *err)
{
    struct kept *k;
    int rc;

    if (b->lent.len == len && b->lent_at == at && !b->pack) {
        *out = b->lent;
        return 0;
    }
    k = find_kept(b, at, len);
    if (!k) {
        k = take_place(b);
        rc = fill_block(b, k, at, len, err);
        if (rc)
            return rc;
    }
    *out = (struct cast_piece){k->data, k->len, k->raw_len, k->packed};
    return 0;
}

void cast_blocks_lend(struct cast_blocks *b, uint64_t at, const void *data, size_t len)
{
    b->lent = (struct cast_piece){.data = data, .len = len, .raw_len = len};
    b->lent_at = at;
}

void cast_blocks_keep(struct cast_blocks *b, uint64_t at, size_t raw_len, const void *data,
                      size_t len)
{
    struct kept *k;

    if (!b->pack || !raw_len || raw_len > b->block || len > b->room || find_kept(b, at, raw_len))
        return;
    k = take_place(b);
    memcpy(k->data, data, len);
    k->at = at;
    k->len = len;
    k->raw_len = raw_len;
    k->packed = true;
}
