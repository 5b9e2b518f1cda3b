/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planning: which pending job starts where, and why the others wait. Pure: reads the cluster, the
 * time and a budget, and returns one decision at a time; the caller commits it before it asks for
 * the next, so that each sees what the former took.
 *
 * A pass walks the partitions by PriorityTier and their queues by priority. The first job of a
 * partition that does not fit gets a reservation on the timeline (timeline.h; backfill), and those
 * behind it start only where they do not delay it; with sched/builtin they are not looked at
 * (CORE-055, CORE-017).
 */
#pragma once

#include "cluster/cluster.h"
#include "sched/alike.h"
#include "sched/license.h"
#include "sched/plan_depth.h"
#include "sched/plan_notes.h"
#include "sched/selection.h"

#define PLAN_RESERVATIONS 16        /* planned starts in one pass */
#define PLAN_RESERVATIONS_MOST 1000 /* the same, where SchedulerParameters asks for more */
#define PLAN_DEPTH 200 /* jobs behind one that waits that a pass looks at, per partition */

struct joint_choice;
struct set_turns;
struct shadow;
struct timeline;
struct resv_plan;

struct placement {           /* of a component of a job set, but for its leader */
    uint32_t id;             /* of the component */
    const struct part *part; /* of its partitions the one in which it starts */
    const struct resv *in;   /* NULL: outside of all reservations */
    struct selection where;
    uint32_t license; /* index of the alternative licence that it starts with */
};

struct placements {
    VEC(struct placement) list; /* by rising offset; empty for an ordinary job */
    VEC(uint32_t)
    order; /* in which the parts were placed, and are allocated: 0 is the leader's,
              and 1 the first of the list */
};

void plan_placements_done(struct placements *p);
/* 'to' is empty. */
void plan_placements_copy(struct placements *to, const struct placements *from);

enum plan_kind { PLAN_START, PLAN_WAIT, PLAN_RESUME };

struct decision {
    enum plan_kind kind;
    const struct job *job;
    const struct part *part; /* PLAN_START, PLAN_WAIT: the partition that the decision is for */
    struct selection where;  /* PLAN_START */
    const struct resv *in;   /* PLAN_START: the reservation it runs in; NULL: none */
    uint32_t license;        /* index of the alternative licence that it starts with or waits for */
    struct placements more;  /* PLAN_START of a job set, of which 'job' is the leader: its other
                                components start with it, all or none */
    bool of_component;       /* PLAN_WAIT: it is about this component alone, not about its set */
    bool backfilled;
    int64_t limit_sec;       /* PLAN_START: a shorter limit, by --time-min; 0: its own limit */
    enum reason reason;      /* PLAN_WAIT */
    char *detail;            /* the sentence that explains the reason, or NULL; the caller frees */
    const uint32_t *victims; /* PLAN_WAIT: jobs to preempt for it; valid until the next decision */
    size_t n_victims;
    int64_t start_at; /* PLAN_WAIT: expected start, 0: unknown; the caller stores it in the job */
    /* The caller stores these in the fields of the job that have these names: */
    int64_t switches_since, preempt_look_at;
    bool switches_waived;
};

struct plan_head { /* a planned start, see planned_start.c */
    uint32_t id;
    const struct part *part;
    uint32_t license; /* of alternatives, the one that it starts with; found with the start */
    bool is_known;    /* an earlier pass found it */
    bool placed;      /* it was searched, with this result: */
    int64_t at_sec;
    struct selection where; /* empty: no start can be foreseen */
    struct placements more; /* of the other components of a job set */
};

struct plan_set {              /* in a pass of two modes: what was found of its components so far */
    uint32_t id, count, found; /* found: components that have a start */
    int64_t latest_at;         /* of the starts; 0: none was found */
    bool reserves;             /* its components may have planned starts, else only starts now */
    bool lost, backfilled;     /* lost: one has none, so that the set does not start in this pass */
    bool checked, never;       /* never: its components never fit beside each other; if checked */
    bool tried, started;       /* all components had a start now, in this pass; it has started */
};

/* A question about a job set that is not about all of it as it is. */
struct plan_variant {
    const struct job *as; /* in the place of the component with its id; NULL: all are as they are */
    uint32_t first, count; /* of the components only these; count 0: all */
    bool now;              /* beside what runs, whatever is planned for other jobs */
};

/* What the present look asks for several times, once it is known. */
struct plan_look {
    const struct job *of; /* the job, as it is looked at; NULL: none is */
    bool has_kinds, has_might_fit, has_tied, has_hash;
    uint64_t kinds; /* plan_tied_kinds() */
    bool might_fit; /* plan_might_fit() */
    uint64_t hash;  /* alike_hash() */
    /* If has_tied, which gate_license.c sets: whether the gate of licences is open, or closed,
     * whatever nodes are free, and select_tied_might_do(). */
    bool is_open, is_closed, might_have_tied;
};

