/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/submit/job_desc.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

#define SEC_TOP 2147483646.0 /* upper limit of minutes */
#define MIB_TOP 17592186044416.0
#define TIME_TOP 253402300799.0

enum kind { NONE, OWN, TEXT, FIXED, U32, U16, BOOL, MINUTES, TIME, MIB64, NICE, SIGNED };

/* One function per field: reads the field, or sets it if set is not NULL. */
typedef int access_fn(Pb__JobSpec *s, const struct job_desc_value *set, struct job_desc_value *get,
                      struct arena *arena);

static int put_field_text(char **member, const struct job_desc_value *set,
                          struct job_desc_value *get, struct arena *arena, bool fixed)
{
    if (!set) {
        *get = (struct job_desc_value){.is_text = true, .text = *member};
        return 0;
    }
    if (fixed)
        return -ERR_ACCESS;
    if (!set->is_text)
        return -ERR_RANGE;
    *member = set->text && *set->text ? arena_strdup(arena, set->text) : NULL;
    return 0;
}

static double get_unset_value(enum kind kind)
{
    switch (kind) {
    case TIME:
        return 0;
    case MIB64:
        return JOB_DESC_NO_VAL64;
    case U16:
    case BOOL:
        return JOB_DESC_NO_VAL16;
    default:
        return JOB_DESC_NO_VAL;
    }
}

/* Whether the number means that the field is not set. */
static bool is_not_given(enum kind kind, double n)
{
    return n == get_unset_value(kind) || (kind == MIB64 && n >= JOB_DESC_NO_VAL64);
}

static double to_script(enum kind kind, double n)
{
    switch (kind) {
    case MINUTES:
        return n <= 0 ? JOB_DESC_INFINITE : ceil(n / 60);
    case NICE:
        return n + JOB_DESC_NICE_OFFSET;
    default:
        return n;
    }
}

/* Converts a number from a script to the stored value; NAN: invalid. */
static double from_script(enum kind kind, double n)
{
    switch (kind) {
    case MINUTES: /* INFINITE is stored as 0: unlimited */
        return n == JOB_DESC_INFINITE ? 0 : n >= 1 && n < SEC_TOP ? floor(n) * 60 : NAN;
    case NICE:
        n -= JOB_DESC_NICE_OFFSET;
        return fabs(n) <= 2147483645.0 ? n : NAN;
    case SIGNED:
        return fabs(n) <= 2147483645.0 ? n : NAN;
    case BOOL:
        return n == 0 || n == 1 ? n : NAN;
    case U16:
        return n >= 0 && n < JOB_DESC_NO_VAL16 ? n : NAN;
    case TIME:
        return n >= 0 && n <= TIME_TOP ? n : NAN;
    case MIB64:
        return n >= 0 && n <= MIB_TOP ? n : NAN;
    default:
        return n >= 0 && n < JOB_DESC_NO_VAL ? n : NAN;
    }
}

static int put_field_number(enum kind kind, const struct job_desc_value *set, bool *given,
                            double *number)
{
    if (set->is_text)
        return -ERR_RANGE;
    *given = !is_not_given(kind, set->number);
    *number = *given ? from_script(kind, floor(set->number)) : 0;
    return isnan(*number) ? -ERR_RANGE : 0;
}

#define NUMBER(kind, member)                                                                       \
    bool given = s->has_##member;                                                                  \
    double number = (double)s->member;                                                             \
    if (!set) {                                                                                    \
        *get = (struct job_desc_value){.number = given ? to_script(kind, number)                   \
                                                       : get_unset_value(kind)};                   \
        return 0;                                                                                  \
    }                                                                                              \
    int rc = put_field_number(kind, set, &given, &number);                                         \
    if (rc == 0) {                                                                                 \
        s->has_##member = given;                                                                   \
        s->member = (typeof(s->member))number;                                                     \
    }                                                                                              \
    return rc;

