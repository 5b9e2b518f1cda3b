/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs whose records were set aside and that still run: see control/core/aside.h. */
#pragma once

#include "control/control.h"

struct node;

void aside_keep(struct control *c, struct node *n, uint32_t job_id); /* the node has it */
void aside_lift(struct control *c, struct node *n, uint32_t job_id); /* and has it no more */
void aside_ended(struct control *c, uint32_t job_id, int exit_status);
/* A code of err.def; ERR_NO_JOB: it is none of these. */
int aside_cancel(struct control *c, const struct caller *who, uint32_t job_id);
