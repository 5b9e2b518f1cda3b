/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One file per attempt in the spool directory: a description of the job, then one line per action,
 * written before or after the action as documented below. A restarted daemon therefore repeats no
 * action.
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
    bool over;    /* the controller has acknowledged its end */
    uint64_t key; /* distinguishes a repeated launch from a new one */
};

struct note_adopted { /* a process, by its pid and start time */
    pid_t pid;
    uint64_t started_ticks;
    bool looked; /* a scan of all processes has started since */
};

struct note_signal { /* a signal for a step that does not run yet, see early.h */
    uint32_t step_id;
    int signo;
    bool leader_only;
    uint64_t nonce;
    char *say; /* a message for its standard error instead of a signal; not on disk */
};

enum note_batch {                     /* state of the batch script */
                  NOTE_BATCH_NONE,    /* not started */
                  NOTE_BATCH_STARTED, /* written before slurmstepd gets the order to start it */
                  /* In memory only: its end, or the reason why it was not started, was
                     reported. */
                  NOTE_BATCH_ENDED,
                  NOTE_BATCH_ACKNOWLEDGED, /* the controller has the report */
};

struct note {
    Pb__NodeAttempt
        /* Ids, user, nodes, partition, name, directory: the input of the scripts' environment. */
        *about;
    bool single_node;
    bool prepared; /* the controller has requested the prolog only */
    bool contain;  /* the controller has requested an extern step as well */
    /* Phase that results from the lines; note_load() sets it for attempt_adopt() */
    enum attempt_phase phase;
    pid_t prolog_pid; /* 0: unknown */
    enum note_batch batch;
    VEC(struct note_step) steps; /* written before the step's shepherd gets its order */
    /* Processes adopted into the extern step; they may have ended. */
    VEC(struct note_adopted) adopted;
    bool ever_adopted;
    VEC(struct note_signal) early; /* on disk: those for the batch script */
    uint32_t halt_number;          /* number of the last order to suspend or resume; 0: none */
    bool halted;
    uint32_t grace_sec; /* of the order to end the job */
    char *why;          /* reason in the order to end the job; NULL: no order */
    bool epilog_begun;
    pid_t epilog_pid; /* 0: unknown */
    int epilog_status;
};
void note_done(struct note *n);
struct note_step *note_find_step(const struct note *n, uint32_t id); /* NULL: never launched */

/* Creates the file with a first line; dir is the spool directory. Fails if the file exists. */
int note_create(const char *dir, const Pb__NodeAttempt *about, const char *line, struct err *err);
/* Appends a line made by one of the formats below. */
int note_append(const char *dir, uint32_t job_id, uint32_t restarts, const char *line,
                struct err *err);
void note_remove(const char *dir, uint32_t job_id, uint32_t restarts);

/* Appends two hexadecimal digits per byte. */
void note_put_hex(const struct str *bytes, struct str *out);

int note_load(const char *path, struct note *n, struct err *err);

/* Calls fn with the path of every note, in no order, until fn returns an error, which is returned.
 * An unreadable directory is an error, because a job that is not found counts as lost. */
typedef int note_fn(void *ctx, const char *path, struct err *err);
int note_each(const char *dir, note_fn *fn, void *ctx, struct err *err);

#define NOTE_SINGLE "1\n"
#define NOTE_PREPARED "A\n"
#define NOTE_CONTAIN "C\n"
#define NOTE_SHARE "N %s\n"        /* what the job has on this node, packed, by note_put_hex() */
#define NOTE_ADOPTED "a %d %llu\n" /* pid, start */
#define NOTE_PROLOG "p %d\n"       /* 0 before the prolog starts, then its pid */
#define NOTE_PROLOG_DONE "P\n"
#define NOTE_BATCH "B\n"
#define NOTE_BATCH_OVER "b\n"
#define NOTE_STEP "S %u %llx\n" /* step, key */
#define NOTE_STEP_OVER "s %u\n" /* step */
#define NOTE_DERIVED "d %d\n"   /* the worst wait status of the job's steps */
/* For the script: signal, whether for the script only, number. */
#define NOTE_SIGNAL "k %d %d %llu\n"
#define NOTE_SIGNALLED "K\n"          /* the script has received all of these signals */
#define NOTE_HALT "H %u %d\n"         /* order number, whether the job is suspended */
#define NOTE_TERMINATE "T %u %.60s\n" /* grace time in seconds, reason */
#define NOTE_EPILOG "E %d\n"          /* 0 before the epilog starts, then its pid */
#define NOTE_GONE "G %d\n"            /* the epilog's wait status */
