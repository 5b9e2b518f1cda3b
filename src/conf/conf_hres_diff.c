/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The changes of hierarchical resources between two configurations. */
#include "conf/conf_hres.h"
#include "conf/conf_internal.h"

static const struct conf_hres_layer *find_same_layer(const struct conf_hres *h, const char *nodes)
{
    vec_foreach (&h->layers, layer)
        if (str_eq(layer->nodes, nodes))
            return layer;
    return NULL;
}

static void put_count(uint64_t count, struct str *out)
{
    if (count == CONF_HRES_UNLIMITED)
        str_puts(out, "-1");
    else
        str_printf(out, "%llu", (unsigned long long)count);
}

static void put_amounts(const struct conf_hres_amount *list, size_t len, struct str *out)
{
    str_puts(out, len ? "" : "none");
    for (size_t i = 0; i < len; i++)
        str_printf(out, "%s%s:%llu", i ? "," : "", list[i].name, (unsigned long long)list[i].value);
}

/* Prints "WHAT: FROM -> TO" for variables or base amounts that differ. */
static void amounts_diff(const char *what, const char *key, const struct conf_hres_amount *from,
                         size_t from_len, const struct conf_hres_amount *to, size_t to_len,
                         struct str *out)
{
    _cleanup_str_ struct str a = STR_INIT, b = STR_INIT;
    put_amounts(from, from_len, &a);
    put_amounts(to, to_len, &b);
    conf_text_diff(what, key, str_cstr(&a), str_cstr(&b), out);
}

static void layer_diff(const char *name, const struct conf_hres_layer *a,
                       const struct conf_hres_layer *b, struct str *out)
{
    _cleanup_free_ char *what = mem_printf("resource %s(%s): ", name, b->nodes);
    _cleanup_str_ struct str from = STR_INIT, to = STR_INIT;
    put_count(a->count, &from);
    put_count(b->count, &to);
    conf_text_diff(what, "count", str_cstr(&from), str_cstr(&to), out);
    amounts_diff(what, "base", a->bases.data, a->bases.len, b->bases.data, b->bases.len, out);
}

static void resource_diff(const struct conf_hres *a, const struct conf_hres *b, struct str *out)
{
    _cleanup_free_ char *what = mem_printf("resource %s: ", b->name);
    if (a->mode != b->mode)
        str_printf(out, "%smode: MODE_%d -> MODE_%d\n", what, a->mode, b->mode);
    conf_text_diff(what, "topology", a->topology, b->topology, out);
    amounts_diff(what, "variables", a->variables.data, a->variables.len, b->variables.data,
                 b->variables.len, out);
    vec_foreach (&a->layers, layer)
        if (!find_same_layer(b, layer->nodes))
            str_printf(out, "resource %s(%s): removed\n", b->name, layer->nodes);
    vec_foreach (&b->layers, layer) {
        const struct conf_hres_layer *before = find_same_layer(a, layer->nodes);
        if (before)
            layer_diff(b->name, before, layer, out);
        else
            str_printf(out, "resource %s(%s): added\n", b->name, layer->nodes);
    }
}

void conf_hres_diff(const struct conf *from, const struct conf *to, struct str *out)
{
    vec_foreach (&from->hres.list, h)
        if (!conf_hres_find(&to->hres, h->name))
            str_printf(out, "resource %s: removed\n", h->name);
    vec_foreach (&to->hres.list, h) {
        const struct conf_hres *before = conf_hres_find(&from->hres, h->name);
        if (before)
            resource_diff(before, h, out);
        else
            str_printf(out, "resource %s: added, MODE_%d, %zu layer%s\n", h->name, h->mode,
                       h->layers.len, h->layers.len == 1 ? "" : "s");
    }
}
