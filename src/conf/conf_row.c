/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <strings.h>

#include "conf/conf_beside.h"
#include "conf/conf_internal.h"

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
