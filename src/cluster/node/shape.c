/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/node/shape.h"

#include <string.h>

static const char *const fields[] = {"min_nodes",
                                     "max_nodes",
                                     "num_tasks",
                                     "cpus_per_task",
                                     "ntasks_per_node",
                                     "ntasks_per_core",
                                     "ntasks_per_socket",
                                     "threads_per_core",
                                     "min_cpus_per_node",
                                     "mem_per_node_mib",
                                     "mem_per_cpu_mib",
                                     "tmp_per_node_mib",
                                     "features",
                                     "gres",
                                     "contiguous",
                                     "exclusive",
                                     "oversubscribe",
                                     "overcommit",
                                     "nice"};
#define FIELDS (sizeof fields / sizeof *fields)

static const ProtobufCFieldDescriptor *find_field(const char *name)
{
    return protobuf_c_message_descriptor_get_field_by_name(&pb__job_spec__descriptor, name);
}

static void *field_at(const Pb__JobSpec *s, size_t offset)
{
    return (char *)(uintptr_t)s + offset;
}

/* Whether the text has no blanks. */
static bool is_one_word(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text >= 127)
            return false;
    return true;
}

static bool format_one(const Pb__JobSpec *s, const ProtobufCFieldDescriptor *f, struct str *out)
{
    const void *value = field_at(s, f->offset);
    if (f->type == PROTOBUF_C_TYPE_STRING) {
        const char *text = *(char *const *)value;
        if (!text || !*text || !is_one_word(text))
            return false;
        str_printf(out, " %s=%s", f->name, text);
        return true;
    }
    if (!*(const protobuf_c_boolean *)field_at(s, f->quantifier_offset))
        return false;
    if (f->type == PROTOBUF_C_TYPE_UINT64)
        str_printf(out, " %s=%llu", f->name, (unsigned long long)*(const uint64_t *)value);
    else if (f->type == PROTOBUF_C_TYPE_BOOL)
        str_printf(out, " %s=%d", f->name, *(const protobuf_c_boolean *)value);
    else if (f->type == PROTOBUF_C_TYPE_INT32)
        str_printf(out, " %s=%d", f->name, *(const int32_t *)value);
    else
        str_printf(out, " %s=%u", f->name, *(const uint32_t *)value);
    return true;
}

void shape_format(const Pb__JobSpec *s, struct str *out)
{
    struct str words = STR_INIT;
    for (size_t i = 0; i < FIELDS; i++)
        format_one(s, find_field(fields[i]), &words);
    if (words.len)
        str_puts(out, words.data + 1);
    str_done(&words);
}

static bool parse_shape_number(Pb__JobSpec *s, const ProtobufCFieldDescriptor *f, const char *text)
{
    long long n, min = 0, max = UINT32_MAX;
    void *value = field_at(s, f->offset);
    if (f->type == PROTOBUF_C_TYPE_UINT64)
        max = INT64_MAX;
    else if (f->type == PROTOBUF_C_TYPE_BOOL)
        max = 1;
    else if (f->type == PROTOBUF_C_TYPE_INT32)
        min = INT32_MIN, max = INT32_MAX;
    if (str_parse_i64(text, min, max, &n) != 0)
        return false;
    *(protobuf_c_boolean *)field_at(s, f->quantifier_offset) = true;
    if (f->type == PROTOBUF_C_TYPE_UINT64)
        *(uint64_t *)value = (uint64_t)n;
    else if (f->type == PROTOBUF_C_TYPE_BOOL)
        *(protobuf_c_boolean *)value = n != 0;
    else if (f->type == PROTOBUF_C_TYPE_INT32)
        *(int32_t *)value = (int32_t)n;
    else
        *(uint32_t *)value = (uint32_t)n;
    return true;
}

static bool is_shape_name(const char *name)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (str_eq(fields[i], name))
            return true;
    return false;
}

int shape_parse(const char *text, struct arena *arena, Pb__JobSpec *s, struct err *err)
{
    char *save = NULL, *copy = arena_strdup(arena, text);
    for (char *w = strtok_r(copy, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
        char *value = strchr(w, '=');
        if (!value)
            return err_set(err, -ERR_PARSE, "'%.60s' is not of the form FIELD=VALUE", w);
        *value++ = '\0';
        if (!is_shape_name(w))
            return err_set(err, -ERR_PARSE, "'%.60s' is not a field of a job's shape", w);
        const ProtobufCFieldDescriptor *f = find_field(w);
        if (f->type == PROTOBUF_C_TYPE_STRING)
            *(char **)field_at(s, f->offset) = value;
        else if (!parse_shape_number(s, f, value))
            return err_set(err, -ERR_PARSE, "%s='%.60s' is not a number or too large", w, value);
    }
    return 0;
}
