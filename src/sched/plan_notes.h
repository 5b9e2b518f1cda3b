/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the planner remembers of a job in a partition from one pass to the next: that it does not
 * fit, when it is to start, that nobody can make room for it. All of it holds as long as no
 * resource becomes free (pool.freed) and the job's request is the same; after that the notes are
 * dropped.
 *
 * The notes belong to whoever makes the passes, never to the job. A query (sluice why, --test-only)
 * writes notes of its own and reads those of the planner under them, so that it sees what the
 * planner knows and changes nothing of it.
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

struct plan_note {
    const struct part *part;
    uint32_t job_id;
    uint32_t license;         /* the alternative that start_at is about */
    uint32_t request_version; /* job.request_version; another one: the note says nothing */
    int64_t start_at;         /* expected; 0: cannot be foreseen */
    uint64_t before;          /* hash of the planned starts before it in its pass */
    bool unfit;               /* it does not fit on what is free */
    bool lacks_nodes;         /* a set with tied pools: it does not fit without licences either */
    bool has_nodes; /* a set with tied pools: without licences it fits on the nodes that were free
                       when pool.taken was nodes_taken */
    uint64_t nodes_taken;
    bool has_start;     /* start_at was looked for */
    bool has_no_victim; /* no preemption makes room for it */
};

/* The nodes of a planned start, for a job that needs tied pools: they decide which ones it uses.
 * For a job set with tied pools or alternative licences, also the nodes and the alternatives of its
 * components. */
struct plan_note_place {
    const struct part *part;
    uint32_t job_id;
    uint64_t taken;          /* pool.taken when the pass began that found it */
    struct selection *where; /* owned; of the leader */
    struct placements *more; /* owned; of the other components; NULL: of an ordinary job */
};

/* Of passes in two modes (two_mode.h): when the last component of a set is to start. Holds from a
 * pass in mode 1 to the end of the next one in mode 2, whatever becomes free. */
struct plan_set_start {
    uint32_t set_id;
    int64_t latest_at;
};

struct plan_notes {                 /* zeroed: empty */
    const struct plan_notes *under; /* read where these say nothing; NULL: nothing is under them */
    VEC32(struct plan_note) list;   /* as they were first written: in the order of the queue */
    uint32_t *index; /* open addressing, at most half full: place in the list, from 1; 0: free */
    size_t room;     /* of the index: a power of two, or 0 */
    VEC(struct plan_note_place) places;
    uint64_t freed; /* pool.freed when they were written */
    unsigned mode;  /* of the last pass that was completed in one; 0: none was */
    VEC(struct plan_set_start) set_starts;
};

void plan_notes_clear(struct plan_notes *n); /* what is under them stays */
void plan_notes_done(struct plan_notes *n);

/* Of the job in job.part; all false when there is none that holds. Valid until the next change. */
const struct plan_note *plan_note_read(const struct plan_notes *n, const struct cluster *c,
                                       const struct job *j);
/* The same, of the job in another partition. */
const struct plan_note *plan_note_read_in(const struct plan_notes *n, const struct cluster *c,
                                          const struct job *j, const struct part *part);
/* Of jobs in the order of the queue: the note is looked for after the one of the call before, for
 * which 'next' is kept; at first it is 0. */
const struct plan_note *plan_note_read_next(const struct plan_notes *n, const struct cluster *c,
                                            const struct job *j, uint32_t *next);
/* The nodes of the planned start that is noted for the job. NULL: none are noted, or nodes were
 * allocated since the pass began that noted them, so that others may be better now. */
const struct plan_note_place *plan_note_read_place(const struct plan_notes *n,
                                                   const struct cluster *c, const struct job *j);
/* 'more': of the other components of a job set; NULL: the job is an ordinary one. */
void plan_note_write_place(struct plan_notes *n, const struct cluster *c, const struct job *j,
                           uint64_t taken, const struct selection *where,
                           const struct placements *more);
/* To be changed; valid until the next call. It begins with what plan_note_read() returns. */
struct plan_note *plan_note_write(struct plan_notes *n, const struct cluster *c,
                                  const struct job *j);
