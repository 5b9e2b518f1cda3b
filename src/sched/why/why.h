/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a job is pending, and which change would let it start: the planner walks to the job's place
 * in the queue, and there decides about the job as it is, and with one constraint less at a time.
 * Pure: the cluster is unchanged afterwards. The work is done in small steps, between which the
 * cluster may change: the work is then restarted, a few times at most.
 *
 * A job that cannot start at once gets an estimated start on a timeline with the jobs before it. It
 * is an estimate, because running jobs end before their limits and jobs behind it may be
 * backfilled.
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
    /* Not NULL: a hypothetical job (its id is 0) of one partition, by 'key' the last of its
     * priority, with the reason that would keep it out of the queue. Only its start and its nodes
     * are determined. Borrowed; if it is in no reservation it may change between steps. */
    const struct job *guest;
    const struct plan_notes *notes; /* the planner's notes; NULL: none */
    bool backfill;
    bool announced;   /* a shutdown is announced: no job starts */
    bool is_operator; /* the requester is an operator */
    int64_t key;      /* the job's place in the queue of its partition if it is in no queue */
    VEC(const struct part *) may; /* other partitions to which the job could be moved */
    const struct prio_rule *rank; /* computes the priority after a change; NULL: unchanged */
    int64_t rank_at_sec;
};

struct why;

/* Takes ownership of q->may. */
struct why *why_new(const struct cluster *c, const struct why_question *q);
void why_free(struct why *w);

/* Does a part of the work, at most about one visit of every node. True: there is more to do. */
bool why_step(struct why *w, int64_t now_sec);
/* Returns the answer when all work is done; NULL: the job is no longer pending. Valid as long as
 * 'w'. */
const Pb__WhyReply *why_answer(const struct why *w);

/* The answer about a guest. */
struct why_start {
    enum why_rule rule; /* what keeps it from starting now */
    int64_t at_sec;     /* 0: no start can be foreseen */
    bool bound;      /* a lower bound: the start is not before at_sec, and its place is unknown */
    bool makes_room; /* it starts by preemption, when the victims have ended */
    struct selection where; /* of which it gets the nodes; empty if at_sec is 0 */
};
const struct why_start *why_start(const struct why *w); /* lives as long as 'w' */
/* Moves its nodes; the caller frees them. */
void why_take_where(struct why *w, struct selection *where);
const char *why_sentence(enum why_rule rule);

/* Returns the time when all components of a set that is not queued can start beside the running
 * jobs, each in its first partition, regardless of pending jobs; wall seconds. 0: unforeseeable.
 * 'nodes' and 'cpus' receive the placement. */
int64_t why_find_set_start(const struct cluster *c, const struct job *leader, int64_t now_sec,
                           struct bitset *nodes, uint32_t *cpus);
