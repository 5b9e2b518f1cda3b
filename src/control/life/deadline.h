/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --deadline: when a job is of no use any longer. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

int64_t deadline_needed_sec(const struct job *j); /* the least time that is of use to it */
/* Too late even for a start now. */
bool deadline_missed(const struct control *c, const struct job *j);
int64_t deadline_due_ms(const struct control *c, const struct job *j); /* when to look again */
/* A job that begins has no more time than is left. */
void deadline_limit(const struct control *c, struct job *j);
int deadline_check(const struct control *c, const struct job *j, struct err *err);
