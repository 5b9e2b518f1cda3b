/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file per job in the spool directory: whose it is, then a line per thing done, each written
 * before or after it as noted below. So a daemon started anew does nothing twice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "proto/node.pb-c.h"
#include "slurmd/attempt/attempt_phase.h"

#define NOTE_SIZE_MAX (16u << 20)

struct note_step {
    uint32_t id;
    bool over;    /* its end was acknowledged */
    uint64_t key; /* tells a repeat of its launch from another one */
};

struct note_adopted { /* a process, by its number and the time of its start */
    pid_t pid;
    uint64_t started_ticks;
    bool looked; /* a look at all processes has begun since */
};

struct note_signal { /* for a step that does not run yet, see early.h */
    uint32_t step_id;
    int signo;
    bool leader_only;
    uint64_t nonce;
    char *say; /* a line for its standard error, and no signal; in memory alone */
};

enum note_batch {                     /* of the batch script */
                  NOTE_BATCH_NONE,    /* it has not been started */
                  NOTE_BATCH_STARTED, /* on disk before its slurmstepd is told to */
                  NOTE_BATCH_ENDED, /* in memory: its end, or why it was not started, is reported */
                  NOTE_BATCH_ACKNOWLEDGED, /* the controller has the report */
};

struct note {
    Pb__NodeAttempt
        *about; /* ids, user, nodes, partition, name, directory: what scripts are told */
    bool single_node;
    bool prepared;            /* the controller asked for the prolog alone */
    bool contain;             /* and for an extern step */
    enum attempt_phase phase; /* that the lines lead to; note_load() sets it for attempt_adopt() */
    pid_t prolog_pid;         /* 0: not known */
    enum note_batch batch;
    VEC(struct note_step) steps;      /* before each one's shepherd is told to */
    VEC(struct note_adopted) adopted; /* into the extern step; they may have ended */
    bool ever_adopted;
    VEC(struct note_signal) early; /* on disk: the batch script's */
    uint32_t halt_number;          /* of the last order to stop or to go on; 0: none has come */
    bool halted;
    uint32_t grace_sec; /* of the order to end */
    char *why;          /* its reason; NULL: none has come */
    bool epilog_begun;
    pid_t epilog_pid; /* 0: not known */
    int epilog_status;
};
void note_done(struct note *n);
struct note_step *note_find_step(const struct note *n, uint32_t id); /* NULL: never launched */

/* Makes the file (dir is the spool directory) with a first line; fails when there is one. */
int note_create(const char *dir, const Pb__NodeAttempt *about, const char *line, struct err *err);
/* Appends a line made by one of the formats below. */
int note_append(const char *dir, uint32_t job_id, uint32_t restarts, const char *line,
                struct err *err);
void note_remove(const char *dir, uint32_t job_id, uint32_t restarts);

/* Two digits a byte. */
void note_put_hex(const struct str *bytes, struct str *out);

int note_load(const char *path, struct note *n, struct err *err);

/* Every note: its path, in no order, up to the first for which fn returns an error, which is
 * returned. It is an error when the directory cannot be read: a job that is not found counts as
 * lost. */
typedef int note_fn(void *ctx, const char *path, struct err *err);
int note_each(const char *dir, note_fn *fn, void *ctx, struct err *err);

#define NOTE_SINGLE "1\n"
#define NOTE_PREPARED "A\n"
#define NOTE_CONTAIN "C\n"
#define NOTE_SHARE "N %s\n"        /* what it has here, packed, by note_put_hex() */
#define NOTE_ADOPTED "a %d %llu\n" /* pid, start */
#define NOTE_PROLOG "p %d\n"       /* 0 before it starts, then its pid */
#define NOTE_PROLOG_DONE "P\n"
#define NOTE_BATCH "B\n"
#define NOTE_BATCH_OVER "b\n"
#define NOTE_STEP "S %u %llx\n"       /* step, key */
#define NOTE_STEP_OVER "s %u\n"       /* step */
#define NOTE_DERIVED "d %d\n"         /* the worst wait status of a step of the job */
#define NOTE_SIGNAL "k %d %d %llu\n"  /* for the script: signal, it alone, number */
#define NOTE_SIGNALLED "K\n"          /* the script has got all of these */
#define NOTE_HALT "H %u %d\n"         /* number, whether it stands still */
#define NOTE_TERMINATE "T %u %.60s\n" /* grace, why */
#define NOTE_EPILOG "E %d\n"          /* 0 before it starts, then its pid */
#define NOTE_GONE "G %d\n"            /* epilog's wait status */
