/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sattach was asked for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/args.h"
#include "proto/step.pb-c.h"

#define EVERY_TASK 0xffffffffu

struct options {
    struct args_common common;
    bool as_srun; /* srun --attach: signals go to the tasks as srun sends them */
    bool label, layout, pty, quiet, debugger_test;
    uint32_t filter[3]; /* of standard input, output and error: a task, or EVERY_TASK */
    const char *id_text;
    Pb__StepId id; /* step absent: the only one of the job */
};

extern const struct args_table options_table;

/* 0; or the status to exit with, plus 1, after a message. */
int options_parse(struct options *o, int argc, char **argv);
