/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a query: the results of why.c, and the input of why_answer.c. */
#pragma once

#include "sched/plan.h"
#include "sched/plan/timeline.h"
#include "sched/select/resv.h"
#include "sched/why/why.h"
#include "sched/why/why_nodes.h"

struct why_trial { /* a job with one constraint less */
    struct relax r;
    size_t place; /* index of its queue position */
    /* Number: the best value that starts it; the next values to try are between low and high. */
    uint64_t number, low, high;
    bool begun, done, now;
    bool placed;      /* 'place' is final, and so is 'number' */
    int64_t start_at; /* 0: not foreseeable */
};

struct why_place { /* a queue position; the first one is the job's own */
    const struct part *part;
    int64_t key;
};

struct why_laid { /* a job in one of its partitions, with one of its alternative licences */
    uint32_t id;
    const struct part *part;
    uint32_t license;
};

struct why_endless { /* a pending job without a time limit, and the end that the planner assumes for
                        it */
    uint32_t id;
    int64_t ends_at;
};

/* For a job set: the search for the component that blocks the set, one check at a time. */
struct why_set {
    enum { SET_WHOLE, SET_ALONE, SET_BESIDE, SET_KEPT } look;
    uint32_t at;        /* the component being checked; in the end the result */
    uint32_t low, high; /* counts of leading components: 'low' fit together, 'high' do not */
    bool together;      /* it fits alone but not beside the others */
    bool never;         /* nor on an empty cluster */
    uint32_t beside;    /* never: beside this component; JOINT_SEVERAL: beside several */
    /* It fits on an empty cluster, but not without the nodes that are down or drained. */
    bool unusable;
};

enum why_phase { WALK, FIND, ARRIVE, LOOK, ASK, LAY, OWN, ESTIMATE, LEAVE, OVER };

struct why {
    const struct cluster *cluster;
    struct why_question q;
    struct arena arena; /* for the answer and the spec */
    Pb__WhyReply *answer;
    const Pb__JobSpec *spec;
    int64_t now_sec;
    uint64_t stamp;
    unsigned tries;
    enum why_phase phase;
    bool begun, gone;
    VEC(struct why_place) places;
    VEC(struct why_trial) trials;
    size_t place, at; /* the position and item being examined */
    struct plan plan;
    struct plan_notes notes; /* for its passes, on top of the planner's notes */
    bool walking;
    struct job_copy *view;   /* the job in another partition than its first; NULL: not needed */
    struct job_copy *either; /* the same with the awaited alternative licence, */
    uint32_t license;        /* which is this one */
    struct why_set set;
    struct why_nodes nodes;
    struct timeline *timeline;       /* with the jobs before it; NULL: not created */
    struct resv_plan resv;           /* for the timeline */
    VEC(struct why_laid) lay;        /* jobs to be laid out on the timeline */
    size_t laid;                     /* number of jobs already laid out */
    VEC(struct why_endless) endless; /* the jobs of 'lay' without a time limit */
    /* too_many: more jobs precede it than are laid out; filling: running jobs are being added to
     * the timeline. */
    bool too_many, filling;
    bool partly;    /* arrays before it are laid out in part only, because of their throttles */
    bool searching; /* for a place on the timeline */
    struct timeline_search search;
    struct selection where;
    int64_t not_before;
    uint32_t head, head_priority; /* the first job of its partition, if before it; 0: none */
    enum why_rule rule;
    char *count_what, *count_command; /* other pool counts that would suffice; NULL: none */
    struct why_start found;           /* for a guest */
    int64_t first_laid;               /* the first future start of the jobs before it; 0: none */
};

/* The id of the job, or of the leader of its set. */
static inline uint32_t why_id(const struct why *w)
{
    const struct job *j = cluster_find_job(w->cluster, w->q.job_id);
    return j && job_set_is_whole(j) ? job_set_id(j) : w->q.job_id;
}

/* The tie that places it among the jobs of its priority. */
static inline uint64_t why_tie(const struct why *w)
{
    return w->q.guest ? UINT64_MAX : why_id(w);
}