#define BODY_TEXT(member) return put_field_text(&s->member, set, get, arena, false);
#define BODY_FIXED(member) return put_field_text(&s->member, set, get, arena, true);
#define BODY_U32(member) NUMBER(U32, member)
#define BODY_U16(member) NUMBER(U16, member)
#define BODY_BOOL(member) NUMBER(BOOL, member)
#define BODY_MINUTES(member) NUMBER(MINUTES, member)
#define BODY_TIME(member) NUMBER(TIME, member)
#define BODY_MIB64(member) NUMBER(MIB64, member)
#define BODY_NICE(member) NUMBER(NICE, member)
#define BODY_SIGNED(member) NUMBER(SIGNED, member)

#define BODY_NONE(member) return -ERR_NOT_SUPPORTED;
#define BODY_OWN(member) return -ERR_NOT_SUPPORTED; /* accessible under another name below */

#define JOB_LIVE(...)
#define JOB_SPEC(member, options, update, kind, ...)                                               \
    static int access_##member(Pb__JobSpec *s, const struct job_desc_value *set,                   \
                               struct job_desc_value *get, struct arena *arena)                    \
    {                                                                                              \
        BODY_##kind(member)                                                                        \
    }
#include "proto/job_field.def"

/* 0: exclusive, 1: shared. pn_min_memory: MiB per node, or with MEM_PER_CPU per CPU. */
static int access_shared(Pb__JobSpec *s, const struct job_desc_value *set,
                         struct job_desc_value *get, struct arena *arena)
{
    if (!set) {
        double n = s->oversubscribe ? 1 : s->exclusive ? 0 : JOB_DESC_NO_VAL16;
        *get = (struct job_desc_value){.number = n};
        return 0;
    }
    if (set->is_text || !(is_not_given(BOOL, set->number) || set->number == 0 || set->number == 1))
        return -ERR_RANGE;
    s->has_exclusive = s->exclusive = set->number == 0;
    s->has_oversubscribe = s->oversubscribe = set->number == 1;
    s->has_exclusive_topo = s->exclusive_topo = s->exclusive && s->exclusive_topo;
    return 0;
}

static int access_memory(Pb__JobSpec *s, const struct job_desc_value *set,
                         struct job_desc_value *get, struct arena *arena)
{
    if (!set) {
        double n = s->has_mem_per_cpu_mib    ? (double)s->mem_per_cpu_mib + JOB_DESC_MEM_PER_CPU
                   : s->has_mem_per_node_mib ? (double)s->mem_per_node_mib
                                             : JOB_DESC_NO_VAL64;
        *get = (struct job_desc_value){.number = n};
        return 0;
    }
    bool none = !set->is_text && is_not_given(MIB64, set->number);
    if (set->is_text || (!none && isnan(from_script(MIB64, set->number))))
        return -ERR_RANGE;
    s->has_mem_per_cpu_mib = false;
    s->has_mem_per_node_mib = !none;
    s->mem_per_node_mib = none ? 0 : (uint64_t)set->number;
    return 0;
}

/* MEM_PER_CPU and a size do not fit in one double, so there is a separate field. */
static int access_memory_cpu(Pb__JobSpec *s, const struct job_desc_value *set,
                             struct job_desc_value *get, struct arena *arena)
{
    if (!set) {
        *get = (struct job_desc_value){.number = s->has_mem_per_cpu_mib ? (double)s->mem_per_cpu_mib
                                                                        : JOB_DESC_NO_VAL64};
        return 0;
    }
    bool none = !set->is_text && is_not_given(MIB64, set->number);
    if (set->is_text || (!none && isnan(from_script(MIB64, set->number))))
        return -ERR_RANGE;
    s->has_mem_per_node_mib = s->has_mem_per_node_mib && none;
    s->has_mem_per_cpu_mib = !none;
    s->mem_per_cpu_mib = none ? 0 : (uint64_t)set->number;
    return 0;
}

struct field {
    const char *names; /* separated by blanks */
    access_fn *access;
    enum kind kind;
};

