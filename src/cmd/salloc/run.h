/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One allocation from the request to its release, and the command that runs in it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "proto/job.pb-c.h"

enum run_bell { RUN_BELL_LATE, RUN_BELL_ALWAYS, RUN_BELL_NEVER };

struct run_options {
    struct Pb__JobSpec *job;
    struct Pb__JobSpec **components; /* of a job set: the components after 'job' */
    size_t component_count;
    char **argv;          /* the command */
    const char *work_dir; /* --chdir, or NULL */
    int64_t immediate_ms; /* -1: wait; 0: at once or not at all */
    int kill_signal;      /* sent to the command when the allocation is revoked; as in cli/opt.h */
    enum run_bell bell;
    bool no_shell;                                  /* run no command, keep the allocation */
    int verbose;                                    /* -1 with --quiet */
    void (*on_granted)(void *ctx, uint32_t job_id); /* the nodes are ready; may be NULL */
    void *ctx;
};

/* Returns salloc's exit status. */
int run_to_end(const struct conf *conf, const struct run_options *options);
