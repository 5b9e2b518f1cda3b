/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The attempts (runs of jobs) that this node knows: running, ending, or gone but not yet
 * acknowledged by the controller. The life of an attempt, in the phases of attempt_phase.h:
 *
 *   created by its first launch, or by an order to end it (then nothing of it starts)
 *   -> prolog (prolog.h), once, while launches wait -> launches start their shepherds (step.h)
 *   -> ending: ordered by the controller, or the batch script of a single-node job has ended
 *   -> no shepherd is left -> epilog (epilog.h), once -> gone: JobGone or BatchEnded{gone}
 *   -> acknowledged: freed; revoked.h remembers its id
 *
 * This file holds the attempts and appends to their notes on disk; attempt_life.h makes the
 * transitions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "proto/io.pb-c.h"
#include "slurmd/attempt/note.h"
#include "slurmd/node/slurmd.h"

/* Number of signals remembered, so that a repeated signal is not delivered twice. */
#define ATTEMPT_NONCES 32

struct adoption;
struct launch;
struct lost;
struct oldscript;
struct receiver;
struct step;

struct attempt_key {
    uint32_t id, restarts;
};

/* The last order to suspend or to resume, see halt.h. */
enum halt_phase {
    HALT_GRACE,    /* there was no order, or its first signal was sent */
    HALT_SETTLING, /* the second signal was sent */
    HALT_ANSWERED, /* all steps have confirmed the order, and the controller was notified */
};

struct attempt {
    struct slurmd *d;
    struct attempt_key key;
    enum attempt_phase phase; /* changed by attempt_advance() only */
    struct note note;         /* the content of the note on disk, without the phase */
    /* The steps of an earlier daemon are being searched for; nothing is ended yet. */
    bool adopting;
    bool tells_prepared;      /* report the end of the prolog to the controller */
    char *epilog_error;       /* reason why the epilog failed; NULL: it did not */
    char *prolog_error;       /* reason why the prolog failed; NULL: it did not */
    VEC(struct step *) steps; /* steps with a connection to their slurmstepd */
    /* Steps without a slurmstepd; their processes are being killed. */
    VEC(struct lost *) lost;
    VEC(struct receiver *) receivers;  /* receivers of files, see receive.h */
    VEC(struct launch *) waiting;      /* launches that wait for the prolog */
    VEC(struct adoption) adoptions;    /* unanswered requests to adopt processes, see adopt.h */
    struct loop_timer *adoptions_late; /* timeout of the oldest adoption */
    Pb__StepdEnded *batch_end;         /* of a single-node job, reported after the epilog */
    enum halt_phase halt;
    struct loop_timer *halt_timer;
    uint64_t nonces[ATTEMPT_NONCES];
    size_t nonce_next;
    uint64_t shepherd_kills;      /* see contain_shepherds_were_killed() */
    struct oldscript *old_script; /* a script that an earlier daemon has started; NULL: none */
    UT_hash_handle hh;
};

struct attempt *attempt_find(struct slurmd *d, uint32_t id, uint32_t restarts);
/* Whether the job has any attempt. */
bool attempt_of_job_exists(const struct slurmd *d, uint32_t id);

/* Creates an attempt without a description of the job. */
struct attempt *attempt_add(struct slurmd *d, uint32_t id, uint32_t restarts);
/* Creates an attempt and its note on disk. 'about' is copied. */
int attempt_new(struct slurmd *d, const Pb__NodeAttempt *about, const char *line,
                struct attempt **out, struct err *err);
/* Like attempt_new(), when the note cannot be written; the attempt may only be ended. */
struct attempt *attempt_new_unnoted(struct slurmd *d, const Pb__NodeAttempt *about);
/* Append a line to the note. attempt_note_first() is for actions that require the line on disk
 * first; attempt_note() only logs a failure. */
int attempt_note_first(struct attempt *a, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void attempt_note(struct attempt *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool attempt_is_ending(const struct attempt *a);
