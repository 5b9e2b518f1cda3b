/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The licences of the cluster and the layers of hierarchical resources, to be shown. */
#include <stdlib.h>
#include <string.h>

#include "base/pb.h"
#include "control/internal.h"

/* By reservations that are active. */
static uint64_t count_reserved(const struct control *c, int32_t at)
{
    uint64_t sum = 0;
    vec_foreach (&c->cluster->resvs, r)
        vec_foreach (&(*r)->stock, s)
            sum += s->at == at && resv_is_now(*r, control_wall(c)) ? s->count : 0;
    return sum;
}

/* "NAME:VALUE,..."; NULL: there are none. */
static char *format_amounts(const struct conf_hres_amount *list, size_t count, struct arena *arena)
{
    _cleanup_str_ struct str text = STR_INIT;
    for (size_t i = 0; i < count; i++)
        str_printf(&text, "%s%s:%llu", i ? "," : "", list[i].name,
                   (unsigned long long)list[i].value);
    return count ? arena_strdup(arena, str_cstr(&text)) : NULL;
}

static void put_layer(const struct control *c, const struct license *l, Pb__LicenseRecord *r,
                      struct arena *arena)
{
    if (!l->conf)
        return;
    const struct conf_hres *h = conf_hres_find(&c->conf->hres, l->name);
    if (l->pools && h) {
        r->variables = format_amounts(h->variables.data, h->variables.len, arena);
        r->topology = (char *)h->topology;
    }
    r->bases = format_amounts(l->conf->bases.data, l->conf->bases.len, arena);
    r->nodes = (char *)l->conf->nodes;
    SET(r, mode, l->mode);
    SET(r, count, l->count);
    SET(r, base_use, l->base);
    if (l->count != l->conf->count)
        SET(r, file_count, l->conf->count);
}

void control_fill_licenses(const struct control *c, struct arena *arena, Pb__LicenseList *list)
{
    list->licenses =
        arena_alloc(arena, sizeof(*list->licenses) * (c->cluster->licenses.list.len + 1));
    vec_foreach (&c->cluster->licenses.list, l) {
        Pb__LicenseRecord *r = arena_alloc(arena, sizeof(*r));
        pb__license_record__init(r);
        r->name = l->name;
        SET(r, total, l->total);
        SET(r, used, l->used);
        put_layer(c, l, r, arena);
        SET(r, reserved, count_reserved(c, (int32_t)(l - c->cluster->licenses.list.data)));
        list->licenses[list->n_licenses++] = r;
    }
}

struct numbered_license {
    Pb__LicenseRecord *record;
    size_t at;
};

/* By name. Those of one name stay in their order. */
static int compare_licenses(const void *a, const void *b)
{
    const struct numbered_license *x = a, *y = b;
    int order = strcmp(x->record->name, y->record->name);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void sort_licenses(Pb__LicenseList *list, struct arena *arena)
{
    struct numbered_license *all = arena_alloc(arena, sizeof(*all) * (list->n_licenses + 1));
    for (size_t i = 0; i < list->n_licenses; i++)
        all[i] = (struct numbered_license){list->licenses[i], i};
    qsort(all, list->n_licenses, sizeof(*all), compare_licenses);
    for (size_t i = 0; i < list->n_licenses; i++)
        list->licenses[i] = all[i].record;
}

void control_list_licenses(struct control *c, uint64_t call, const struct caller *who,
                           const Pb__Empty *r)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__LicenseList list = PB__LICENSE_LIST__INIT;
    control_fill_licenses(c, &arena, &list);
    sort_licenses(&list, &arena);
    c->env->reply(c->env->ctx, call, &list.base);
}
