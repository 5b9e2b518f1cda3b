/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/env/layout.h"

#include <stdbool.h>
#include <string.h>

#include "base/vec.h"

void layout_counts_format(const uint32_t *counts, size_t nodes, struct str *out)
{
    for (size_t i = 0, run; i < nodes; i += run) {
        for (run = 1; i + run < nodes && counts[i + run] == counts[i]; run++)
            ;
        str_printf(out, "%s%u", i ? "," : "", counts[i]);
        if (run > 1)
            str_printf(out, "(x%zu)", run);
    }
}

struct block {
    uint32_t first, nodes, tasks;
};

/* Whether the sequence consists of repetitions of its first 'period' blocks. */
static bool has_period(const struct block *b, size_t count, size_t period)
{
    if (count % period)
        return false;
    for (size_t i = period; i < count; i++)
        if (memcmp(&b[i], &b[i - period], sizeof(b[i])) != 0)
            return false;
    return true;
}

void layout_mapping_format(const uint32_t *node_of, size_t tasks, struct str *out)
{
    VEC(struct block) blocks = {0};
    size_t period = 1;

    for (size_t i = 0, run; i < tasks; i += run) {
        for (run = 1; i + run < tasks && node_of[i + run] == node_of[i]; run++)
            ;
        if (blocks.len && vec_last(&blocks).tasks == run &&
            vec_last(&blocks).first + vec_last(&blocks).nodes == node_of[i])
            vec_last(&blocks).nodes++;
        else
            vec_push(&blocks, ((struct block){node_of[i], 1, (uint32_t)run}));
    }
    while (period < blocks.len && !has_period(blocks.data, blocks.len, period))
        period++;
    str_puts(out, "(vector");
    for (size_t i = 0; i < period && i < blocks.len; i++)
        str_printf(out, ",(%u,%u,%u)", blocks.data[i].first, blocks.data[i].nodes,
                   blocks.data[i].tasks);
    str_putc(out, ')');
    vec_done(&blocks);
}