/* Write to w->answer: the resources that the job needs, and the number of jobs before it. */
void why_put_need(struct why *w, const struct job *j);
void why_put_before(const struct why *w, const struct job *leader);
/* Writes the rest of the answer when everything is known. */
void why_finish(struct why *w, const struct job *leader, const struct job *j);

/* Write a shortage: 'have' of the 'need' units exist; and a sentence about it. */
void why_put_short(const struct why *w, const char *what, uint64_t have, uint64_t need);
void why_put_lack(struct why *w, const struct str *text);
char *why_name_pool(struct why *w, const struct license_need *need, const struct license *l);
/* For needs that tied pools can never meet: writes the pools that need higher counts, and the
 * commands to raise them. False: higher counts do not help. */
bool why_put_raises(struct why *w, const struct job *j);

/* --- why_rule.c ------------------------------------------------------------------------------- */

/* Determines the rule at the job's own place in the queue. */
enum why_rule why_find_rule(struct why *w, const struct job *leader, const struct job *j);
/* Returns the index of the alternative licences that the job waits for: the planner's choice, or
 * others if the job could never have these. */
uint32_t why_choose_awaited(struct why *w, const struct job *j);
/* Finds the rule for a reason; false: there is none. */
bool why_rule_of_reason(enum reason reason, enum why_rule *rule);
enum reason why_reason(enum why_rule rule); /* REASON_NONE: the rule has no reason */
bool why_is_of_common(enum why_rule rule);  /* the job waits for a resource that nodes share */
uint32_t why_kinds(enum why_rule rule);     /* the kinds of change that may help then */
/* Whether the rule blocks the job on any nodes. */
bool why_is_before_nodes(enum why_rule rule);
/* Returns the usable nodes that the job may use. The caller frees the set. */
struct bitset *why_allowed_nodes(const struct why *w, const struct job *j);

/* --- why_set.c -------------------------------------------------------------------------------- */

/* Returns the job that has the place in the queue: the leader of the set. */
const struct job *why_leader(const struct why *w, const struct job *j);
/* Returns the job to explain and to try changes on: the component that was found. */
const struct job *why_subject(const struct why *w, const struct job *leader);
/* Makes one check of the search for the component. True: there are more. */
bool why_set_find(struct why *w, const struct job *leader);
/* Asks the planner about the job, or about its set with the job in the place of the component.
 * 'as': a copy made by relax_make(). */
void why_ask(struct why *w, const struct job *leader, struct job_copy *as, struct decision *d);
/* Returns the start of the set with the changed job on w->timeline; the queried component gets
 * w->where. 0: unforeseeable. */
int64_t why_set_estimate(struct why *w, const struct job *leader, struct job_copy *as);
/* Writes the result to w->answer. */
void why_set_put(const struct why *w, const struct job *subject);

/* --- why_start.c ------------------------------------------------------------------------------ */

bool why_is_foreseeable(const struct why *w); /* its own start, as it is */
/* Whether a start must be estimated for this place. */
bool why_start_is_needed(const struct why *w);
/* Does one step of laying out jobs on the timeline. True: there are more. */
bool why_start_lay(struct why *w);
/* Do one step of the search for the start of the changed job, or of the job as it is; the answer
 * has the start at the end. True: there are more steps. *at: 0, unforeseeable. */
bool why_start_estimate(struct why *w, const struct job *leader, const struct job *j,
                        const struct relax *r, uint64_t number, int64_t *at);
bool why_start_own(struct why *w, const struct job *leader, const struct job *j);
void why_start_forget(struct why *w);

/* --- why_guest.c ------------------------------------------------------------------------------ */

/* Examines the guest's place in the queue. True: its start must be searched on a timeline. */
bool why_guest_visit(struct why *w, const struct job *j);
/* Stores the result of the search: w->where from at_sec on, or nothing (0). */
void why_guest_found(struct why *w, int64_t at_sec);
void why_guest_forget(struct why *w);
