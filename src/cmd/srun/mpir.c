/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/mpir.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/srun/program.h"
#include "cmd/srun/run.h"

/* Names, types and values are the interface's. */
#define FOR_DEBUGGERS __attribute__((used, retain, visibility("default")))
enum { MPIR_NULL, MPIR_DEBUG_SPAWNED, MPIR_DEBUG_ABORTING };

typedef struct {
    char *host_name;
    char *executable_name;
    int pid;
} MPIR_PROCDESC;

FOR_DEBUGGERS MPIR_PROCDESC *MPIR_proctable;
FOR_DEBUGGERS int MPIR_proctable_size;
FOR_DEBUGGERS volatile int MPIR_debug_state;
FOR_DEBUGGERS volatile int MPIR_being_debugged;
FOR_DEBUGGERS char *MPIR_debug_abort_string;
FOR_DEBUGGERS int MPIR_i_am_starter;      /* no task of the program itself */
FOR_DEBUGGERS int MPIR_acquired_pre_main; /* tasks stand before main */
FOR_DEBUGGERS int MPIR_partial_attach_ok; /* those that it does not attach to go on by us */
FOR_DEBUGGERS int MPIR_force_to_main;     /* its user need not see what comes before it */
FOR_DEBUGGERS char *totalview_jobid;

FOR_DEBUGGERS void MPIR_Breakpoint(void);

FOR_DEBUGGERS __attribute__((noinline)) void MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory"); /* a debugger stops here; the call must not go */
}

bool mpir_is_debugged(void)
{
    return MPIR_being_debugged != 0;
}

static void begin(const struct run *run)
{
    const struct Pb__StepReply *step = run->step;
    /* As the tasks will find it, when this host has the same programs. */
    bool by_address = conf_list_has(run->conf->launch_parameters, "mpir_use_nodeaddr");
    char *program = program_find(run->argv[0], run->options->work_dir);

    MPIR_proctable = mem_new_array(MPIR_PROCDESC, step->num_tasks);
    for (size_t n = 0; n < step->n_layout; n++) {
        const struct Pb__StepNode *node = step->layout[n];

        for (size_t i = 0; i < node->n_task_ids; i++)
            if (node->task_ids[i] < step->num_tasks)
                MPIR_proctable[node->task_ids[i]] =
                    (MPIR_PROCDESC){by_address ? node->addr : node->node, program, 0};
    }
    totalview_jobid = mem_printf("%u.%u", run->job_id, run->step_id);
}

bool mpir_started(struct run *run, uint32_t node, const struct Pb__TasksStarted *started)
{
    const struct Pb__StepNode *n = run->step->layout[node];

    if (MPIR_proctable == NULL)
        begin(run);
    for (size_t i = 0; i < started->n_task && i < started->n_pid && i < n->n_task_ids; i++) {
        uint32_t task = n->task_ids[i]; /* shepherds keep the order */

        if (started->task[i] != task || task >= run->step->num_tasks || started->pid[i] == 0 ||
            MPIR_proctable[task].pid != 0)
            continue;
        MPIR_proctable[task].pid = (int)started->pid[i];
        MPIR_proctable_size++;
    }
    if (MPIR_proctable_size < (int)run->step->num_tasks || MPIR_debug_state != MPIR_NULL)
        return false;
    MPIR_debug_state = MPIR_DEBUG_SPAWNED;
    MPIR_Breakpoint();
    return true;
}

void mpir_aborted(const char *why)
{
    free(MPIR_debug_abort_string);
    MPIR_debug_abort_string = mem_strdup(why);
    MPIR_debug_state = MPIR_DEBUG_ABORTING;
    MPIR_Breakpoint();
}
