/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random values of every message in rpc.def come back as they were sent. SLUICE_SEED, SLUICE_SOAK
 * (percent of a million of each). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/pb.h"
#include "rpc/frame.h"
#include "rpc/rpc.h"

#define SAMPLE 500      /* values of each message */
#define RELEASE 1000000 /* in the soak */
#define DEPTH_MAX 4     /* of messages in messages */
#define EVERY_CUT 40    /* a shorter message is cut at each of its bytes, a longer one at one */
#define BUDGET (256u << 20)

static uint64_t chance;

static uint64_t draw(void) /* xorshift64* */
{
    chance ^= chance >> 12;
    chance ^= chance << 25;
    chance ^= chance >> 27;
    return chance * 0x2545f4914f6cdd1dULL;
}

static size_t draw_below(size_t count)
{
    return (size_t)(draw() >> 33) % count;
}

/* Small, large, and at the limits of each varint length. */
static uint64_t draw_number(void)
{
    static const uint64_t ends[] = {0, 1, 127, 128, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};

    return draw_below(3) ? draw() >> draw_below(64) : ends[draw_below(8)];
}

static size_t draw_length(void)
{
    return draw_below(50) ? draw_below(12) : draw_below(1000);
}

static ProtobufCMessage *draw_message(struct arena *a, const ProtobufCMessageDescriptor *type,
                                      int depth);

static void draw_value(struct arena *a, const ProtobufCFieldDescriptor *field, void *at, int depth)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING: {
        size_t len = draw_length();
        char *text = arena_alloc(a, len + 1);
        for (size_t i = 0; i < len; i++)
            text[i] = (char)(1 + draw_below(255));
        *(char **)at = text;
        break;
    }
    case PROTOBUF_C_TYPE_BYTES: {
        ProtobufCBinaryData *bytes = at;
        bytes->len = draw_length();
        bytes->data = bytes->len ? arena_alloc(a, bytes->len) : NULL;
        for (size_t i = 0; i < bytes->len; i++)
            bytes->data[i] = (uint8_t)draw();
        break;
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)at = draw_message(a, field->descriptor, depth + 1);
        break;
    case PROTOBUF_C_TYPE_ENUM: {
        const ProtobufCEnumDescriptor *words = field->descriptor;
        *(int32_t *)at = words->values[draw_below(words->n_values)].value;
        break;
    }
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)at = (protobuf_c_boolean)draw_below(2);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        *(double *)at = (double)(int64_t)draw_number() / 3;
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        *(float *)at = (float)(int32_t)draw_number() / 3;
        break;
    default: {
        uint64_t number = draw_number();
        memcpy(at, &number, pb_value_size(field)); /* little-endian, as all machines here */
    }
    }
}

static void draw_list(struct arena *a, const ProtobufCFieldDescriptor *field, char *base, int depth)
{
    size_t count = depth < DEPTH_MAX ? draw_below(4) : 0, size = pb_value_size(field);
    char *items = count ? arena_alloc(a, count * size) : NULL;

    for (size_t i = 0; i < count; i++)
        draw_value(a, field, items + i * size, depth);
    *(size_t *)(base + field->quantifier_offset) = count;
    *(char **)(base + field->offset) = items;
}

static ProtobufCMessage *draw_message(struct arena *a, const ProtobufCMessageDescriptor *type,
                                      int depth)
{
    ProtobufCMessage *m = arena_alloc(a, type->sizeof_message);
    char *base = (char *)m;

    assert_non_null(m);
    protobuf_c_message_init(type, m);
    pb_each_field (type, field) {
        bool message = field->type == PROTOBUF_C_TYPE_MESSAGE;
        if (field->label == PROTOBUF_C_LABEL_REPEATED)
            draw_list(a, field, base, depth);
        else if (field->label == PROTOBUF_C_LABEL_REQUIRED ||
                 (draw_below(4) && (!message || depth < DEPTH_MAX))) {
            if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
                if (*(uint32_t *)(base + field->quantifier_offset))
                    continue; /* another one of them is there */
                *(uint32_t *)(base + field->quantifier_offset) = field->id;
            } else if (field->label == PROTOBUF_C_LABEL_OPTIONAL && !message &&
                       field->type != PROTOBUF_C_TYPE_STRING) {
                *(protobuf_c_boolean *)(base + field->quantifier_offset) = 1;
            }
            draw_value(a, field, base + field->offset, depth);
        }
    }
    return m;
}

static bool is_same(const ProtobufCMessage *a, const ProtobufCMessage *b);

static bool is_same_value(const ProtobufCFieldDescriptor *field, const void *a, const void *b)
{
    const ProtobufCBinaryData *one = a, *other = b;

    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
        return strcmp(*(char *const *)a, *(char *const *)b) == 0;
    case PROTOBUF_C_TYPE_BYTES:
        return one->len == other->len &&
               (!one->len || memcmp(one->data, other->data, one->len) == 0);
    case PROTOBUF_C_TYPE_MESSAGE:
        return is_same(*(ProtobufCMessage *const *)a, *(ProtobufCMessage *const *)b);
    default:
        return memcmp(a, b, pb_value_size(field)) == 0;
    }
}

