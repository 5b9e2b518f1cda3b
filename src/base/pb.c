/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/pb.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

#define LENT_MIN 4096 /* bytes: a shorter field is copied faster than it is searched for */

const ProtobufCFieldDescriptor *pb_find_field(const ProtobufCMessageDescriptor *type,
                                              const char *name)
{
    return protobuf_c_message_descriptor_get_field_by_name(type, name);
}

void pb_fields_put(struct pb_fields *s, unsigned number, bool in)
{
    assert(number < PB_FIELD_WORDS * 64);
    uint64_t bit = UINT64_C(1) << (number % 64);
    s->words[number / 64] = in ? s->words[number / 64] | bit : s->words[number / 64] & ~bit;
}

void pb_fields_add(struct pb_fields *s, const ProtobufCMessageDescriptor *type, const char *names)
{
    while (*names) {
        char name[32];
        size_t len = strcspn(names, " ");
        assert(len < sizeof(name));
        memcpy(name, names, len);
        name[len] = '\0';
        const ProtobufCFieldDescriptor *field = pb_find_field(type, name);
        assert(field);
        pb_fields_put(s, field->id, true);
        names += len + (names[len] == ' ');
    }
}

bool pb_fields_are_all(const struct pb_fields *s)
{
    for (size_t i = 0; i < PB_FIELD_WORDS; i++)
        if (s->words[i] != UINT64_MAX)
            return false;
    return true;
}

struct pb_fields pb_fields_read(const uint64_t *words, size_t count)
{
    struct pb_fields s = count ? (struct pb_fields){0} : PB_ALL_FIELDS;
    for (size_t i = 0; i < count && i < PB_FIELD_WORDS; i++)
        s.words[i] = words[i];
    return s;
}

size_t pb_value_size(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}

static bool is_pointer(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE;
}

static const void *field_value(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *field)
{
    return (const char *)m + field->offset;
}

bool pb_has(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *field)
{
    if (field->label == PROTOBUF_C_LABEL_REQUIRED)
        return true;
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return *(const size_t *)((const char *)m + field->quantifier_offset) > 0;
    if (is_pointer(field))
        return *(void *const *)field_value(m, field) != NULL;
    return *(const protobuf_c_boolean *)((const char *)m + field->quantifier_offset);
}

void pb_copy_field(ProtobufCMessage *to, const ProtobufCMessage *from,
                   const ProtobufCFieldDescriptor *field)
{
    if (!is_pointer(field))
        memcpy((char *)to + field->quantifier_offset, (const char *)from + field->quantifier_offset,
               sizeof(protobuf_c_boolean));
    memcpy((char *)to + field->offset, field_value(from, field), pb_value_size(field));
}

bool pb_same_field(const ProtobufCMessage *a, const ProtobufCMessage *b,
                   const ProtobufCFieldDescriptor *field)
{
    if (!pb_has(a, field) || !pb_has(b, field))
        return pb_has(a, field) == pb_has(b, field);
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return strcmp(*(char *const *)field_value(a, field),
                      *(char *const *)field_value(b, field)) == 0;
    if (field->type == PROTOBUF_C_TYPE_BYTES) {
        const ProtobufCBinaryData *x = field_value(a, field), *y = field_value(b, field);
        return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
    }
    return memcmp(field_value(a, field), field_value(b, field), pb_value_size(field)) == 0;
}

static const ProtobufCFieldDescriptor *oversized_value(const ProtobufCFieldDescriptor *field,
                                                       const void *at, size_t items, size_t text)
{
    const void *p = is_pointer(field) ? *(void *const *)at : NULL;
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return p && strnlen(p, text + 1) > text ? field : NULL;
    if (field->type == PROTOBUF_C_TYPE_BYTES)
        return ((const ProtobufCBinaryData *)at)->len > text ? field : NULL;
    return field->type == PROTOBUF_C_TYPE_MESSAGE && p ? pb_find_oversized(p, items, text) : NULL;
}

const ProtobufCFieldDescriptor *pb_find_oversized(const ProtobufCMessage *m, size_t items,
                                                  size_t text)
{
    pb_each_field (m->descriptor, field) {
        bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        size_t count = 1, size = pb_value_size(field);
        if (repeated)
            count = *(const size_t *)((const char *)m + field->quantifier_offset);
        const char *at = repeated ? *(char *const *)field_value(m, field) : field_value(m, field);
        if (repeated && count > items)
            return field;
        bool plain = !is_pointer(field) && field->type != PROTOBUF_C_TYPE_BYTES;
        for (size_t i = 0; i < count && !plain; i++) {
            const ProtobufCFieldDescriptor *found =
                oversized_value(field, at + i * size, items, text);
            if (found)
                return found;
        }
    }
    return NULL;
}

