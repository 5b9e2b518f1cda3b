/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Results that the planner keeps for a job in a partition from one pass to the next: that it does
 * not fit, its planned start, that preemption does not help. They are valid while no resource
 * becomes free (pool.freed) and the job's request is unchanged; after that they are dropped.
 *
 * The owner of the passes owns the notes, not the job. A query (sluice why, --test-only) writes
 * notes of its own on top of the planner's notes, so that it sees the planner's results without
 * changing them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct cluster;
struct job;
struct part;
struct placements;
struct selection;

struct plan_note { /* 64 bytes: a pass reads one for each job */
    const struct part *part;
    uint32_t job_id;
    uint32_t license;         /* the alternative licence for start_at */
    uint32_t request_version; /* job.request_version; the note is invalid for another version */
    bool unfit : 1;           /* it does not fit on the free resources */
    bool lacks_tied : 1;      /* tied pools have too little for it on the nodes with a free CPU, */
    bool lacks_licenses : 1;  /* or on all nodes, so that the gate of licences is closed */
    bool lacks_nodes : 1;     /* a set with tied pools does not fit even without its licences */
    /* A set with tied pools fits, without its licences, on the nodes that were free when pool.taken
     * was nodes_taken. */
    bool has_nodes : 1;
    bool has_start : 1;     /* start_at was computed */
    bool has_no_victim : 1; /* preemption cannot help it */
    int64_t start_at;       /* expected start; 0: unforeseeable */
    uint64_t before;        /* hash of the preceding planned starts in the pass */
    uint64_t nodes_taken;
    /* licenses.changes and the version of the claims with which the gate of licences was open; 0:
     * unknown */
    uint64_t open_changes, open_claims;
};

/* The nodes of a planned start for a job that needs tied pools: they decide which pools it uses.
 * For a job set with tied pools or alternative licences, also the nodes and the alternatives of its
 * components. */
struct plan_note_place {
    const struct part *part;
    uint32_t job_id;
    uint64_t taken;          /* pool.taken at the begin of the pass that found it */
    struct selection *where; /* owned; the leader's */
    struct placements *more; /* owned; the other components'; NULL: an ordinary job */
};

/* For passes in two modes (two_mode.h): the latest start of a component of a set. Valid from a pass
 * in mode 1 to the end of the next pass in mode 2, even if resources become free. */
struct plan_set_start {
    uint32_t set_id;
    int64_t latest_at;
};

struct plan_notes {                 /* zeroed: empty */
    const struct plan_notes *under; /* notes to read where these have none; NULL: none */
    VEC32(struct plan_note) list;   /* in the order of the queue, as first written */
    uint32_t *index; /* open addressing, at most half full: 1 + index in 'list'; 0: free */
    size_t room;     /* size of 'index': a power of two, or 0 */
    VEC(struct plan_note_place) places;
    uint64_t freed; /* pool.freed at the time of writing */
    unsigned mode;  /* mode of the last completed pass that had one; 0: none */
    VEC(struct plan_set_start) set_starts;
};

void plan_notes_clear(struct plan_notes *n); /* does not clear 'under' */
void plan_notes_done(struct plan_notes *n);

/* Returns the note of the job in job.part; all false if there is no valid note. Valid until the
 * next change. */
const struct plan_note *plan_note_read(const struct plan_notes *n, const struct cluster *c,
                                       const struct job *j);
/* Like plan_note_read(), for the job in another partition. */
const struct plan_note *plan_note_read_in(const struct plan_notes *n, const struct cluster *c,
                                          const struct job *j, const struct part *part);
/* Like plan_note_read(), for jobs in the order of the queue: the search starts behind the note of
 * the previous call, whose position is kept in 'next'; initially 0. */
const struct plan_note *plan_note_read_next(const struct plan_notes *n, const struct cluster *c,
                                            const struct job *j, uint32_t *next);
/* Returns the noted nodes of the job's planned start. NULL: none are noted, or nodes were allocated
 * since the pass that noted them, so that other nodes may be better now. */
const struct plan_note_place *plan_note_read_place(const struct plan_notes *n,
                                                   const struct cluster *c, const struct job *j);
/* 'more': the placements of the other components of a job set; NULL: an ordinary job. */
void plan_note_write_place(struct plan_notes *n, const struct cluster *c, const struct job *j,
                           uint64_t taken, const struct selection *where,
                           const struct placements *more);
/* Returns the note for changes, valid until the next call. It starts as a copy of what
 * plan_note_read() returns. */
struct plan_note *plan_note_write(struct plan_notes *n, const struct cluster *c,
                                  const struct job *j);
