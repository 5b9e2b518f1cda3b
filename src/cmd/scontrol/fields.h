/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * "Key=value" into members of messages, by the tables update_*.def.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum field_type {
    FIELD_TEXT,
    FIELD_UPPER, /* text in capitals */
    FIELD_HOSTS, /* a host list */
    FIELD_BOOL,
    FIELD_NUMBER,    /* uint32_t */
    FIELD_COUNT,     /* uint32_t, or UNLIMITED: UINT32_MAX */
    FIELD_SIGNED,    /* int32_t */
    FIELD_MEMORY,    /* uint64_t, MiB; UNLIMITED: 0 */
    FIELD_LIMIT,     /* int64_t, seconds out of minutes; NONE: 0 */
    FIELD_SECONDS,   /* int64_t, seconds */
    FIELD_WHOLE,     /* int64_t, -1 and more */
    FIELD_DATE,      /* int64_t, wall seconds */
    FIELD_SWITCHES,  /* of a job: "count[@time]", in two members */
    FIELD_SPECIAL,   /* no plain member: 'offset' is an enum field_special */
    FIELD_NO_EFFECT, /* accepted; the note says why nothing changes */
    FIELD_REFUSED,   /* refused; the note says what to do instead */
    FIELD_PLANNED,   /* refused unless empty or "none"; the note says what is missing */
};
enum field_special { /* of jobs; update.c sets them */
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
    size_t offset, has_offset; /* of the member and its has_ flag; 0: none */
    const char *note;          /* NULL: the key works */
};
extern const struct field fields_job[], fields_part[], fields_node[],
    fields_resv[]; /* end with key NULL */

/* The row of a key: the whole one, or of three letters and more the beginning of one. NULL:
 * unknown. */
const struct field *field_find(const struct field *table, const char *key, size_t len);

/* Sets a member of a message; text is copied into the arena. -ERR_PARSE names key and value. Not
 * for FIELD_SPECIAL. A key without effect is reported to the user once. */
int field_set(const struct field *f, const char *value, void *message, struct arena *arena,
              struct err *err);

/* A value of Nodes=, behind Nodes+= and Nodes-= with their sign, joined to 'before', the value of
 * another Nodes key of the command (NULL: none). -ERR_PARSE: one of them is the whole list. */
int field_join_nodes(const char *before, char sign, const char *value, struct arena *arena,
                     char **joined, struct err *err);
