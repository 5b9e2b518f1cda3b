/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records that were set aside because they were damaged; part of internal.h. */
#pragma once

#include "control/control.h"

struct control;
struct node;

bool aside_knows(const struct control *c, uint32_t job_id); /* its id is not to be given again */
bool aside_holds(const struct control *c, uint32_t job_id); /* and where it runs it runs on */
void aside_restore(struct control *c, uint32_t job_id);     /* a RECORD_GIVEN_UP */
void aside_replace_meta(struct control *c);                 /* at the start, when that is lost */
void aside_keep(struct control *c, struct node *n, uint32_t job_id); /* the node has it */
void aside_lift(struct control *c, struct node *n, uint32_t job_id); /* and has it no more */
void aside_ended(struct control *c, uint32_t job_id, int exit_status);
/* A code of err.def; ERR_NO_JOB: it is none of these. */
int aside_cancel(struct control *c, const struct caller *who, uint32_t job_id);
