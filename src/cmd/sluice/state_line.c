/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sluice/state_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/sluice/state_json.h"
#include "control/env.h"
#include "proto/ctl.pb-c.h"
#include "proto/event.pb-c.h"
#include "proto/job.pb-c.h"
#include "proto/license.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"
#include "proto/resv.pb-c.h"
#include "proto/trigger.pb-c.h"

static const struct {
    enum record_kind kind;
    const char *name;
    const ProtobufCMessageDescriptor *type;
} kinds[] = {
    {RECORD_META, "meta", &pb__store_meta__descriptor},
    {RECORD_JOB, "job", &pb__job_record__descriptor},
    {RECORD_PAYLOAD, "payload", &pb__job_payload__descriptor},
    {RECORD_NODE, "node", &pb__node_record__descriptor},
    {RECORD_PART, "partition", &pb__part_change__descriptor},
    {RECORD_MADE, "made", &pb__nodes_made__descriptor},
    {RECORD_GIVEN_UP, "given_up", &pb__empty__descriptor},
    {RECORD_SHUTDOWN, "shutdown", &pb__announced__descriptor},
    {RECORD_ARRAY, "array", &pb__array_record__descriptor},
    {RECORD_RESV, "reservation", &pb__resv_record__descriptor},
    {RECORD_TRIGGER, "trigger", &pb__trigger_record__descriptor},
    {RECORD_EVENT, "event", &pb__event__descriptor},
    {RECORD_CONSUMER, "event_consumer", &pb__event_consumer__descriptor},
    {RECORD_LICENSE, "license_count", &pb__license_count__descriptor},
    {RECORD_ATTEMPT, "attempt", &pb__event__descriptor},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* --- out ---------------------------------------------------------------------------------------
 */

static int find_record_kind(uint32_t kind)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].kind == kind)
            return i;
    return -1;
}

/* An unknown kind is written as its number. */
static void put_key(json_t *object, const struct state_line *l)
{
    int k = find_record_kind(l->kind);
    json_object_set_new(object, "kind", k < 0 ? json_integer(l->kind) : json_string(kinds[k].name));
    if (l->name)
        json_object_set_new(object, "name", state_json_text(l->name));
    else
        json_object_set_new(object, "number", json_integer((json_int_t)l->number));
}

static json_t *record_json(const struct state_line *l)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    json_t *line = json_object();
    int k = find_record_kind(l->kind);
    const ProtobufCMessage *m = k < 0 ? NULL : arena_unpack(&arena, kinds[k].type, l->data, l->len);
    put_key(line, l);
    if (m)
        json_object_set_new(line, "record", state_json_message(m));
    else
        json_object_set_new(line, "raw", state_json_bytes(l->data, l->len));
    return line;
}

static json_t *aside_json(const struct state_line *l)
{
    json_t *inner = json_object();
    put_key(inner, l);
    json_object_set_new(inner, "why", state_json_text(l->why));
    json_object_set_new(inner, "raw", state_json_bytes(l->data, l->len));
    return json_pack("{s:o}", "aside", inner);
}

static json_t *line_json(const struct state_line *l)
{
    char sum[16];
    switch (l->sort) {
    case STATE_HEAD:
        return json_pack("{s:{s:i, s:I, s:o, s:o}}", "sluice_state", "version", STATE_LINES_VERSION,
                         "format", (json_int_t)l->format, "program", state_json_text(l->program),
                         "cluster", state_json_text(l->cluster));
    case STATE_ASIDE:
        return aside_json(l);
    case STATE_END:
        snprintf(sum, sizeof(sum), "%08x", l->sum);
        return json_pack("{s:{s:I, s:I, s:s}}", "end", "records", (json_int_t)l->records, "aside",
                         (json_int_t)l->asides, "crc32c", sum);
    default:
        return record_json(l);
    }
}

static int to_str(const char *data, size_t len, void *ctx)
{
    str_append(ctx, data, len);
    return 0;
}

