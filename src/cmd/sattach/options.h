/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of sattach. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/args.h"
#include "proto/step.pb-c.h"

#define EVERY_TASK 0xffffffffu

struct options {
    struct args_common common;
    bool as_srun; /* srun --attach: signals are sent to the tasks, as srun sends them */
    bool label, layout, pty, quiet, debugger_test;
    uint32_t filter[3]; /* for standard input, output and error: a task, or EVERY_TASK */
    const char *id_text;
    Pb__StepId id; /* step absent: the only step of the job */
};

extern const struct args_table options_table;

/* Returns 0; or, after a message, the exit status plus 1. */
int options_parse(struct options *o, int argc, char **argv);
