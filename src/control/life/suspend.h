/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Suspended jobs. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* 0, or why not, for a person. */
int suspend_job(struct control *c, struct job *j, struct err *err);
int suspend_resume(struct control *c, struct job *j, struct err *err);
/* The same for gang scheduling: the job keeps its units, and goes on in its turn. */
void suspend_for_turn(struct control *c, struct job *j);
void suspend_end_wait(struct control *c, struct job *j);
/* The job has started, nothing of it has been ordered yet, and gang_holds_back() is true of a node:
 * the job stands still there until then, although its state is RUNNING. */
void suspend_begin_held(struct control *c, struct job *j);
/* Orders to go on that were held back, see gang_holds_back(). */
void suspend_give_held(struct control *c, struct job *j);
bool suspend_repeat(struct control *c, struct job *j); /* orders that are not confirmed */
bool suspend_is_pending(const struct job *j);          /* there are such */
void suspend_remind(struct control *c, struct job *j,
                    struct alloc_node *a); /* of the last order: the node has registered */
void suspend_halted(struct control *c, const struct node *n, const Pb__Halted *e);
void suspend_end(struct control *c, struct job *j);      /* it is about to end */
void suspend_restored(struct control *c, struct job *j); /* after a restart */
