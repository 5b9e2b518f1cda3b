/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical resources of drawn plans: "h" in mode 2, "o" in mode 1, "p" in mode 3, each with a
 * root layer and its parts; and changes of layers and licences while jobs run. */
#include "sim/plan/draw.h"

#include <assert.h>

static bool has_layers(struct draw *d)
{
    return sim_draw_find_conf(d, "HresConf=") != NULL;
}

static void draw_layer(struct draw *d, char name, int64_t first, int64_t last, int64_t count)
{
    if (draw_chance(d, 10))
        add_conf(d, "HresConf=%c;Nodes=n[%lld-%lld];Count=%lld;Base=x:1", name, (long long)first,
                 (long long)last, (long long)count + 1);
    else
        add_conf(d, "HresConf=%c;Nodes=n[%lld-%lld];Count=%lld", name, (long long)first,
                 (long long)last, (long long)count);
}

/* Adjacent layers, and one layer that contains them. */
static void draw_resource(struct draw *d, char name, int mode, int64_t least, int64_t each)
{
    int64_t cut = d->nodes > 1 ? draw_between(d, 1, d->nodes - 1) : 0;
    add_conf(d, "HresConf=%c;Mode=MODE_%d", name, mode);
    draw_layer(d, name, 1, d->nodes, least + each * draw_between(d, 1, d->nodes));
    if (!cut || draw_chance(d, 20))
        return;
    draw_layer(d, name, 1, cut, least + each * draw_between(d, 0, cut));
    draw_layer(d, name, cut + 1, d->nodes, least + each * draw_between(d, 0, d->nodes - cut));
}

static bool is_plain(const struct sim_item *j)
{
    return j->kind == SIM_ITEM_JOB && !*j->licenses && !*j->features && !*j->required &&
           !*j->excluded && !j->component_of;
}

void sim_draw_hres(struct draw *d)
{
    if (!draw_chance(d, 20))
        return;
    draw_resource(d, 'h', 2, 2, 2);
    draw_resource(d, 'o', 1, 1, 1);
    draw_resource(d, 'p', 3, 2, 3);
    for (size_t i = 0; i < d->plan->items.len; i++) {
        struct sim_item *j = &d->plan->items.data[i];
        if (!is_plain(j) || !draw_chance(d, 50))
            continue;
        int64_t count = draw_skewed(d, 1, 4);
        PUT(j->licenses, "%s:%lld", WORD(d, "h", "o", "p", "p", "h:1,p", "o,h", "o:1,p"),
            (long long)count);
    }
}

/* Preemption frees licences and layers too. */
void sim_draw_reclaim(struct draw *d)
{
    struct sim_item *parameters = sim_draw_find_conf(d, "PreemptParameters=");
    if (!d->preempts || (!d->licenses && !has_layers(d)) || !draw_chance(d, 60))
        return;
    if (parameters)
        PUT(parameters->text, ",reclaim_licenses");
    else
        add_conf(d, "PreemptParameters=reclaim_licenses");
}

static const char *draw_license_text(struct draw *d)
{
    if (has_layers(d) && (!d->licenses || draw_chance(d, 60)))
        return WORD(d, "h", "h:3", "o:1", "o:2", "p", "p:2", "p:4", "h:2,p:1", "o:2|h:1", "p:2|o",
                    "o:1,p", "");
    return WORD(d, "a", "a:2", "a:4", "b", "b,a:2", "b|a:3", "a:1|b:2", "");
}

