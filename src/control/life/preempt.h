/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that make room for others. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* It makes room for the other one. */
void preempt_displace(struct control *c, struct job *j, const struct job *by);
void preempt_resume(struct control *c, struct job *j);
void preempt_restored(struct control *c, struct job *j); /* after a restart: its time of grace */
