/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --deadline: the time after which a job is useless. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

int64_t deadline_needed_sec(const struct job *j); /* the shortest useful run time of the job */
/* Whether even a start now would be too late. */
bool deadline_missed(const struct control *c, const struct job *j);
int64_t deadline_due_ms(const struct control *c, const struct job *j); /* time of the next check */
/* Limits the run time of a starting job to the time that is left. */
void deadline_limit(const struct control *c, struct job *j);
int deadline_check(const struct control *c, const struct job *j, struct err *err);
