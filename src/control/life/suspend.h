/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Suspending and resuming jobs. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

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
