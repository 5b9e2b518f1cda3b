/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace on a virtual cluster: control/ and sched/ as the daemon has them, under a virtual clock,
 * with nodes that answer at once and never fail. What the site would run beside jobs (prologs,
 * mail) is left out. The same trace and configuration give the same result.
 */
#pragma once

#include "conf/conf.h"
#include "sim/study/trace.h"

struct replay_options {
    bool think;  /* a job that follows another comes after its end and the think time */
    bool places; /* which nodes jobs had is wanted */
    bool verbose;
    const char *path; /* of the configuration; borrowed */
};

enum replay_fate { REPLAY_WAITS, REPLAY_REFUSED, REPLAY_RUNS, REPLAY_ENDED, REPLAY_KILLED };

struct replay_job {        /* of the trace's job of the same place */
    enum replay_fate fate; /* waits: it never began. killed: at its time limit, or before */
    int64_t submit_sec, start_sec, end_sec; /* after the trace's beginning; start: of the last
                                               attempt */
    uint32_t nodes, cpus, restarts, job_id;
    const char *why; /* it was refused, or waits; in the arena */
};

struct replay_span { /* nodes that follow one another, with so many CPUs of each */
    uint32_t first, count, cpus;
};

struct replay_attempt {
    uint32_t job; /* its place in the trace */
    int64_t start_sec, end_sec;
    uint32_t nodes, cpus;
    size_t first_span, spans;
};

struct replay {
    const struct trace *trace;
    struct replay_job *jobs;
    VEC(struct replay_attempt) attempts; /* by their starts */
    VEC(struct replay_span) spans;
    const char *cluster; /* its name, in the arena */
    uint32_t nodes, cpus, *node_cpus;
    char **node_names;                           /* in the arena */
    int64_t first_sec, last_submit_sec, end_sec; /* the first submission, the last, the last end */
    VEC(float) turn_ms; /* how long turns with submissions, ends and plans took, really */
    double cpu_sec;
    struct arena arena;
};

/* -ERR_CONFIG and the like when the configuration cannot be read. 'warnings' may be NULL. */
int replay_run(const struct trace *t, const struct replay_options *o, struct replay *r,
               struct str *warnings, struct err *err);
void replay_done(struct replay *r);
