/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages looked at field by field through their descriptors, so that a table of field names can
 * say what an update may change, and no line per field is needed to do it. Only optional fields of
 * scalar, text and bytes type. Nothing is owned: a copy borrows the texts of its source.
 */
#pragma once

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/str.h"

/* An optional field. */
#define SET(m, field, value) ((m)->has_##field = true, (m)->field = (value))

/* The field of a message type, or NULL. */
const ProtobufCFieldDescriptor *pb_find_field(const ProtobufCMessageDescriptor *type,
                                              const char *name);

/* A set of numbers of fields below 576: bit N % 64 of word N / 64. In messages it is its words,
 * from the first on; no word at all is the set of all fields. */
#define PB_FIELD_WORDS 9
struct pb_fields {
    uint64_t words[PB_FIELD_WORDS];
};
#define PB_ALL_FIELDS                                                                              \
    ((struct pb_fields){{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,   \
                         UINT64_MAX, UINT64_MAX, UINT64_MAX}})
static inline bool pb_fields_have(const struct pb_fields *s, uint64_t number)
{
    return number < PB_FIELD_WORDS * 64 && s->words[number / 64] >> (number % 64) & 1;
}
void pb_fields_put(struct pb_fields *s, unsigned number, bool in);
/* The fields that a text names, blanks between them; every one must be one of the type. */
void pb_fields_add(struct pb_fields *s, const ProtobufCMessageDescriptor *type, const char *names);
bool pb_fields_are_all(const struct pb_fields *s);
struct pb_fields pb_fields_read(const uint64_t *words, size_t count);

/* Bytes of one value of the field, where it lies in its message. */
size_t pb_value_size(const ProtobufCFieldDescriptor *field);

bool pb_has(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *field);

/* Absent in 'from': absent in 'to'. Both are of the field's type of message. */
void pb_copy_field(ProtobufCMessage *to, const ProtobufCMessage *from,
                   const ProtobufCFieldDescriptor *field);

/* Both absent, or both there with the same value. */
bool pb_same_field(const ProtobufCMessage *a, const ProtobufCMessage *b,
                   const ProtobufCFieldDescriptor *field);

/* Whether no list of the message, or of those in it, has more than 'items' elements and no text
 * more than 'text' bytes; else the field that has. */
const ProtobufCFieldDescriptor *pb_find_oversized(const ProtobufCMessage *m, size_t items,
                                                  size_t text);

/* Appends of a packed message the fields that are wanted, whole and as they came; of all, also
 * those with numbers beyond a set. Data that is cut or spoiled: what is before the fault. */
void pb_pick_fields(const void *data, size_t len, const struct pb_fields *wanted, struct str *out);

/* As arena_unpack(), but a bytes field of the message itself that is long, and the only one, stays
 * where it came: it points into data, and is valid as long as that. What is much is not copied. */
void *pb_unpack_lent(struct arena *a, const ProtobufCMessageDescriptor *type, const void *data,
                     size_t len);

/* Appends the fields of a message that its type does not know, as they came. */
void pb_pick_unknown(const ProtobufCMessage *m, struct str *out);
/* The first message within this one, however deep, that has such fields; NULL: none has. */
const ProtobufCMessage *pb_find_unknown(const ProtobufCMessage *m);

/* A type without fields has no array of them. */
#define pb_each_field(type, field)                                                                 \
    for (const ProtobufCFieldDescriptor *field = (type)->fields,                                   \
                                        *field##_end = field ? field + (type)->n_fields : NULL;    \
         field != field##_end; field++)
