/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preemption of jobs: the transitions of victims. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* Preempts the job for 'by'. */
void preempt_displace(struct control *c, struct job *j, const struct job *by);
void preempt_resume(struct control *c, struct job *j);
/* Restores its GraceTime after a restart. */
void preempt_restored(struct control *c, struct job *j);