void state_line_format(const struct state_line *line, struct str *out)
{
    json_t *json = line_json(line);
    json_dump_callback(json, to_str, out, JSON_COMPACT);
    json_decref(json);
    str_putc(out, '\n');
}

/* --- in ----------------------------------------------------------------------------------------
 */

static bool has_only(const json_t *object, const char *const *names)
{
    const char *name;
    json_t *item;
    json_object_foreach((json_t *)object, name, item)
    {
        const char *const *n = names;
        while (*n && strcmp(*n, name) != 0)
            n++;
        if (!*n)
            return false;
    }
    return true;
}

static bool get_number(const json_t *object, const char *name, uint64_t max, uint64_t *out)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > max)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static int parse_head(const json_t *head, struct arena *arena, struct state_line *l,
                      struct err *err)
{
    uint64_t version, format;
    if (!get_number(head, "version", UINT32_MAX, &version) || !version)
        return err_set(err, -ERR_PARSE, "it is not the head of a saved state");
    if (version > STATE_LINES_VERSION)
        return err_set(err, -ERR_VERSION,
                       "it was written by a newer version (lines of version %" PRIu64
                       ", this program knows %d): import it with that version",
                       version, STATE_LINES_VERSION);
    l->sort = STATE_HEAD;
    l->program = state_json_read_text(json_object_get(head, "program"), arena);
    l->cluster = state_json_read_text(json_object_get(head, "cluster"), arena);
    if (!get_number(head, "format", UINT32_MAX, &format) || !l->program || !l->cluster)
        return err_set(err, -ERR_PARSE, "it is not the head of a saved state");
    if (format > RECORD_FORMAT)
        return err_set(err, -ERR_VERSION,
                       "its records were written by a newer version (%s, format %" PRIu64
                       ", this program knows %u): import it with that version",
                       l->program, format, RECORD_FORMAT);
    l->format = (uint32_t)format;
    return 0;
}

static int parse_end(const json_t *end, struct state_line *l, struct err *err)
{
    static const char *const names[] = {"records", "aside", "crc32c", NULL};
    const char *sum = json_string_value(json_object_get(end, "crc32c"));
    l->sort = STATE_END;
    if (!has_only(end, names) || !get_number(end, "records", INT64_MAX, &l->records) ||
        !get_number(end, "aside", INT64_MAX, &l->asides) || !sum || strlen(sum) != 8 ||
        strspn(sum, "0123456789abcdef") != 8)
        return err_set(err, -ERR_PARSE, "it is not the end of a saved state");
    l->sum = (uint32_t)strtoul(sum, NULL, 16);
    return 0;
}

static bool parse_key(const json_t *object, struct arena *arena, struct state_line *l)
{
    const json_t *kind = json_object_get(object, "kind"), *name = json_object_get(object, "name");
    uint64_t number = 0;
    if (json_is_string(kind)) {
        for (int i = 0; i < KINDS; i++)
            if (str_eq(kinds[i].name, json_string_value(kind)))
                l->kind = (uint32_t)kinds[i].kind;
    } else if (get_number(object, "kind", UINT32_MAX, &number) &&
               find_record_kind((uint32_t)number) < 0) {
        l->kind = (uint32_t)number;
    }
    if (!l->kind || !name == !json_object_get(object, "number"))
        return false;
    l->name = name ? state_json_read_text(name, arena) : NULL;
    return name ? l->name != NULL : get_number(object, "number", INT64_MAX, &l->number);
}

static int parse_raw(const json_t *raw, struct arena *arena, struct state_line *l, struct err *err)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    if (state_json_read_bytes(raw, &bytes))
        return err_set(err, -ERR_PARSE, "raw: invalid base64");
    char *copy = arena_alloc(arena, bytes.len + 1);
    memcpy(copy, str_cstr(&bytes), bytes.len);
    l->data = copy;
    l->len = bytes.len;
    return 0;
}

