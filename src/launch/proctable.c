/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/proctable.h"

#include <stdlib.h>

#include "base/mem.h"

/* The MPIR interface defines the names, types and values. */
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
FOR_DEBUGGERS int MPIR_i_am_starter;      /* this process is not a task of the program */
FOR_DEBUGGERS int MPIR_acquired_pre_main; /* tasks are stopped before main */
/* Tasks without a debugger attached are continued by srun. */
FOR_DEBUGGERS int MPIR_partial_attach_ok;
FOR_DEBUGGERS int MPIR_force_to_main; /* the debugger need not stop before main */
FOR_DEBUGGERS char *totalview_jobid;

FOR_DEBUGGERS void MPIR_Breakpoint(void);

FOR_DEBUGGERS __attribute__((noinline)) void MPIR_Breakpoint(void)
{
    /* A debugger stops here; the call must not be optimised away. */
    __asm__ volatile("" ::: "memory");
}

static char *program_name;
static uint32_t task_count;

bool proctable_is_debugged(void)
{
    return MPIR_being_debugged != 0;
}

bool proctable_is_open(void)
{
    return MPIR_proctable != NULL;
}

void proctable_open(uint32_t tasks, const char *program, const char *step)
{
    MPIR_proctable = mem_new_array(MPIR_PROCDESC, tasks);
    task_count = tasks;
    program_name = mem_strdup(program);
    totalview_jobid = mem_strdup(step);
}

void proctable_put(uint32_t task, const char *host, uint32_t pid)
{
    if (task >= task_count || pid == 0 || MPIR_proctable[task].pid != 0)
        return;
    MPIR_proctable[task] = (MPIR_PROCDESC){(char *)host, program_name, (int)pid};
    MPIR_proctable_size++;
}

bool proctable_check(void)
{
    if (MPIR_proctable_size < (int)task_count || MPIR_debug_state != MPIR_NULL)
        return false;
    MPIR_debug_state = MPIR_DEBUG_SPAWNED;
    MPIR_Breakpoint();
    return true;
}

void proctable_tell(void (*say)(const char *fmt, ...))
{
    for (uint32_t i = 0; i < task_count; i++)
        if (MPIR_proctable[i].pid != 0)
            say("task:%u, host:%s, pid:%d, executable:%s", i, MPIR_proctable[i].host_name,
                MPIR_proctable[i].pid, MPIR_proctable[i].executable_name);
}

void proctable_aborted(const char *why)
{
    free(MPIR_debug_abort_string);
    MPIR_debug_abort_string = mem_strdup(why);
    MPIR_debug_state = MPIR_DEBUG_ABORTING;
    MPIR_Breakpoint();
}
