/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sstat was asked for. */
#pragma once

#include <stdbool.h>

#include "base/vec.h"
#include "cli/args.h"
#include "cli/job_arg.h"
#include "proto/step.pb-c.h"
#include "show/usage_columns.h"

struct options {
    struct args_common common;
    bool all_steps, no_header, no_convert, pids, help_format;
    struct usage_columns fields;
    struct job_id_list ids; /* each once */
};

extern const struct args_table options_table;

/* 0; or the status to exit with, plus 1, after a message. */
int options_parse(struct options *o, int argc, char **argv);
void options_done(struct options *o);
