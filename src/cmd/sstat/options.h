/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of sstat. */
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
    struct job_id_list ids; /* without duplicates */
};

extern const struct args_table options_table;

/* Returns 0; or, after a message, the exit status plus 1. */
int options_parse(struct options *o, int argc, char **argv);
void options_done(struct options *o);
