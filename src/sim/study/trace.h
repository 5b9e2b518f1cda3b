/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a cluster was asked, to be asked again of a virtual one: jobs with the times of their
 * submission, what they want and how long they run. Read from a file of the Standard Workload
 * Format; a recording of ours says more of a job in a comment before it. Lines that cannot be read
 * are told and counted, and left out; jobs that nothing can be done with are counted by why.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#define TRACE_BYTES (UINT64_C(4) << 30) /* of a file */
#define TRACE_TOLD 10                   /* bad lines whose faults are kept */

enum trace_left {
    TRACE_USED,
    TRACE_NO_PROCS, /* left out, because: */
    TRACE_NO_RUN,
    TRACE_CANCELLED,
    TRACE_PARTIAL,
    TRACE_LEFT_END
};

struct trace_job {
    int64_t number;                         /* as the file calls it */
    int64_t submit_sec, run_sec, limit_sec; /* submit: after the beginning; limit 0: none */
    int64_t after; /* the job it is to follow, 0: none; with --think it comes so long after that
                      one's end: */
    int64_t think_sec;
    uint64_t mem_kib; /* of each processor; 0: not told */
    uint32_t procs, user, group;
    int32_t queue, part; /* -1: not told */
    int32_t exe;
    bool failed;       /* it ended with an error */
    const char *shape; /* its words (cluster/node/shape.h), in the arena, instead of the processors
                          and the memory; NULL: none */
    uint32_t line;
};

struct trace_name {
    bool part; /* of a partition; else of a queue */
    int32_t number;
    char *name; /* in the arena */
};

struct trace_fault {
    uint32_t line;
    char *text; /* in the arena */
};

struct trace {
    const char *path;           /* borrowed */
    int64_t begins_at;          /* wall seconds; 0: not told */
    VEC(struct trace_job) jobs; /* by the time of submission; then as in the file */
    VEC(struct trace_name) names;
    VEC(struct trace_fault) faults; /* the first ones */
    size_t bad;                     /* lines */
    size_t left[TRACE_LEFT_END];
    int64_t shape_of; /* while it is read: the job that the last such comment was of, and: */
    const char *shape;
    struct arena arena;
};

/* -ERR_PARSE: not a line of it can be used. */
int trace_read(const char *path, struct trace *t, struct err *err);
/* The same of a text; 'path' is what it is called. */
int trace_parse(const char *path, char *text, struct trace *t, struct err *err);
void trace_done(struct trace *t);
const char *trace_left_text(enum trace_left why); /* "no number of processors" */
/* The name that the header gives it, or NULL. */
const char *trace_name(const struct trace *t, bool part, int32_t number);
