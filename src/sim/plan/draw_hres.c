/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical resources of drawn plans: "h" in mode 2, "o" in mode 1, "p" in mode 3, each a root
 * and the parts of it; and what becomes of them and of licences while jobs run. */
#include "sim/plan/draw.h"

static void draw_layer(struct draw *d, char name, int64_t first, int64_t last, int64_t count)
{
    if (chance(d, 10))
        conf(d, "HresConf=%c;Nodes=n[%lld-%lld];Count=%lld;Base=x:1", name, (long long)first,
             (long long)last, (long long)count + 1);
    else
        conf(d, "HresConf=%c;Nodes=n[%lld-%lld];Count=%lld", name, (long long)first,
             (long long)last, (long long)count);
}

/* Layers side by side, and one around them. */
static void draw_resource(struct draw *d, char name, int mode, int64_t least, int64_t each)
{
    int64_t cut = d->nodes > 1 ? between(d, 1, d->nodes - 1) : 0;
    conf(d, "HresConf=%c;Mode=MODE_%d", name, mode);
    draw_layer(d, name, 1, d->nodes, least + each * between(d, 1, d->nodes));
    if (!cut || chance(d, 20))
        return;
    draw_layer(d, name, 1, cut, least + each * between(d, 0, cut));
    draw_layer(d, name, cut + 1, d->nodes, least + each * between(d, 0, d->nodes - cut));
}

static bool is_plain(const struct sim_item *j)
{
    return j->kind == SIM_ITEM_JOB && !*j->licenses && !*j->features && !*j->required &&
           !*j->excluded && !j->component_of;
}

void sim_draw_hres(struct draw *d)
{
    if (!chance(d, 20))
        return;
    d->hres = true;
    draw_resource(d, 'h', 2, 2, 2);
    draw_resource(d, 'o', 1, 1, 1);
    draw_resource(d, 'p', 3, 2, 3);
    for (size_t i = 0; i < d->plan->items.len; i++) {
        struct sim_item *j = &d->plan->items.data[i];
        if (!is_plain(j) || !chance(d, 50))
            continue;
        int64_t count = skewed(d, 1, 4);
        PUT(j->licenses, "%s:%lld", WORD(d, "h", "o", "p", "p", "h:1,p", "o,h", "o:1,p"),
            (long long)count);
    }
}

static struct sim_item *find_conf(struct draw *d, const char *key)
{
    vec_foreach (&d->plan->items, item)
        if (item->kind == SIM_ITEM_CONF && strncmp(item->text, key, strlen(key)) == 0)
            return item;
    return NULL;
}

/* Preemption frees licences and layers, too. */
void sim_draw_reclaim(struct draw *d)
{
    struct sim_item *parameters = find_conf(d, "PreemptParameters=");
    if (!d->preempts || (!d->licenses && !d->hres) || !chance(d, 60))
        return;
    if (parameters)
        PUT(parameters->text, ",reclaim_licenses");
    else
        conf(d, "PreemptParameters=reclaim_licenses");
}

static const char *draw_license_text(struct draw *d)
{
    if (d->hres && (!d->licenses || chance(d, 60)))
        return WORD(d, "h", "h:3", "o:1", "o:2", "p", "p:2", "p:4", "h:2,p:1", "o:2|h:1", "p:2|o",
                    "o:1,p", "");
    return WORD(d, "a", "a:2", "a:4", "b", "b,a:2", "b|a:3", "a:1|b:2", "");
}

/* Of jobs that wait and of jobs that run. */
void sim_draw_license_acts(struct draw *d)
{
    if ((!d->licenses && !d->hres) || !chance(d, 60))
        return;
    for (int64_t count = skewed(d, 1, d->jobs); count > 0; count--) {
        struct sim_item *a = add(d, SIM_ITEM_DO);
        a->what = SIM_DO_LICENSES;
        a->at_ms = between(d, 1, d->span_ms);
        a->id = sim_draw_job_at(d, a->at_ms);
        a->root = chance(d, 90);
        a->again_ms = chance(d, 4);
        PUT(a->text, "%s", draw_license_text(d));
    }
}
