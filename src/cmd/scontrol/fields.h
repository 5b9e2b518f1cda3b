/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets members of messages from "Key=value" words, by the tables update_*.def.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum field_type {
    FIELD_TEXT,
    FIELD_UPPER, /* text, converted to upper case */
    FIELD_HOSTS, /* a host list */
    FIELD_BOOL,
    FIELD_NUMBER,    /* uint32_t */
    FIELD_COUNT,     /* uint32_t, or UNLIMITED: UINT32_MAX */
    FIELD_SIGNED,    /* int32_t */
    FIELD_MEMORY,    /* uint64_t, MiB; UNLIMITED: 0 */
    FIELD_LIMIT,     /* int64_t, seconds, given in minutes; NONE: 0 */
    FIELD_SECONDS,   /* int64_t, seconds */
    FIELD_WHOLE,     /* int64_t, -1 or higher */
    FIELD_DATE,      /* int64_t, wall seconds */
    FIELD_SWITCHES,  /* of a job: "count[@time]", in two members */
    FIELD_SPECIAL,   /* not a plain member: 'offset' is an enum field_special */
    FIELD_NO_EFFECT, /* accepted without effect; the note explains why */
    FIELD_REFUSED,   /* rejected; the note says what to do instead */
    FIELD_PLANNED,   /* rejected unless empty or "none"; the note says what is missing */
};
enum field_special { /* special keys of jobs; update.c sets them */
                     SPECIAL_cpu_count,
                     SPECIAL_end_time,
                     SPECIAL_gres,
                     SPECIAL_keep_nodes,
                     SPECIAL_nice,
                     SPECIAL_node_count,
                     SPECIAL_priority,
                     SPECIAL_reset_accrue,
                     SPECIAL_throttle,
                     SPECIAL_time_limit,
};
struct field {
    const char *key;
    enum field_type type;
    size_t offset, has_offset; /* offsets of the member and of its has_ flag; 0: none */
    const char *note;          /* NULL: the key is supported */
};
extern const struct field fields_job[], fields_part[], fields_node[],
    fields_resv[]; /* each ends with key NULL */

/* Finds the row of a key, given in full or abbreviated to at least three letters. NULL: unknown. */
const struct field *field_find(const struct field *table, const char *key, size_t len);

/* Sets a member of a message; text is copied into the arena. Returns -ERR_PARSE, naming key and
 * value, for an invalid value. Not for FIELD_SPECIAL. The user is told once about a key without
 * effect. */
int field_set(const struct field *f, const char *value, void *message, struct arena *arena,
              struct err *err);

/* Joins a value of Nodes=, or of Nodes+= and Nodes-= with its sign, to 'before', the value of the
 * command's earlier Nodes keys (NULL: none). Returns -ERR_PARSE if one of them is a complete list.
 */
int field_join_nodes(const char *before, char sign, const char *value, struct arena *arena,
                     char **joined, struct err *err);
