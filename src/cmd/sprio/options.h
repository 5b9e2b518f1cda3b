/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sprio was asked for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "cli/args.h"
#include "cli/job_arg.h"
#include "proto/step.pb-c.h"

struct options {
    bool noheader, long_format, norm, weights, users;
    bool bare;   /* -j without a list, which may follow as an operand */
    bool nobody; /* asked for users, none of whom is known */
    struct args_common common;
    const char *format, *sort; /* borrowed from argv */
    struct job_id_list ids;    /* jobs, and components of job sets */
    VEC(uint32_t) uids;
    VEC(char *) partitions;
};

extern const struct args_table options_table;

/* 0; or the status to exit with, plus 1, after a message. */
int options_parse(struct options *o, int argc, char **argv);
void options_done(struct options *o);
