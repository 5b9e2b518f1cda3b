/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a job waits, and what would let it start: the planner goes to the job's place in the queue
 * and is asked there about the job as it is, and with one constraint less at a time. Pure; the
 * cluster is as it was afterwards. The work comes in small steps, between which the cluster may go
 * on: then what was found is begun anew, a few times.
 *
 * A job whose start is not to be had at once is given one on a timeline with those before it: an
 * estimate, as running jobs end before their limits and as jobs behind may get in between.
 */
#pragma once

#include "proto/why.pb-c.h"
#include "sched/plan.h"
#include "sched/why/relax.h"

enum why_rule {
#define WHY(id, word, slurm, kinds, sentence) WHY_##id,
#include "sched/why/why.def"
#undef WHY
    WHY_RULES
};
const char *why_word(enum why_rule rule);

struct why_question {
    uint32_t job_id;
    /* Not NULL: one that is not there (its id is 0), of one partition, by 'key' the last of its
     * priority, and with the reason that would keep it out of the queue. When and where it would
     * start is all that is found then. Borrowed; without a reservation it may change between steps.
     */
    const struct job *guest;
    const struct plan_notes *notes; /* what the planner remembers; NULL: nothing */
    bool backfill;
    bool announced;               /* a shutdown is: nothing starts */
    bool is_operator;             /* who asks */
    int64_t key;                  /* its place in the queue of its partition when it is in none */
    VEC(const struct part *) may; /* other partitions that it could be moved to */
    const struct prio_rule *rank; /* what a change makes of its priority; NULL: nothing */
    int64_t rank_at_sec;
};

struct why;

/* Takes q->may over. */
struct why *why_new(const struct cluster *c, const struct why_question *q);
void why_free(struct why *w);

/* A share of the work, at most about a look at every node. True: there is more to do. */
bool why_step(struct why *w, int64_t now_sec);
/* The answer, once all is done; NULL: the job is not pending any more. Lives as long as 'w'. */
const Pb__WhyReply *why_answer(const struct why *w);

/* The same about a guest. */
struct why_start {
    enum why_rule rule;     /* what keeps it from a start now */
    int64_t at_sec;         /* 0: no start can be foreseen */
    bool bound;             /* not before that; its place is not known */
    bool makes_room;        /* others do, for it: it starts when they have */
    struct selection where; /* of which it would get the nodes; empty: at_sec is 0 */
};
const struct why_start *why_start(const struct why *w);      /* lives as long as 'w' */
void why_take_where(struct why *w, struct selection *where); /* its nodes; the caller frees */
const char *why_sentence(enum why_rule rule);

/* When all components of a set that is in no queue can start beside what runs, each in its first
 * partition, whatever waits before it; wall seconds. 0: it is not foreseen. 'nodes' and 'cpus' get
 * where. *never: the first component that has no room beside those before it on any nodes; 0: none.
 */
int64_t why_find_set_start(const struct cluster *c, const struct job *leader, int64_t now_sec,
                           struct bitset *nodes, uint32_t *cpus, uint32_t *never);
