/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records of the controller itself and of nodes; saving a node also emits its events and triggers.
 *
 * The archive of ended attempts and steps, the input of accounting, is rows of the second log of
 * event.h. Each row is written in the commit of the change that completes it. A row has the record
 * of that time, whatever happens to the job later: a requeue, a purge, another configuration.
 */
#pragma once

#include <stdint.h>

struct control;
struct job;
struct node;
struct step;

void control_save_meta(struct control *c);
void control_save_node(struct control *c, struct node *n);
void record_put_node(struct control *c, const struct node *n); /* emits no events or triggers */
uint32_t record_next_job_id(struct control *c);                /* for a new job */

/* Archives an attempt that has ended and whose nodes are clean: its usage, exit codes and times are
 * final. */
void record_attempt(struct control *c, struct job *j);
/* Archives a step that is about to be removed from its job. */
void record_step(struct control *c, const struct job *j, const struct step *s);
