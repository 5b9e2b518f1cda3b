/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical resources of drawn plans: "h" in mode 2, "o" in mode 1, "p" in mode 3, each a root
 * and the parts of it. */
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
