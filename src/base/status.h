/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a wait status says beyond the kernel's: a task that was ended for its memory has one of a
 * signal that there is not, as Slurm shows it: 0:125, and 253 as a command's exit code.
 */
#pragma once

#include <stdbool.h>
#include <sys/wait.h>

#define STATUS_OUT_OF_MEMORY 125

static inline bool status_is_out_of_memory(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == STATUS_OUT_OF_MEMORY;
}

/* How bad it is, as an exit code; nothing is worse than the end of all memory. */
static inline int status_weight(int status)
{
    if (status_is_out_of_memory(status))
        return 256;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
