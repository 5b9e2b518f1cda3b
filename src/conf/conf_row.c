/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_beside.h"
#include "conf/conf_internal.h"

static bool is_key_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

static char *skip_blanks(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

static char *word_end(char *s)
{
    while (*s && !isspace((unsigned char)*s))
        s++;
    return s;
}

/* Whether a word is "Name=...", which means that the key before it has an empty value. */
static bool begins_pair(const char *s)
{
    const char *p = s;

    while (is_key_char(*p))
        p++;
    return p > s && *p == '=';
}

/* Parses the value at s; *next is the position after it. Returns the error, or NULL. */
static const char *value_take(char *s, char **value, char **next)
{
    char *end;

    if (*s == '"') {
        s++;
        end = strchr(s, '"');
        if (!end)
            return "a quote is opened and not closed";
        if (end[1] && !isspace((unsigned char)end[1]))
            return "text follows the closing quote";
    } else
        end = word_end(s);
    *next = *end ? end + 1 : end;
    *end = '\0';
    *value = s;
    return NULL;
}

int conf_token_next(char **cursor, bool row, struct conf_place at, char **key, char **value,
                    struct err *err)
{
    char *start = skip_blanks(*cursor), *p = start, *after;

    if (!*start)
        return 0;
    while (is_key_char(*p))
        p++;
    char *key_end = p;
    p = skip_blanks(p);
    if (key_end == start || *p != '=')
        return conf_fail(at, err, "'%.*s' is not of the form Key=Value (quote values with blanks)",
                         (int)(word_end(start) - start), start);
    bool apart = isspace((unsigned char)p[1]);
    after = p + 1;
    if (apart) {
        after = skip_blanks(after);
        if (row && begins_pair(after))
            after = p + 1; /* a blank: the value is empty */
    }
    *key_end = '\0';
    const char *wrong = value_take(after, value, cursor);
    if (wrong)
        return conf_fail(at, err, "%s: %s", start, wrong);
    *key = start;
    return 1;
}

static struct conf_value *values_new(struct conf_loader *l, const struct conf_rows *rows)
{
    size_t size = rows->kind->key_count * sizeof(struct conf_value);
    struct conf_value *values = arena_alloc(&l->scratch, size);

    if (rows->defaults) {
        memcpy(values, rows->defaults, size);
        for (size_t i = 0; i < rows->kind->key_count; i++)
            values[i].inherited = true;
    }
    return values;
}

static long key_find(const struct conf_kind *kind, const char *name)
{
    for (size_t i = 0; i < kind->alias_count; i++)
        if (!strcasecmp(kind->aliases[i].old, name))
            name = kind->aliases[i].now;
    return conf_key_find(kind->keys, kind->key_count, name);
}

static void warn_unknown(struct conf_loader *l, const struct conf_kind *kind, const char *key,
                         struct conf_place at)
{
    unsigned distance = CONF_NEAR;
    const char *near = conf_key_near(kind->keys, kind->key_count, key, &distance);

    if (near)
        conf_warn(l, at, "unknown key %s of %s is ignored; did you mean %s?", key,
                  kind->keys[0].name, near);
    else
        conf_warn(l, at, "unknown key %s of %s is ignored", key, kind->keys[0].name);
}

/* Checks a value that no member stores, so that an invalid one is reported. */
static int value_check(const struct conf_key *key, const struct conf_value *v, struct err *err)
{
    union {
        const char *text;
        uint64_t number;
    } scratch = {0};
    struct conf_key alone = *key;

    alone.offset = 0;
    return *v->text ? conf_value_parse(&alone, v, &scratch, err) : 0;
}

static void warn_effect(struct conf_loader *l, struct conf_rows *rows, size_t id,
                        const struct conf_value *v)
{
    const struct conf_key *key = &rows->kind->keys[id];

    if (key->effect || rows->warned[id] || !*v->text || !strcasecmp(v->text, key->def))
        return;
    rows->warned[id] = true;
    conf_warn_no_effect(l, v->at, key->name, rows->kind->keys[0].name);
}

static int pair_take(struct conf_loader *l, struct conf_rows *rows, struct conf_value *values,
                     const char *key, const char *text, struct conf_place at, struct err *err)
{
    const struct conf_kind *kind = rows->kind;
    struct conf_value v = {.text = text, .at = at};
    long id = key_find(kind, key);

    if (id < 0) {
        warn_unknown(l, kind, key, at);
        return 0;
    }
    if (values[id].text && !values[id].inherited) {
        if (id == 0)
            return conf_fail(at, err, "%s twice on one line", kind->keys[0].name);
        conf_warn(l, at, "%s is given twice on the line; the last one holds", kind->keys[id].name);
    }
    int rc = kind->keys[id].offset == CONF_NO_OFFSET ? value_check(&kind->keys[id], &v, err) : 0;
    if (rc < 0)
        return rc;
    warn_effect(l, rows, (size_t)id, &v);
    values[id] = v;
    return 0;
}

int conf_row_take(struct conf_loader *l, struct conf_rows *rows, char *line, struct conf_place at,
                  struct err *err)
{
    struct conf_row row = {.at = at, .value = values_new(l, rows)};
    bool several = rows->kind != &conf_kind_cgroup && /* there each key has its own line */
                   rows->kind != &conf_kind_burst;
    char *key, *text;
    int rc;

    if (!rows->warned)
        rows->warned = arena_alloc(&l->scratch, rows->kind->key_count);
    row.value[0] = (struct conf_value){0};
    while ((rc = conf_token_next(&line, several, at, &key, &text, err)) > 0) {
        rc = pair_take(l, rows, row.value, key, text, at, err);
        if (rc < 0)
            return rc;
    }
    if (rc < 0)
        return rc;
    const char *name = row.value[0].text;
    if (!name || !*name)
        return conf_fail(at, err, "%s has no value", rows->kind->keys[0].name);
    if (!strcasecmp(name, "DEFAULT")) {
        row.value[0].text = NULL;
        rows->defaults = row.value;
    } else
        vec_push(&rows->row, row);
    return 0;
}

int conf_rows_take_last(struct conf_loader *l, const struct conf_rows *rows, void *base,
                        struct conf_value *written, struct err *err)
{
    const struct conf_key *keys = rows->kind->keys;

    vec_foreach (&rows->row, row)
        for (size_t i = 1; i < rows->kind->key_count; i++) {
            const struct conf_value *v = &row->value[i];

            if (!v->text)
                continue;
            if (written[i].text)
                conf_warn(l, v->at, "%s is given again (first on line %d); this one holds",
                          keys[i].name, written[i].at.line);
            written[i] = *v;
            int rc = *v->text ? conf_value_parse(&keys[i], v, base, err) : 0;
            if (rc < 0)
                return rc;
        }
    return 0;
}
