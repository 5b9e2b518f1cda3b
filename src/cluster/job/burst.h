/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The burst buffer of a job: its phase in the table of phases (burst.def), which is stored with the
 * job. control/life/burst.c executes the phases.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/job.pb-c.h"

struct arena;
struct job;

enum burst_phase { /* stored: numbers never change */
#define PHASE(name, ...) BURST_##name,
#include "cluster/job/burst.def"
#undef PHASE
                   BURST_PHASES
};

enum burst_limit { BURST_LIMIT_OTHER, BURST_LIMIT_IN, BURST_LIMIT_OUT };

struct burst_row { /* a row of burst.def */
    const char *name, *state, *function, *args;
    enum burst_limit limit;
    enum burst_phase done, failed, ended, again;
};
extern const struct burst_row burst_rows[BURST_PHASES];

struct job_burst {
    enum burst_phase phase;
    bool failed;       /* its function failed, and the buffer is left unchanged */
    bool ending;       /* the function must end early: the phase 'ended' follows */
    bool hurry;        /* no stage-out: scancel --hurry, or the job has never run */
    bool staged_out;   /* all data are staged out; a crash may lose the mail about it */
    uint32_t tries;    /* number of failed teardowns */
    uint32_t run;      /* number of the running function; 0: none */
    char *pool;        /* NULL: none */
    uint64_t size;     /* in the pool, in units of its granularity; 0: none */
    int64_t create_at; /* wall seconds of the last setup; 0: none yet */
    /* Next call of a test function; begin of staging; 0: none. */
    int64_t due_mono_ms, stage_mono_ms;
    char *env; /* variables of slurm_bb_paths, one per line; NULL: none */
};

/* Returns the word for users: "staging-in". */
const char *burst_state(const struct job_burst *b);
/* Whether the buffer exists or may exist, so that it needs a teardown. */
static inline bool burst_exists(const struct job_burst *b)
{
    return b && b->phase != BURST_PENDING && b->phase != BURST_COMPLETE;
}
/* Whether the job has ended and its data are being staged out; the job is not over before the
 * stage-out has ended. */
static inline bool burst_stages_out(const struct job_burst *b)
{
    return b && b->phase >= BURST_POST_RUN && b->phase <= BURST_TEST_OUT;
}
/* Whether the job is between its allocation and the end of slurm_bb_pre_run. */
static inline bool burst_is_starting(const struct job_burst *b)
{
    return b && (b->phase == BURST_PATHS || b->phase == BURST_PRE_RUN);
}

void burst_free(struct job_burst *b);
Pb__BurstLive *burst_pack(const struct job_burst *b, struct arena *arena); /* NULL for NULL */
/* NULL for NULL and for an invalid message. */
struct job_burst *burst_unpack(const Pb__BurstLive *m);

/* Finds the first "pool=NAME" and "capacity=SIZE" of directive lines. *pool is borrowed from the
 * lines, *len is its length; 0: none. -ERR_BURST: invalid size. */
int burst_parse(const char *lines, const char **pool, size_t *len, uint64_t *size, struct err *err);
/* Parses "1K" and "1KiB" (powers of 1024), "1KB" (powers of 1000), "2N". False: invalid. */
bool burst_parse_size(const char *text, size_t len, uint64_t *size);
/* Writes the size in the largest unit that divides it: "250KiB", "1GB", "2". */
void burst_format_size(uint64_t size, char out[32]);
