/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/step/envlist.h"

#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void envlist_done(struct envlist *e)
{
    vec_foreach (&e->vars, p)
        free(*p);
    vec_done(&e->vars);
    vec_done(&e->lens);
}

static char **find_variable(const struct envlist *e, const char *name, size_t len)
{
    for (size_t i = 0; i < e->vars.len; i++)
        if (e->lens.data[i] == len && !memcmp(e->vars.data[i], name, len))
            return &e->vars.data[i];
    return NULL;
}

static void put_variable(struct envlist *e, char *owned, size_t name_len)
{
    char **old = find_variable(e, owned, name_len);

    if (old) {
        free(*old);
        *old = owned;
    } else {
        vec_push(&e->vars, owned);
        vec_push(&e->lens, (uint32_t)name_len);
    }
}

void envlist_load(struct envlist *e, char *const *vars, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *eq = strchr(vars[i], '=');

        if (eq && eq != vars[i])
            put_variable(e, mem_strdup(vars[i]), (size_t)(eq - vars[i]));
    }
}

const char *envlist_get(const struct envlist *e, const char *name)
{
    size_t len = strlen(name);
    char **at = find_variable(e, name, len);

    return at ? *at + len + 1 : NULL;
}

void envlist_set(struct envlist *e, const char *name, const char *value)
{
    struct str var = STR_INIT;

    if (!value)
        return;
    str_puts(&var, name);
    str_putc(&var, '=');
    str_puts(&var, value);
    put_variable(e, str_take(&var), strlen(name));
}

void envlist_setf(struct envlist *e, const char *name, const char *fmt, ...)
{
    _cleanup_str_ struct str value = STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    str_vprintf(&value, fmt, ap);
    va_end(ap);
    envlist_set(e, name, str_cstr(&value));
}

void envlist_default(struct envlist *e, const char *name, const char *value)
{
    if (!envlist_get(e, name))
        envlist_set(e, name, value);
}

void envlist_unset(struct envlist *e, const char *name)
{
    char **at = find_variable(e, name, strlen(name));

    if (at) {
        size_t i = (size_t)(at - e->vars.data);

        free(*at);
        vec_remove(&e->vars, i);
        vec_remove(&e->lens, i);
    }
}

char **envlist_argv(struct envlist *e)
{
    vec_push(&e->vars, NULL);
    e->vars.len--;
    return e->vars.data;
}
