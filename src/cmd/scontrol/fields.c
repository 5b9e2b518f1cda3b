/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/scontrol/fields.h"

#include <string.h>
#include <time.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/timefmt.h"
#include "cli/cmd.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"
#include "proto/resv.pb-c.h"

#define KEY_LEAST 3 /* minimum length of an abbreviated key */

#define PLAIN(type, member) type, offsetof(struct MESSAGE, member), 0
#define FLAGGED(type, member)                                                                      \
    type, offsetof(struct MESSAGE, member), offsetof(struct MESSAGE, has_##member)
#define TEXT(member) PLAIN(FIELD_TEXT, member)
#define UPPER(member) PLAIN(FIELD_UPPER, member)
#define HOSTS(member) PLAIN(FIELD_HOSTS, member)
#define BOOL(member) FLAGGED(FIELD_BOOL, member)
#define NUMBER(member) FLAGGED(FIELD_NUMBER, member)
#define COUNT(member) FLAGGED(FIELD_COUNT, member)
#define SIGNED(member) FLAGGED(FIELD_SIGNED, member)
#define MEMORY(member) FLAGGED(FIELD_MEMORY, member)
#define LIMIT(member) FLAGGED(FIELD_LIMIT, member)
#define SECONDS(member) FLAGGED(FIELD_SECONDS, member)
#define DATE(member) FLAGGED(FIELD_DATE, member)
#define WHOLE(member) FLAGGED(FIELD_WHOLE, member)
#define SWITCHES(member) FLAGGED(FIELD_SWITCHES, member)
#define SPECIAL(id) FIELD_SPECIAL, SPECIAL_##id, 0
#define NO_EFFECT(note) FIELD_NO_EFFECT, 0, 0, note
#define PLANNED(note) FIELD_PLANNED, 0, 0, note
#define REFUSED(note) FIELD_REFUSED, 0, 0, note
#define UPDATE(key, action) {key, action},

const struct field fields_job[] = {
#define MESSAGE Pb__JobSpec
#include "cmd/scontrol/update_job.def"
#undef MESSAGE
    {NULL, FIELD_TEXT, 0, 0}};
const struct field fields_part[] = {
#define MESSAGE Pb__PartRecord
#include "cmd/scontrol/update_part.def"
#undef MESSAGE
    {NULL, FIELD_TEXT, 0, 0}};
const struct field fields_node[] = {
#define MESSAGE Pb__NodeUpdate
#include "cmd/scontrol/update_node.def"
#undef MESSAGE
    {NULL, FIELD_TEXT, 0, 0}};
const struct field fields_resv[] = {
#define MESSAGE Pb__ResvRecord
#include "cmd/scontrol/update_resv.def"
#undef MESSAGE
    {NULL, FIELD_TEXT, 0, 0}};

const struct field *field_find(const struct field *table, const char *key, size_t len)
{
    const struct field *near = NULL;
    for (; table->key; table++) {
        if (strncasecmp(table->key, key, len) != 0)
            continue;
        if (!table->key[len])
            return table;
        near = near ? near : table;
    }
    return len >= KEY_LEAST ? near : NULL;
}

static int parse_bool(const char *value, protobuf_c_boolean *out)
{
    static const char *const yes[] = {"YES", "Y", "1", "TRUE", "UP"};
    static const char *const no[] = {"NO", "N", "0", "FALSE", "DOWN"};
    for (size_t i = 0; i < 5; i++) {
        if (str_case_eq(value, yes[i]) || str_case_eq(value, no[i])) {
            *out = str_case_eq(value, yes[i]);
            return 0;
        }
    }
    return -ERR_PARSE;
}

static bool is_unlimited(const char *value)
{
    return str_case_eq(value, "UNLIMITED") || str_case_eq(value, "INFINITE") || str_eq(value, "-1");
}

static int parse_number(const char *value, long long min, long long max, long long *out)
{
    return str_parse_i64(value, min, max, out);
}

static int set_number(const struct field *f, const char *value, void *at)
{
    long long n = 0;
    switch (f->type) {
    case FIELD_COUNT:
        if (is_unlimited(value)) {
            *(uint32_t *)at = UINT32_MAX;
            return 0;
        }
        if (parse_number(value, 0, INT32_MAX, &n) < 0)
            return -ERR_PARSE;
        *(uint32_t *)at = (uint32_t)n;
        return 0;
    case FIELD_NUMBER:
        if (parse_number(value, 0, UINT32_MAX - 2, &n) < 0)
            return -ERR_PARSE;
        *(uint32_t *)at = (uint32_t)n;
        return 0;
    case FIELD_SIGNED:
        if (parse_number(value, -INT32_MAX, INT32_MAX, &n) < 0)
            return -ERR_PARSE;
        *(int32_t *)at = (int32_t)n;
        return 0;
    case FIELD_MEMORY:
        if (is_unlimited(value)) {
            *(uint64_t *)at = 0;
            return 0;
        }
        return size_parse_mib(value, at, NULL);
    case FIELD_SECONDS:
        if (parse_number(value, 0, INT32_MAX, &n) < 0)
            return -ERR_PARSE;
        *(int64_t *)at = n;
        return 0;
    case FIELD_WHOLE:
        if (parse_number(value, -1, INT32_MAX, &n) < 0)
            return -ERR_PARSE;
        *(int64_t *)at = n;
        return 0;
    case FIELD_LIMIT:
        if (str_case_eq(value, "NONE")) {
            *(int64_t *)at = 0;
            return 0;
        }
        return time_parse_limit(value, at, NULL);
    case FIELD_DATE:
        return time_parse_date(value, time(NULL), at, NULL);
    default:
        return -ERR_PARSE;
    }
}

/* Without a time, the wait of the job stays. */
static int set_switches(const char *value, Pb__JobSpec *spec)
{
    size_t len = strcspn(value, "@");
    _cleanup_free_ char *count = mem_strndup(value, len);
    long long n = 0;
    int64_t sec = TIME_UNLIMITED;

    if (parse_number(count, 0, UINT32_MAX - 2, &n) < 0 ||
        (value[len] && time_parse_limit(value + len + 1, &sec, NULL) < 0))
        return -ERR_PARSE;
    spec->req_switches = (uint32_t)n;
    if (value[len]) {
        spec->has_wait_switch_sec = true;
        spec->wait_switch_sec = sec;
    }
    return 0;
}

/* "+n1,-n2": the controller applies the changes to its current list. */
static bool is_edit_of_nodes(const char *value)
{
    return *value == '+' || *value == '-';
}

int field_set(const struct field *f, const char *value, void *message, struct arena *arena,
              struct err *err)
{
    void *at = (char *)message + f->offset;
    int r = 0;
    if (f->type == FIELD_REFUSED ||
        (f->type == FIELD_PLANNED && *value && !str_case_eq(value, "none")))
        return err_set(err, -ERR_NOT_SUPPORTED,
                       "Update of this parameter is not supported: %s=%s: %s", f->key, value,
                       f->note);
    if (f->type == FIELD_NO_EFFECT)
        cmd_say("warning: %s is accepted and has no effect: %s", f->key, f->note);
    if (f->type == FIELD_PLANNED || f->type == FIELD_NO_EFFECT)
        return 0;
    if (f->type == FIELD_TEXT || f->type == FIELD_UPPER || f->type == FIELD_HOSTS) {
        _cleanup_hostlist_ struct hostlist *hosts = NULL;
        struct err why = {0};
        bool is_edit = str_eq(f->key, "Nodes") && is_edit_of_nodes(value);
        if (f->type == FIELD_HOSTS && !str_case_eq(value, "ALL") && !is_edit &&
            hostlist_parse(value, &hosts, &why) < 0)
            return err_set(err, -ERR_PARSE, "%s=%s: %s", f->key, value, why.text);
        char *copy = arena_strdup(arena, value);
        for (char *c = copy; f->type == FIELD_UPPER && *c; c++)
            *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c;
        *(char **)at = copy;
    } else if (f->type == FIELD_BOOL) {
        r = parse_bool(value, at);
    } else if (f->type == FIELD_SWITCHES) {
        r = set_switches(value, message);
    } else {
        r = set_number(f, value, at);
    }
    if (r < 0)
        return err_set(err, -ERR_PARSE, "Invalid value: %s=%s", f->key, value);
    if (f->has_offset)
        *(protobuf_c_boolean *)((char *)message + f->has_offset) = 1;
    return 0;
}

int field_join_nodes(const char *before, char sign, const char *value, struct arena *arena,
                     char **joined, struct err *err)
{
    char *edit = sign ? arena_printf(arena, "%c%s", sign, value) : arena_strdup(arena, value);

    if (before && !(is_edit_of_nodes(before) && is_edit_of_nodes(edit)))
        return err_set(
            err, -ERR_PARSE,
            "Nodes=%s: it is given together with another Nodes key: write all changes as "
            "in Nodes=+n1,-n2, or the whole list",
            edit);
    *joined = before ? arena_printf(arena, "%s,%s", before, edit) : edit;
    return 0;
}
