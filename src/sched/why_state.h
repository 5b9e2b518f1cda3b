/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A question while it is being answered: what why.c finds out and why_answer.c tells. */
#pragma once

#include "sched/plan.h"
#include "sched/resv.h"
#include "sched/timeline.h"
#include "sched/why.h"
#include "sched/why_nodes.h"

struct why_trial { /* of a job with one constraint less */
    struct relax r;
    size_t place;               /* where in which queue it would be */
    uint64_t number, low, high; /* the best one that starts it; the next ones are between */
    bool begun, done, now;
    int64_t start_at; /* 0: not foreseeable */
};

struct why_place { /* in a queue: the first one is the job's own */
    struct part *part;
    int64_t key;
};

struct why_laid { /* a job, in one of its partitions */
    uint32_t id;
    const struct part *part;
};

enum why_phase { WALK, ARRIVE, LOOK, ASK, LAY, OWN, ESTIMATE, LEAVE, OVER };

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
    bool walking;
    struct why_nodes nodes;
    struct timeline *ahead;   /* with those before it; NULL: not made */
    struct resv_plan resv;    /* of the timeline */
    VEC(struct why_laid) lay; /* who is to be on it; */
    size_t laid;              /* so many are */
    bool too_many, filling;   /* what runs is being put on the timeline */
    bool searching;           /* a place on it: */
    struct timeline_search search;
    struct selection where;
    int64_t not_before;
    uint32_t head, head_priority; /* of its partition, before it; 0: none */
    enum why_rule rule;
    bool now; /* it is about to start */
};

/* Into w->answer: what the job needs; how many jobs are before it. */
void why_put_need(const struct why *w, const struct job *j);
void why_put_before(const struct why *w, const struct job *j);
/* The same of all else, when all is known. */
void why_finish(struct why *w, const struct job *j);
