/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Access to message fields through descriptors, so that a table of field names defines what an
 * update may change, without code per field. Only optional fields of scalar, string and bytes
 * type. Nothing is owned: a copy borrows the strings of its source.
 */
#pragma once

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/str.h"

/* Sets an optional field. */
#define SET(m, field, value) ((m)->has_##field = true, (m)->field = (value))

/* Returns the field of a message type, or NULL. */
const ProtobufCFieldDescriptor *pb_find_field(const ProtobufCMessageDescriptor *type,
                                              const char *name);

/* A set of field numbers below 576: bit N % 64 of word N / 64. A message has its words, from the
 * first on; no words mean all fields. */
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
/* Adds the fields named in a text, separated by blanks; each must be a field of the type. */
void pb_fields_add(struct pb_fields *s, const ProtobufCMessageDescriptor *type, const char *names);
bool pb_fields_are_all(const struct pb_fields *s);
struct pb_fields pb_fields_read(const uint64_t *words, size_t count);

/* Returns the size in bytes of one value of the field inside its message. */
size_t pb_value_size(const ProtobufCFieldDescriptor *field);

bool pb_has(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *field);

/* Copies a field; if it is absent in 'from', it becomes absent in 'to'. Both messages are of the
   field's type. */
void pb_copy_field(ProtobufCMessage *to, const ProtobufCMessage *from,
                   const ProtobufCFieldDescriptor *field);

/* Whether both are absent, or both have the same value. */
bool pb_same_field(const ProtobufCMessage *a, const ProtobufCMessage *b,
                   const ProtobufCFieldDescriptor *field);

/* Returns the field with a list of more than 'items' elements or a string of more than 'text'
 * bytes, in the message or in nested messages; NULL: there is none. */
const ProtobufCFieldDescriptor *pb_find_oversized(const ProtobufCMessage *m, size_t items,
                                                  size_t text);

/* Appends the wanted fields of a packed message unchanged; with all wanted, also fields with
 * numbers beyond the set. Stops at malformed data. */
void pb_pick_fields(const void *data, size_t len, const struct pb_fields *wanted, struct str *out);

/* Like arena_unpack(), but a long bytes field of the message itself, if it is the only one, is not
 * copied: it points into data, and is valid as long as data. */
void *pb_unpack_lent(struct arena *a, const ProtobufCMessageDescriptor *type, const void *data,
                     size_t len);

/* Appends the fields of a message that its type does not know, unchanged. */
void pb_pick_unknown(const ProtobufCMessage *m, struct str *out);
/* Returns the first message with unknown fields inside this one, at any depth; NULL: there is
   none. */
const ProtobufCMessage *pb_find_unknown(const ProtobufCMessage *m);

/* Works for a type without fields, which has no array. */
#define pb_each_field(type, field)                                                                 \
    for (const ProtobufCFieldDescriptor *field = (type)->fields,                                   \
                                        *field##_end = field ? field + (type)->n_fields : NULL;    \
         field != field##_end; field++)
