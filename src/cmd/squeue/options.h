/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of squeue. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "cli/args.h"
#include "cli/job_arg.h"
#include "proto/job.pb-c.h"
#include "show/job_state.h"

struct options {
    bool noheader, long_format, steps, start, not_me;
    bool all; /* also jobs of hidden partitions */
    bool json, yaml, help_format, expand_patterns;
    bool has_format, has_format_long; /* given on the command line */
    int64_t over_sec, under_sec;      /* jobs with a longer, or shorter, run time; 0: any */
    bool priority;                    /* one line for each partition of a pending job */
    bool each;                        /* one line for each array element */
    bool bare;                        /* -j or -s without a list, which may follow as an operand */
    struct args_common common;
    const char *format, *format_long, *sort, *nodes;     /* borrowed from argv */
    const char *accounts, *qos, *licenses, *reservation; /* comma-separated lists; NULL: any */
    uint32_t iterate_sec;
    struct job_states states;
    struct job_id_list ids;
    VEC(uint32_t) uids;
    VEC(char *) names, partitions;
    unsigned empty_lists; /* bits of the list options whose last value names nothing */
    bool nobody;          /* there are such options: no job matches */
};

extern const struct args_table options_table;

/* Returns 0; or, after a message, the exit status plus 1. */
int options_parse(struct options *o, int argc, char **argv);
void options_done(struct options *o);

/* Whether a job passes the filters that the controller does not support. */
bool options_match(const struct options *o, const Pb__JobRecord *job);
/* --running-over and --running-under */
bool options_match_time(const struct options *o, const Pb__JobLive *live, int64_t now);
