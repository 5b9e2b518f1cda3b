/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formats and sort keys. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "show/listing_priv.h"

const struct listing_field *listing_find_letter(const struct listing_table *t, char letter)
{
    for (size_t i = 0; letter && i < t->count; i++)
        if (t->fields[i].letter == letter)
            return &t->fields[i];
    return NULL;
}

const struct listing_field *listing_find_name(const struct listing_table *t, const char *name,
                                              size_t len)
{
    for (size_t i = 0; len && i < t->count; i++)
        if (!strncasecmp(t->fields[i].name, name, len) && !t->fields[i].name[len])
            return &t->fields[i];
    return NULL;
}

static void add_column(struct listing *l, struct listing_column c, struct str *before)
{
    if (l->columns.len >= LISTING_COLUMNS_MAX) {
        str_clear(before);
        free(c.suffix);
        return;
    }
    c.before = str_take(before);
    vec_push(&l->columns, c);
}

static void add_all(struct listing *l, struct str *before)
{
    for (size_t i = 0; i < l->table->count; i++)
        if (l->table->fields[i].letter && l->table->fields[i].letter != '#')
            add_column(
                l,
                (struct listing_column){.field = &l->table->fields[i], .suffix = mem_strdup("|")},
                before);
    if (l->columns.len) {
        free(vec_last(&l->columns).suffix);
        vec_last(&l->columns).suffix = NULL;
    }
}

static unsigned parse_width(const char **s)
{
    unsigned width = 0;
    for (; isdigit((unsigned char)**s); (*s)++)
        if (width < LISTING_WIDTH_MAX)
            width = width * 10 + (unsigned)(**s - '0');
    return width < LISTING_WIDTH_MAX ? width : LISTING_WIDTH_MAX;
}

void listing_set_letters(struct listing *l, const char *format)
{
    _cleanup_str_ struct str before = STR_INIT;
    for (const char *s = format; *s;) {
        if (*s != '%') {
            str_putc(&before, *s++);
            continue;
        }
        const char *start = s++;
        if (!strncasecmp(s, "all", 3)) {
            add_all(l, &before);
            s += 3;
            continue;
        }
        struct listing_column c = {0};
        if (*s == '#') {
            c.widest = true;
            s++;
        }
        if (*s == '.') {
            c.right = true;
            s++;
        }
        c.width = parse_width(&s);
        c.field = listing_find_letter(l->table, *s);
        if (!c.field) {
            l->report("Invalid %s format specification: %.1s", l->table->what, s);
            str_append(&before, start, (size_t)(s - start));
            continue;
        }
        s++;
        add_column(l, c, &before);
    }
    if (before.len)
        add_column(l, (struct listing_column){0}, &before);
}

void listing_set_names(struct listing *l, const char *format)
{
    for (const char *s = format; *s;) {
        struct listing_column c = {.width = LISTING_NAME_WIDTH};
        struct str before = STR_INIT;
        size_t len = strcspn(s, ","), name_len = strcspn(s, ",:");
        if (name_len == 3 && !strncasecmp(s, "all", 3)) {
            add_all(l, &before);
        } else {
            c.field = listing_find_name(l->table, s, name_len);
            const char *at = s + name_len + (s[name_len] == ':');
            if (*at == '.' && at < s + len) {
                c.right = true;
                at++;
            }
            if (s[name_len] == ':')
                c.width = at < s + len ? parse_width(&at) : 0;
            if (c.field &&
                at < s + len) /* "JobID:.10|": what follows the width follows the value */
                c.suffix = mem_strndup(at, (size_t)(s + len - at));
            if (c.field)
                add_column(l, c, &before);
            else
                l->report("Invalid %s format specification: %.*s", l->table->what, (int)name_len,
                          s);
        }
        str_done(&before);
        s += len + (s[len] == ',');
    }
}

bool listing_set_sort(struct listing *l, const char *keys)
{
    bool known = true;
    for (const char *s = keys; *s;) {
        size_t len = strcspn(s, ",");
        struct listing_key key = {0};
        const char *name = s;
        size_t name_len = len;
        bool natural = false;
        while (name_len && (*name == '+' || *name == '-' || *name == '#')) {
            key.down = key.down || *name == '-';
            natural = natural || *name == '#';
            name++;
            name_len--;
        }
        /* "#P": the controller's order, when the table has a field for it. */
        key.field = natural ? listing_find_letter(l->table, '#') : NULL;
        if (!key.field)
            key.field = name_len == 1 ? listing_find_letter(l->table, *name)
                                      : listing_find_name(l->table, name, name_len);
        s += len + (s[len] == ',');
        if (key.field && l->keys.len < LISTING_COLUMNS_MAX) {
            vec_push(&l->keys, key);
            continue;
        }
        known = false;
        l->report("Invalid sort specification: %.*s", (int)name_len, name);
    }
    return known;
}

void listing_put_fields(const struct listing_table *t, struct str *out)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct listing_field *f = &t->fields[i];
        const char letter[] = {'%', f->letter, 0};
        if (*f->help)
            str_printf(out, "%-20s %-2s  %s\n", f->name, f->letter ? letter : "", f->help);
    }
}
