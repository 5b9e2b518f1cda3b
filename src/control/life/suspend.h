/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Suspending and resuming jobs. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* What a part that decides which of several jobs run is told of runs, and asked about them: rows
 * SUSPENDS of control/machine.def. */
struct suspend_hooks {
    /* A job has started, and nothing of it has been ordered yet. */
    void (*admit)(struct control *c, struct job *j);
    /* A suspended job has its units again. Returns whether it stays suspended until its turn. */
    bool (*keeps_suspended)(struct control *c, struct job *j);
    /* A user or a preemptor suspends the job: it has no turns. */
    void (*leave)(struct control *c, struct job *j);
    /* 0, or why an operator may not resume the suspended job. */
    int (*check_resume)(const struct job *j, struct err *err);
    void (*note_preemptor)(struct control *c, const struct job *j); /* it is suspended for one */
    void (*note_stop)(struct control *c); /* a node reports that a suspended job has stopped */
    /* Whether the order to resume has to wait on this node, or on any, for another job to stop. */
    bool (*holds_back)(const struct control *c, const struct job *j, const struct alloc_node *a);
    bool (*may_hold_back)(const struct control *c, const struct job *j);
    /* The job is expected to end at another time than before, if it runs alone. */
    void (*move_end)(struct control *c, const struct job *j);
};
void suspend_admit(struct control *c, struct job *j);
void suspend_move_end(struct control *c, const struct job *j);

/* Returns 0, or an error with a message. */
int suspend_job(struct control *c, struct job *j, struct err *err);
void suspend_for_preemptor(struct control *c, struct job *j);
int suspend_resume(struct control *c, struct job *j, struct err *err);
/* The common part of both for a job that may be suspended or resumed. */
void suspend_stop(struct control *c, struct job *j);
void suspend_continue(struct control *c, struct job *j);
/* For a job that has just started, without any order yet, while another job still has to stop on a
 * node: the job is suspended there until then, although its state is RUNNING. */
void suspend_begin_held(struct control *c, struct job *j);
/* Sends resume orders that were deferred until other jobs stop. */
void suspend_give_held(struct control *c, struct job *j);
bool suspend_repeat(struct control *c, struct job *j); /* repeats unconfirmed orders */
bool suspend_is_pending(const struct job *j);          /* whether orders are unconfirmed */
void suspend_remind(struct control *c, struct job *j,
                    struct alloc_node *a); /* repeats the last order: the node has registered */
void suspend_halted(struct control *c, const struct node *n, const Pb__Halted *e);
void suspend_end(struct control *c, struct job *j);      /* called before it ends */
void suspend_restored(struct control *c, struct job *j); /* after a restart */
