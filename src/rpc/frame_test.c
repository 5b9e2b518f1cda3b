/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/frame.h"
#include "rpc/rpc.h"

static const struct rpc_header good = {.version = RPC_VERSION,
                                       .rpc = RPC_SUBMIT,
                                       .token_len = AUTH_TOKEN_SIZE,
                                       .body_len = 1000,
                                       .id = 0x0123456789abcdef};

static int unpack_header(const uint8_t *bytes, uint32_t max, struct err *err)
{
    struct rpc_header h, before;
    int rc;

    memset(&h, 0x5a, sizeof(h));
    before = h;
    rc = rpc_header_unpack(bytes, max, &h, err);
    if (rc < 0)
        assert_memory_equal(&h, &before, sizeof(h));
    return rc;
}

static void invalid_header_fields_are_refused(void **state)
{
    static const struct {
        struct rpc_header h;
        int code;
    } rows[] = {
        {{.version = 0, .rpc = RPC_PING}, -ERR_VERSION},
        {{.version = RPC_VERSION + 1, .rpc = RPC_PING}, -ERR_VERSION},
        {{.version = 0xffff, .rpc = RPC_PING}, -ERR_VERSION},
        {{.version = RPC_VERSION, .rpc = 0}, -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = 0, .flags = RPC_FLAG_REPLY}, -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = 0, .flags = RPC_FLAG_SESSION}, 0},
        {{.version = RPC_VERSION, .rpc = 0, .flags = RPC_FLAG_REPLY | RPC_FLAG_ERROR}, 0},
        {{.version = RPC_VERSION, .rpc = 1999}, -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = 9999}, -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = 0xffff}, -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .flags = RPC_FLAG_CHANNEL}, 0},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .flags = 64}, -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .flags = RPC_FLAG_BULK}, -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = RPC_IO_DATA, .flags = RPC_FLAG_BULK | RPC_FLAG_SESSION},
         0},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .flags = 0x8000}, -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .flags = 0xffff}, -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .token_len = 1}, -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .token_len = AUTH_TOKEN_SIZE - 1},
         -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .token_len = AUTH_TOKEN_SIZE + 1},
         -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .token_len = 0xffff}, -ERR_PROTOCOL},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .body_len = 4095}, 0},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .body_len = 4096}, 0},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .body_len = 4097}, -ERR_TOO_BIG},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .body_len = 65u << 20}, -ERR_TOO_BIG},
        {{.version = RPC_VERSION, .rpc = RPC_PING, .body_len = 0xffffffff}, -ERR_TOO_BIG},
        {{.version = RPC_VERSION, .rpc = RPC_PING}, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t bytes[RPC_HEADER_SIZE];
        struct err err = {0};
        rpc_header_pack(&rows[i].h, bytes);
        assert_int_equal(unpack_header(bytes, 4096, &err), rows[i].code);
        assert_int_equal(err.code, rows[i].code);
    }
}

static void wrong_magic_is_refused(void **state)
{
    uint8_t bytes[RPC_HEADER_SIZE];

    rpc_header_pack(&good, bytes);
    assert_memory_equal(bytes, "SLUI", 4);
    for (int bit = 0; bit < 32; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(unpack_header(bytes, RPC_BODY_MAX, NULL), -ERR_PROTOCOL);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(unpack_header(bytes, RPC_BODY_MAX, NULL), 0);
}

/* The bytes are part of the protocol: another machine must read them. */
static void header_layout_is_fixed(void **state)
{
    static const uint8_t want[RPC_HEADER_SIZE] = {'S',  'L',  'U',  'I',  1,    0,    2,    0,
                                                  0,    0,    0,    1,    0xe8, 3,    0,    0,
                                                  0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01};
    uint8_t bytes[RPC_HEADER_SIZE];
    struct rpc_header h;

    rpc_header_pack(&good, bytes);
    assert_memory_equal(bytes, want, sizeof(want));
    assert_int_equal(rpc_header_unpack(bytes, RPC_BODY_MAX, &h, NULL), 0);
    assert_true(h.version == good.version && h.rpc == good.rpc && h.flags == good.flags &&
                h.token_len == good.token_len && h.body_len == good.body_len && h.id == good.id);
}

static void hash_covers_header_and_body(void **state)
{
    struct rpc_header h = good;
    uint8_t body[16] = "0123456789abcde", want[AUTH_HASH_SIZE], got[AUTH_HASH_SIZE];

    h.body_len = sizeof(body);
    rpc_frame_hash(&h, body, want);
    for (size_t bit = 0; bit < sizeof(body) * 8; bit++) {
        body[bit / 8] ^= (uint8_t)(1u << bit % 8);
        rpc_frame_hash(&h, body, got);
        assert_memory_not_equal(got, want, sizeof(got));
        body[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (int field = 0; field < 5; field++) {
        struct rpc_header other = h;
        other.version ^= field == 0;
        other.rpc ^= field == 1;
        other.flags ^= field == 2;
        other.token_len ^= field == 3;
        other.id ^= field == 4;
        rpc_frame_hash(&other, body, got);
        assert_memory_not_equal(got, want, sizeof(got));
    }
    h.body_len--;
    rpc_frame_hash(&h, body, got);
    assert_memory_not_equal(got, want, sizeof(got));
}

static void error_replies_are_packed_and_parsed(void **state)
{
    _cleanup_str_ struct str body = STR_INIT, big = STR_INIT;
    struct err err = {0};

    assert_int_equal(rpc_error_unpack("", 0, &err), -ERR_PROTOCOL);
    assert_int_equal(rpc_error_unpack("\xff\xff\xff", 3, &err), -ERR_PROTOCOL);
    /* A refusal that says "0" or a negative number is no success. */
    assert_int_equal(rpc_error_unpack("\x08\x00\x12\x01x", 5, &err), -ERR_PROTOCOL);
    assert_int_equal(
        rpc_error_unpack("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x01x", 14, &err),
        -ERR_PROTOCOL);
    rpc_error_pack(-ERR_NO_PARTITION, NULL, &body);
    for (size_t len = 0; len < body.len; len++)
        assert_int_equal(rpc_error_unpack(body.data, len, &err), -ERR_PROTOCOL);
    assert_int_equal(rpc_error_unpack(body.data, body.len, &err), -ERR_NO_PARTITION);
    assert_string_equal(err.text, "Invalid partition name specified");

    str_clear(&body);
    rpc_error_pack(ERR_ACCESS, "no\x1b[2J\x07way", &body);
    assert_int_equal(rpc_error_unpack(body.data, body.len, &err), -ERR_ACCESS);
    assert_string_equal(err.text, "no?[2J?way");

    for (int i = 0; i < 70000; i++)
        str_putc(&big, 'x');
    str_clear(&body);
    rpc_error_pack(ERR_ACCESS, big.data, &body);
    assert_int_equal(rpc_error_unpack(body.data, body.len, &err), -ERR_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_header_fields_are_refused),
        cmocka_unit_test(wrong_magic_is_refused),
        cmocka_unit_test(header_layout_is_fixed),
        cmocka_unit_test(hash_covers_header_and_body),
        cmocka_unit_test(error_replies_are_packed_and_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
