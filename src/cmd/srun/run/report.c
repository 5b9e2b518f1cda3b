/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/report.h"

#include <stdio.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "cluster/job/step_nodes.h"
#include "cmd/srun/option/say.h"
#include "cmd/srun/run/run.h"
#include "launch/jobenv.h"

/* As in variables, except that each count has its "(xN)". */
static void put_counts(const uint32_t *cpus, size_t n, struct str *out)
{
    for (size_t i = 0, same; i < n; i += same) {
        for (same = 1; i + same < n && cpus[i + same] == cpus[i]; same++)
            ;
        str_printf(out, "%s%u(x%zu)", i > 0 ? "," : "", cpus[i], same);
    }
}

void report_allocation(const struct run *run)
{
    const struct Pb__AllocReply *alloc = run->alloc;
    const struct Pb__StepReply *step = run->step;
    _cleanup_(step_nodes_done) struct step_nodes own;
    size_t n = alloc != NULL ? alloc->n_alloc : 0;
    _cleanup_free_ uint32_t *cpus = mem_new_array(uint32_t, n + 1);
    _cleanup_str_ struct str nodes = STR_INIT, counts = STR_INIT;

    for (size_t i = 0; i < n; i++)
        cpus[i] = alloc->alloc[i]->cpus;
    step_nodes_init(&own, alloc != NULL ? NULL : step->layout, alloc != NULL ? 0 : step->n_layout);
    if (alloc == NULL)
        n = own.cpus.len;
    put_counts(alloc != NULL ? cpus : own.cpus.data, n, &counts);
    if (alloc != NULL && alloc->nodes != NULL)
        str_puts(&nodes, alloc->nodes);
    else
        hostlist_format(own.names, &nodes);
    say_verbose("jobid %u: nodes(%zu):`%s', cpu counts: %s", run->job_id, n, str_cstr(&nodes),
                str_cstr(&counts));
}

/* Task numbers are formatted like a host list without names: "[0-1]", or "2". */
static void put_tasks(const struct Pb__StepNode *node, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *ids = hostlist_new();
    char name[16];

    if (node->n_task_ids == 1) {
        str_printf(out, "%u", node->task_ids[0]);
        return;
    }
    for (size_t i = 0; i < node->n_task_ids; i++) {
        snprintf(name, sizeof(name), "%u", node->task_ids[i]);
        hostlist_push(ids, name);
    }
    hostlist_format(ids, out);
}

void report_launch(const struct run *run)
{
    if (run->options->verbose < 1)
        return;
    for (size_t i = 0; i < run->step->n_layout; i++) {
        const struct Pb__StepNode *node = run->step->layout[i];
        _cleanup_str_ struct str tasks = STR_INIT;

        put_tasks(node, &tasks);
        say_verbose("launching %s on host %s, %zu tasks: %s", run->step_name, node->node,
                    node->n_task_ids, str_cstr(&tasks));
    }
}
