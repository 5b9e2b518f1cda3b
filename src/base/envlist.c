/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/envlist.h"
#include "base/mem.h"
#include "base/str.h"

#define SLOTS_MIN 64

void envlist_done(struct envlist *e)
{
    vec_foreach (&e->vars, p)
        free(*p);
    vec_done(&e->vars);
    free(e->slots);
    *e = (struct envlist){0};
}

/* Returns the slot at which the search for a name begins. */
static uint32_t hash_name(const struct envlist *e, const char *name, size_t len)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash & (e->slot_count - 1);
}

/* Returns the slot of the name, or the free slot for it. */
static uint32_t find_slot(const struct envlist *e, const char *name, size_t len)
{
    uint32_t mask = e->slot_count - 1;

    for (uint32_t i = hash_name(e, name, len);; i = (i + 1) & mask) {
        if (!e->slots[i])
            return i;
        const char *var = e->vars.data[e->slots[i] - 1];
        if (!strncmp(var, name, len) && var[len] == '=')
            return i;
    }
}

static char **find_variable(const struct envlist *e, const char *name, size_t len)
{
    uint32_t at = e->slot_count ? e->slots[find_slot(e, name, len)] : 0;

    return at ? &e->vars.data[at - 1] : NULL;
}

/* Rebuilds the table after variables have moved, or when it is too small. */
static void fill_slots(struct envlist *e)
{
    uint32_t wanted = e->slot_count ? e->slot_count : SLOTS_MIN;

    while (wanted < 2 * e->vars.len)
        wanted *= 2;
    free(e->slots);
    e->slots = mem_new_array(uint32_t, wanted);
    e->slot_count = wanted;
    for (size_t i = 0; i < e->vars.len; i++) {
        const char *var = e->vars.data[i];
        e->slots[find_slot(e, var, strcspn(var, "="))] = (uint32_t)i + 1;
    }
}

/* Frees a slot and moves up later entries that it had displaced. */
static void free_slot(struct envlist *e, uint32_t slot)
{
    uint32_t mask = e->slot_count - 1;

    for (uint32_t i = (slot + 1) & mask; e->slots[i]; i = (i + 1) & mask) {
        const char *var = e->vars.data[e->slots[i] - 1];
        uint32_t begin = hash_name(e, var, strcspn(var, "="));

        if (((i - begin) & mask) >= ((i - slot) & mask)) {
            e->slots[slot] = e->slots[i];
            slot = i;
        }
    }
    e->slots[slot] = 0;
}

static void put_variable(struct envlist *e, char *owned, size_t name_len)
{
    assert(owned[name_len] == '=');
    char **old = find_variable(e, owned, name_len);
    if (old) {
        free(*old);
        *old = owned;
        return;
    }
    vec_push(&e->vars, owned);
    if (2 * e->vars.len > e->slot_count)
        fill_slots(e);
    else
        e->slots[find_slot(e, owned, name_len)] = (uint32_t)e->vars.len;
}

void envlist_load(struct envlist *e, char *const *vars, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *eq = strchr(vars[i], '=');

        if (eq && eq != vars[i])
            put_variable(e, mem_strdup(vars[i]), (size_t)(eq - vars[i]));
    }
}

void envlist_load_all(struct envlist *e, char *const *vars)
{
    for (; *vars; vars++) {
        size_t len = strcspn(*vars, "=");

        if (!find_variable(e, *vars, len))
            envlist_load(e, vars, 1);
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

void envlist_replace(struct envlist *e, const char *name, const char *value)
{
    if (value)
        envlist_set(e, name, value);
    else
        envlist_unset(e, name);
}

void envlist_default(struct envlist *e, const char *name, const char *value)
{
    if (!envlist_get(e, name))
        envlist_set(e, name, value);
}

void envlist_unset(struct envlist *e, const char *name)
{
    uint32_t slot = e->slot_count ? find_slot(e, name, strlen(name)) : 0;
    uint32_t at = e->slot_count ? e->slots[slot] : 0;

    if (!at)
        return;
    free_slot(e, slot);
    for (uint32_t i = 0; i < e->slot_count; i++)
        e->slots[i] -= e->slots[i] > at;
    free(e->vars.data[at - 1]);
    vec_remove(&e->vars, at - 1);
}

void envlist_unset_if(struct envlist *e, bool (*is_unset)(const char *name, size_t len))
{
    size_t kept = 0;

    for (size_t i = 0; i < e->vars.len; i++)
        if (is_unset(e->vars.data[i], strcspn(e->vars.data[i], "=")))
            free(e->vars.data[i]);
        else
            e->vars.data[kept++] = e->vars.data[i];
    if (kept == e->vars.len)
        return;
    e->vars.len = kept;
    fill_slots(e);
}

char **envlist_argv(struct envlist *e)
{
    vec_push(&e->vars, NULL);
    e->vars.len--;
    return e->vars.data;
}

const struct onehost_variable onehost_variables[ONEHOST_VARIABLES] = {
    {"OMPI_MCA_btl", "^vader,sm"}, {"OMPI_MCA_btl_tcp_if_include", "lo"}};

bool onehost_address(const char *addr)
{
    return addr &&
           (str_starts(addr, "127.") || str_eq(addr, "::1") || str_case_eq(addr, "localhost"));
}
