/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What scancel was asked for. */
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
    char *file_nodes;                     /* those of a file, which 'nodes' is then; or NULL */
    const char *account, *qos, *reservation, *wckey;
    struct job_id_list ids;
};

extern const struct args_table options_table;

/* 0; or the status to exit with, plus 1, after a message. */
int options_parse(struct options *o, int argc, char **argv);
void options_done(struct options *o);
int options_add_id(struct options *o, const char *text); /* the same */

/* Whether jobs are chosen by anything but their ids. */
bool options_has_filter(const struct options *o);
/* Whether the controller cannot choose them alone. */
bool options_needs_list(const struct options *o);
/* Whether a job passes the filters that the controller does not apply. */
bool options_match(const struct options *o, const Pb__JobRecord *job);