/* Jobs that failed, each of which stands for all jobs that are alike, see failed.h. */
struct plan_failures {
    struct alike by_nodes;    /* they do not fit on nodes, whatever licences they need */
    struct alike by_licenses; /* they do not fit on nodes that have the licences they need */
    struct alike closed;      /* the gate of their licences is closed */
};

struct plan {
    const struct cluster *cluster;
    struct plan_notes *notes, own_notes; /* own: of a pass without notes from earlier passes */
    int64_t now_sec;
    bool backfill;
    size_t part;                    /* index in 'order' */
    VEC(const struct part *) order; /* by tier */
    uint32_t without;               /* id of a job that the pass leaves out, with its set if it is
                                       the leader; 0: none */
    struct order_place at;          /* in the queue: the job that was looked at last */
    uint32_t again; /* id of an array to be looked at once more: an element of it starts, or jobs
                       are preempted for one; 0: none */
    bool blocked;   /* a job before the present one waits */
    uint32_t blocked_by; /* in two modes: id of the set that waits first in the partition; 0: an
                            ordinary job, or none */
    bool afresh;         /* starts that earlier passes found do not hold for this queue */
    unsigned mode; /* of a pass in two modes, two_mode.h: 1 or 2; 0: sets are placed jointly */
    VEC(struct plan_set) sets;   /* in such a pass, in the order in which they were come to */
    struct idmap set_index;      /* their ids to their indexes in 'sets' */
    struct set_turns *turns;     /* set_turn.h; NULL: no set has had a turn */
    struct joint_choice *choice; /* of alternative licences, for the set that is being looked at;
                                    NULL: its components are as they are */
    bool asks;                   /* the present look is a query: the pass does not change by it */
    struct plan_variant variant; /* of the set that it is about */
    const struct job *guest;     /* in no queue, plan_visit(); NULL: none */
    struct job_copy *view;    /* the job that is looked at, in another than its first partition */
    struct job_copy *either;  /* the same, with one of its alternative licences */
    struct job_copy *changed; /* the same, with switches_since and switches_waived as decided; NULL:
                                they are as in the job */
    const struct job *changed_of; /* the job itself */
    struct plan_note note;        /* what is noted of the job that is being looked at, */
    uint32_t note_of;             /* its id; 0: that was not read, or has changed since, */
    uint64_t note_freed;          /* and pool.freed when it was read */
    uint32_t note_next;           /* see plan_note_read_next() */
    struct plan_look *look;
    struct plan_depth depth;
    struct plan_failures failures; /* since the pass last rested */
    VEC(struct plan_head) heads;   /* in their order */
    struct shadow *shadow;         /* of the first alone; NULL: not made, or not of use */
    bool gave_up; /* a started job had planned starts elsewhere: pool.freed rises after the pass */
    size_t laid;  /* the number of heads whose starts are reserved on: */
    struct timeline *timeline; /* NULL: none is made */
    bool fills;                /* what runs has changed: the next timeline is filled at once */
    bool found;        /* a planned start was searched in this pass: all after it are, too */
    uint64_t taken;    /* pool.taken when the pass began */
    uint64_t returned; /* pool.returned when the timeline and the shadow were made */
    struct license_claims claims; /* on licences */
    int64_t head_at;              /* the first start that is planned for one of the heads */
    /* preempt.c: */
    VEC(uint8_t) preempt_modes; /* of the partitions, as in cluster.parts */
    int64_t victim_tier;        /* the lowest tier with jobs to preempt; INT64_MAX: none */
    int64_t room_tier;          /* the same, including jobs that are being preempted */
    uint64_t exempt_priority;   /* jobs of this or a higher priority are not preempted */
    struct bitset *kept;        /* nodes that are being emptied for jobs; NULL: none */
    bool lacks_priority;        /* the last search for victims refused one for its priority alone */
    uint32_t room_for;          /* the record of several for whose elements room was last made, */
    uint32_t room;              /* and for how many of them */
    VEC(uint32_t) victims;      /* of the last decision */
    struct selection room_at;   /* where others make room for its job; empty: nowhere */
    VEC(uint32_t) yielded;      /* suspended for others, in the order in which they may go on */
    size_t yielded_at;
    VEC(const struct job *)
    preempted_in_vain;            /* requests for which preemption did not help in this pass */
    uint32_t set_victim_searches; /* for job sets in vain, in this pass */
    bool reclaims_licenses;       /* PreemptParameters=reclaim_licenses */
    uint32_t reclaim_searches;    /* for licences in vain, in this pass */
    struct resv_plan *resv;       /* resv.h */
    uint64_t joint_choices;       /* that were searched one by one, joint.c */
    uint64_t joint_planned;       /* the same for planned starts */
    uint64_t choice_tries;        /* of alternative licences, joint_choice.c */
    uint64_t work;                /* done so far, in looks at a node; who asks for decisions may
                                     count from 0 again */
};