/* Parses a varint at 'at'. Returns its length in bytes, and its value; 0: incomplete. */
static size_t read_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < 10 && at + i < end; i++) {
        *value |= (uint64_t)(at[i] & 0x7f) << (7 * i);
        if (!(at[i] & 0x80))
            return i + 1;
    }
    return 0;
}

/* Returns the length of the value after a tag; 0: malformed. */
static size_t wire_size(unsigned kind, const uint8_t *at, const uint8_t *end)
{
    uint64_t n;
    size_t head = read_varint(at, end, &n);
    switch (kind) {
    case 0:
        return head;
    case 1:
        return 8;
    case 2:
        return head && n <= (uint64_t)(end - at) - head ? head + (size_t)n : 0;
    case 5:
        return 4;
    default:
        return 0;
    }
}

void pb_pick_fields(const void *data, size_t len, const struct pb_fields *wanted, struct str *out)
{
    bool all = pb_fields_are_all(wanted);
    if (len == 0) /* there may be no data at all */
        return;
    const uint8_t *at = data, *end = at + len;
    while (at < end) {
        uint64_t tag;
        size_t head = read_varint(at, end, &tag);
        size_t size = head ? wire_size(tag & 7, at + head, end) : 0;
        if (!size || size > (size_t)(end - at) - head)
            return;
        if (all || pb_fields_have(wanted, tag >> 3))
            str_append(out, at, head + size);
        at += head + size;
    }
}

struct lent {
    const ProtobufCFieldDescriptor *field; /* NULL: none */
    const uint8_t *length, *at;            /* the start of its length, and of its bytes */
    size_t len;
};

/* The last of several values of a field takes effect, so a value that is followed by another is
   not lent. */
static bool find_lent(const ProtobufCMessageDescriptor *type, const uint8_t *at, const uint8_t *end,
                      struct lent *out)
{
    for (size_t head, size; at < end; at += head + size) {
        uint64_t tag, n;

        head = read_varint(at, end, &tag);
        size = head ? wire_size(tag & 7, at + head, end) : 0;
        if (!size || size > (size_t)(end - at) - head || tag >> 3 > UINT32_MAX)
            return false;
        if (out->field && (out->field->id == tag >> 3 || size >= LENT_MIN))
            return false;
        if ((tag & 7) != 2 || size < LENT_MIN)
            continue;
        out->field = protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3));
        if (!out->field || out->field->type != PROTOBUF_C_TYPE_BYTES ||
            out->field->label == PROTOBUF_C_LABEL_REPEATED)
            return false;
        out->length = at + head;
        out->at = out->length + read_varint(out->length, end, &n);
        out->len = (size_t)n;
    }
    return out->field;
}

/* Unpacks the message with an empty field. */
void *pb_unpack_lent(struct arena *a, const ProtobufCMessageDescriptor *type, const void *data,
                     size_t len)
{
    _cleanup_str_ struct str rest = STR_INIT;
    const uint8_t *bytes = data, *behind;
    struct lent lent = {0};
    ProtobufCMessage *m;

    if (len < LENT_MIN || !find_lent(type, bytes, bytes + len, &lent))
        return arena_unpack(a, type, data, len);
    behind = lent.at + lent.len;
    str_append(&rest, bytes, (size_t)(lent.length - bytes));
    str_putc(&rest, 0);
    str_append(&rest, behind, (size_t)(bytes + len - behind));
    m = arena_unpack(a, type, rest.data, rest.len);
    if (m)
        *(ProtobufCBinaryData *)((char *)m + lent.field->offset) =
            (ProtobufCBinaryData){lent.len, (uint8_t *)lent.at};
    return m;
}

static void put_varint(struct str *out, uint64_t n)
{
    for (; n > 0x7f; n >>= 7)
        str_putc(out, (char)(n | 0x80));
    str_putc(out, (char)n);
}

void pb_pick_unknown(const ProtobufCMessage *m, struct str *out)
{
    for (unsigned i = 0; i < m->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *f = &m->unknown_fields[i];
        put_varint(out, (uint64_t)f->tag << 3 | (uint64_t)f->wire_type);
        str_append(out, f->data, f->len);
    }
}

const ProtobufCMessage *pb_find_unknown(const ProtobufCMessage *m)
{
    pb_each_field (m->descriptor, field) {
        if (field->type != PROTOBUF_C_TYPE_MESSAGE || !pb_has(m, field))
            continue;
        bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        size_t count = 1;
        if (repeated)
            count = *(const size_t *)((const char *)m + field->quantifier_offset);
        const void *list = repeated ? *(void *const *)field_value(m, field) : field_value(m, field);
        ProtobufCMessage *const *at = list;
        for (size_t i = 0; i < count; i++) {
            const ProtobufCMessage *found =
                at[i]->n_unknown_fields ? at[i] : pb_find_unknown(at[i]);
            if (found)
                return found;
        }
    }
    return NULL;
}
