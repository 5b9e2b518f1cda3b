/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cast/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

struct source {
    const char *data;
    size_t len;
    unsigned reads;
};

static int read_source(void *ctx, uint64_t at, void *buf, size_t len, struct err *err)
{
    struct source *s = ctx;

    s->reads++;
    if (at + len > s->len)
        return err_set(err, -ERR_CLOSED, "too short");
    memcpy(buf, s->data + at, len);
    return 0;
}

static void sizes_are_rounded(void **state)
{
    static const struct {
        uint64_t wanted;
        uint32_t got;
    } cases[] = {
        {0, CAST_BLOCK_MIN},
        {1, CAST_BLOCK_MIN},
        {CAST_BLOCK_MIN, CAST_BLOCK_MIN},
        {2 * CAST_BLOCK_MIN - 1, CAST_BLOCK_MIN},
        {2 * CAST_BLOCK_MIN, 2 * CAST_BLOCK_MIN},
        {CAST_BLOCK_MAX - 1, CAST_BLOCK_MAX - CAST_BLOCK_MIN},
        {CAST_BLOCK_MAX, CAST_BLOCK_MAX},
        {UINT64_MAX, CAST_BLOCK_MAX},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(cast_block_round(cases[i].wanted), cases[i].got);
        assert_int_equal(cast_block_round(cases[i].got), cases[i].got);
    }
}

/* A piece ends at a multiple of the size or at the end of the file, wherever it begins. */
static void pieces_end_at_multiples_of_the_size(void **state)
{
    struct cast_blocks *b = cast_blocks_new(CAST_BLOCK_MIN, false, read_source, NULL);

    assert_int_equal(cast_blocks_len(b, 0, 1), 1);
    assert_int_equal(cast_blocks_len(b, 0, 10 * CAST_BLOCK_MIN), CAST_BLOCK_MIN);
    assert_int_equal(cast_blocks_len(b, 5, 10 * CAST_BLOCK_MIN), CAST_BLOCK_MIN - 5);
    assert_int_equal(cast_blocks_len(b, CAST_BLOCK_MIN, CAST_BLOCK_MIN + 7), 7);
    cast_blocks_free(b);
}

static void piece_is_read_once_for_all_receivers(void **state)
{
    _cleanup_free_ char *data = mem_alloc(8 * CAST_BLOCK_MIN);
    struct source s = {data, 8 * CAST_BLOCK_MIN, 0};
    struct cast_blocks *b = cast_blocks_new(CAST_BLOCK_MIN, false, read_source, &s);
    struct cast_piece piece;
    struct err err = {0};

    for (uint64_t at = 0; at < 3 * CAST_BLOCK_MIN; at += CAST_BLOCK_MIN)
        for (int i = 0; i < 3; i++)
            assert_int_equal(cast_blocks_get(b, at, CAST_BLOCK_MIN, &piece, &err), 0);
    assert_int_equal(s.reads, 3);
    assert_int_equal(cast_blocks_get(b, 8 * CAST_BLOCK_MIN, 1, &piece, &err), -ERR_CLOSED);
    cast_blocks_free(b);
}

/* The lent piece itself, and not a piece that has to be compressed. */
static void lent_piece_is_not_read_again(void **state)
{
    _cleanup_free_ char *data = mem_alloc(2 * CAST_BLOCK_MIN);
    struct source s = {data, 2 * CAST_BLOCK_MIN, 0};

    for (int pack = 0; pack < 2; pack++) {
        struct cast_blocks *b = cast_blocks_new(CAST_BLOCK_MIN, pack, read_source, &s);
        bool packs = pack && cast_block_can_pack();
        struct cast_piece piece;
        struct err err = {0};

        s.reads = 0;
        cast_blocks_lend(b, CAST_BLOCK_MIN, data + CAST_BLOCK_MIN, CAST_BLOCK_MIN);
        assert_int_equal(cast_blocks_get(b, CAST_BLOCK_MIN, CAST_BLOCK_MIN, &piece, &err), 0);
        assert_int_equal(s.reads, packs);
        assert_int_equal(piece.data == data + CAST_BLOCK_MIN, !packs);
        assert_int_equal(piece.raw_len, CAST_BLOCK_MIN);
        assert_int_equal(cast_blocks_get(b, 0, CAST_BLOCK_MIN, &piece, &err), 0);
        assert_int_equal(cast_blocks_get(b, CAST_BLOCK_MIN, 5, &piece, &err), 0);
        assert_int_equal(s.reads, 2 + packs);
        cast_blocks_lend(b, 0, NULL, 0);
        assert_int_equal(cast_blocks_get(b, CAST_BLOCK_MIN, CAST_BLOCK_MIN, &piece, &err), 0);
        assert_int_equal(s.reads, 3);
        cast_blocks_free(b);
    }
}

