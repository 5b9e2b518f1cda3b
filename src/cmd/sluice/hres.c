/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice hres: the layers of hierarchical resources as trees. */
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"
#include "proto/license.pb-c.h"
#include "rpc/client.h"
#include "show/json_out.h"
#include "show/show.h"

#define NONE SIZE_MAX

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

/* --- text --------------------------------------------------------------------------------------
 */

static void put_number(uint64_t number, struct str *out)
{
    if (number == UINT64_MAX)
        str_printf(out, " %12s", "INFINITE");
    else
        str_printf(out, " %12llu", (unsigned long long)number);
}

static uint64_t count_free(const Pb__LicenseRecord *l)
{
    return l->total == UINT64_MAX ? l->total : l->total > l->used ? l->total - l->used : 0;
}

static void put_numbers(const Pb__LicenseRecord *l, struct str *out)
{
    put_number(l->count, out);
    put_number(l->base_use, out);
    put_number(l->reserved, out);
    put_number(l->used, out);
    put_number(count_free(l), out);
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
        put_numbers(layer->record, out);
        _cleanup_free_ char *below = mem_printf("%s%s", before,
                                                around == NONE ? ""
                                                : i == last    ? "   "
                                                               : "|  ");
        put_layers(r, i, below, width, out);
    }
}

static void put_text(const struct resource *r, struct str *out)
{
    size_t width = find_width(r);
    str_printf(out, "%s, MODE_%u\n", r->name, r->layers.data[0].record->mode);
    str_printf(out, "%-*s %12s %12s %12s %12s %12s\n", (int)width, "LAYER", "TOTAL", "BASE",
               "RESERVED", "USED", "FREE");
    put_layers(r, NONE, "", width, out);
}

/* --- all of it ---------------------------------------------------------------------------------
 */

static json_t *pack_resource(const struct resource *r)
{
    json_t *layers = json_array();
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

int sluice_hres(const struct sluice_options *o, const char *name)
{
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__LicenseList *reply = NULL;
    struct err err = {0};
    size_t seen = 0;
    json_t *all = o->json ? json_array() : NULL;
    sluice_choose(o);
    int rc = cmd_call(RPC_LICENSE_LIST, &request.base, &reply, &err);
    for (size_t i = 0; rc == 0 && i < reply->n_licenses;) {
        struct resource r = {0};
        if (!reply->licenses[i]->nodes || (name && !str_eq(name, reply->licenses[i]->name))) {
            i++;
            continue;
        }
        take_resource(reply, &i, &r);
        if (all)
            json_array_append_new(all, pack_resource(&r));
        else if (r.layers.len) {
            str_puts(cmd_out(), seen ? "\n" : "");
            put_text(&r, cmd_out());
        }
        seen++;
        free_resource(&r);
    }
    if (rc != 0)
        cmd_error("hres: %s", err.text);
    else if (name && !seen)
        cmd_error("hres: no hierarchical resource '%s'", name);
    else if (all)
        json_out_print(cmd_source(), "hres", json_incref(all), false, cmd_out());
    json_decref(all);
    int status = cmd_flush();
    return rc == 0 && (seen || !name) ? status : 1;
}
