/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators set counts of layers. */
#include "sim/state/hres.h"

#include <stdio.h>
#include <string.h>

#include "base/pb.h"
#include "sim/command/command.h"

void sim_count_send(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__LicenseUpdate r = PB__LICENSE_UPDATE__INIT;
    struct sim_layer layer;
    char nodes[SIM_NAME];
    if (!sim_layer_read(a->text, a->nodes, &layer))
        return;
    snprintf(nodes, sizeof nodes, layer.first == layer.last ? "n%u" : "n[%u-%u]", layer.first,
             layer.last);
    r.name = (char *)a->text;
    r.nodes = nodes;
    if (a->value != SIM_COUNT_FILE)
        SET(&r, count, a->value == SIM_COUNT_UNLIMITED ? UINT64_MAX : (uint64_t)a->value);
    sim_call(s, SIM_OF_ACT, SIM_LICENSE_UPDATE, index, &s->rng, &r.base);
}

/* The count is on disk, unless another request or another file came in between. */
void sim_count_answered(struct sim *s, const struct sim_item *a)
{
    struct sim_layer layer;
    bool known = sim_layer_read(a->text, a->nodes, &layer);
    vec_foreach (&s->acts, act) {
        const struct sim_item *other = *act;
        bool counts = other->kind == SIM_ITEM_DO && other->what == SIM_DO_COUNT;
        bool same = counts && *other->text == *a->text && strcmp(other->nodes, a->nodes) == 0;
        if ((other != a && same) ||
            (other->kind == SIM_ITEM_DO && other->what >= SIM_DO_RECONFIGURE))
            return;
    }
    if (!known || !s->c->control)
        return;
    uint64_t wanted = a->value == SIM_COUNT_UNLIMITED ? UINT64_MAX : (uint64_t)a->value, file = 0;
    if (!sim_layer_file_count(s, &layer, &file))
        return;
    bool is_stored = false;
    for (const struct sim_stored *at = s->store; at; at = at->hh.next) {
        struct sim_count count;
        if (at->record.kind == RECORD_LICENSE && sim_layer_count(&at->record, &count) &&
            sim_layer_same(&count.layer, &layer))
            is_stored = count.count == wanted;
    }
    if (is_stored != (a->value != SIM_COUNT_FILE && wanted != file))
        sim_break(s, "a count was answered and is not on disk", "%s(%s): %lld", a->text, a->nodes,
                  (long long)a->value);
}
