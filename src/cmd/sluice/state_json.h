/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts any message to JSON and back. The format is ProtoJSON with the names of the .proto
 * files: 64-bit numbers are texts, enums are names, bytes are base64. There are two additions: a
 * text that is not valid UTF-8 is {"base64": ...}, and fields that the type does not know are
 * "@unknown", base64 of the packed fields. Only fields that are set are written, so nothing is lost
 * in either direction.
 */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

json_t *state_json_message(const ProtobufCMessage *m);
json_t *state_json_text(const char *s);
json_t *state_json_bytes(const void *data, size_t len);

/* Makes a message of this type in the arena; -ERR_PARSE names the field. */
int state_json_read(const json_t *value, const ProtobufCMessageDescriptor *type,
                    struct arena *arena, ProtobufCMessage **out, struct err *err);
/* NULL: not a text. */
char *state_json_read_text(const json_t *value, struct arena *arena);
int state_json_read_bytes(const json_t *value, struct str *out); /* -ERR_PARSE */
