/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is free on each node and when: running jobs give back what they hold at their limits at the
 * latest, and jobs that wait have reserved what they need. Amounts of cores and memory, not whole
 * nodes, so that a reserved core does not keep the rest of its node from anybody.
 */
#pragma once

#include "sched/plan/calendar.h"

#define TIMELINE_NOW INT64_MIN /* as it really is, also where a job is beyond its limit */

struct timeline_span { /* free on a node from then to the next span's begin; the last one: for ever
                        */
    int64_t from;
    uint32_t units, foreseen_units; /* foreseen: as far as running jobs go, without reservations */
    struct amounts amounts, foreseen;
};

struct timeline_node { /* where its spans are; without spans it stays as it is now */
    uint32_t first, len, room;
    bool complete; /* all of its jobs' ends are in them */
};

struct resv_plan;

/* A trial: what is reserved or started from then on can be rolled back, all at once. There is one
 * at a time. */
struct timeline_saved { /* a node as it was when the trial began */
    uint32_t node, len;
    struct timeline_span *spans;
    uint64_t *gres;
};

struct timeline_placed { /* a job's share of a node in a trial */
    const struct job *job;
    uint32_t node, units, free_units; /* free before it */
};

struct timeline_trial {
    bool open;
    VEC(struct timeline_saved) nodes;
    VEC(struct timeline_placed) placed; /* in this order */
    VEC(int64_t) moments;
};

struct timeline {
    struct calendar calendar;
    const struct cluster *cluster;
    struct resv_plan *resv; /* NULL: reservations are not asked */
    const struct resv *in;  /* the one in which a job is looked at; NULL: outside of all */
    const struct license_claims *claims; /* NULL: licences are not asked */
    int64_t not_before;          /* of the job that is looked for: its licences are due then */
    struct timeline_span *spans; /* of each node in a row; its first begins at TIMELINE_NOW */
    uint64_t *gres; /* of each span: what is free of each kind, and then what is foreseen to be */
    size_t kinds;   /* of generic resources */
    uint32_t spans_len, spans_room;
    struct timeline_node *nodes;
    struct bitset *laid_out; /* nodes that have spans; all others stay as they are now */
    struct bitset *open;     /* nodes that are laid out, or have a free unit now */
    VEC(int64_t) moments;    /* TIMELINE_NOW, and when something becomes free, rising */
    struct free_view view;
    struct unit_use **use; /* by node: what view.use holds of its own */
    struct timeline_trial trial;
    struct unit_use **filled_use; /* by node: of shared units, which are in use after 'last' */
    bool filled;                  /* there are the ends of all jobs */
    bool filling; /* there are ends of jobs up to this one, and on some nodes of all: */
    struct {
        int64_t key;
        uint64_t tie;
    } last;
    size_t fill_step;                    /* nodes of jobs that a question fills at once */
    uint64_t ends_changes, freed, taken; /* of the cluster, when it was begun */
};

void timeline_init(struct timeline *t, const struct cluster *c, int64_t now_sec);
/* The same in steps of about so many nodes of jobs: true, there are more. The cluster may go on
 * between them; then it says what was true of each job at another time, and never that a node has
 * more than all of it. */
void timeline_begin(struct timeline *t, const struct cluster *c, int64_t now_sec);
bool timeline_fill(struct timeline *t, size_t work);
/* Questions fill it as far as their answers need, which is not far on a busy cluster. Until it is
 * filled it cannot outlive a change of what runs: true, there was one. */
bool timeline_is_stale(const struct timeline *t);
void timeline_done(struct timeline *t);
/* Reservations, too: what they keep from a job at what time. Before anything is looked at. */
void timeline_set_resv(struct timeline *t, struct resv_plan *resv);

/* Before a place is looked for: what others have a claim on, and when the job's licences are due.
 */
void timeline_set_licenses(struct timeline *t, const struct license_claims *claims, int64_t due);

/* Whether the job can begin at once and run to its limit on these nodes without touching what is
 * reserved. 'where' must be empty and gets the choice. */
bool timeline_fits_now(struct timeline *t, const struct job *j, const struct bitset *allowed,
                       struct selection *where);

/* The earliest start that can be foreseen, and where; wall seconds, CLUSTER_NO_LIMIT_SEC beyond now
 * and nothing chosen: none. */
int64_t timeline_find(struct timeline *t, const struct job *j, const struct bitset *allowed,
                      struct selection *where);

/* The same, where no start is before that moment, at which the job fits as far as running jobs go
 * (shadow_foresee()). Not for one that waits for switches. */
int64_t timeline_find_from(struct timeline *t, const struct job *j, const struct bitset *allowed,
                           int64_t foreseen_at, struct selection *where);

/* The same in steps, of a look at each node: begun with zeroes, nothing of the timeline may change
 * until a step says false. Then where is chosen, if found. One that asks for few switches has more
 * of them once it has waited from when it could have begun on more. */
struct timeline_search {
    enum { SEARCH_DOUBLE, SEARCH_HALVE, SEARCH_AGAIN, SEARCH_FOUND, SEARCH_NONE } phase;
    size_t low, high, step, tries; /* moments; below 'low' it does not fit */
    enum { SWITCHES_UNKNOWN, SWITCHES_ANY, SWITCHES_FEW, SWITCHES_WAITED, SWITCHES_ASIDE } switches;
    int64_t waits_until; /* for few switches; WAITED: it is looked for from then on */
};
bool timeline_search_step(struct timeline *t, const struct job *j, const struct bitset *allowed,
                          struct timeline_search *s, struct selection *where);
int64_t timeline_search_found(const struct timeline *t, const struct timeline_search *s);

/* Nobody else gets this from then to the job's limit. */
void timeline_reserve(struct timeline *t, const struct job *j, const struct selection *where,
                      int64_t from);
/* The job has begun there now. */
void timeline_start(struct timeline *t, const struct job *j, const struct selection *where);

/* Begins a trial, and ends it: all that was reserved or started since then stays, or is gone. */
void timeline_begin_trial(struct timeline *t);
void timeline_end_trial(struct timeline *t, bool keep);
