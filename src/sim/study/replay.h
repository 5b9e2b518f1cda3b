/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace on a virtual cluster: control/ and sched/ as in the daemon, under a virtual clock, with
 * nodes that answer at once and never fail. Site scripts (prologs, mail) are left out. The same
 * trace and configuration give the same result.
 */
#pragma once

#include "conf/conf.h"
#include "sim/study/trace.h"

struct replay_options {
    bool think;  /* a job that follows another one is submitted after its end plus the think time */
    bool places; /* records the nodes of each job */
    bool verbose;
    const char *path; /* path of the configuration; borrowed */
};

enum replay_fate { REPLAY_WAITS, REPLAY_REFUSED, REPLAY_RUNS, REPLAY_ENDED, REPLAY_KILLED };

struct replay_job {        /* result of the trace's job with the same index */
    enum replay_fate fate; /* waits: never started. killed: ended by its time limit or earlier */
    /* Since the start of the trace; start: of the last attempt. */
    int64_t submit_sec, start_sec, end_sec;
    uint32_t nodes, cpus, restarts, job_id;
    const char *why; /* why the job was rejected or waits; in the arena */
};

struct replay_span { /* adjacent nodes, with 'cpus' CPUs on each */
    uint32_t first, count, cpus;
};

struct replay_attempt {
    uint32_t job; /* index in the trace */
    int64_t start_sec, end_sec;
    uint32_t nodes, cpus;
    size_t first_span, spans;
};

struct replay {
    const struct trace *trace;
    struct replay_job *jobs;
    VEC(struct replay_attempt) attempts; /* ordered by start */
    VEC(struct replay_span) spans;
    const char *cluster; /* in the arena */
    uint32_t nodes, cpus, *node_cpus;
    char **node_names; /* in the arena */
    /* The first submission, the last submission, the last end. */
    int64_t first_sec, last_submit_sec, end_sec;
    VEC(float) turn_ms; /* measured duration of turns with submissions, ends and planning */
    double cpu_sec;
    struct arena arena;
};

/* Returns -ERR_CONFIG or another error if the configuration cannot be read. 'warnings' may be NULL.
 */
int replay_run(const struct trace *t, const struct replay_options *o, struct replay *r,
               struct str *warnings, struct err *err);
void replay_done(struct replay *r);