/* In some versions of the file a resource has other layers, another mode, or is missing. */
static void draw_versions(struct draw *d, char name)
{
    const char key[] = {'H', 'r', 'e', 's', 'C', 'o', 'n', 'f', '=', name, ';', 0};
    int64_t others = draw_between(d, 1, SIM_ALL_FILES - 1);
    size_t count = d->plan->items.len;
    for (size_t i = 0; i < count; i++) {
        struct sim_item *item = &d->plan->items.data[i];
        if (item->kind == SIM_ITEM_CONF && strncmp(item->text, key, strlen(key)) == 0)
            item->files &= ~others;
    }
    if (draw_chance(d, 20))
        return;
    draw_resource(d, name, (int)draw_between(d, 1, 3), draw_between(d, 0, 2),
                  draw_between(d, 1, 3));
    for (size_t i = count; i < d->plan->items.len; i++)
        d->plan->items.data[i].files = others;
}

/* A layer that some version of the file has: "h" and "n[1-4]". */
static void find_drawn_layer(struct draw *d, char *name, char nodes[SIM_TEXT])
{
    size_t layers = 0;
    vec_foreach (&d->plan->items, item)
        layers += item->kind == SIM_ITEM_CONF && strncmp(item->text, "HresConf=", 9) == 0 &&
                  strstr(item->text, ";Nodes=");
    assert(layers);
    int64_t wanted = draw_between(d, 1, (int64_t)layers);
    char text[SIM_TEXT] = "";
    vec_foreach (&d->plan->items, item)
        if (item->kind == SIM_ITEM_CONF && strncmp(item->text, "HresConf=", 9) == 0 &&
            strstr(item->text, ";Nodes=") && --wanted == 0)
            memcpy(text, item->text, sizeof text);
    const char *at = strstr(text, ";Nodes=") + strlen(";Nodes=");
    *name = text[strlen("HresConf=")];
    snprintf(nodes, SIM_TEXT, "%.*s", (int)strcspn(at, ";"), at);
}

/* An operator sets the count of a layer. */
static void draw_count(struct draw *d)
{
    char name, nodes[SIM_TEXT];
    find_drawn_layer(d, &name, nodes);
    struct sim_item *a = add_item(d, SIM_ITEM_DO);
    a->what = SIM_DO_COUNT;
    a->at_ms = draw_between(d, 1, d->span_ms);
    a->root = 1;
    a->again_ms = draw_chance(d, 4);
    a->value = draw_chance(d, 15)   ? SIM_COUNT_UNLIMITED
               : draw_chance(d, 20) ? SIM_COUNT_FILE
                                    : draw_skewed(d, 0, 3 * d->nodes);
    PUT(a->text, "%c", name);
    PUT(a->nodes, "%s", nodes);
}

/* The file is edited and operators change counts while jobs hold units of layers. */
void sim_draw_layer_changes(struct draw *d)
{
    if (!has_layers(d))
        return;
    bool edits = draw_chance(d, 60);
    for (const char *name = "hop"; edits && *name; name++)
        if (draw_chance(d, 60))
            draw_versions(d, *name);
    for (int64_t count = edits ? draw_skewed(d, 1, 6) : 0; count > 0; count--) {
        struct sim_item *a = add_item(d, SIM_ITEM_DO);
        a->what = SIM_DO_RECONFIGURE;
        a->at_ms = draw_between(d, 1, d->span_ms);
        a->value = draw_between(d, 0, SIM_FILES - 1);
        a->root = 1;
    }
    for (int64_t count = draw_chance(d, 60) ? draw_skewed(d, 1, 12) : 0; count > 0; count--)
        draw_count(d);
}

/* Licence changes of waiting and of running jobs. */
void sim_draw_license_acts(struct draw *d)
{
    if ((!d->licenses && !has_layers(d)) || !draw_chance(d, 60))
        return;
    for (int64_t count = draw_skewed(d, 1, d->jobs); count > 0; count--) {
        struct sim_item *a = add_item(d, SIM_ITEM_DO);
        a->what = SIM_DO_LICENSES;
        a->at_ms = draw_between(d, 1, d->span_ms);
        a->id = sim_draw_job_at(d, a->at_ms);
        a->root = draw_chance(d, 90);
        a->again_ms = draw_chance(d, 4);
        PUT(a->text, "%s", draw_license_text(d));
    }
}