static const struct field fields[] = {
    {"min_mem_per_cpu", access_memory_cpu, MIB64},
    {"min_mem_per_node pn_min_memory", access_memory, MIB64},
    {"shared", access_shared, BOOL},
#define JOB_LIVE(...)
#define JOB_SPEC(member, options, update, kind, names, ...) {names, access_##member, kind},
#include "proto/job_field.def"
};

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t end = strcspn(at, " ");
        if (end == len && memcmp(at, word, len) == 0)
            return true;
        at += end;
    }
    return false;
}

static const struct field *find_field(const char *name)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (has_word(fields[i].names, name))
            return &fields[i];
    return NULL;
}

int job_desc_get(const Pb__JobSpec *spec, const char *name, struct job_desc_value *out)
{
    const struct field *f = find_field(name);

    return f ? f->access((Pb__JobSpec *)spec, NULL, out, NULL) : -ERR_NOT_SUPPORTED;
}

static int no_field(const char *name, struct err *err)
{
    return err_set(err, -ERR_NOT_SUPPORTED, "a job has no field '%s' that can be set", name);
}

int job_desc_set(Pb__JobSpec *spec, const char *name, const struct job_desc_value *value,
                 struct arena *arena, struct err *err)
{
    const struct field *f = find_field(name);
    int rc = f ? f->access(spec, value, NULL, arena) : no_field(name, err);

    if (!f)
        return rc;
    if (rc == -ERR_ACCESS)
        return err_set(err, rc, "'%s' can be read only", name);
    if (rc != 0 && value->is_text)
        return err_set(err, rc, "'%s' cannot be \"%.60s\"", name, value->text ? value->text : "");
    return rc ? err_set(err, rc, "'%s' cannot be %g", name, value->number) : 0;
}

static bool is_text(enum kind kind)
{
    return kind == TEXT || kind == FIXED;
}

int job_desc_number(const Pb__JobSpec *spec, const char *name, int64_t *out)
{
    const struct field *f = find_field(name);
    struct job_desc_value v;

    if (!f || is_text(f->kind))
        return f ? -ERR_RANGE : -ERR_NOT_SUPPORTED;
    f->access((Pb__JobSpec *)spec, NULL, &v, NULL);
    if (is_not_given(f->kind, v.number) || (f->kind == MIB64 && v.number >= JOB_DESC_MEM_PER_CPU))
        return 1;
    if (f->kind == NICE)
        v.number -= JOB_DESC_NICE_OFFSET;
    bool endless = f->kind == MINUTES && v.number == JOB_DESC_INFINITE;
    *out = endless ? INT64_MAX : (int64_t)v.number;
    return 0;
}

int job_desc_set_number(Pb__JobSpec *spec, const char *name, int64_t number, struct err *err)
{
    const struct field *f = find_field(name);
    struct job_desc_value v = {.number = (double)number};
    bool endless = f && f->kind == MINUTES && number == INT64_MAX;

    if (!f)
        return no_field(name, err);
    if (endless)
        v.number = JOB_DESC_INFINITE;
    else if (f->kind == NICE)
        v.number += JOB_DESC_NICE_OFFSET;
    /* Numbers with a special meaning in Lua have none here. */
    if (!endless && f->kind != TIME &&
        (is_not_given(f->kind, v.number) || (f->kind == MINUTES && v.number == JOB_DESC_INFINITE)))
        return err_set(err, -ERR_RANGE, "'%s' cannot be %lld", name, (long long)number);
    return job_desc_set(spec, name, &v, NULL, err);
}

int job_desc_clear(Pb__JobSpec *spec, const char *name, struct err *err)
{
    const struct field *f = find_field(name);
    struct job_desc_value v = {.is_text = f && is_text(f->kind)};

    if (f && !v.is_text)
        v.number = get_unset_value(f->kind);
    return f ? job_desc_set(spec, name, &v, NULL, err) : no_field(name, err);
}
