/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical resources as trees, and as a file. */
#include "show/hres.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/vec.h"
#include "base/words.h"
#include "show/show.h"

#define NONE SIZE_MAX

/* --- trees ---------------------------------------------------------------------------------
 */

struct layer {
    const Pb__LicenseRecord *record;
    struct hostlist *nodes;
    size_t around; /* index of the smallest layer that contains this one, or NONE */
};

struct resource {
    const char *name;
    VEC(struct layer) layers; /* in the controller's order: the fewest nodes first */
};

static bool is_within(const struct layer *small, const struct layer *large)
{
    char name[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < hostlist_count(small->nodes); i++)
        if (hostlist_find(large->nodes, hostlist_nth(small->nodes, i, name)) < 0)
            return false;
    return true;
}

static void find_around(struct resource *r)
{
    for (size_t i = 0; i < r->layers.len; i++) {
        struct layer *layer = &r->layers.data[i];
        layer->around = NONE;
        for (size_t k = i + 1; k < r->layers.len && layer->around == NONE; k++)
            if (is_within(layer, &r->layers.data[k]))
                layer->around = k;
    }
}

static void free_resource(struct resource *r)
{
    vec_foreach (&r->layers, layer)
        hostlist_free(layer->nodes);
    vec_done(&r->layers);
}

/* Takes the layers that follow *at and have the same name, and advances *at. */
static void take_resource(const Pb__LicenseList *list, size_t *at, struct resource *r)
{
    *r = (struct resource){.name = list->licenses[*at]->name};
    for (; *at < list->n_licenses && str_eq(list->licenses[*at]->name, r->name); ++*at) {
        struct layer layer = {.record = list->licenses[*at]};
        if (hostlist_parse(layer.record->nodes, &layer.nodes, NULL) == 0)
            vec_push(&r->layers, layer);
    }
    find_around(r);
}

/* Like take_resource(), for the hierarchical resource of that name (NULL: any); false: the next
 * record is of another one. */
static bool take_chosen(const Pb__LicenseList *list, size_t *at, const char *name,
                        struct resource *r)
{
    const Pb__LicenseRecord *l = list->licenses[*at];
    if (!l->nodes || (name && !str_eq(name, l->name))) {
        ++*at;
        return false;
    }
    take_resource(list, at, r);
    return true;
}

static void put_cell(uint64_t number, struct str *out)
{
    if (number == UINT64_MAX)
        str_printf(out, " %12s", "INFINITE");
    else
        str_printf(out, " %12llu", (unsigned long long)number);
}

static void put_cells(const Pb__LicenseRecord *l, struct str *out)
{
    put_cell(l->count, out);
    put_cell(l->base_use, out);
    put_cell(l->reserved, out);
    put_cell(l->used, out);
    put_cell(show_license_unused(l), out);
    if (l->has_file_count && l->file_count == UINT64_MAX)
        str_puts(out, "  (file: no limit)");
    else if (l->has_file_count)
        str_printf(out, "  (file: %llu)", (unsigned long long)l->file_count);
    str_putc(out, '\n');
}

static size_t find_width(const struct resource *r)
{
    size_t width = strlen("LAYER");
    vec_foreach (&r->layers, layer) {
        size_t depth = 0;
        for (size_t up = layer->around; up != NONE; up = r->layers.data[up].around)
            depth++;
        size_t len = 3 * depth + strlen(layer->record->nodes);
        width = len > width ? len : width;
    }
    return width;
}

/* Draws the layers within layer 'around' as a tree. 'before' is the text left of their lines. */
static void put_layers(const struct resource *r, size_t around, const char *before, size_t width,
                       struct str *out)
{
    size_t last = NONE;
    for (size_t i = 0; i < r->layers.len; i++)
        last = r->layers.data[i].around == around ? i : last;
    for (size_t i = 0; i < r->layers.len; i++) {
        const struct layer *layer = &r->layers.data[i];
        if (layer->around != around)
            continue;
        const char *branch = around == NONE ? "" : i == last ? "`- " : "|- ";
        size_t len = strlen(before) + strlen(branch) + strlen(layer->record->nodes);
        str_printf(out, "%s%s%s%*s", before, branch, layer->record->nodes,
                   (int)(width > len ? width - len : 0), "");
        put_cells(layer->record, out);
        _cleanup_free_ char *below = mem_printf("%s%s", before,
                                                around == NONE ? ""
                                                : i == last    ? "   "
                                                               : "|  ");
        put_layers(r, i, below, width, out);
    }
}

