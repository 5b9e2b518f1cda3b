/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests that change a message field by field: candidate values for each field. */
#pragma once

#include <string.h>

#include "base/arena.h"
#include "base/pb.h"

static const char *const pb_test_texts[] = {"word",
                                            "n[1-2]",
                                            "1,3",
                                            "BEGIN,FAIL",
                                            "gpu:2",
                                            "0-5:2,7%3",
                                            "/d/%j",
                                            "1000000-2000000:performance",
                                            "enforce-binding",
                                            "YES:2",
                                            "DRAIN",
                                            "Resources",
                                            "EXCLUSIVE"};
static const int64_t pb_test_numbers[] = {0, 1, 2, 3, 100, 4000, 1999000, 2001000, 2};

static inline void *pb_test_message(const ProtobufCMessageDescriptor *type, struct arena *a);

/* Sets candidate number i; false: there is none. */
static inline bool pb_test_set(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f, size_t i,
                               struct arena *a)
{
    size_t size = pb_value_size(f);
    union {
        char *text;
        void *message;
        int64_t number;
        ProtobufCBinaryData data;
    } value = {0};
    if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
        value.message = pb_test_message(f->descriptor, a);
        if (i)
            return false;
    } else if (f->type == PROTOBUF_C_TYPE_BYTES) {
        value.data = (ProtobufCBinaryData){.len = 1, .data = (uint8_t *)arena_strdup(a, "\3")};
        if (i)
            return false;
    } else if (f->type == PROTOBUF_C_TYPE_STRING) {
        if (i >= sizeof pb_test_texts / sizeof pb_test_texts[0])
            return false;
        value.text = arena_strdup(a, pb_test_texts[i]);
    } else {
        if (i >= (f->type == PROTOBUF_C_TYPE_BOOL
                      ? 2
                      : sizeof pb_test_numbers / sizeof pb_test_numbers[0]))
            return false;
        value.number = pb_test_numbers[i]; /* little-endian: the low bytes come first */
    }
    void *at = (char *)m + f->offset;
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        char *list = arena_alloc(a, 2 * size);
        memcpy(list, &value, size);
        memcpy(list + size, &value, size);
        *(void **)at = list;
        *(size_t *)((char *)m + f->quantifier_offset) = 2;
        return true;
    }
    memcpy(at, &value, size);
    if (f->label == PROTOBUF_C_LABEL_OPTIONAL && f->quantifier_offset)
        *(protobuf_c_boolean *)((char *)m + f->quantifier_offset) = 1;
    return true;
}

/* Returns a message with a value in each field. */
static inline void *pb_test_message(const ProtobufCMessageDescriptor *type, struct arena *a)
{
    ProtobufCMessage *m = arena_alloc(a, type->sizeof_message);
    type->message_init(m);
    pb_each_field (type, f)
        if (!pb_test_set(m, f, 1, a))
            pb_test_set(m, f, 0, a);
    return m;
}
