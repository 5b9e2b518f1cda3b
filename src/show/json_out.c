/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/json_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "base/mem.h"
#include "base/text.h"
#include "show/names.h"

json_t *json_out_text(const char *s)
{
    json_t *text = json_string(s ? s : "");
    if (text || !s)
        return text;
    _cleanup_str_ struct str clean = STR_INIT;
    for (size_t left = strlen(s), n; left; s += n, left -= n) {
        bool harmful;
        n = text_next(s, left, &harmful);
        if (harmful && n == 1 && (unsigned char)*s >= 0x80) /* invalid UTF-8 */
            str_puts(&clean, "\xef\xbf\xbd");
        else
            str_append(&clean, s, n);
    }
    return json_string(str_cstr(&clean));
}

json_t *json_out_list(const char *list)
{
    json_t *array = json_array();
    for (const char *s = list; s && *s;) {
        size_t len = strcspn(s, ",");
        _cleanup_free_ char *word = mem_strndup(s, len);
        if (len)
            json_array_append_new(array, json_out_text(word));
        s += len + (s[len] == ',');
    }
    return array;
}

json_t *json_out_number(bool set, bool infinite, int64_t n)
{
    return json_pack("{s:b, s:b, s:I}", "set", set && !infinite, "infinite", infinite, "number",
                     (json_int_t)(set && !infinite ? n : 0));
}

static int64_t stamp_update = -1, stamp_backfill = -1;

void json_out_stamp(int64_t last_update, int64_t last_backfill)
{
    stamp_update = last_update;
    stamp_backfill = last_backfill;
}

static json_t *pack_meta(const struct json_out_source *source)
{
    const char *terminal = isatty(STDIN_FILENO) ? ttyname(STDIN_FILENO) : NULL;
    return json_pack("{s:{s:s, s:s, s:s, s:s}, s:{s:s, s:s, s:s}, s:[s],"
                     " s:{s:{s:s, s:s, s:s}, s:s, s:s}}",
                     "plugin", "type", "sluice", "name", "Sluice " SLUICE_VERSION, "data_parser",
                     JSON_OUT_PARSER, "accounting_storage", "", "client", "source",
                     terminal ? terminal : "", "user", names_user(geteuid()), "group",
                     names_group(getegid()), "command", source->command, "slurm", "version",
                     "major", "26", "micro", "0", "minor", "05", "release", SLURM_VERSION,
                     "cluster", source->cluster);
}

static bool is_compact(const char *variable)
{
    const char *value = getenv(variable);
    return value && strstr(value, "compact");
}

static int to_str(void *ctx, unsigned char *data, size_t len)
{
    str_append(ctx, data, len);
    return 1;
}

/* Whether readers would take the plain scalar for a number, a boolean or null, or the text needs
 * escapes. */
static bool must_quote(const char *s)
{
    static const char *const words[] = {"",    "~",  "null", "true", "false", "on", "off",
                                        "yes", "no", "y",    "n",    ".nan",  "<<", "="};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (str_case_eq(s, words[i]))
            return true;
    for (size_t left = strlen(s), at = 0, n; at < left; at += n) {
        bool harmful;
        n = text_next(s + at, left - at, &harmful);
        if (harmful) /* quoted text has escapes as \u202e */
            return true;
    }
    /* Numbers of any base, times, dates and ".inf". */
    return strchr("0123456789+-.", s[0]) && strpbrk(s, "0123456789.") &&
           strspn(s, "0123456789abcdefABCDEFinfINFoOxX.+-_:TtZz ") == strlen(s);
}

static void emit_text(yaml_emitter_t *e, const char *s, bool plain)
{
    yaml_event_t event;
    yaml_scalar_event_initialize(&event, NULL, NULL, (yaml_char_t *)s, (int)strlen(s), 1, 1,
                                 plain || !must_quote(s) ? YAML_ANY_SCALAR_STYLE
                                                         : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
    yaml_emitter_emit(e, &event);
}

static yaml_mapping_style_t style_of_mapping(void)
{
    return is_compact("SLURM_YAML") ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE;
}

static yaml_sequence_style_t style_of_sequence(void)
{
    return is_compact("SLURM_YAML") ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE;
}

static void emit_value(yaml_emitter_t *e, const json_t *value)
{
    yaml_event_t event;
    const char *key;
    json_t *item;
    size_t i;
    char number[32];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, style_of_mapping());
        yaml_emitter_emit(e, &event);
        json_object_foreach((json_t *)value, key, item)
        {
            emit_text(e, key, false);
            emit_value(e, item);
        }
        yaml_mapping_end_event_initialize(&event);
        yaml_emitter_emit(e, &event);
        break;
    case JSON_ARRAY:
        yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, style_of_sequence());
        yaml_emitter_emit(e, &event);
        json_array_foreach(value, i, item) emit_value(e, item);
        yaml_sequence_end_event_initialize(&event);
        yaml_emitter_emit(e, &event);
        break;
    case JSON_STRING:
        emit_text(e, json_string_value(value), false);
        break;
    case JSON_INTEGER:
        snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
        emit_text(e, number, true);
        break;
    case JSON_REAL:
        snprintf(number, sizeof(number), "%.17g", json_real_value(value));
        if (!strpbrk(number, ".e")) /* otherwise readers take the number for an integer */
            snprintf(number, sizeof(number), "%.1f", json_real_value(value));
        emit_text(e, number, true);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        emit_text(e, json_is_true(value) ? "true" : "false", true);
        break;
    default:
        emit_text(e, "null", true);
        break;
    }
}

void json_out_yaml(const json_t *value, struct str *out)
{
    yaml_emitter_t e;
    yaml_event_t event;
    yaml_emitter_initialize(&e);
    yaml_emitter_set_output(&e, to_str, out);
    yaml_emitter_set_unicode(&e, 1);
    yaml_emitter_set_width(&e, -1);
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    yaml_emitter_emit(&e, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
    yaml_emitter_emit(&e, &event);
    emit_value(&e, value);
    yaml_document_end_event_initialize(&event, 1);
    yaml_emitter_emit(&e, &event);
    yaml_stream_end_event_initialize(&event);
    yaml_emitter_emit(&e, &event);
    yaml_emitter_delete(&e);
}

static int to_out(const char *data, size_t len, void *ctx)
{
    str_append(ctx, data, len);
    return 0;
}

void json_out_print(const struct json_out_source *source, const char *what, json_t *array,
                    bool yaml, struct str *out)
{
    json_out_print_all(source, json_pack("{s:o}", what, array), yaml, out);
}

void json_out_print_all(const struct json_out_source *source, json_t *top, bool yaml,
                        struct str *out)
{
    if (stamp_backfill >= 0)
        json_object_set_new(top, "last_backfill", json_out_number(true, false, stamp_backfill));
    if (stamp_update >= 0)
        json_object_set_new(top, "last_update", json_out_number(true, false, stamp_update));
    json_object_set_new(top, "meta", pack_meta(source));
    json_object_set_new(top, "errors", json_array());
    json_object_set_new(top, "warnings", json_array());
    if (yaml) {
        _cleanup_str_ struct str text = STR_INIT;

        json_out_yaml(top, &text);
        text_escape_json(str_cstr(&text), out);
    } else {
        _cleanup_str_ struct str text = STR_INIT;

        json_dump_callback(top, to_out, &text,
                           is_compact("SLURM_JSON") ? JSON_COMPACT : JSON_INDENT(2));
        text_escape_json(str_cstr(&text), out);
        str_putc(out, '\n');
    }
    json_decref(top);
}
