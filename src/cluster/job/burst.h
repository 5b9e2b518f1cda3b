/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The burst buffer of a job: where it is on its way through the table of phases (burst.def), which
 * is stored with the job. What the phases do is in control/life/burst.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/job.pb-c.h"

struct arena;
struct job;

enum burst_phase { /* stored; numbers are for ever */
#define PHASE(name, ...) BURST_##name,
#include "cluster/job/burst.def"
#undef PHASE
                   BURST_PHASES
};

enum burst_limit { BURST_LIMIT_OTHER, BURST_LIMIT_IN, BURST_LIMIT_OUT };

struct burst_row { /* of burst.def */
    const char *name, *state, *function, *args;
    enum burst_limit limit;
    enum burst_phase done, failed, ended, again;
};
extern const struct burst_row burst_rows[BURST_PHASES];

struct job_burst {
    enum burst_phase phase;
    bool failed;       /* its function failed, and the buffer is kept as it is */
    bool ending;       /* the function is to end early: the phase 'ended' follows */
    bool hurry;        /* scancel --hurry, or the job has never run: no stage-out */
    bool staged_out;   /* all data are out; the mail about that may be lost by a crash */
    uint32_t tries;    /* of the teardown that have failed */
    uint32_t run;      /* number of the function that runs; 0: none */
    char *pool;        /* NULL: none */
    uint64_t size;     /* of the pool, in units of its granularity; 0: none */
    int64_t create_at; /* wall seconds, of the last setup; 0: none yet */
    int64_t due_mono_ms, stage_mono_ms; /* the next call of a test; when staging began; 0: none */
    char *env;                          /* variables of slurm_bb_paths, a line each; NULL: none */
};

/* "staging-in": the word for users. */
const char *burst_state(const struct job_burst *b);
/* The buffer exists, or may exist: something is to be torn down. */
static inline bool burst_exists(const struct job_burst *b)
{
    return b && b->phase != BURST_PENDING && b->phase != BURST_COMPLETE;
}
/* Its job has ended, and data are staged out: the job is not over before that is. */
static inline bool burst_stages_out(const struct job_burst *b)
{
    return b && b->phase >= BURST_POST_RUN && b->phase <= BURST_TEST_OUT;
}
/* Before its job's start: between the allocation and the end of slurm_bb_pre_run. */
static inline bool burst_is_starting(const struct job_burst *b)
{
    return b && (b->phase == BURST_PATHS || b->phase == BURST_PRE_RUN);
}

void burst_free(struct job_burst *b);
Pb__BurstLive *burst_pack(const struct job_burst *b, struct arena *arena); /* NULL for NULL */
struct job_burst *burst_unpack(const Pb__BurstLive *m); /* NULL for NULL, and for what is none */

/* The pool and the size that directive lines ask for: the first "pool=NAME" and "capacity=SIZE" of
 * them. *pool is borrowed from the lines, *len its length; 0: none. -ERR_BURST: not a size. */
int burst_parse(const char *lines, const char **pool, size_t *len, uint64_t *size, struct err *err);
/* "1K" and "1KiB": powers of 1024; "1KB": of 1000; "2N". False: it is none. */
bool burst_parse_size(const char *text, size_t len, uint64_t *size);
/* In the largest unit that it is a multiple of: "250KiB", "1GB", "2". */
void burst_format_size(uint64_t size, char out[32]);
