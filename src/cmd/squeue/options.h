/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What squeue was asked for. */
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
    bool json, yaml, help_format, expand_patterns;
    bool has_format, has_format_long; /* given on the command line */
    int64_t over_sec, under_sec;      /* jobs that have run for longer, or less; 0: any */
    bool priority;                    /* a line for each partition of a pending job */
    bool each;                        /* element of an array on a line of its own */
    bool bare;                        /* -j or -s without a list, which may follow as an operand */
    struct args_common common;
    const char *format, *format_long, *sort, *nodes;     /* borrowed from argv */
    const char *accounts, *qos, *licenses, *reservation; /* comma lists; NULL: any */
    uint32_t iterate_sec;
    struct job_states states;
    struct job_id_list ids;
    VEC(uint32_t) uids;
    VEC(char *) names, partitions;
    bool nobody; /* asked for users, none of whom is known */
};

extern const struct args_table options_table;

/* 0; or the status to exit with, plus 1, after a message. */
int options_parse(struct options *o, int argc, char **argv);
void options_done(struct options *o);

/* Whether a job passes the filters that the controller does not apply. */
bool options_match(const struct options *o, const Pb__JobRecord *job);
/* --running-over and --running-under */
bool options_match_time(const struct options *o, const Pb__JobLive *live, int64_t now);
