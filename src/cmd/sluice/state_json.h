/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any message as JSON, and back. As ProtoJSON has it, with the names of the .proto files: numbers
 * of 64 bits are texts, enums their names, bytes are base64. Two things are our own: a text that is
 * no UTF-8 is {"base64": ...}, and what the type does not know is "@unknown", base64 of the packed
 * fields. Only what is there is said, so nothing is lost on the way and back.
 */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

json_t *state_json_message(const ProtobufCMessage *m);
json_t *state_json_text(const char *s);
json_t *state_json_bytes(const void *data, size_t len);

/* A message of this type in the arena; -ERR_PARSE names the field. */
int state_json_read(const json_t *value, const ProtobufCMessageDescriptor *type,
                    struct arena *arena, ProtobufCMessage **out, struct err *err);
/* NULL: it is no such thing. */
char *state_json_read_text(const json_t *value, struct arena *arena);
int state_json_read_bytes(const json_t *value, struct str *out); /* -ERR_PARSE */
