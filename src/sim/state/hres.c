/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/state/hres.h"

#include <stdio.h>

#include "sim/state/find.h"

bool sim_layer_read(const char *name, const char *nodes, struct sim_layer *layer)
{
    *layer = (struct sim_layer){.name = *name};
    if (sscanf(nodes, "n[%u-%u]", &layer->first, &layer->last) == 2)
        return true;
    bool one = sscanf(nodes, "n%u", &layer->first) == 1;
    layer->last = layer->first;
    return one;
}

bool sim_layer_same(const struct sim_layer *a, const struct sim_layer *b)
{
    return a->name == b->name && a->first == b->first && a->last == b->last;
}

bool sim_layer_count(const struct sim_record *r, struct sim_count *count)
{
    char texts[2][SIM_NAME];
    uint64_t numbers[2];
    sim_view_named(r, texts, numbers);
    *count = (struct sim_count){.count = numbers[0], .file_count = numbers[1]};
    return sim_layer_read(texts[0], texts[1], &count->layer);
}
