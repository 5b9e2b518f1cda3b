/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running jobs whose records were set aside: see control/core/aside.h. */
#pragma once

#include "control/control.h"

struct node;

void aside_keep(struct control *c, struct node *n, uint32_t job_id); /* the node reports the job */
/* The node no longer has the job. */
void aside_lift(struct control *c, struct node *n, uint32_t job_id);
void aside_ended(struct control *c, uint32_t job_id, int exit_status);
/* Ends the job for an operator, or for the owner of another component of its set. Returns a code of
 * err.def; ERR_NO_JOB: the job is not one of these. */
int aside_cancel(struct control *c, const struct caller *who, uint32_t job_id, bool is_owner);
