/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The free resources of each node over time: running jobs release their resources at their time
 * limits at the latest, and pending jobs have reservations. It holds amounts of cores and memory,
 * not whole nodes, so that a reserved core does not block the rest of its node.
 */
#pragma once

#include "sched/plan/calendar.h"

/* The actual present state, also if a job exceeds its limit. */
#define TIMELINE_NOW INT64_MIN

struct timeline_span { /* free resources of a node from this time to the next span; the last span
                          has no end */
    int64_t from;
    uint32_t units, foreseen_units; /* foreseen: considering running jobs but no reservations */
    struct amounts amounts, foreseen;
    uint32_t
        cores; /* part of the reserved units: the cores of jobs that take whole cores of CPUs */
};

struct timeline_node { /* index range of its spans; a node without spans stays as it is now */
    uint32_t first, len, room;
    bool complete; /* the ends of all of its jobs are included */
};

struct resv_plan;

/* A trial: reservations and starts made since its begin can be rolled back together. Only one trial
 * can be open. */
struct timeline_saved { /* a node at the begin of the trial */
    uint32_t node, len;
    struct timeline_span *spans;
    uint64_t *gres;
};

struct timeline_placed { /* share of a node that a job got in a trial */
    const struct job *job;
    uint32_t node;
    struct share_supposed supposed;
};

struct timeline_trial {
    bool open;
    VEC(struct timeline_saved) nodes;
    VEC(struct timeline_placed) placed; /* in order of placement */
    VEC(int64_t) moments;
};

struct timeline {
    struct calendar calendar;
    const struct cluster *cluster;
    struct resv_plan *resv;              /* NULL: ignore reservations */
    const struct resv *in;               /* reservation of the present job; NULL: outside of all */
    const struct license_claims *claims; /* NULL: ignore licences */
    int64_t not_before; /* for the present search: time when the job's licences are available */
    /* The spans of each node are adjacent; the first one begins at TIMELINE_NOW. */
    struct timeline_span *spans;
    uint64_t *gres; /* per span: the free counts of each kind, followed by the foreseen counts */
    size_t kinds;   /* number of GRES kinds */
    uint32_t spans_len, spans_room;
    struct timeline_node *nodes;
    struct bitset *laid_out; /* nodes with spans; all other nodes stay as they are now */
    struct bitset *open;     /* nodes that have spans, or a free unit now */
    VEC(int64_t) moments;    /* times at which resources become free, rising, from TIMELINE_NOW */
    struct free_view view;
    struct unit_use **use; /* by node: the copies owned by the timeline that view.use points to */
    struct timeline_trial trial;
    uint32_t *broken;             /* what view.broken points to; NULL: not needed so far */
    struct unit_use **filled_use; /* by node: use of shared units after 'last' */
    bool filled;                  /* the ends of all jobs are included */
    /* The ends of jobs up to 'last' are included, on some nodes the ends of all jobs. */
    bool filling;
    struct {
        int64_t key;
        uint64_t tie;
    } last;
    size_t fill_step;                    /* number of job nodes that a query adds at once */
    uint64_t ends_changes, freed, taken; /* the cluster's counters at the begin */
};

void timeline_init(struct timeline *t, const struct cluster *c, int64_t now_sec);
/* Begins a timeline that timeline_fill() completes in steps of about 'work' job nodes; true: there
 * are more steps. The cluster may change between steps. The timeline then mixes the states of jobs
 * at different times, but never has more on a node than the whole node. */
void timeline_begin(struct timeline *t, const struct cluster *c, int64_t now_sec);
bool timeline_fill(struct timeline *t, size_t work);
/* Queries fill the timeline only as far as their answers need, which is not far on a busy cluster.
 * An unfilled timeline becomes invalid when running jobs change: returns true if they did. */
bool timeline_is_stale(const struct timeline *t);
void timeline_done(struct timeline *t);
/* Adds advance reservations. To be called before any search. */
void timeline_set_resv(struct timeline *t, struct resv_plan *resv);

/* Sets the claims of other jobs, and the time at which the job's licences are available, before a
 * search. */
void timeline_set_licenses(struct timeline *t, const struct license_claims *claims, int64_t due);

/* Whether the job can begin at once and run to its limit on these nodes without conflicting with
 * reservations. 'where' must be empty and receives the selection. */
bool timeline_fits_now(struct timeline *t, const struct job *j, const struct bitset *allowed,
                       struct selection *where);

/* Returns the earliest foreseeable start in wall seconds, and its nodes. If there is none, returns
 * CLUSTER_NO_LIMIT_SEC beyond now and selects nothing. */
int64_t timeline_find(struct timeline *t, const struct job *j, const struct bitset *allowed,
                      struct selection *where);

/* Like timeline_find(), if 'foreseen_at' is the first time at which running jobs leave enough
 * for the job (shadow_foresee()), so that no start is earlier. Not for a job that waits for
 * switches. */
int64_t timeline_find_from(struct timeline *t, const struct job *j, const struct bitset *allowed,
                           int64_t foreseen_at, struct selection *where);

/* Like timeline_find(), in steps of one check of the nodes. The search begins zeroed, and the
 * timeline must not change until a step returns false; 'where' then has the nodes of a start. A job
 * that requests few switches may use more after it has waited since its first possible start on
 * more. */
struct timeline_search {
    enum { SEARCH_DOUBLE, SEARCH_HALVE, SEARCH_AGAIN, SEARCH_FOUND, SEARCH_NONE } phase;
    size_t low, high, step, tries; /* indexes of moments; the job does not fit below 'low' */
    enum { SWITCHES_UNKNOWN, SWITCHES_ANY, SWITCHES_FEW, SWITCHES_WAITED, SWITCHES_ASIDE } switches;
    int64_t waits_until; /* for few switches; WAITED: the search continues from this time */
};
bool timeline_search_step(struct timeline *t, const struct job *j, const struct bitset *allowed,
                          struct timeline_search *s, struct selection *where);
int64_t timeline_search_found(const struct timeline *t, const struct timeline_search *s);

/* Reserves the resources from that time to the job's limit. */
void timeline_reserve(struct timeline *t, const struct job *j, const struct selection *where,
                      int64_t from);
/* Records that the job begins now on these nodes. */
void timeline_start(struct timeline *t, const struct job *j, const struct selection *where);

/* Begin and end a trial: at the end its reservations and starts are kept or rolled back. */
void timeline_begin_trial(struct timeline *t);
void timeline_end_trial(struct timeline *t, bool keep);
