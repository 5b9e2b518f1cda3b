/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Wait statuses beyond the kernel's: a task that was ended because of its memory gets the status
 * of a non-existent signal, as shown by Slurm: 0:125, and exit code 253 of a command.
 */
#pragma once

#include <stdbool.h>
#include <sys/wait.h>

#define STATUS_OUT_OF_MEMORY 125

static inline bool status_is_out_of_memory(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == STATUS_OUT_OF_MEMORY;
}

/* Severity of a status, as an exit code; out of memory is the worst. */
static inline int status_weight(int status)
{
    if (status_is_out_of_memory(status))
        return 256;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
