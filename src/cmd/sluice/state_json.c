/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sluice/state_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/pb.h"

#define UNKNOWN "@unknown" /* cannot be the name of a field */

/* --- base64 ------------------------------------------------------------------------------------
 */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

json_t *state_json_bytes(const void *data, size_t len)
{
    const uint8_t *in = data;
    _cleanup_str_ struct str out = STR_INIT;
    str_reserve(&out, len / 3 * 4 + 4);
    for (size_t i = 0; i < len; i += 3) {
        uint32_t three = (uint32_t)in[i] << 16 | (i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0) |
                         (i + 2 < len ? in[i + 2] : 0);
        char four[4] = {digits[three >> 18], digits[three >> 12 & 63], '=', '='};
        if (i + 1 < len)
            four[2] = digits[three >> 6 & 63];
        if (i + 2 < len)
            four[3] = digits[three & 63];
        str_append(&out, four, 4);
    }
    return json_string(str_cstr(&out));
}

static int digit_value(char c)
{
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Each value has one form: only digits, with padding, and without spare bits. */
int state_json_read_bytes(const json_t *value, struct str *out)
{
    const char *in = json_string_value(value);
    size_t len = json_string_length(value);
    if (!in || len % 4)
        return -ERR_PARSE;
    for (size_t i = 0; i < len; i += 4) {
        bool last = i + 4 == len;
        size_t pad = last ? (size_t)(in[i + 3] == '=') + (in[i + 2] == '=') : 0;
        uint32_t three = 0;
        for (size_t k = 0; k < 4; k++) {
            int d = k >= 4 - pad ? (in[i + k] == '=' ? 0 : -1) : digit_value(in[i + k]);
            if (d < 0)
                return -ERR_PARSE;
            three = three << 6 | (uint32_t)d;
        }
        if (pad && three & (pad == 1 ? 0xff : 0xffff))
            return -ERR_PARSE;
        const char bytes[3] = {(char)(three >> 16), (char)(three >> 8), (char)three};
        str_append(out, bytes, 3 - pad);
    }
    return 0;
}

/* --- to JSON -----------------------------------------------------------------------------------
 */

json_t *state_json_text(const char *s)
{
    json_t *text = json_string(s);
    return text ? text : json_pack("{s:o}", "base64", state_json_bytes(s, strlen(s)));
}

static json_t *number_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static json_t *number_text(const char *fmt, ...)
{
    char text[24];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return json_string(text);
}

/* A number without a name stays a number. */
static json_t *enum_value(const ProtobufCFieldDescriptor *field, int number)
{
    const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(field->descriptor, number);
    return v ? json_string(v->name) : json_integer(number);
}

/* Only the types that the project's messages use. */
static json_t *value_json(const ProtobufCFieldDescriptor *field, const void *at)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return json_integer(*(const int32_t *)at);
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        return json_integer(*(const uint32_t *)at);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return number_text("%" PRId64, *(const int64_t *)at);
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        return number_text("%" PRIu64, *(const uint64_t *)at);
    case PROTOBUF_C_TYPE_BOOL:
        return json_boolean(*(const protobuf_c_boolean *)at);
    case PROTOBUF_C_TYPE_ENUM:
        return enum_value(field, *(const int *)at);
    case PROTOBUF_C_TYPE_STRING:
        return state_json_text(*(const char *const *)at);
    case PROTOBUF_C_TYPE_BYTES: {
        const ProtobufCBinaryData *bytes = at;
        return state_json_bytes(bytes->data, bytes->len);
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        return state_json_message(*(const ProtobufCMessage *const *)at);
    default:
        return json_null();
    }
}

static json_t *list_json(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *field)
{
    size_t count = *(const size_t *)((const char *)m + field->quantifier_offset);
    const char *list = *(char *const *)((const char *)m + field->offset);
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, value_json(field, list + i * pb_value_size(field)));
    return array;
}

json_t *state_json_message(const ProtobufCMessage *m)
{
    json_t *object = json_object();
    _cleanup_str_ struct str unknown = STR_INIT;
    pb_each_field (m->descriptor, field) {
        bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        if (pb_has(m, field))
            json_object_set_new(object, field->name,
                                repeated ? list_json(m, field)
                                         : value_json(field, (const char *)m + field->offset));
    }
    pb_pick_unknown(m, &unknown);
    if (unknown.len)
        json_object_set_new(object, UNKNOWN, state_json_bytes(unknown.data, unknown.len));
    return object;
}

/* --- from JSON ---------------------------------------------------------------------------------
 */

char *state_json_read_text(const json_t *value, struct arena *arena)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    if (json_is_string(value)) /* the JSON parser rejects NUL in texts */
        return arena_strdup(arena, json_string_value(value));
    if (!json_is_object(value) || json_object_size(value) != 1 ||
        state_json_read_bytes(json_object_get(value, "base64"), &bytes) ||
        memchr(str_cstr(&bytes), '\0', bytes.len))
        return NULL;
    return arena_strdup(arena, str_cstr(&bytes));
}

static bool read_integer(const json_t *value, int64_t min, int64_t max, int64_t *out)
{
    int64_t n = json_is_integer(value) ? json_integer_value(value) : 0;
    if (!json_is_integer(value) || n < min || n > max)
        return false;
    *out = n;
    return true;
}

static bool read_signed64(const json_t *value, int64_t *out)
{
    long long n;
    if (!json_is_string(value) || str_parse_i64(json_string_value(value), INT64_MIN, INT64_MAX, &n))
        return false;
    *out = n;
    return true;
}