static int parse_aside(const json_t *aside, struct arena *arena, struct state_line *l,
                       struct err *err)
{
    static const char *const names[] = {"kind", "number", "name", "why", "raw", NULL};
    l->sort = STATE_ASIDE;
    l->why = state_json_read_text(json_object_get(aside, "why"), arena);
    if (!has_only(aside, names) || !parse_key(aside, arena, l) || !l->why)
        return err_set(err, -ERR_PARSE, "this is not a record that was set aside");
    return parse_raw(json_object_get(aside, "raw"), arena, l, err);
}

static int parse_record(const json_t *line, struct arena *arena, struct state_line *l,
                        struct err *err)
{
    static const char *const names[] = {"kind", "number", "name", "record", "raw", NULL};
    const json_t *record = json_object_get(line, "record"), *raw = json_object_get(line, "raw");
    _cleanup_str_ struct str who = STR_INIT, packed = STR_INIT;
    ProtobufCMessage *m = NULL;
    if (!has_only(line, names) || !parse_key(line, arena, l) || !record == !raw)
        return err_set(err, -ERR_PARSE, "this is not a line of a saved state");
    l->sort = l->name ? STATE_NAMED : STATE_NUMBERED;
    int k = find_record_kind(l->kind);
    if (raw)
        return parse_raw(raw, arena, l, err);
    state_line_name(l, &who);
    int rc = k < 0 ? err_set(err, -ERR_PARSE, "a record of an unknown kind")
                   : state_json_read(record, kinds[k].type, arena, &m, err);
    if (rc)
        return err_prefix(err, "%s", str_cstr(&who));
    pb_pack(m, &packed);
    char *copy = arena_alloc(arena, packed.len + 1);
    memcpy(copy, str_cstr(&packed), packed.len);
    l->data = copy;
    l->len = packed.len;
    return 0;
}

int state_line_parse(const char *text, size_t len, struct arena *arena, struct state_line *out,
                     struct err *err)
{
    json_error_t why;
    json_t *line = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why), *inner;
    struct state_line l = {0};
    int rc;
    if (!json_is_object(line))
        rc = err_set(err, -ERR_PARSE, "invalid JSON object%s%s", line ? "" : ": ",
                     line ? "" : why.text);
    else if ((inner = json_object_get(line, "sluice_state")) && json_object_size(line) == 1)
        rc = parse_head(inner, arena, &l, err);
    else if ((inner = json_object_get(line, "aside")) && json_object_size(line) == 1)
        rc = parse_aside(inner, arena, &l, err);
    else if ((inner = json_object_get(line, "end")) && json_object_size(line) == 1)
        rc = parse_end(inner, &l, err);
    else
        rc = parse_record(line, arena, &l, err);
    json_decref(line);
    if (rc == 0)
        *out = l;
    return rc;
}

/* --- order -------------------------------------------------------------------------------------
 */

int state_line_order(const struct state_line *a, const struct state_line *b)
{
    if (a->sort != b->sort)
        return a->sort < b->sort ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (!a->name != !b->name)
        return a->name ? 1 : -1;
    int by = a->name ? strcmp(a->name, b->name) : (a->number > b->number) - (a->number < b->number);
    if (by || a->sort != STATE_ASIDE) /* several records set aside may have the same key */
        return by;
    by = strcmp(a->why, b->why);
    if (by == 0)
        by = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);
    return by ? by : (a->len > b->len) - (a->len < b->len);
}

void state_line_name(const struct state_line *l, struct str *out)
{
    int k = find_record_kind(l->kind);
    if (k < 0)
        str_printf(out, "kind %u", l->kind);
    else
        str_puts(out, kinds[k].name);
    if (l->name)
        str_printf(out, " %s", l->name);
    else if (l->kind != RECORD_META && l->kind != RECORD_MADE && l->kind != RECORD_SHUTDOWN)
        str_printf(out, " %" PRIu64, l->number);
}
