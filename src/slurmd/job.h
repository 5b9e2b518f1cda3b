/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The jobs this node knows: running, ending, or over and not yet acknowledged. A job's way here:
 *
 *   made by its first launch, or by an order to end it (then nothing of it will start)
 *   -> prolog (prolog.h), once, while launches wait -> launches start their shepherds (step.h)
 *   -> ending: ordered by the controller, or the batch script of a single-node job has ended
 *   -> no shepherd is left -> epilog (epilog.h), once -> gone: JobGone or BatchEnded{gone}
 *   -> acknowledged: forgotten but for its entry in revoked.h
 *
 * The phases of this way are those of attempt.h; job_check() takes every step of it that is due.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "proto/io.pb-c.h"
#include "slurmd/note.h"
#include "slurmd/slurmd.h"

#define JOB_NONCES 32 /* signals remembered, so that a repeat is not delivered again */

struct adoption;
struct launch;
struct lost;
struct oldscript;
struct receiver;
struct step;

struct job_key {
    uint32_t id, restarts;
};

/* The last order to stop or to go on, see halt.h. */
enum halt_phase {
    HALT_GRACE,    /* none has come, or its first signal was sent */
    HALT_SETTLING, /* its last signal was sent */
    HALT_ANSWERED, /* all steps have carried it out, and the controller has been told */
};

struct job {
    struct slurmd *d;
    struct job_key key;
    enum attempt_phase phase; /* changed by job_advance() alone */
    struct note note;         /* as on disk, without the phase */
    bool adopting; /* what an earlier daemon has left of it is being found: nothing is ended yet */
    bool tells_prepared;      /* the controller waits for the end of the prolog */
    char *epilog_error;       /* what went wrong with it; NULL: nothing */
    char *prolog_error;       /* why it failed; NULL: it has not */
    VEC(struct step *) steps; /* shepherds that live, or have ended and not gone yet */
    VEC(struct lost *) lost;  /* steps without a shepherd, whose processes are being ended */
    VEC(struct receiver *) receivers;  /* of files, see receive.h */
    VEC(struct launch *) waiting;      /* for the prolog */
    VEC(struct adoption) adoptions;    /* processes on their way into it, see adopt.h */
    struct loop_timer *adoptions_late; /* for the first of them */
    Pb__StepdEnded *batch_end;         /* held back until the node is clean; single-node jobs */
    enum halt_phase halt;
    struct loop_timer *halt_timer;
    uint64_t nonces[JOB_NONCES];
    size_t nonce_next;
    uint64_t shepherd_kills;      /* see contain_shepherds_were_killed() */
    struct oldscript *old_script; /* that an earlier daemon has begun; NULL: none */
    UT_hash_handle hh;
};

struct job *job_find(struct slurmd *d, uint32_t id, uint32_t restarts);
bool job_has_attempt(const struct slurmd *d, uint32_t id); /* any of the job */

/* A new job with its note on disk. 'about' is copied. */
int job_new(struct slurmd *d, const Pb__NodeAttempt *about, const char *line, struct job **out,
            struct err *err);
/* The same without a note, which the disk would not take: only to be ended. */
struct job *job_new_unnoted(struct slurmd *d, const Pb__NodeAttempt *about);
/* From a note on disk, whose contents it takes; finds its shepherds and what they wrote. */
void job_adopt(struct slurmd *d, struct note *n);
/* A line of the note: what must not be done unless it is on record, and what was done anyway. */
int job_note_first(struct job *j, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void job_note(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool job_is_ending(const struct job *j);
/* To the next phase, and what follows from it; the event must have a row in this phase. */
void job_advance(struct job *j, enum attempt_event event);

void job_terminate(struct job *j, uint32_t grace_sec, const char *why);
void job_check(struct job *j);
/* That of no allocation (--no-allocate) ends with the last that was left of it. */
void job_check_left(struct job *j);
/* A shepherd's report; 's' when it lives. */
void job_step_ended(struct job *j, const Pb__StepdEnded *said, struct step *s);
/* No shepherd lives for this step. 'm': what it wrote down; NULL: it was killed, and what it left
 * behind is ended here. */
void job_step_lost(struct job *j, uint32_t step_id, const Pb__StepdEnded *m);

void job_forget(struct job *j); /* frees it; its note goes, its entry in revoked.h comes */
void job_free_all(struct slurmd *d);
