/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sattach/layout.h"

#include "base/hostlist.h"

static void put_nodes(const Pb__StepRecord *step, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *nodes = hostlist_new();

    for (size_t i = 0; i < step->n_layout; i++)
        hostlist_push(nodes, step->layout[i]->node);
    hostlist_format(nodes, out);
}

void layout_format(const Pb__StepRecord *step, struct str *out)
{
    size_t tasks = 0;

    for (size_t i = 0; i < step->n_layout; i++)
        tasks += step->layout[i]->n_task_ids;
    str_puts(out, "Job step layout:\n");
    str_printf(out, "\t%zu tasks, %zu nodes (", tasks, step->n_layout);
    put_nodes(step, out);
    str_puts(out, ")\n\n");
    for (size_t i = 0; i < step->n_layout; i++) {
        const Pb__StepNode *n = step->layout[i];

        str_printf(out, "\tNode %zu (%s), %zu task(s): ", i, n->node, n->n_task_ids);
        for (size_t k = 0; k < n->n_task_ids; k++)
            str_printf(out, "%u ", n->task_ids[k]);
        str_putc(out, '\n');
    }
}
