/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A question while it is being answered: what why.c finds out and why_answer.c tells. */
#pragma once

#include "sched/plan.h"
#include "sched/plan/timeline.h"
#include "sched/select/resv.h"
#include "sched/why/why.h"
#include "sched/why/why_nodes.h"

struct why_trial { /* of a job with one constraint less */
    struct relax r;
    size_t place;               /* where in which queue it would be */
    uint64_t number, low, high; /* the best one that starts it; the next ones are between */
    bool begun, done, now;
    bool placed;      /* that is the place it would have; the number stands */
    int64_t start_at; /* 0: not foreseeable */
};

struct why_place { /* in a queue: the first one is the job's own */
    const struct part *part;
    int64_t key;
};

struct why_laid { /* a job, in one of its partitions, with one of its alternative licences */
    uint32_t id;
    const struct part *part;
    uint32_t license;
};

struct why_endless { /* a pending job without a time limit, and the end that the planner takes for
                        its own */
    uint32_t id;
    int64_t ends_at;
};

/* Of a job set: which of its components keeps all of them. Found one look after the other. */
struct why_set {
    enum { SET_WHOLE, SET_ALONE, SET_BESIDE, SET_KEPT } look;
    uint32_t at;        /* the component that is looked at; in the end the one that was found */
    uint32_t low, high; /* the first ones of them together: so many fit, so many do not */
    bool together;      /* it fits by itself, and not beside others */
    bool never;         /* nor would it on an empty cluster */
    bool unusable;      /* it would there, but not without the nodes that are down or drained */
};

enum why_phase { WALK, FIND, ARRIVE, LOOK, ASK, LAY, OWN, ESTIMATE, LEAVE, OVER };

struct why {
    const struct cluster *cluster;
    struct why_question q;
    struct arena arena; /* of the answer and the spec */
    Pb__WhyReply *answer;
    const Pb__JobSpec *spec;
    int64_t now_sec;
    uint64_t stamp;
    unsigned tries;
    enum why_phase phase;
    bool begun, gone;
    VEC(struct why_place) places;
    VEC(struct why_trial) trials;
    size_t place, at; /* what is being looked at */
    struct plan plan;
    struct plan_notes notes; /* of its passes; under them those of the planner */
    bool walking;
    struct job_copy
        *view; /* the job in another than its first partition; NULL: it was not needed */
    struct job_copy *either; /* the same, with the alternative licence that it waits for, */
    uint32_t license;        /* this one */
    struct why_set set;
    struct why_nodes nodes;
    struct timeline *timeline;       /* with those before it; NULL: not made */
    struct resv_plan resv;           /* of the timeline */
    VEC(struct why_laid) lay;        /* who is to be on it; */
    size_t laid;                     /* so many are; */
    VEC(struct why_endless) endless; /* those of them without a time limit */
    bool too_many, filling;          /* what runs is being put on the timeline */
    bool partly;    /* of arrays before it not all elements are: they have a throttle */
    bool searching; /* a place on it: */
    struct timeline_search search;
    struct selection where;
    int64_t not_before;
    uint32_t head, head_priority; /* of its partition, before it; 0: none */
    enum why_rule rule;
    char *count_what, *count_command; /* other counts of pools that would do; NULL: none */
    struct why_start found;           /* of a guest */
    int64_t first_laid; /* the first start of those before it, later than now; 0: none */
};

/* The job, or the leader of its set. */
static inline uint32_t why_id(const struct why *w)
{
    const struct job *j = cluster_find_job(w->cluster, w->q.job_id);
    return j && job_set_is_whole(j) ? job_set_id(j) : w->q.job_id;
}

/* Its place among those of its priority. */
static inline uint64_t why_tie(const struct why *w)
{
    return w->q.guest ? UINT64_MAX : why_id(w);
}

/* Into w->answer: what the job needs; how many jobs are before it. */
void why_put_need(const struct why *w, const struct job *j);
void why_put_before(const struct why *w, const struct job *leader);
/* The same of all else, when all is known. */
void why_finish(struct why *w, const struct job *leader, const struct job *j);

/* What the job is short of: 'have' of the 'need' units are there; and a sentence about it. */
void why_put_short(const struct why *w, const char *what, uint64_t have, uint64_t need);
void why_put_lack(struct why *w, const struct str *text);
char *why_name_pool(struct why *w, const struct license_need *need, const struct license *l);
/* Of needs that tied pools never meet: which pools would have to have more, and the commands that
 * give it to them. False: higher counts do not help. */
bool why_put_raises(struct why *w, const struct job *j);

/* --- why_rule.c ------------------------------------------------------------------------------- */

/* At the job's own place in the queue. */
enum why_rule why_find_rule(struct why *w, const struct job *leader, const struct job *j);
/* The alternative licences that the job waits for: the planner's, or others where the job could
 * never have these. */
uint32_t why_choose_awaited(struct why *w, const struct job *j);
/* The one that stands for a reason; false: none does. */
bool why_rule_of_reason(enum reason reason, enum why_rule *rule);
enum reason why_reason(enum why_rule rule); /* NONE: it stands for none */
bool why_is_of_common(enum why_rule rule);  /* the job waits for what nodes have in common */
uint32_t why_kinds(enum why_rule rule);     /* what may be asked for less of then */
/* It keeps the job from its start whatever nodes there are. */
bool why_is_before_nodes(enum why_rule rule);
/* Usable nodes that it may have. The caller frees. */
struct bitset *why_allowed_nodes(const struct why *w, const struct job *j);

/* --- why_set.c -------------------------------------------------------------------------------- */

/* The job whose place in the queue it is: the leader of its set. */
const struct job *why_leader(const struct why *w, const struct job *j);
/* The one that is explained, and that changes are tried of: the component that was found. */
const struct job *why_subject(const struct why *w, const struct job *leader);
/* One look for it. True: there are more. */
bool why_set_find(struct why *w, const struct job *leader);
/* The planner about the job, or about its set with it in the place of the component. 'as': a copy,
 * of relax_make(). */
void why_ask(struct why *w, const struct job *leader, struct job_copy *as, struct decision *d);
/* When the set would start with it, on w->timeline, where the component that was asked for has
 * w->where. 0: not foreseeable. */
int64_t why_set_estimate(struct why *w, const struct job *leader, struct job_copy *as);
/* Into w->answer. */
void why_set_put(const struct why *w, const struct job *subject);

/* --- why_start.c ------------------------------------------------------------------------------ */

bool why_is_foreseeable(const struct why *w); /* its own start, as it is */
/* Something is to be foreseen at this place. */
bool why_start_is_needed(const struct why *w);
/* A step of what is laid out. True: there are more. */
bool why_start_lay(struct why *w);
/* One of the search for the start of the job as it would be, and as it is: the answer has it then.
 * True: there are more. *at: 0, not foreseeable. */
bool why_start_estimate(struct why *w, const struct job *leader, const struct job *j,
                        const struct relax *r, uint64_t number, int64_t *at);
bool why_start_own(struct why *w, const struct job *leader, const struct job *j);
void why_start_forget(struct why *w);

/* --- why_guest.c ------------------------------------------------------------------------------ */

/* At the guest's place in the queue. True: its start is to be looked for on a timeline. */
bool why_guest_visit(struct why *w, const struct job *j);
/* What was looked for there: w->where, from then on, or nothing (0). */
void why_guest_found(struct why *w, int64_t at_sec);
void why_guest_forget(struct why *w);