static void compressed_piece_is_restored(void **state)
{
    _cleanup_free_ char *data = mem_alloc(2 * CAST_BLOCK_MIN), *out = mem_alloc(CAST_BLOCK_MIN);
    struct source s = {data, 2 * CAST_BLOCK_MIN, 0};
    struct cast_blocks *b = cast_blocks_new(CAST_BLOCK_MIN, true, read_source, &s);
    struct cast_piece piece;
    struct err err = {0};

    if (!cast_block_can_pack())
        skip();
    for (size_t i = 0; i < CAST_BLOCK_MIN; i++) {
        data[i] = (char)(i % 7);
        data[CAST_BLOCK_MIN + i] = (char)rand();
    }
    assert_int_equal(cast_blocks_get(b, 0, CAST_BLOCK_MIN, &piece, &err), 0);
    assert_true(piece.packed && piece.len < piece.raw_len / 10);
    assert_int_equal(cast_block_unpack(piece.data, piece.len, out, piece.raw_len, &err), 0);
    assert_memory_equal(out, data, CAST_BLOCK_MIN);
    /* Not exactly as long as was said. */
    assert_int_equal(cast_block_unpack(piece.data, piece.len, out, piece.raw_len - 1, &err),
                     -ERR_PROTOCOL);
    assert_int_equal(cast_block_unpack(piece.data, piece.len - 1, out, piece.raw_len, &err),
                     -ERR_PROTOCOL);
    /* Data that does not become smaller is sent unchanged. */
    assert_int_equal(cast_blocks_get(b, CAST_BLOCK_MIN, CAST_BLOCK_MIN, &piece, &err), 0);
    assert_false(piece.packed);
    assert_memory_equal(piece.data, data + CAST_BLOCK_MIN, CAST_BLOCK_MIN);
    cast_blocks_free(b);
}

static void received_compressed_piece_is_passed_on_as_it_is(void **state)
{
    struct source s = {0};
    struct cast_blocks *b = cast_blocks_new(CAST_BLOCK_MIN, true, read_source, &s);
    struct cast_piece piece;
    struct err err = {0};

    if (!cast_block_can_pack())
        skip();
    cast_blocks_keep(b, 0, 1000, "packed", 6);
    cast_blocks_keep(b, 1000, 0, "nothing", 7);
    cast_blocks_keep(b, 1000, CAST_BLOCK_MAX, "too long", 8);
    assert_int_equal(cast_blocks_get(b, 0, 1000, &piece, &err), 0);
    assert_int_equal(s.reads, 0);
    assert_int_equal(piece.len, 6);
    assert_memory_equal(piece.data, "packed", 6);
    assert_int_equal(cast_blocks_get(b, 1000, 1, &piece, &err), -ERR_CLOSED);
    cast_blocks_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_rounded),
        cmocka_unit_test(pieces_end_at_multiples_of_the_size),
        cmocka_unit_test(piece_is_read_once_for_all_receivers),
        cmocka_unit_test(lent_piece_is_not_read_again),
        cmocka_unit_test(compressed_piece_is_restored),
        cmocka_unit_test(received_compressed_piece_is_passed_on_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
