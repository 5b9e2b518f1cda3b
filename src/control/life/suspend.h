/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Suspended jobs. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* 0, or why not, for a person. */
int suspend_job(struct control *c, struct job *j, struct err *err);
void suspend_for_preemptor(struct control *c, struct job *j);
int suspend_resume(struct control *c, struct job *j, struct err *err);
/* What both do to a job that may be suspended, or resumed. */
void suspend_stop(struct control *c, struct job *j);
void suspend_continue(struct control *c, struct job *j);
/* The job has started, nothing of it has been ordered yet, and on a node another job still has to
 * stop: the job stands still there until then, although its state is RUNNING. */
void suspend_begin_held(struct control *c, struct job *j);
/* Orders to go on that were held back until other jobs stop. */
void suspend_give_held(struct control *c, struct job *j);
bool suspend_repeat(struct control *c, struct job *j); /* orders that are not confirmed */
bool suspend_is_pending(const struct job *j);          /* there are such */
void suspend_remind(struct control *c, struct job *j,
                    struct alloc_node *a); /* of the last order: the node has registered */
void suspend_halted(struct control *c, const struct node *n, const Pb__Halted *e);
void suspend_end(struct control *c, struct job *j);      /* it is about to end */
void suspend_restored(struct control *c, struct job *j); /* after a restart */