/* The planned starts of a pass that is over, for listings. */
struct plan_starts {
    VEC(struct plan_head) heads;
    struct license_claims claims;
    size_t placed;        /* of the heads, those whose nodes are known */
    struct bitset *nodes; /* what plan_starts_find_nodes() has returned; NULL: nothing */
};
/* Of a pass that plan_end() is to be called for next. The former ones are dropped. */
void plan_starts_take(struct plan_starts *s, struct plan *p);
/* The nodes that the planned starts of pending jobs take, busy ones too. Planned starts that the
 * pass did not place are placed here: at least one in each call, and more until the work is
 * 'budget'. The result lacks the nodes of those that are not placed yet. NULL: there are no planned
 * starts, or no node is idle or mixed. Valid until the next call with 's'. Licences of jobs,
 * partitions, reservations and the configuration must not have changed since the pass. */
const struct bitset *plan_starts_find_nodes(struct plan_starts *s, const struct cluster *c,
                                            int64_t now_sec, uint64_t budget);
void plan_starts_done(struct plan_starts *s);

/* 'notes' are read, written and borrowed until plan_end(); NULL: the pass has its own. */
void plan_begin(struct plan *p, const struct cluster *c, struct plan_notes *notes, int64_t now_sec,
                bool backfill);
/* A pass may rest between two decisions while the cluster goes on: jobs end, come and change. It
 * must not while partitions come or go, nor over a change of the configuration. */
void plan_resume(struct plan *p, int64_t now_sec);
/* The pass begins to walk the queue of the partition p->part. */
void plan_enter_part(struct plan *p);
/* The index of the alternative licence that the job waits for: the first one that is free now, else
 * the one that is expected to be free earliest. 0 when the job has no alternatives. */
uint32_t plan_choose_awaited(struct plan *p, const struct job *j);
bool plan_next(struct plan *p, struct decision *d); /* false: the pass is over */

/* Whether a job is to be looked at before one of this place in the part's queue (which may have no
 * jobs at all): false, a pass has come to that place. A set that is left out may have that place in
 * the queues of all of its partitions. */
bool plan_is_before(struct plan *p, const struct part *part, int64_t key, uint64_t tie);
/* What plan_next() would say at the place it has come to about this job, which need be in no queue;
 * the pass goes on as if nobody had asked. PLAN_WAIT: with no start, and no more than a word. */
void plan_ask(struct plan *p, const struct job *j, struct decision *d);

/* The same, and the pass takes it with it, with a place where it gets one: the last of p->heads,
 * laid out. No other job may be looked at after it. The guest has no id: 0. */
void plan_visit(struct plan *p, const struct job *guest, struct decision *d);

/* A PLAN_START that nobody commits is taken to have been. Takes d->where. */
void plan_suppose(struct plan *p, struct decision *d);

/* How long it waits for few switches at most, once it could start on more. */
int64_t plan_switches_wait(const struct cluster *c, const struct job *j);
/* Until then a job that could start on more switches than it asked for waits for fewer; 0: it does
 * not. */
int64_t plan_switches_until(const struct cluster *c, const struct job *j);
void plan_end(struct plan *p);
/* Frees where it starts; the detail is the caller's. */
void plan_decision_done(struct decision *d);

/* Whether it can run to its limit beside those that have a place before it; it begins then.
 * 'where': where it fits now. */
bool plan_leaves_room(struct plan *p, const struct job *j, const struct resv *in,
                      const struct bitset *allowed, struct selection *where);
/* Nodes it may use that are usable now and not kept for others. The caller frees. */
struct bitset *plan_allowed(const struct plan *p, const struct job *j, const struct resv *in);

/* What is remembered of a job in the partition it has; a question is told nothing. */
const struct plan_note *plan_note(const struct plan *p, const struct job *j);
struct plan_note *plan_note_change(struct plan *p, const struct job *j); /* not of a question */

/* What the choice of nodes needs at least. */
struct spare_need plan_need(const struct job *j);
/* select_tied_kinds() */
uint64_t plan_tied_kinds(const struct plan *p, const struct job *j);
/* Without a look at the nodes: false, it fits now on no choice of them. */
bool plan_might_fit(const struct plan *p, const struct job *j);