static bool read_unsigned64(const json_t *value, uint64_t *out)
{
    const char *s = json_string_value(value);
    uint64_t n = 0;
    if (!s || !*s || strlen(s) > 20)
        return false;
    for (; *s; s++)
        if (*s < '0' || *s > '9' || __builtin_mul_overflow(n, (uint64_t)10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
            return false;
    *out = n;
    return true;
}

static bool read_enum(const json_t *value, const ProtobufCFieldDescriptor *field, int *out)
{
    int64_t n;
    if (json_is_string(value)) {
        const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value_by_name(
            field->descriptor, json_string_value(value));
        if (v)
            *out = v->value;
        return v != NULL;
    }
    if (!read_integer(value, INT32_MIN, INT32_MAX, &n))
        return false;
    *out = (int)n;
    return true;
}

static bool read_bytes(const json_t *value, struct arena *arena, ProtobufCBinaryData *out)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    if (state_json_read_bytes(value, &bytes))
        return false;
    out->data = arena_alloc(arena, bytes.len + 1);
    out->len = bytes.len;
    memcpy(out->data, str_cstr(&bytes), bytes.len);
    return true;
}

static int refuse_value(const ProtobufCFieldDescriptor *field, struct err *err)
{
    return err_set(err, -ERR_PARSE, "%s: not a value of this field", field->name);
}

static int value_read(const json_t *value, const ProtobufCFieldDescriptor *field,
                      struct arena *arena, void *at, struct err *err)
{
    int64_t n = 0;
    bool good = false;
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        good = read_integer(value, INT32_MIN, INT32_MAX, &n);
        *(int32_t *)at = (int32_t)n;
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        good = read_integer(value, 0, UINT32_MAX, &n);
        *(uint32_t *)at = (uint32_t)n;
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        good = read_signed64(value, at);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        good = read_unsigned64(value, at);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        good = json_is_boolean(value);
        *(protobuf_c_boolean *)at = json_is_true(value);
        break;
    case PROTOBUF_C_TYPE_ENUM:
        good = read_enum(value, field, at);
        break;
    case PROTOBUF_C_TYPE_STRING:
        good = (*(char **)at = state_json_read_text(value, arena)) != NULL;
        break;
    case PROTOBUF_C_TYPE_BYTES:
        good = read_bytes(value, arena, at);
        break;
    case PROTOBUF_C_TYPE_MESSAGE: {
        int rc = state_json_read(value, field->descriptor, arena, at, err);
        return rc ? err_prefix(err, "%s", field->name) : 0;
    }
    default:
        break;
    }
    return good ? 0 : refuse_value(field, err);
}

static int list_read(const json_t *value, const ProtobufCFieldDescriptor *field,
                     struct arena *arena, ProtobufCMessage *m, struct err *err)
{
    size_t count = json_array_size(value), size = pb_value_size(field);
    if (!json_is_array(value) || count == 0)
        return refuse_value(field, err);
    char *list = arena_alloc(arena, count * size);
    for (size_t i = 0; i < count; i++) {
        int rc = value_read(json_array_get(value, i), field, arena, list + i * size, err);
        if (rc)
            return rc;
    }
    *(size_t *)((char *)m + field->quantifier_offset) = count;
    *(char **)((char *)m + field->offset) = list;
    return 0;
}

static int field_read(const json_t *value, const ProtobufCFieldDescriptor *field,
                      struct arena *arena, ProtobufCMessage *m, struct err *err)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return list_read(value, field, arena, m, err);
    int rc = value_read(value, field, arena, (char *)m + field->offset, err);
    bool pointer = field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE;
    if (rc == 0 && field->label == PROTOBUF_C_LABEL_OPTIONAL && !pointer)
        *(protobuf_c_boolean *)((char *)m + field->quantifier_offset) = true;
    return rc;
}

/* Packs the known fields, appends the unknown ones, and unpacks the result. */
static int unknown_read(const json_t *value, struct arena *arena, ProtobufCMessage **m,
                        struct err *err)
{
    _cleanup_str_ struct str packed = STR_INIT, bytes = STR_INIT;
    pb_pack(*m, &packed);
    ProtobufCMessage *whole = NULL;
    if (state_json_read_bytes(value, &bytes) == 0 && bytes.len) {
        str_append(&packed, bytes.data, bytes.len);
        whole = arena_unpack(arena, (*m)->descriptor, packed.data, packed.len);
    }
    if (!whole)
        return err_set(err, -ERR_PARSE, UNKNOWN ": not packed fields");
    *m = whole;
    return 0;
}

int state_json_read(const json_t *value, const ProtobufCMessageDescriptor *type,
                    struct arena *arena, ProtobufCMessage **out, struct err *err)
{
    const char *name;
    json_t *item;
    if (!json_is_object(value))
        return err_set(err, -ERR_PARSE, "not an object");
    ProtobufCMessage *m = arena_alloc(arena, type->sizeof_message);
    type->message_init(m);
    json_object_foreach((json_t *)value, name, item)
    {
        const ProtobufCFieldDescriptor *field = pb_find_field(type, name);
        if (str_eq(name, UNKNOWN))
            continue;
        int rc = field ? field_read(item, field, arena, m, err)
                       : err_set(err, -ERR_PARSE, "%s has no field '%s'", type->short_name, name);
        if (rc)
            return rc;
    }
    pb_each_field (type, field)
        if (field->label == PROTOBUF_C_LABEL_REQUIRED && !json_object_get(value, field->name))
            return err_set(err, -ERR_PARSE, "%s: it is missing", field->name);
    item = json_object_get(value, UNKNOWN);
    int rc = item ? unknown_read(item, arena, &m, err) : 0;
    if (rc == 0)
        *out = m;
    return rc;
}
