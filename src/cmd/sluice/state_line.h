/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A saved state as lines of JSON:
 *
 *   {"sluice_state":{"version":1,"format":1,"program":"0.1.0","cluster":"c"}}
 *   {"aside":{"kind":"job","number":7,"why":"...","raw":"..."}}
 *   {"kind":"node","name":"n1","record":{...}}
 *   {"kind":"job","number":42,"record":{...}}
 *   {"end":{"records":2,"aside":1,"crc32c":"89abcdef"}}
 *
 * Records set aside come first, then named records by kind and name, then numbered records by kind
 * and number; each record occurs once. A record that cannot be decoded as the message of its kind
 * has "raw" instead of "record": base64 of its bytes. The checksum covers all bytes before the last
 * line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define STATE_LINES_VERSION 1
#define STATE_LINES_BEGIN "{\"sluice_state\":" /* the first bytes of a saved state */

enum state_line_sort { STATE_HEAD, STATE_ASIDE, STATE_NAMED, STATE_NUMBERED, STATE_END };

struct state_line {
    enum state_line_sort sort;
    /* STATE_HEAD */
    uint32_t format;
    const char *program, *cluster;
    /* a record, or a record set aside */
    uint32_t kind;
    uint64_t number;
    const char *name; /* NULL: numbered */
    const char *why;  /* why the record was set aside */
    const void *data;
    size_t len;
    /* STATE_END */
    uint64_t records, asides;
    uint32_t sum;
};

void state_line_format(const struct state_line *line, struct str *out); /* including the newline */
/* Parses a line without its newline; texts and bytes live in the arena. Returns -ERR_PARSE or
 * -ERR_VERSION. */
int state_line_parse(const char *text, size_t len, struct arena *arena, struct state_line *out,
                     struct err *err);
/* Order of two lines: negative if a must come before b; 0 if both are of the same record. */
int state_line_order(const struct state_line *a, const struct state_line *b);
/* "job 42", "node n1": for messages. */
void state_line_name(const struct state_line *line, struct str *out);
