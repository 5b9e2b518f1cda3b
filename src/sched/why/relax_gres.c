/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "sched/why/relax_priv.h"

/* A word of "gpu:a100:2": its name, its type, where there is one, and its count. */
struct gres_word {
    char name[64], type[64];
    uint64_t count;
};

/* As gres_parse() does. False: not such a word. */
static bool read_gres(const char *text, size_t len, struct gres_word *w)
{
    char copy[192], *save = NULL;
    *w = (struct gres_word){.count = 1};
    if (len >= sizeof copy)
        return false;
    memcpy(copy, text, len);
    copy[len] = 0;
    char *at = str_starts(copy, "gres:") || str_starts(copy, "gres/") ? copy + 5 : copy;
    const char *name = strtok_r(at, ":=", &save), *second = strtok_r(NULL, ":=", &save),
               *third = strtok_r(NULL, ":=", &save);
    if (!name || strtok_r(NULL, ":=", &save) || strlen(name) >= sizeof w->name)
        return false;
    snprintf(w->name, sizeof w->name, "%s", name);
    const char *count = third ? third : second && isdigit((unsigned char)*second) ? second : NULL;
    const char *type = second == count ? NULL : second;
    if (count && size_parse_count(count, GRES_COUNT_MAX, &w->count, NULL) != 0)
        return false;
    if (type && strlen(type) >= sizeof w->type)
        return false;
    if (type)
        snprintf(w->type, sizeof w->type, "%s", type);
    return true;
}

const char *relax_gres_last(const char *text)
{
    const char *comma = text ? strrchr(text, ',') : NULL;
    return comma ? comma + 1 : text;
}

bool relax_gres_count(const char *text, uint64_t *count)
{
    const char *last = relax_gres_last(text);
    struct gres_word w;
    if (!last || !*last || !read_gres(last, strlen(last), &w))
        return false;
    *count = w.count;
    return true;
}

bool relax_gres_is_typed(const char *text)
{
    struct gres_word w;
    for (const char *s = text; s && *s; s += strcspn(s, ","), s += *s == ',')
        if (read_gres(s, strcspn(s, ","), &w) && *w.type)
            return true;
    return false;
}

static void put_gres(struct str *out, const struct gres_word *w, bool typed)
{
    typed = typed && *w->type;
    str_printf(out, "%s%s%s:%llu", w->name, typed ? ":" : "", typed ? w->type : "",
               (unsigned long long)w->count);
}

char *relax_gres_untyped(struct arena *arena, const char *text)
{
    struct gres_word w;
    _cleanup_str_ struct str out = STR_INIT;
    for (const char *s = text; *s; s += strcspn(s, ","), s += *s == ',') {
        size_t len = strcspn(s, ",");
        str_puts(&out, out.len ? "," : "");
        if (read_gres(s, len, &w))
            put_gres(&out, &w, false);
        else
            str_append(&out, s, len);
    }
    return arena_strdup(arena, str_cstr(&out));
}

char *relax_gres_with(struct arena *arena, const char *text, uint64_t count)
{
    struct gres_word w;
    _cleanup_str_ struct str out = STR_INIT;
    const char *last = relax_gres_last(text);
    for (const char *s = text; *s; s += strcspn(s, ","), s += *s == ',') {
        size_t len = strcspn(s, ",");
        str_puts(&out, out.len ? "," : "");
        if (!read_gres(s, len, &w)) {
            str_append(&out, s, len);
            continue;
        }
        w.count = s == last ? count : w.count;
        put_gres(&out, &w, true);
    }
    return arena_strdup(arena, str_cstr(&out));
}
