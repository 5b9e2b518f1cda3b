/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of scancel. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "cli/args.h"
#include "cli/job_arg.h"
#include "show/job_state.h"

struct options {
    bool batch, full, hurry, interactive, quiet;
    struct args_common common;
    bool has_signal;
    int signal;
    struct job_states states;
    bool has_uid;
    uint32_t uid;
    const char *name, *partition, *nodes; /* NULL: any; borrowed */
    char *file_nodes;                     /* contents of a node file, used as 'nodes'; or NULL */
    const char *account, *qos, *reservation, *wckey;
    struct job_id_list ids;
};

extern const struct args_table options_table;

/* Returns 0; or, after a message, the exit status plus 1. */
int options_parse(struct options *o, int argc, char **argv);
void options_done(struct options *o);
int options_add_id(struct options *o, const char *text); /* returns like options_parse() */

/* Whether jobs are selected by anything other than their ids. */
bool options_has_filter(const struct options *o);
/* Whether the controller alone cannot select the jobs. */
bool options_needs_list(const struct options *o);
/* Whether a job passes the filters that the controller does not support. */
bool options_match(const struct options *o, const Pb__JobRecord *job);