static void put_resource(const struct resource *r, struct str *out)
{
    size_t width = find_width(r);
    str_printf(out, "%s, MODE_%u\n", r->name, r->layers.data[0].record->mode);
    str_printf(out, "%-*s %12s %12s %12s %12s %12s\n", (int)width, "LAYER", "TOTAL", "BASE",
               "RESERVED", "USED", "FREE");
    put_layers(r, NONE, "", width, out);
}

static json_t *pack_resource(const struct resource *r)
{
    json_t *layers = json_array();
    assert(r->layers.len);
    vec_foreach (&r->layers, layer) {
        json_t *one = show_license_json(layer->record);
        json_object_del(one, "LicenseName");
        json_object_del(one, "Remote");
        json_object_del(one, "Mode");
        json_object_set_new(one, "Within",
                            layer->around == NONE
                                ? json_null()
                                : json_string(r->layers.data[layer->around].record->nodes));
        json_array_append_new(layers, one);
    }
    return json_pack("{s:s, s:o, s:o}", "name", r->name, "mode",
                     json_sprintf("MODE_%u", r->layers.data[0].record->mode), "layers", layers);
}

bool show_hres_text(const Pb__LicenseList *list, const char *name, struct str *out)
{
    bool any = false;
    for (size_t i = 0; i < list->n_licenses;) {
        struct resource r;
        if (!take_chosen(list, &i, name, &r))
            continue;
        if (r.layers.len) {
            str_puts(out, any ? "\n" : "");
            put_resource(&r, out);
        }
        any = true;
        free_resource(&r);
    }
    return any;
}

json_t *show_hres_json(const Pb__LicenseList *list, const char *name)
{
    json_t *all = json_array();
    for (size_t i = 0; i < list->n_licenses;) {
        struct resource r;
        if (!take_chosen(list, &i, name, &r))
            continue;
        json_array_append_new(all, pack_resource(&r));
        free_resource(&r);
    }
    return all;
}

/* --- as a file ---------------------------------------------------------------------------------
 */

/* "NAME:VALUE,..." as a list. */
static void put_amounts(const char *key, const char *text, const char *indent, struct str *out)
{
    if (!text || !*text)
        return;
    str_printf(out, "%s%s:\n", indent, key);
    words_foreach (text, w) {
        size_t name = strcspn(w.at, ":");
        str_printf(out, "%s- name: %.*s\n%s  value: %.*s\n", indent, (int)name, w.at, indent,
                   (int)(w.len - name - 1), w.at + name + 1);
    }
}

static void put_file_layer(const Pb__LicenseRecord *l, struct str *out)
{
    if (l->count == UINT64_MAX)
        str_printf(out, "  - nodes: \"%s\"\n    count: -1\n", l->nodes);
    else
        str_printf(out, "  - nodes: \"%s\"\n    count: %llu\n", l->nodes,
                   (unsigned long long)l->count);
    put_amounts("base", l->bases, "    ", out);
}

void show_hres_file(const Pb__LicenseList *list, struct str *out)
{
    str_puts(out, "---\n");
    for (size_t i = 0; i < list->n_licenses; i++) {
        const Pb__LicenseRecord *l = list->licenses[i];
        if (!l->nodes)
            continue;
        if (i == 0 || !str_eq(list->licenses[i - 1]->name, l->name)) {
            str_printf(out, "- resource: %s\n  mode: MODE_%u\n", l->name, l->mode);
            if (l->topology)
                str_printf(out, "  topology: %s\n", l->topology);
            put_amounts("variables", l->variables, "  ", out);
            str_puts(out, "  layers:\n");
        }
        put_file_layer(l, out);
    }
}
