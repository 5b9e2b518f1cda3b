/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/run/mpir.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cmd/srun/option/program.h"
#include "cmd/srun/run/run.h"
#include "launch/proctable.h"

static void begin_debugger(const struct run *run)
{
    /* As the tasks will find it, when this host has the same programs. */
    _cleanup_free_ char *program = program_find(run->commands[0].argv[0], run->options->work_dir);
    _cleanup_free_ char *step = mem_printf("%u.%u", run->job_id, run->step_id);

    proctable_open(run->step->num_tasks, program, step);
}

bool mpir_started(struct run *run, uint32_t node, const struct Pb__TasksStarted *started)
{
    const struct Pb__StepNode *n = run->step->layout[node];
    bool by_address = conf_list_has(run->conf->launch_parameters, "mpir_use_nodeaddr");

    if (!proctable_is_open())
        begin_debugger(run);
    for (size_t i = 0; i < started->n_task && i < started->n_pid && i < n->n_task_ids; i++)
        if (started->task[i] == n->task_ids[i]) /* shepherds keep the order */
            proctable_put(started->task[i], by_address ? n->addr : n->node, started->pid[i]);
    return proctable_check();
}