static bool is_same_field(const ProtobufCFieldDescriptor *field, const char *a, const char *b)
{
    const char *one = a + field->offset, *other = b + field->offset;
    bool pointer = field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING;

    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t count = *(const size_t *)(a + field->quantifier_offset), i = 0;
        const char *list = *(char *const *)one, *others = *(char *const *)other;
        if (count != *(const size_t *)(b + field->quantifier_offset))
            return false;
        while (i < count && is_same_value(field, list + i * pb_value_size(field),
                                          others + i * pb_value_size(field)))
            i++;
        return i == count;
    }
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        uint32_t set = *(const uint32_t *)(a + field->quantifier_offset);
        if (set != *(const uint32_t *)(b + field->quantifier_offset))
            return false;
        if (set != field->id)
            return true;
    } else if (field->label == PROTOBUF_C_LABEL_OPTIONAL && !pointer) {
        protobuf_c_boolean has = *(const protobuf_c_boolean *)(a + field->quantifier_offset);
        if (has != *(const protobuf_c_boolean *)(b + field->quantifier_offset))
            return false;
        if (!has)
            return true;
    }
    if (pointer && (!*(void *const *)one || !*(void *const *)other))
        return *(void *const *)one == *(void *const *)other;
    return is_same_value(field, one, other);
}

static bool is_same(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    if (a->descriptor != b->descriptor || a->n_unknown_fields || b->n_unknown_fields)
        return false;
    pb_each_field (a->descriptor, field) {
        if (!is_same_field(field, (const char *)a, (const char *)b)) {
            fprintf(stderr, "%s.%s differs\n", a->descriptor->name, field->name);
            return false;
        }
    }
    return true;
}

/* The token is invalid for a body of another length, since it was minted for this hash. */
static void check_frame(unsigned rpc, const struct str *bytes, size_t cut)
{
    struct rpc_header h = {.version = RPC_VERSION,
                           .rpc = (uint16_t)rpc,
                           .token_len = AUTH_TOKEN_SIZE,
                           .body_len = (uint32_t)bytes->len,
                           .id = draw()};
    uint8_t head[RPC_HEADER_SIZE], whole[AUTH_HASH_SIZE], other[AUTH_HASH_SIZE];
    struct rpc_header got;

    rpc_header_pack(&h, head);
    assert_int_equal(rpc_header_unpack(head, RPC_BODY_MAX, &got, NULL), 0);
    assert_int_equal(got.body_len, bytes->len); /* with a byte less the frame is not complete */
    rpc_frame_hash(&h, bytes->data, whole);
    h.body_len = (uint32_t)cut;
    rpc_frame_hash(&h, bytes->data, other);
    if (cut != bytes->len && memcmp(whole, other, sizeof(whole)) == 0)
        fail_msg("rpc %u: %zu bytes of %zu have the hash of all", rpc, cut, bytes->len);
}

/* The rest of a truncated message is refused, or is exactly what its bytes encode: a message
 * without the fields after the cut, which its frame refuses. */
static void check_cut(const ProtobufCMessageDescriptor *type, const struct str *bytes, size_t len)
{
    struct arena arena;
    struct str again = {0};

    arena_init(&arena, BUDGET);
    ProtobufCMessage *m = arena_unpack(&arena, type, bytes->data, len);
    if (m) {
        pb_pack(m, &again);
        assert_int_equal(again.len, len);
        assert_true(len == 0 || memcmp(again.data, bytes->data, len) == 0);
        str_done(&again);
    }
    arena_done(&arena);
}

static void check_value(unsigned rpc, const ProtobufCMessageDescriptor *type)
{
    struct arena arena;
    struct str bytes = {0}, again = {0};

    arena_init(&arena, BUDGET);
    ProtobufCMessage *sent = draw_message(&arena, type, 0);
    pb_pack(sent, &bytes);
    ProtobufCMessage *got = arena_unpack(&arena, type, bytes.data, bytes.len);
    ProtobufCMessage *lent = pb_unpack_lent(&arena, type, bytes.data, bytes.len);
    if (!got || !lent || !is_same(sent, got) || !is_same(sent, lent))
        fail_msg("%s of %zu bytes does not come back as it was", type->name, bytes.len);
    pb_pack(got, &again);
    assert_int_equal(again.len, bytes.len);
    assert_true(bytes.len == 0 || memcmp(again.data, bytes.data, bytes.len) == 0);
    for (size_t cut = bytes.len < EVERY_CUT ? 0 : draw_below(bytes.len); cut < bytes.len; cut++) {
        check_frame(rpc, &bytes, cut);
        check_cut(type, &bytes, cut);
        if (bytes.len >= EVERY_CUT)
            break;
    }
    str_putc(&bytes, (char)draw());
    check_frame(rpc, &bytes, bytes.len - 1);
    if (arena_unpack(&arena, type, bytes.data, bytes.len))
        fail_msg("%s: a byte at its end is not noticed", type->name);
    str_done(&bytes);
    str_done(&again);
    arena_done(&arena);
}

static void random_messages_are_packed_and_parsed_back(void **state)
{
    const char *seed = getenv("SLUICE_SEED"), *soak = getenv("SLUICE_SOAK");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL) / 86400;
    size_t count = soak && atoi(soak) > 0 ? (size_t)RELEASE * (size_t)atoi(soak) / 100 : SAMPLE;
    const ProtobufCMessageDescriptor *seen[500];
    size_t kinds = 0;

    chance = (first + 1) * 0x9e3779b97f4a7c15ULL;
    print_message("SLUICE_SEED=%llu\n", (unsigned long long)first);
    for (unsigned number = 0; number < 2 * 1000; number++) {
        const struct rpc_info *rpc = rpc_find(number / 2);
        const ProtobufCMessageDescriptor *type = !rpc         ? NULL
                                                 : number % 2 ? rpc->reply
                                                              : rpc->request;
        bool known = !type;
        for (size_t i = 0; i < kinds && !known; i++)
            known = seen[i] == type;
        for (size_t i = 0; i < count && !known; i++)
            check_value(number / 2, type);
        assert_true(kinds < sizeof(seen) / sizeof(seen[0]));
        if (!known)
            seen[kinds++] = type;
    }
    print_message("%zu values of each of %zu messages\n", count, kinds);
    assert_true(kinds > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_messages_are_packed_and_parsed_back)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