/* --- reservations --------------------------------------------------------------------------------
 */

/* One node of "n[1-4]", or all of them. */
static void narrow_nodes(struct draw *d, char nodes[SIM_TEXT])
{
    long long first, last;
    if (draw_chance(d, 15) && sscanf(nodes, "n[%lld-%lld]", &first, &last) == 2)
        snprintf(nodes, SIM_TEXT, "n%lld", (long long)draw_between(d, first, last));
}

static void draw_resv_licenses(struct draw *d, char licenses[SIM_TEXT])
{
    char name, nodes[SIM_TEXT];
    licenses[0] = 0;
    for (int64_t items = draw_skewed(d, 1, 4); items > 0; items--) {
        const char *comma = *licenses ? "," : "";
        if (!has_layers(d) || (d->licenses && draw_chance(d, 30))) {
            put_text(licenses, SIM_TEXT, "%s%s", comma, WORD(d, "a", "a:2", "a:4", "b", "b:2"));
            continue;
        }
        find_drawn_layer(d, &name, nodes);
        narrow_nodes(d, nodes);
        put_text(licenses, SIM_TEXT, "%s%c(%s):%lld", comma, name, nodes,
                 (long long)draw_skewed(d, 1, d->nodes + 2));
    }
}

/* The reservation gets another user, another end or other licences, or is deleted. */
static void draw_license_resv_change(struct draw *d, const struct sim_item *made)
{
    struct sim_item *r = add_item(d, SIM_ITEM_DO);
    *r = *made;
    r->what = draw_chance(d, 60) ? SIM_DO_RESV_CHANGE : SIM_DO_RESV_DELETE;
    r->at_ms += draw_skewed(d, 1, d->span_ms);
    r->again_ms = draw_chance(d, 4);
    if (r->what == SIM_DO_RESV_DELETE)
        return;
    r->uid = 1000 + draw_between(d, 0, 2);
    if (draw_chance(d, 80))
        draw_resv_licenses(d, r->licenses);
}

static void draw_license_resv(struct draw *d, int64_t number)
{
    bool alone = draw_chance(d, 70);
    struct sim_item *r = sim_draw_add_resv(d, 'k', number);
    draw_resv_licenses(d, r->licenses);
    if (alone && draw_chance(d, 20))
        r->value = r->for_ms = 0;
    if (!alone)
        sim_draw_some_nodes(d, r->nodes, sizeof r->nodes);
    PUT(r->text, "%s",
        WORD(d, "", "", "HOURLY", "FLEX", "MAINT", "OVERLAP", "MAGNETIC", "TIME_FLOAT"));
    if (!alone)
        PUT(r->text, ",IGNORE_JOBS");
    else if (!strchr(r->licenses, '(') || draw_chance(d, 50))
        PUT(r->text, ",LICENSE_ONLY");
    if (draw_chance(d, 20))
        PUT(r->text, ",%s", WORD(d, "NO_HOLD_JOBS_AFTER", "PURGE_COMP=1"));
    const struct sim_item made = *r;
    for (int64_t changes = draw_skewed(d, 0, 3); changes > 0; changes--)
        draw_license_resv_change(d, &made);
}

void sim_draw_license_reservations(struct draw *d)
{
    if ((!has_layers(d) && !d->licenses) || !draw_chance(d, 50))
        return;
    int64_t count = draw_skewed(d, 1, 4), share = draw_between(d, 20, 90);
    for (int64_t i = 1; i <= count; i++)
        draw_license_resv(d, i);
    vec_foreach (&d->plan->items, j) {
        bool may = j->kind == SIM_ITEM_JOB && *j->licenses && !*j->resv;
        const struct sim_item *r = may ? sim_draw_find_resv(d, j) : NULL;
        if (r && draw_chance(d, (unsigned)share))
            PUT(j->resv, "%s", r->name);
    }
}
