/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of sprio. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "cli/args.h"
#include "cli/job_arg.h"
#include "proto/step.pb-c.h"

struct options {
    bool noheader, long_format, norm, weights, users, has_partitions;
    bool bare;   /* -j without a list, which may follow as an operand */
    bool nobody; /* a list of users or partitions names nothing that exists: no job matches */
    struct args_common common;
    const char *format, *sort; /* borrowed from argv */
    struct job_id_list ids;    /* jobs, and components of job sets */
    VEC(uint32_t) uids;
    VEC(char *) partitions;
};

extern const struct args_table options_table;

/* Returns 0; or, after a message, the exit status plus 1. */
int options_parse(struct options *o, int argc, char **argv);
void options_done(struct options *o);
