/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/envlist.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void envlist_init(struct envlist *e, char *const *from)
{
    size_t count = 0;

    while (from != NULL && from[count] != NULL)
        count++;
    e->room = count + 64;
    e->vars = mem_new_array(char *, e->room);
    e->lens = mem_new_array(size_t, e->room);
    e->count = count;
    for (size_t i = 0; i < count; i++) {
        const char *eq = strchr(from[i], '=');

        e->vars[i] = mem_strdup(from[i]);
        e->lens[i] = eq != NULL ? (size_t)(eq - from[i]) : SIZE_MAX;
    }
}

void envlist_done(struct envlist *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->vars[i]);
    free(e->vars);
    free(e->lens);
    *e = (struct envlist){0};
}

static char **find_variable(const struct envlist *e, const char *name, size_t len)
{
    for (size_t i = 0; i < e->count; i++)
        if (e->lens[i] == len && memcmp(e->vars[i], name, len) == 0)
            return &e->vars[i];
    return NULL;
}

static void give_variable(struct envlist *e, size_t name_len, char *text)
{
    char **at = find_variable(e, text, name_len);

    if (at != NULL) {
        free(*at);
        *at = text;
        return;
    }
    if (e->count + 2 > e->room) {
        e->room = e->room * 2 + 16;
        e->vars = mem_realloc(e->vars, e->room * sizeof(e->vars[0]));
        e->lens = mem_realloc(e->lens, e->room * sizeof(e->lens[0]));
    }
    e->lens[e->count] = name_len;
    e->vars[e->count++] = text;
    e->vars[e->count] = NULL;
}

void envlist_set(struct envlist *e, const char *name, const char *value)
{
    char **at;

    if (value != NULL) {
        give_variable(e, strlen(name), mem_printf("%s=%s", name, value));
        return;
    }
    at = find_variable(e, name, strlen(name));
    if (at == NULL)
        return;
    free(*at);
    memmove(at, at + 1, (size_t)(e->vars + e->count - at) * sizeof(*at));
    e->count--;
    memmove(e->lens + (at - e->vars), e->lens + (at - e->vars) + 1,
            (e->count - (size_t)(at - e->vars)) * sizeof(*e->lens));
}

void envlist_setf(struct envlist *e, const char *name, const char *fmt, ...)
{
    struct str text = STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    envlist_set(e, name, str_cstr(&text));
    str_done(&text);
}

void envlist_default(struct envlist *e, const char *name, const char *value)
{
    if (value != NULL && find_variable(e, name, strlen(name)) == NULL)
        envlist_set(e, name, value);
}

const char *envlist_get(const struct envlist *e, const char *name)
{
    size_t len = strlen(name);
    char **at = find_variable(e, name, len);

    return at != NULL ? *at + len + 1 : NULL;
}

static const char *value_in(char *const *from, const char *name)
{
    size_t len = strlen(name);

    for (; *from != NULL; from++)
        if (strncmp(*from, name, len) == 0 && (*from)[len] == '=')
            return *from + len + 1;
    return NULL;
}

/* The next item of a comma list, quotes removed and commas within them kept; NULL at the end. */
static char *next_item(const char **list, struct str *item)
{
    char quote = '\0';

    if (*list == NULL)
        return NULL;
    str_clear(item);
    for (; **list != '\0' && (quote != '\0' || **list != ','); (*list)++) {
        if (quote == '\0' && (**list == '"' || **list == '\''))
            quote = **list;
        else if (quote != '\0' && **list == quote)
            quote = '\0';
        else
            str_putc(item, **list);
    }
    *list = **list == ',' ? *list + 1 : NULL;
    str_putc(item, '\0'); /* so that data is there for an empty item too */
    return item->data;
}

bool envlist_exports_all(const char *spec)
{
    const char *list = spec, *word;
    _cleanup_str_ struct str item = STR_INIT;
    bool all = spec == NULL;

    while ((word = next_item(&list, &item)) != NULL)
        all |= strcasecmp(word, "ALL") == 0;
    return all;
}

void envlist_export(struct envlist *e, const char *spec, char *const *from, bool values_first)
{
    const char *list = spec;
    struct str item = STR_INIT;
    bool all = envlist_exports_all(spec);
    char *word;

    for (char *const *var = from; *var != NULL; var++) {
        const char *eq = strchr(*var, '=');

        if (eq != NULL && (all || strncmp(*var, "SLURM_", 6) == 0))
            give_variable(e, (size_t)(eq - *var), mem_strdup(*var));
    }
    while ((word = next_item(&list, &item)) != NULL) {
        char *eq = strchr(word, '=');

        if (*word == '\0' || strcasecmp(word, "ALL") == 0 || strcasecmp(word, "NONE") == 0 ||
            strcasecmp(word, "NIL") == 0)
            continue;
        if (eq)
            *eq = '\0';
        const char *own = value_in(from, word);
        if (!eq)
            envlist_default(e, word, own);
        else if (!all || values_first || !own) /* which is there already */
            envlist_set(e, word, eq + 1);
    }
    str_done(&item);
}
