/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A recorded workload, to be replayed on a virtual cluster: jobs with their submission times,
 * requests and run times. It is read from a file in the Standard Workload Format; a recording made
 * by Sluice has more details of a job in a comment before it. Lines that cannot be read are
 * reported, counted and skipped. Unusable jobs are counted by reason.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#define TRACE_BYTES (UINT64_C(4) << 30) /* maximum file size */
#define TRACE_TOLD 10                   /* maximum number of stored line errors */

enum trace_left {
    TRACE_USED,
    TRACE_NO_PROCS, /* reasons to leave a job out: */
    TRACE_NO_RUN,
    TRACE_CANCELLED,
    TRACE_PARTIAL,
    TRACE_LEFT_END
};

struct trace_job {
    int64_t number; /* job number in the file */
    /* Submit: since the start of the trace; limit 0: none. */
    int64_t submit_sec, run_sec, limit_sec;
    /* Number of the preceding job, 0: none; with --think the job is submitted think_sec after the
     * end of that job. */
    int64_t after;
    int64_t think_sec;
    uint64_t mem_kib; /* of each processor; 0: unknown */
    uint32_t procs, user, group;
    int32_t queue, part; /* -1: unknown */
    int32_t exe;
    bool failed; /* ended with an error */
    /* Words of cluster/node/shape.h, in the arena, used instead of processors and memory; NULL:
     * none. */
    const char *shape;
    uint32_t line;
};

struct trace_name {
    bool part; /* names a partition; otherwise a queue */
    int32_t number;
    char *name; /* in the arena */
};

struct trace_fault {
    uint32_t line;
    char *text; /* in the arena */
};

struct trace {
    const char *path;           /* borrowed */
    int64_t begins_at;          /* wall time in seconds; 0: unknown */
    VEC(struct trace_job) jobs; /* by submission time, then in file order */
    VEC(struct trace_name) names;
    VEC(struct trace_fault) faults; /* the first TRACE_TOLD ones */
    size_t bad;                     /* number of bad lines */
    size_t left[TRACE_LEFT_END];
    /* While reading: the job that the last shape comment belongs to, and the comment's text. */
    int64_t shape_of;
    const char *shape;
    struct arena arena;
};

/* Returns -ERR_PARSE if no line can be used. */
int trace_read(const char *path, struct trace *t, struct err *err);
/* Parses a text; 'path' is the name for messages. */
int trace_parse(const char *path, char *text, struct trace *t, struct err *err);
void trace_done(struct trace *t);
const char *trace_left_text(enum trace_left why); /* "no number of processors" */
/* The name in the header, or NULL. */
const char *trace_name(const struct trace *t, bool part, int32_t number);
